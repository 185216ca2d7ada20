"""A group has as many members as brokers allow: the pods that were added to catch up are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

MOST = 3
"""Maximum number of members of a group (group.max.size of the brokers)."""
WORK_MS = 25
"""Milliseconds of work for each record: a member processes less than 40 records per second."""


@asynccontextmanager
async def _scaled(field: Field, members: int, more: int, rates: tuple[float, float]) -> AsyncIterator[Begin]:
    """Run pods that read parcels. The yielded function raises the rate of parcels, and starts more pods.

    Args:
        members: the number of pods at the beginning.
        more: the number of further pods.
        rates: records per second, before and after.
    """
    await field.topic("parcels", partitions=6)
    await field.topic("orders", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer("parcels", rate=rates[0]) as producer,
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):

        async def deploy(number: int) -> None:
            pod = field.consumer("parcels", "shipping", name=f"shipping-{number}", work_ms=WORK_MS)
            await later.enter_async_context(pod)

        for number in range(members):
            await deploy(number)
        await field.reads("shipping", "parcels")
        await field.reads("billing", "orders")

        async def begin() -> None:
            await producer.tell(rate=rates[1])
            for number in range(members, members + more):
                await deploy(number)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a further pod is started although the group
    already has its maximum of members.
    """
    async with _scaled(field, MOST, 3, (60.0, 220.0)) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a further pod is started,
    which brings the group just to its maximum of members.
    """
    async with _scaled(field, MOST - 1, 1, (30.0, 55.0)) as begin:
        yield begin


NIGHT = Night(
    name="a group at its maximum",
    source="https://github.com/apache/kafka/pull/6163",
    story="To protect the coordinators from huge groups brokers had a maximum of members for each group. A service "
    "reached it: pods that were added when it fell behind were refused with GROUP_MAX_SIZE_REACHED and tried again "
    "for ever, while the lag grew and half of the pods had nothing to do.",
    make=_make,
    twin_story="The same service with the same maximum has a place left, and the pod that is added gets partitions.",
    twin=_twin,
    cause=Words(
        (
            r"shipping",
            r"group\.max\.size|(maximum|max\.?|\blimit|allow|at most|\bfull\b|room).{0,80}(members?|size)|"
            r"(members?|size).{0,80}(maximum|\blimit|allow|at most|\bfull\b)",
        )
    ),
    symptom=Words((r"shipping", r"\blag\b|behind|slow|can.?not keep up|not keep up|backlog")),
    step=Words((r"group\.max\.size|(max(imum)?|limit).{0,60}(group|members?)",)),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records"),
    properties={"group.max.size": str(MOST)},
)
