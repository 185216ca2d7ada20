"""An autoscaler starts members when the lag grows and stops them when it falls: the group reassigns its partitions
again and again, instead of working.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

GROUP = "resizer"
WORK_MS = 12.0
EVERY = 4.0
"""Seconds between two decisions of the autoscaler."""


@asynccontextmanager
async def _scaling(field: Field, *, settles: bool) -> AsyncIterator[Begin]:
    """Run two members that can process all records. The yielded function starts two additional members.

    Args:
        settles: whether the additional members stay; otherwise they stop and start again and again.
    """
    await field.topic("images", partitions=6)
    async with AsyncExitStack() as stack, field.rounds() as begin_round:

        async def member(number: int) -> Client:
            reader = field.consumer("images", GROUP, name=f"{GROUP}-{number}", work_ms=WORK_MS, batch=60)
            return await stack.enter_async_context(reader)

        await stack.enter_async_context(field.producer("images", rate=150))
        members = [await member(0), await member(1)]
        await field.reads(GROUP, "images")
        pods = [2, 3]

        async def scale() -> None:
            while True:
                more = [await member(number) for number in pods]
                members.extend(more)
                if settles:
                    return
                await asyncio.sleep(EVERY)
                for each in more:
                    await each.stop()
                await asyncio.sleep(EVERY)

        async def begin() -> None:
            before = _given(members[0])
            scaling = begin_round(scale())
            await asyncio.sleep(7 * EVERY)
            given = _given(members[0]) - before
            if (given >= 3) == settles:
                raise RuntimeError(f"member 0 was given partitions {given} times")
            if scaling.done() and not settles:
                raise RuntimeError("the autoscaler has stopped")

        yield begin


def _given(member: Client) -> int:
    """Return how often a member was assigned partitions."""
    return sum("assigned" in each for each in member.errors())


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: two additional members join and leave the group
    again and again.
    """
    async with _scaling(field, settles=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: two additional members
    join the group once, and stay.
    """
    async with _scaling(field, settles=True) as begin:
        yield begin


NIGHT = Night(
    name="an autoscaler up and down",
    source="https://github.com/numaproj/numaflow/issues/1529",
    story="An autoscaler watched the lag of a group. Each pod that came made the group rebalance, in which nobody "
    "worked, so that the lag grew and more pods came; when it fell they went, and the group rebalanced again. Members "
    "spent half of their time in rebalances, and the group was behind with more pods than it had ever needed.",
    make=_make,
    twin_story="The autoscaler adds the two members once, and leaves it at that.",
    twin=_twin,
    cause=Words(
        (
            r"resizer",
            r"members?\b|scal|\bpods?\b|instances?\b",
            r"\bjoin|\bleav|\bleft\b|\bcom(e|es|ing)\b|scal|start|churn|number of members|rebalanc.{0,80}members?|"
            r"members?.{0,80}rebalanc",
            r"again|repeated|often|\btimes\b|\bevery \d|keeps|constant|flap|never settle|up and down|in a row|"
            r"come and go|comes and goes|frequent|\d+ rebalances",
        )
    ),
    symptom=Words(
        (r"resizer", r"rebalanc|\blag\b|behind|unstable|not stable|members? (chang|come|go|left|join)|keep up"),
    ),
    step=Words(
        (
            r"scal|static member|group\.instance\.id|instance.?id|cooperative|cool.?down|stabili|fixed number|"
            r"keep .{0,40}members|same number|consumer protocol|group\.protocol|"
            r"(why|look|check).{0,80}(members?|pods?|clients?|instances?).{0,60}(leave|restart|com|go|end|stop)",
        )
    ),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records"),
)
