"""The store of a tiered topic is unavailable: brokers may not delete segments that they could not copy, and their disks
fill.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.kafka_jars import tiered_storage

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_MIB = 1024 * 1024
_TIERED = {
    "remote.storage.enable": "true",
    "segment.bytes": str(_MIB),
    "local.retention.bytes": str(2 * _MIB),
    "file.delete.delay.ms": "1000",
}


_TOO_MUCH = 3 * 3 * 6 * _MIB
"""Bytes of the topic on the disks of all brokers together that count as too much. local.retention.bytes allows two MiB
for each replica, and three to four MiB are usual.
"""


def _store(field: Field) -> Path:
    """Return the folder of the brokers' remote storage."""
    return field.cluster.directory / "remote"


async def _switch_on(field: Field) -> None:
    """Enable a remote storage on the brokers, and restart them with it."""
    await asyncio.to_thread(_store(field).mkdir)
    jar = await asyncio.to_thread(tiered_storage, field.version)
    for broker in field.cluster.broker_ids:
        await field.with_properties(
            broker,
            {
                "remote.log.storage.system.enable": "true",
                "remote.log.storage.manager.class.name": (
                    "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
                ),
                "remote.log.storage.manager.class.path": str(jar),
                "remote.log.metadata.manager.listener.name": "PLAINTEXT",
                "remote.log.manager.task.interval.ms": "1000",
                "rlmm.config.remote.log.metadata.topic.num.partitions": "3",
                "rlmm.config.remote.log.metadata.topic.replication.factor": "3",
                "rsm.config.dir": str(_store(field)),
            },
        )
        await field.restart(broker)
    await field.settled()


def _on_disks(field: Field) -> int:
    """Return the bytes of the topic's segments on the brokers' disks."""
    found = 0
    for segment in field.cluster.directory.glob("broker-*/data-*/clicks-*/*.log"):
        with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
            found += segment.stat().st_size
    return found


def _lose(store: Path) -> None:
    """Replace the store's folder so that it can't be read or written."""
    store.rename(store.with_name("remote-of-before"))
    store.touch()


def _relocate(store: Path) -> None:
    """Move the store's folder, and leave a symbolic link to it."""
    moved = store.rename(store.with_name("remote-of-before"))
    store.symlink_to(moved)


@asynccontextmanager
async def _clicks(field: Field, change: Callable[[Path], None]) -> AsyncIterator[Begin]:
    """Run clients of a tiered topic, of which only the newest segments are on the brokers' disks.

    Args:
        change: called with the store's folder by the yielded function.
    """
    await _switch_on(field)
    await field.topic("clicks", partitions=3, configs=_TIERED)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("clicks", rate=60, value_bytes=10_000, name="web"),
        field.consumer("clicks", "charts", batch=100),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):
        await field.reads("charts", "clicks")
        await field.reads("billing", "orders")

        async def is_copied() -> bool:
            return len(list(_store(field).glob("**/*clicks*/*.log"))) >= 6

        await field.until(is_copied, "segments are in the remote storage")

        async def begin() -> None:
            """Change the store, and wait until each partition has six more segments."""
            await asyncio.to_thread(change, _store(field))
            await asyncio.sleep(30)
            assert (_on_disks(field) > _TOO_MUCH) == (change is _lose), "what is not copied stays on the disks"

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the brokers can't write to the store of a
    tiered topic any more.
    """
    async with _clicks(field, _lose) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the store of a tiered
    topic is moved to another place, where the brokers find it.
    """
    async with _clicks(field, _relocate) as begin:
        yield begin


NIGHT = Night(
    name="the remote store is away",
    source="https://github.com/apache/kafka/pull/21049",
    story="Uploads of a tiered topic's segments failed, as the permission for the object store was gone. A segment "
    "that is not copied may not be deleted, so the brokers kept an hour where ten minutes were set, and their disks "
    "grew. Writers and readers noticed nothing.",
    make=_make,
    twin_story="The same store is moved and still found: segments are copied, and deleted from the disks.",
    twin=_twin,
    cause=Words(
        (
            r"clicks|brokers?",
            r"remote|\btier|object stor",
            r"\bcop(y|ies|ied|ying)\b|upload|offload|\bmov(e|es|ed|ing)\b|transfer|written|reach",
            r"stopp|fail|stand|stood|stuck|stall|behind|\bno\b|\bnot\b|nothing|n't|since|delay|\blag\b|unavailable|error",
        )
    ),
    symptom=Words((r"clicks", r"local|disk|size|grow|grew|bytes|retention|full")),
    step=Words((r"remote|\btier|object stor|bucket|credential|server\.log|logs? of",)),
    wrong=(
        r"remote\.storage\.enable=false",
        r"remote\.log\.(copy\.disable|delete\.on\.disable)",
        r"delete (topic|group|records)",
        r"(?<!local\.)retention\.(ms|bytes)=",
    ),
    watch=60.0,
    # By default, brokers look for segments to delete every five minutes.
    properties={"log.retention.check.interval.ms": "2000"},
    versions=("4.3", "4.4"),
)
