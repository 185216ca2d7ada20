"""A service is moved to a new cluster with the committed offsets of the old one, which are after the end of the new
logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PARTITIONS = 3
COPIED = 2_400
"""Records that were copied to the new cluster before the move."""
OF_OLD_CLUSTER = 1_250_000
TRANSLATED = 100
"""An offset that exists in each partition."""


def _commit(bootstrap: str, offset: int) -> None:
    """Commit an offset for each partition of orders, for the group billing while it has no members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing", "client.id": "offset-migration"})
    offsets = [TopicPartition("orders", partition, offset + partition) for partition in range(PARTITIONS)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


@asynccontextmanager
async def _moving(field: Field, offset: int) -> AsyncIterator[Begin]:
    """Run a cluster whose topic was copied from another one. The yielded function sets the group's offsets and starts
    its members.

    Args:
        offset: the offset that is committed for each partition, approximately.
    """
    await field.topic("orders", partitions=PARTITIONS)
    await field.writes("orders", COPIED)
    async with AsyncExitStack() as later, field.producer("orders", rate=30, name="orders-mirror"):

        async def begin() -> None:
            await asyncio.to_thread(_commit, field.cluster.bootstrap, offset)
            for number in (1, 2):
                member = field.consumer("orders", "billing", name=f"billing-{number}", auto_offset_reset="error")
                await later.enter_async_context(member)
            await asyncio.sleep(8)  # the members join

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the offsets of the old cluster are committed
    in the new one as they are.
    """
    async with _moving(field, OF_OLD_CLUSTER) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the committed offsets are
    those of the same records in the new cluster.
    """
    async with _moving(field, TRANSLATED) as begin:
        yield begin


NIGHT = Night(
    name="offsets of another cluster",
    source="https://github.com/getsentry/self-hosted/issues/4436",
    story="A service came with offsets that its cluster does not have. They had been committed for logs of another "
    "cluster and were far after the end of the logs here. The service is told to fail rather than to begin anywhere, "
    "so its members are in the group, have their partitions, and read nothing.",
    make=_make,
    twin_story="The offsets are translated: the group starts in the middle of the logs and catches up within seconds.",
    twin=_twin,
    cause=Words(
        (
            r"billing",
            r"commit|offset|position",
            r"(after|beyond|past|above|ahead of|higher than|greater than|larger than|more than).{0,40}"
            r"(end|log|last|newest|latest|exist|what)|out of (the )?range|do(es)?(n't| not) exist|"
            r"not in the log|no such (offset|record)|another cluster|never (been )?written|negative",
        )
    ),
    symptom=Words((r"billing", r"\blag|behind|not (read|move|commit|progress)|stand|stuck|no progress|stopped")),
    step=Words((r"reset|(set|commit|correct|translat)\w* .{0,40}offset",)),
    wrong=(r"reset group billing.*(latest|\bend\b)", r"delete (topic|records)"),
)
