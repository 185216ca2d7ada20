"""A rolling update changes the assignor in one step: each new pod is refused while an old one is in the group."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

WORK_MS = 25.0
"""Milliseconds of work for a record: a single pod can process two thirds of the records that are written."""


@asynccontextmanager
async def _rolled(field: Field, assignor: str) -> AsyncIterator[Begin]:
    """Run two pods with the range assignor. The yielded function replaces one of them, and waits until the new pod is
    ready.

    Args:
        assignor: the new pod's assignor.
    """
    await field.topic("orders", partitions=4)

    def pod(name: str, strategy: str) -> AbstractAsyncContextManager[Client]:
        return field.consumer("orders", "billing", name=name, work_ms=WORK_MS, partition_assignment_strategy=strategy)

    async with (
        AsyncExitStack() as later,
        field.producer("orders", rate=60),
        pod("billing-1", "range"),
        pod("billing-2", "range") as replaced,
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            await replaced.stop()
            await later.enter_async_context(pod("billing-v2-2", assignor))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the first new pod of a rolling update supports
    only another assignor than the group uses.
    """
    async with _rolled(field, "cooperative-sticky") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the first new pod of a
    rolling update supports the same assignor as the old pods.
    """
    async with _rolled(field, "range") as begin:
        yield begin


NIGHT = Night(
    name="an assignor changed at once",
    source="https://github.com/confluentinc/confluent-kafka-go/issues/605",
    story="A team set cooperative-sticky in place of range and rolled it out. The brokers refuse a member that has no "
    "assignor in common with those that are there, so the first new pod never came in; the update waited for it, and "
    "the one old pod that was left had all partitions and fell behind.",
    make=_make,
    twin_story="The same pod is replaced by one with the same assignor.",
    twin=_twin,
    # Only the client sees the refusal. The console can see that the group has one member fewer than before, and that no
    # other replaced it; the reason is in the log of the missing member.
    cause=Words(
        (
            r"billing",
            r"member|consumer|client|pod",
            r"\b(2|two) (members? )?(to|→|->|before)|fewer|less than|left|lost|missing|one of (2|two)|"
            r"not (come|came) back|has (1|one) member",
            r"assign|protocol|strateg|refus|join|\blogs?\b",
        )
    ),
    symptom=Words((r"billing", r"lag|behind|slow|keep up|member|more to read")),
    step=Words((r"client|service|\blogs?\b|assign|start|member|pod|deploy",)),
    wrong=(r"reset group", r"delete (group|topic|records)", r"retention"),
    unknowable=True,
)
