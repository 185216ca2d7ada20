"""One of a broker's two disks fails: the broker keeps running, without its replicas on that disk."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2


def _first(field: Field) -> Path:
    """Return the folder that is the broker's first disk."""
    (folder,) = field.cluster.directory.glob(f"broker-{BROKER}/data-*")
    return folder


def _second(field: Field) -> Path:
    """Return the folder that is the broker's second disk."""
    return field.cluster.directory / f"broker-{BROKER}" / "disk-2"


def _format(disk: Path, other: Path) -> None:
    """Prepare an empty disk for a broker, as `kafka-storage format --ignore-formatted` does.

    Args:
        other: a formatted disk of that broker.
    """
    lines = (other / "meta.properties").read_text().splitlines(keepends=True)
    disk.mkdir()
    (disk / "meta.properties").write_text("".join(each for each in lines if not each.startswith("directory.id=")))


async def _add_disk(field: Field) -> None:
    """Add an empty second disk to the broker, restart it, and let it place new replicas on that disk."""
    first = _first(field)
    await asyncio.to_thread(_format, _second(field), first)
    await field.with_properties(BROKER, {"log.dirs": f"{first},{_second(field)}"})
    await field.restart(BROKER)


def _break(disk: Path) -> None:
    """Replace the disk's folder so that no file on it can be opened."""
    disk.rename(disk.with_name("broken"))
    disk.touch()


def _replace(disk: Path, other: Path) -> None:
    """Replace the disk by an empty one."""
    shutil.rmtree(disk)
    _format(disk, other)


@asynccontextmanager
async def _shop(field: Field, goes_wrong: Callable[[], Awaitable[None]]) -> AsyncIterator[Begin]:
    """Run clients of two topics with replicas on every broker, some of them on the second disk of broker 2.

    Args:
        goes_wrong: makes the trouble, or the harmless change; the yielded function calls it.
    """
    await _add_disk(field)
    await field.settled()
    await field.topic("orders", partitions=6)
    await field.topic("clicks", partitions=6)
    assert list(_second(field).glob("orders-*")), "no replica is on the second disk"
    async with (
        field.producer("orders", rate=60),
        field.producer("clicks", rate=60),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            await goes_wrong()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the second disk of a running broker fails."""

    async def is_offline() -> bool:
        said = await field.tool("kafka-log-dirs", "--describe", "--broker-list", str(BROKER))
        return "KafkaStorageException" in said

    async def fail() -> None:
        await asyncio.to_thread(_break, _second(field))
        # The broker writes its checkpoints every five seconds.
        await field.until(is_offline, "the broker misses its disk")

    async with _shop(field, fail) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the broker is shut down,
    gets a new second disk, and copies its replicas from the other brokers.
    """

    async def replace() -> None:
        await field.stop(BROKER)
        await asyncio.to_thread(_replace, _second(field), _first(field))
        await field.start(BROKER)
        await field.settled()

    async with _shop(field, replace) as begin:
        yield begin


NIGHT = Night(
    name="one disk of a broker",
    source="https://www.netdata.cloud/guides/kafka/kafka-log-directory-failed-offline/",
    story="A broker had several disks, and one of them failed. The broker took the log directory on it out of service "
    "and went on with the others: it was up in every list, while the replicas on that disk were neither led nor "
    "followed, and partitions had one replica less than they should.",
    make=_make,
    twin_story="The same disk is replaced by an empty one while the broker is shut down, and is filled again.",
    twin=_twin,
    cause=Words(
        (
            r"brokers?:? 2\b",
            r"\bdisks?\b|log.?dir|director(y|ies)|volume|disk-2",
            r"offline|fail|error|broken|lost|unavailable|dead|gone|can ?not|damaged|out of service|storage",
        )
    ),
    symptom=Words(
        (
            r"brokers?:? 2\b|orders|clicks",
            r"under.?replicated|in.sync|\bisr\b|replicas?|offline|not (in sync|following|catching)",
        )
    ),
    step=Words((r"\bdisks?\b|log.?dir|director(y|ies)|volume|disk-2",)),
    wrong=(r"unclean", r"unregister", r"delete (topic|group|records)", r"set topic .*min\.insync"),
    # In the twin, the restarted broker is down for some seconds, and its new disk is filled from the others.
    fine=(r"brokers?:? 2\b",),
    watch=75.0,
)
