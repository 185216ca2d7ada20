"""Brokers do not convert groups while they have members: pods with the new group protocol can't join the old ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

WORK_MS = 14
"""One member processes about 70 records per second, and 100 come in."""


@asynccontextmanager
async def _upgrading(field: Field, stopped: int) -> AsyncIterator[Begin]:
    """Run two members of the classic protocol. The yielded function stops some of them and starts as many with the
    consumer protocol.

    Args:
        stopped: how many members are replaced: 1 or 2.
    """
    await field.topic("orders", partitions=4)
    async with (
        AsyncExitStack() as later,
        field.producer("orders", rate=100, name="shop"),
        field.consumer("orders", "billing", name="billing-1", work_ms=WORK_MS) as first,
        field.consumer("orders", "billing", name="billing-2", work_ms=WORK_MS) as second,
    ):
        await field.reads("billing", "orders")
        await asyncio.sleep(10)

        async def begin() -> None:
            for each in (second, first)[:stopped]:
                await each.stop()
            for number in (2, 1)[:stopped]:
                member = field.consumer(
                    "orders", "billing", name=f"billing-{number}", work_ms=WORK_MS, protocol="consumer"
                )
                await later.enter_async_context(member)
            await asyncio.sleep(8)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a rolling update to the consumer protocol,
    whose first new pod can't join while a pod with the classic protocol is a member.
    """
    async with _upgrading(field, 1) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: all members stop before
    the first one starts with the consumer protocol, so the empty group is converted.
    """
    async with _upgrading(field, 2) as begin:
        yield begin


NIGHT = Night(
    name="a protocol refused while the old one runs",
    source="https://github.com/apache/kafka/pull/15411",
    story="A service is updated pod by pod to the new group protocol. The brokers' group.consumer.migration.policy is "
    "disabled, so they do not convert a group that has members: the updated pod is refused again and again, the "
    "rollout waits for it, and the pod that is left is too slow for the whole topic.",
    make=_make,
    twin_story="All pods are stopped before the update, and the empty group may change its protocol: both join.",
    twin=_twin,
    cause=Words(
        (
            r"billing",
            r"group\.consumer\.migration\.policy|migration|group\.protocol|(classic|consumer|new|group) protocol",
            r"disabled|refus|reject|cannot|can't|not (be )?(allowed|accepted|join|convert|upgrad)|fail",
        )
    ),
    symptom=Words(
        (r"billing", r"\blag|behind|(one|1|fewer|lost|left|gone|missing).{0,40}member|member.{0,40}(left|lost)")
    ),
    step=Words(
        (
            r"migration\.policy|group\.protocol|classic|\bstop\b.{0,60}(all|members|old|remaining)|"
            r"(all|old|remaining).{0,30}members?|bidirectional|"
            r"start.{0,40}member|more members|member.{0,60}(log|start)",
        )
    ),
    wrong=(r"reset group billing", r"delete (group|topic|records)"),
    properties={"group.consumer.migration.policy": "disabled"},
    # The consumer protocol is available without preview since 4.0.
    versions=("4.3", "4.4"),
)
