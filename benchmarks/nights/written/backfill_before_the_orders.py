"""A service reads several topics; a backfill of one of them delays the records of the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _dispatching(field: Field, work_ms: float) -> AsyncIterator[Begin]:
    """Run a service that reads two topics. The yielded function starts a backfill of one of them.

    Args:
        work_ms: the service's milliseconds of work for each record.
    """
    await field.topic("events.orders", partitions=3)
    await field.topic("events.clicks", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer("events.orders", rate=25, name="shop"),
        field.producer("events.clicks", rate=25, name="web"),
        field.consumer(r"^events\..*", "dispatch", name="dispatcher", work_ms=work_ms, batch=20),
    ):
        await field.reads("dispatch", "events.orders")
        await field.reads("dispatch", "events.clicks")

        async def begin() -> None:
            await later.enter_async_context(field.producer("events.clicks", rate=400, name="clicks-backfill"))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a backfill writes more records than the service
    can process, and orders wait behind clicks.
    """
    async with _dispatching(field, 8.0) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the same backfill, which
    the service can process.
    """
    async with _dispatching(field, 0.3) as begin:
        yield begin


NIGHT = Night(
    name="a backfill before the orders",
    source="https://github.com/confluentinc/confluent-kafka-dotnet/issues/1325",
    story="One service reads orders and clicks with one group. A job wrote old clicks again, many times more than "
    "usual. The service works as fast as always, but takes clicks and orders from one queue: its lag grows on both "
    "topics, and orders of which there are as few as ever come late.",
    make=_make,
    twin_story="The same backfill and a service that is fast enough for it.",
    twin=_twin,
    cause=Words(
        (
            r"dispatch",
            r"clicks",
            r"(write|written|writing|produc|in(put|coming|flow)|arriv|traffic|load|record).{0,100}"
            r"(burst|jump|surg|spike|rose|risen|rise|more than|increas|grew|\d ?(×|x\b|times)|as many)|"
            r"(more|faster|many|\d ?(×|x\b|times)).{0,60}(writ|arriv|produc|come)|burst|surge|spike|backfill|flood",
        )
    ),
    symptom=Words((r"dispatch|events\.", r"\blag|behind|late|delay|keep up|slow")),
    step=Words(
        (
            r"(own|separate|another|different|second) (consumer )?group|more (members|consumers|instances)|"
            r"add (a |more )?(members?|consumers?|instances?)|throttl|quota|producer_byte_rate|backfill|partitions|"
            r"(stop|slow|pause|delay|limit|find)\w* .{0,60}(writer|producer|writ)",
        )
    ),
    wrong=(
        r"reset group dispatch.*(latest|\bend\b)",
        r"delete (topic|records|group)",
        r"set topic events\S*.{0,60}retention",
    ),
)
