"""Somebody frees the disk of a broker by hand, and deletes the only copy of a partition."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2


def _folder(field: Field, partition: str) -> Path:
    """Return the folder of a partition on the broker's disk, such as of ``clicks-1``."""
    (folder,) = field.cluster.directory.glob(f"broker-{BROKER}/data-*/{partition}")
    return folder


@asynccontextmanager
async def _full(field: Field, partition: str) -> AsyncIterator[Begin]:
    """Run clients of a topic with three replicas and of one with a single replica. The yielded function stops broker 2,
    deletes the folder of a partition, and starts the broker.

    Args:
        partition: the partition, as its folder is named.
    """
    await field.topic("orders", partitions=3)
    await field.topic("clicks", on=[(1,), (2,), (3,)])
    for each in range(3):
        await field.writes("orders", 1_000, partition=each)
        await field.writes("clicks", 1_000, partition=each)
    async with (
        field.producer("orders", rate=60),
        field.producer("clicks", rate=60),
        field.consumer("orders", "billing", batch=200),
        field.consumer("clicks", "stats", batch=200),
    ):
        await field.reads("billing", "orders")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            await field.stop(BROKER)
            await asyncio.to_thread(shutil.rmtree, _folder(field, partition))
            await field.start(BROKER)
            await field.settled()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the partition had no other replica."""
    async with _full(field, "clicks-1") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the broker copies the
    partition again from its other replicas.
    """
    async with _full(field, "orders-1") as begin:
        yield begin


NIGHT = Night(
    name="a partition's folder deleted by hand",
    source="https://www.data-dynamics.io/en/blog/kafka-disk-full-incident-response",
    story="The disk of broker 2 was nearly full. Somebody stopped the broker, deleted the folder of a partition that "
    "seemed to be of no use, and started it. The topic clicks had a single replica: its partition 1 began again at "
    "offset 0, all its records were lost, and the offsets that its readers had committed pointed behind its end.",
    make=_make,
    twin_story="The folder of a partition with two more replicas is deleted, and filled again from them.",
    twin=_twin,
    cause=Words(
        (
            r"clicks",
            r"lost|gone|delet|disappear|wiped|empt|truncat|(went|set|go(es)?|gone|jumped) back|fell|"
            r"smaller|from (offset )?0\b|"
            r"beg[ai]n again|start(s|ed)? (over|again)|remov|below",
            r"brokers?:? 2\b|disk|only (copy|replica)|(one|single|1) replica|unclean|restart|replication factor",
        )
    ),
    symptom=Words((r"clicks", r"lag|behind|beyond|ahead|out of range|lost|gone|delet|fell|back|smaller|reset")),
    step=Words((r"clicks", r"replica|restore|backup|write .*again|reset group|move")),
    wrong=(r"delete (topic|group|records)", r"unclean", r"unregister", r"reset group .*latest"),
    # The broker is restarted in the twin, too, and clicks has one replica in it.
    fine=(
        r"brokers?:? 2\b.*(down|gone|away|missing|left|offline|restart|not (in|there)|unreachable|answer|back)",
        r"under.?replicat|in.?sync",
        r"clicks.*(one|single|1) replica|(one|single|1) replica.*clicks",
    ),
)
