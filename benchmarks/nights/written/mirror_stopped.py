"""A mirror between two clusters stops: the mirrored topics of the target, its heartbeats and its checkpoints get no
records any more, all at the same time.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_RATES = {"us-east.orders": 40.0, "us-east.payments": 20.0}
"""Records per second of the copies."""
_OWN = ("heartbeats", "us-east.heartbeats", "us-east.checkpoints.internal")
"""The topics of the mirror itself."""
_BEATS = ("-m", "benchmarks.nights.programs.mirror_beats")


@asynccontextmanager
async def _mirrored(field: Field) -> AsyncIterator[tuple[list[Client], Client]]:
    """Run the writers of a mirror, a reader of one of its copies, and a local service. Yield the writers of the copies,
    and the writer of heartbeats.
    """
    for name in (*_RATES, "invoices"):
        await field.topic(name, partitions=3)
    for name in _OWN:
        await field.topic(name, partitions=1, configs={"cleanup.policy": "compact"})
    copies = (field.producer(name, rate=rate, name=f"mirror-{name}") for name, rate in _RATES.items())
    orders, payments = copies
    words = (field.cluster.bootstrap, "us-east", "eu", "us-east.orders", "billing")
    async with (
        orders as first,
        payments as second,
        field.program(sys.executable, *_BEATS, *words) as beats,
        field.producer("invoices", rate=20),
        field.consumer("us-east.orders", "reports"),
        field.consumer("invoices", "ledger"),
    ):
        await field.reads("reports", "us-east.orders")
        await field.reads("ledger", "invoices")
        yield [first, second], beats


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the mirror ends, and writes nothing more."""
    async with _mirrored(field) as (writers, beats):

        async def begin() -> None:
            for each in (*writers, beats):
                await each.stop()

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the shop in the east
    closes for the night; the mirror's heartbeats and checkpoints go on.
    """
    async with _mirrored(field) as (writers, _):

        async def begin() -> None:
            for each in writers:
                await each.tell(rate=0.0)

        yield begin


NIGHT = Night(
    name="a mirror that stopped",
    source="https://github.com/strimzi/strimzi-kafka-operator/pull/8459",
    story="MirrorMaker 2 stopped without being noticed. Nothing failed in the target cluster: the readers of its "
    "copies had no lag, because no record came. Only the heartbeats, which the mirror is told to write each second, "
    "had ended at the same time.",
    make=_make,
    twin_story="The services of the source cluster are quiet; the mirror's heartbeats and checkpoints arrive.",
    twin=_twin,
    cause=Words(
        (
            r"us-east",
            r"mirror|replicat(ion|or|es|ed) from|copies from|copy of|source cluster|other cluster",
            r"stopp|stops|stand|ended|no (new |more )?records?|nothing|silen|quiet|\bdown\b|not run|dead|no heartbeat|"
            r"not writ",
        )
    ),
    symptom=Words(
        (
            r"us-east",
            r"stopp|stops|stand|ended|no (new |more )?records?|nothing|silen|quiet|"
            r"nobody writes|not writ|no writes|idle",
        )
    ),
    step=Words(
        (
            r"(look|check|see|restart|start|ask|find).{0,100}(mirror|connector|connect\b|replicat|producer|writer|task|"
            r"source cluster)|(mirror|connector|producer|writer).{0,100}(run|restart|start|log|status|alive)",
        )
    ),
    wrong=(r"delete topic", r"delete group", r"reset group", r"delete.?records"),
)
