"""A consumer keeps notes in its commits, and they outgrow the limit of the brokers: it commits nothing more."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

REFUSED = "metadata"
"""A word of librdkafka's text for OFFSET_METADATA_TOO_LARGE."""


@asynccontextmanager
async def _noted(field: Field, note_bytes: int, *, refused: bool) -> AsyncIterator[Begin]:
    """Run a consumer whose commits have no notes. The yielded function starts its next release, whose commits have
    notes that grow.

    Args:
        note_bytes: the size up to which the notes grow.
        refused: whether the brokers refuse the largest notes; the function waits for it.
    """
    await field.topic("documents", partitions=3)
    await field.topic("orders", partitions=3)
    program = (sys.executable, "-m", "benchmarks.nights.programs.noting_reader")
    async with (
        field.producer("documents", rate=60),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.program(*program, field.cluster.bootstrap, "documents", "indexer") as reader,
    ):
        await field.reads("indexer", "documents")
        await field.reads("billing", "orders")

        async def has_noted() -> bool:
            lines = reader.output.read_text().splitlines()[before:]
            if refused:
                return any(REFUSED in line.lower() for line in lines)
            return sum("committed" in line for line in lines) > note_bytes // 500

        before = 0

        async def begin() -> None:
            nonlocal before
            await reader.stop()
            before = len(reader.output.read_text().splitlines())
            await reader.start({"NOTE_BYTES": str(note_bytes)})
            await field.until(has_noted, "the notes have grown", within=90)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """The notes grow to more than the 4096 bytes that brokers allow by default."""
    async with _noted(field, 6_000, refused=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The notes grow to less than brokers allow."""
    async with _noted(field, 2_100, refused=False) as begin:
        yield begin


NIGHT = Night(
    name="a commit with too long a note",
    source="https://github.com/dpkp/kafka-python/issues/2322",
    story="A consumer sent a text with each of its commits, and it became longer than brokers allow "
    "(offset.metadata.max.bytes). From then on each commit was refused with OFFSET_METADATA_TOO_LARGE, while the "
    "consumer read on: its lag grew on every chart, and a restart would process everything again.",
    make=_make,
    twin_story="The same release sends texts with its commits, and they stay below the limit.",
    twin=_twin,
    # The refusals are in the consumer's log alone: brokers tell no one else of them. So it counts to say that the
    # members are there and no commits arrive, and to send the reader to the consumer's log.
    cause=Words(
        (
            r"indexer",
            r"commit",
            r"metadata|\blogs?\b|refus|reject|client|application|service's|consumer's|member's",
        )
    ),
    symptom=Words((r"indexer", r"\blag\b|behind|commit|stuck|progress|stands still|stopped")),
    step=Words((r"offset\.metadata\.max\.bytes|\blogs?\b|metadata|restart",)),
    wrong=(r"reset group", r"delete (topic|group|records)"),
    unknowable=True,
)
