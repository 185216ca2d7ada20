"""A topic is set to zstd, and one of its readers has no library for zstd."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PROGRAM = "benchmarks.nights.programs.reader_without_codec"


@asynccontextmanager
async def _compressing(field: Field, compression: str) -> AsyncIterator[Begin]:
    """Run two groups that read a topic of uncompressed records. The yielded function lets the brokers compress it.

    Args:
        compression: the ``compression.type`` of the topic.
    """
    await field.topic("events", partitions=3)
    async with (
        field.producer("events", rate=60, value_bytes=400),
        field.program(sys.executable, "-m", PROGRAM, field.cluster.bootstrap, "events", "archiver") as reader,
        field.consumer("events", "search"),
    ):
        await field.reads("archiver", "events")
        await field.reads("search", "events")

        async def begin() -> None:
            of_topic = ("--entity-type", "topics", "--entity-name", "events")
            change = ("--alter", "--add-config", f"compression.type={compression}")
            await field.tool("kafka-configs", *of_topic, *change)
            await asyncio.sleep(12)
            printed = reader.output.read_text()
            if ("UnsupportedCodecError" in printed) != (compression == "zstd"):
                raise RuntimeError(f"the reader printed: {printed[-500:]}")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a topic is set to compression with zstd, for
    which one of its readers lacks the library.
    """
    async with _compressing(field, "zstd") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a topic is set to
    compression with gzip, which all its readers support.
    """
    async with _compressing(field, "gzip") as begin:
        yield begin


NIGHT = Night(
    name="a reader without the codec",
    source="https://github.com/aio-libs/aiokafka/issues/843",
    story="To save space an administrator set compression.type=zstd on a topic, whose producers sent plain records. "
    "One of its groups went on; the other one's client had no library for zstd: it failed at the first compressed "
    "record, was started again, and failed again, with a lag that grew without end.",
    make=_make,
    twin_story="The same topic is set to gzip, which both clients read.",
    twin=_twin,
    cause=Words(
        (
            r"events|archiver",
            r"compression|zstd|\bcodec|compress",
        )
    ),
    symptom=Words(
        (
            r"archiver",
            r"\blag\b|behind|stand|stuck|stopp|no progress|not (move|advance|progress|read|commit)|rebalanc|"
            r"no members?|empty|again",
        )
    ),
    step=Words((r"compression\.type|zstd|\bcodec|compression",)),
    wrong=(
        r"compression\.type\s*=\s*zstd",
        r"reset group",
        r"delete group",
        r"delete topic",
        r"delete.?records",
    ),
)
