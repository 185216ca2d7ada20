"""A static member is scaled in: the group keeps its membership and its partitions for a long session timeout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

# Static members usually have long sessions. This client allows a session of at most its max.poll.interval.ms, 5
# minutes.
_SESSION_MS = 240_000
_RESTART = 8.0
"""Seconds for which the restarting member is down."""


@asynccontextmanager
async def _three_members(field: Field) -> AsyncIterator[Client]:
    """Run a group of three static members with two partitions each. Yield the last member."""
    await field.topic("images", partitions=6)
    static: dict[str, Any] = {"session_timeout_ms": _SESSION_MS}
    async with (
        field.producer("images", rate=90),
        field.consumer("images", "resizer", name="resizer-0", instance="resizer-0", **static),
        field.consumer("images", "resizer", name="resizer-1", instance="resizer-1", **static),
        field.consumer("images", "resizer", name="resizer-2", instance="resizer-2", **static) as last,
    ):
        await field.reads("resizer", "images")

        async def has_three() -> bool:
            printed = await field.tool(
                "kafka-consumer-groups", "--describe", "--group", "resizer", "--members", check=False
            )
            return all(f"resizer-{number}" in printed for number in range(3))

        await field.until(has_three, "the group has three members", within=90)
        await asyncio.sleep(8)  # the last rebalance ends
        yield last


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the number of a group's static members is
    reduced from three to two.
    """
    async with _three_members(field) as last:

        async def begin() -> None:
            await last.stop()

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the last of a group's
    static members is restarted, and gets its partitions again.
    """
    async with _three_members(field) as last:

        async def begin() -> None:
            await last.stop()
            await asyncio.sleep(_RESTART)
            await last.start()

        yield begin


NIGHT = Night(
    name="a static member scaled in",
    source="https://github.com/thomhurst/Dekaf/issues/2226",
    story="A service with static membership was scaled from three pods to two. A static member does not leave when it "
    "ends, so the group kept its place for the whole session timeout, minutes long: it was listed as a member with "
    "its partitions, the group was stable, and a third of the topic was not read.",
    make=_make,
    twin_story="The same pod is stopped and is back after seconds, as static membership is meant: no rebalance, and a "
    "small lag that it reads at once.",
    twin=_twin,
    cause=Words(
        (
            r"resizer-2",
            r"static|instance|session",
            r"gone|left|ended|stopp|dead|away|silent|not (running|there|heard|respond|fetch|read|connected)|no longer"
            r"|does not|doesn.t|without|crash|keeps|holds|until",
        )
    ),
    symptom=Words((r"resizer", r"\blag|behind|stuck|stands? still|no progress|not (moved|read|commit)")),
    step=Words(
        (
            r"resizer|member|instance",
            r"remove|evict|kick|expel|start (it|that|the|a)|restart|bring|session\.timeout|take.{0,30}out",
        )
    ),
    wrong=(r"reset group", r"delete group", r"delete topic", r"partitions[ =]\d"),
)
