"""A group that is too slow is scaled out beyond the partitions of its topic: half of its members get no partition."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PARTITIONS, MEMBERS = 3, 6
WORK_MS = 25.0
"""Milliseconds of work for a record: a member can process forty records per second."""


@asynccontextmanager
async def _scaled_out(field: Field, rate: float) -> AsyncIterator[Begin]:
    """Run a group with a member for each partition. The yielded function changes the load, and doubles the number of
    members.

    Args:
        rate: the later load in records per second.
    """
    await field.topic("orders", partitions=PARTITIONS)
    names = [f"billing-{number}" for number in range(1, MEMBERS + 1)]
    async with AsyncExitStack() as later, field.producer("orders", rate=60) as writer:
        for name in names[:PARTITIONS]:
            await later.enter_async_context(field.consumer("orders", "billing", name=name, work_ms=WORK_MS))
        await field.reads("billing", "orders")

        async def begin() -> None:
            await writer.tell(rate=rate)
            for name in names[PARTITIONS:]:
                await later.enter_async_context(field.consumer("orders", "billing", name=name, work_ms=WORK_MS))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a group is scaled out beyond its topic's three
    partitions, while the load is twice what three members can process.
    """
    async with _scaled_out(field, 240) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a group is scaled out
    beyond its topic's three partitions, whose load three members can process; the others are a reserve.
    """
    async with _scaled_out(field, 60) as begin:
        yield begin


NIGHT = Night(
    name="more members than partitions",
    source="https://github.com/kedacore/keda/pull/145",
    story="A service fell behind, and the autoscaler doubled its pods, and doubled them again. The topic has three "
    "partitions: three pods went on as before, the others were members with nothing to read, and the lag grew as fast "
    "as it had.",
    make=_make,
    twin_story="The same number of members on the same topic, and no more to do than three can: a warm reserve.",
    twin=_twin,
    cause=Words(
        (
            r"billing",
            r"partition",
            r"idle|nothing to (do|read)|(without|no) (a )?partitions?\b|more members|fewer partitions|"
            r"too few partitions|only (3|three)|at most (3|three)|has (3|three) partitions|"
            r"more than (its |the )?(3 |three )?partitions",
        )
    ),
    symptom=Words((r"billing", r"lag|behind|slow|keep up|too many|more to read")),
    step=Words((r"partitions|faster|work on|batch|key",)),
    wrong=(r"reset group", r"delete (group|topic|records)", r"retention"),
)
