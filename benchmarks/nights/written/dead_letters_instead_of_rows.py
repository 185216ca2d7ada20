"""The target of a sink connector refuses all records, and the connector, which tolerates all errors, writes each of
them into its topic of dead letters: no lag, no failed task, and no data in the target.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_SINK = "warehouse-sink"
_GROUP = f"connect-{_SINK}"
_DEAD = f"dlq-{_SINK}"
_RATE = 40.0


@asynccontextmanager
async def _sinking(field: Field) -> AsyncIterator[Client]:
    """Run the clients of a sink connector: its consumer, and its producer of dead letters, which writes nothing. Yield
    the producer.
    """
    await field.topic("orders", partitions=3)
    await field.topic(_DEAD, partitions=1)
    await field.writes(_DEAD, 4)
    async with (
        field.producer("orders", rate=_RATE),
        field.consumer("orders", _GROUP, name=f"connector-consumer-{_SINK}-0"),
        field.producer(_DEAD, rate=0.0, name=f"connector-dlq-producer-{_SINK}-0") as dead,
    ):
        await field.reads(_GROUP, "orders")
        yield dead


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: every record becomes a dead letter."""
    async with _sinking(field) as dead:

        async def begin() -> None:
            await dead.tell(rate=_RATE)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: three records become dead
    letters, which is what the topic is for.
    """
    async with _sinking(field):

        async def begin() -> None:
            await field.writes(_DEAD, 3)

        yield begin


NIGHT = Night(
    name="dead letters instead of rows",
    source="https://github.com/confluentinc/kafka-connect-jdbc/issues/1312",
    story="The tablespace of a warehouse was full. The sink connector tolerated all errors, so it wrote every record "
    "into its topic of dead letters and committed it. The connector was running and had no lag, but no row reached "
    "the warehouse.",
    make=_make,
    twin_story="Three records can't be converted and become dead letters; all others reach the warehouse.",
    twin=_twin,
    cause=Words(
        (
            _DEAD,
            r"dead.?letters?|can.?(not|.?t) (be )?(process|writ|convert|deliver|handl)|"
            r"could not|fail|reject|refus|errors?\b",
            r"\ball\b|every|each|most|nearly|same rate|as (fast|many|much)|records?/s|per second|\d ?%|began|begin|"
            r"since|grow|\bris|\brose|\bmore\b|instead",
        )
    ),
    symptom=Words((_DEAD, r"grow|written|writes|records|rate|more|filling|fills")),
    step=Words(
        (
            r"(look|read|see|check|show|find).{0,100}(dead|dlq|header|\blogs?\b|record|connector|reason|why|error)|"
            r"records dlq-|errors\.tolerance|(fix|mend|repair).{0,60}(sink|target|connector|converter|record)",
        )
    ),
    # The dead letters are the only copies that the warehouse can still get in an easy way.
    wrong=(r"delete topic", r"delete.?records", r"reset group \S+.*(latest|\bend\b)", r"delete group"),
)
