"""A batch on the leader's disk is damaged: a follower that was restarted can't fetch beyond it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

LEADER, FOLLOWER = 1, 3
AWAY = 6.0
"""Seconds for which the follower is down while the leader continues to write."""


def _segment(field: Field, broker: int) -> Path:
    """Return the only segment of ledger-0 on a broker."""
    (file,) = field.cluster.directory.glob(f"broker-{broker}/data-*/ledger-0/{0:020d}.log")
    return file


def _damage(file: Path, start: int) -> None:
    """Overwrite four bytes of the first record value after a position in the file. start: in bytes. Raises LookupError
    if no value follows.
    """
    with file.open("r+b") as log:
        log.seek(start)
        at = log.read().find(b"v" * 50)
        if at < 0:
            raise LookupError(f"no record in {file} after {start}")
        log.seek(start + at + 10)
        log.write(b"\x00\xff\x00\xff")


@asynccontextmanager
async def _services(field: Field) -> AsyncIterator[None]:
    """Run producers to topics of three replicas, and a consumer that keeps up."""
    await field.topic("ledger", on=[(1, 2, 3)])
    await field.topic("orders", partitions=3)
    async with (
        field.producer("ledger", rate=40, value_bytes=200),
        field.producer("orders", rate=40),
        field.consumer("ledger", "booking"),
    ):
        await field.reads("booking", "ledger")
        await field.settled()
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: while a follower restarts, bytes that it does
    not have yet are damaged on the leader's disk.
    """
    async with _services(field):

        async def begin() -> None:
            await field.stop(FOLLOWER)
            size = (await asyncio.to_thread(_segment(field, FOLLOWER).stat)).st_size
            await asyncio.sleep(AWAY)
            await asyncio.to_thread(_damage, _segment(field, LEADER), size)
            await field.start(FOLLOWER)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a follower restarts, and
    catches up with an undamaged leader.
    """
    async with _services(field):

        async def begin() -> None:
            await field.stop(FOLLOWER)
            await asyncio.sleep(AWAY)
            await field.start(FOLLOWER)

        yield begin


NIGHT = Night(
    name="a rotten batch",
    source="https://github.com/apache/kafka/pull/2127",
    story="A few bytes of a log are damaged on the disk of its leader. Broker 3, back from a restart, fetches the "
    "batch, finds it corrupt and asks again, for ever: this one partition stays without its third replica, "
    "while the same broker is in sync with the same leader in all others. Broker 2 has a good copy.",
    make=_make,
    twin_story="Broker 3 is restarted and is in sync again after seconds.",
    twin=_twin,
    # Only the logs of brokers 3 and 1 show the cause. A correct answer is that only this replica does not catch up, and
    # that those logs have the reason.
    cause=Words(
        (
            r"ledger",
            r"\b3\b",
            r"corrupt|damag|server\.log|(broker.{0,12}|its|their|own) logs?\b"
            r"|logs? of (the )?(broker|leader|follower)|disk|not (known|visible|told)|cannot tell|can.t tell|no api",
        )
    ),
    symptom=Words((r"ledger", r"under.?replicat|in.?sync|\bisr\b|behind|catch")),
    step=Words((r"elect|leadership|(another|new|other) leader|move|server\.log|\blogs? of|disk",)),
    wrong=(r"delete topic", r"unclean", r"delete.?records", r"min\.insync\.replicas=1\b", r"reset group"),
    unknowable=True,
)
