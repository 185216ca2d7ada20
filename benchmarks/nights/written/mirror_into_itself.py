"""The source and the target of a mirror are the same cluster: it copies its own copies, each with a longer name."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

# By default, mirrors look for new topics only every ten minutes.
_EVERY = "12"


@asynccontextmanager
async def _mirrored(field: Field, *more: str) -> AsyncIterator[Begin]:
    """Run clients of two topics. The yielded function starts a mirror.

    Args:
        more: further arguments of the mirror.
    """
    await field.topic("orders", partitions=2)
    await field.topic("customers", partitions=1, configs={"cleanup.policy": "compact"})
    async with (
        AsyncExitStack() as later,
        field.producer("orders", rate=30),
        field.producer("customers", rate=5),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            arguments = (field.cluster.bootstrap, "kafka", _EVERY, *more)
            await later.enter_async_context(
                field.program(sys.executable, "-m", "benchmarks.nights.programs.mirror", *arguments)
            )
            await asyncio.sleep(20)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a mirror whose source is also its target takes
    its own copies for topics of the other cluster.
    """
    async with _mirrored(field) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a mirror makes one copy of
    each topic, as between two clusters.
    """
    async with _mirrored(field, "--knows-its-own") as begin:
        yield begin


NIGHT = Night(
    name="mirror into itself",
    source="https://github.com/apache/kafka/pull/10277",
    story=(
        "A new mirror was set up with two names for what is one and the same cluster. It makes kafka.orders for "
        "orders, finds kafka.orders at its next refresh, makes kafka.kafka.orders, and so on: topics, partitions and "
        "writes grow with every refresh until names are too long or disks are full."
    ),
    make=_make,
    twin_story="A mirror starts and makes one copy of each topic, with its prefix, and no more.",
    twin=_twin,
    cause=Words(
        must=(
            r"kafka\.(kafka\.|orders|customers|heartbeats)",
            r"mirror|replicat(ion loop|ed (in|back)|es (in|its))|cop(y|ies) of|loop|cycl|circular|itself|recurs|nested|"
            r"prefix|again and again",
        )
    ),
    symptom=Words(must=(r"kafka\.|topics", r"\bnew\b|created|grow|grew|\bmore\b|number|count|increas")),
    step=Words(
        must=(r"mirror|replicat|source of|who creates|client that creates", r"stop|exclu|polic|alias|filter|end")
    ),
    wrong=(r"delete topic (orders|customers)\b", r"reset group billing", r"delete topic __"),
)
