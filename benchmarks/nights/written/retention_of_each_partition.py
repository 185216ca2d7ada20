"""Retention by size applies to each partition, but the operator sets the size for the topic: the smallest volume fills
first.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2
PARTITIONS = 6
_MIB = 1024 * 1024
VOLUME = 160 * _MIB
WANTED = 32 * _MIB
"""Bytes of the topic that each broker should keep."""
# By default, files of deleted segments stay for a minute, and a segment has a gibibyte.
_SMALL = {"segment.bytes": str(2 * _MIB), "file.delete.delay.ms": "1000", "retention.bytes": str(4 * _MIB)}


async def _run(*words: str) -> None:
    """Run a command, given as its words. Raises CalledProcessError if it fails."""
    await asyncio.to_thread(subprocess.run, words, check=True, capture_output=True)


@asynccontextmanager
async def _small_volume(field: Field) -> AsyncIterator[None]:
    """Put the data of broker 2 on a volume that is smaller than those of the other brokers, until the end of the
    block.
    """
    await field.stop(BROKER)
    (data,) = field.cluster.directory.glob(f"broker-{BROKER}/data-*")
    kept = data.with_name("moved")
    await asyncio.to_thread(data.rename, kept)
    await asyncio.to_thread(data.mkdir)
    await _run("mount", "-t", "tmpfs", "-o", f"size={VOLUME}", "tmpfs", str(data))
    try:
        await asyncio.to_thread(shutil.copytree, kept, data, dirs_exist_ok=True)
        await field.start(BROKER)
        yield
    finally:
        await _run("umount", "--lazy", str(data))  # the volume's broker may still run


@asynccontextmanager
async def _filling(field: Field, retention_bytes: int) -> AsyncIterator[Begin]:
    """Run a producer of clicks, of which brokers keep few. The yielded function raises the topic's retention.

    Args:
        retention_bytes: the topic's new retention.bytes.
    """
    async with _small_volume(field):
        await field.topic("clicks", partitions=PARTITIONS, configs=_SMALL)
        await field.topic("orders", partitions=3)
        async with (
            field.producer("clicks", rate=200, value_bytes=10_000, name="web"),
            field.producer("orders", rate=20),
            field.consumer("clicks", "charts", batch=200),
            field.consumer("orders", "billing"),
        ):
            await field.reads("charts", "clicks")
            await field.reads("billing", "orders")
            await asyncio.sleep(20)  # wait until the topic is as large as its retention

            async def begin() -> None:
                entity = ("--entity-type", "topics", "--entity-name", "clicks")
                more = f"retention.bytes={retention_bytes}"
                await field.tool("kafka-configs", "--alter", *entity, "--add-config", more)

            yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an operator sets the size that a broker should
    keep of the topic, but each of the six partitions keeps that size.
    """
    async with _filling(field, WANTED) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an operator first divides
    the size by the number of partitions: the volume becomes half full, and stays so.
    """
    async with _filling(field, WANTED // PARTITIONS) as begin:
        yield begin


NIGHT = Night(
    name="retention of each partition",
    source="https://github.com/roostorg/osprey/issues/239",
    story="To keep a topic's data for longer somebody set its retention.bytes to the size that the volumes had room "
    "for. The setting is for each partition: with six of them on a broker it allows six times as much. The smallest "
    "volume was full within the hour, its broker could not write any more and ended itself, and the next start would "
    "end in the same way.",
    make=_make,
    twin_story="The setting is raised as well, to a sixth of that size: the volume fills to a half and stays so.",
    twin=_twin,
    cause=Words(
        (
            r"clicks|retention",
            r"volume|disk|space|log.?dir|storage|filesystem",
            r"full|fill|left|free|usable|exceed|out of|room|\d ?%|run(s|ning)? out|more than",
        )
    ),
    symptom=Words(
        (
            r"\b2\b|clicks",
            r"volume|disk|space|log.?dir|storage|down|gone|fenced|does not answer|grow|under.?replicat|in.?sync",
        )
    ),
    step=Words((r"retention\.bytes|retention|larger|more space|bigger|free (some|space)|move .{0,60}clicks",)),
    wrong=(r"unclean", r"delete topic", r"unregister", r"reset group", r"retention\.bytes=-1", r"retention\.ms=-1"),
    # The default is five minutes; here brokers check the size every few seconds.
    properties={"log.retention.check.interval.ms": "4000"},
    watch=150.0,
)
