"""A release changes the name of a service's group: the service reads the whole topic again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

ALREADY_READ = 9_000


@asynccontextmanager
async def _reading(field: Field, new_group: str, *, replaces: bool) -> AsyncIterator[Begin]:
    """Run a service that has read all records of a topic. The yielded function deploys a reader with a new group.

    Args:
        new_group: the name of the new group, which starts at the earliest offset.
        replaces: whether the new reader replaces the old one.
    """
    await field.topic("orders", partitions=3)
    await field.writes("orders", ALREADY_READ)
    async with (
        AsyncExitStack() as later,
        field.producer("orders", rate=25, name="shop"),
        field.consumer("orders", "billing", name="billing-pod", batch=200) as billing,
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            if replaces:
                await billing.stop()
            reader = field.consumer("orders", new_group, name=f"{new_group}-pod", work_ms=12)
            await later.enter_async_context(reader)
            await field.reads(new_group, "orders")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the group of the service is now called
    billing-service, so the brokers have no committed offsets for it.
    """
    async with _reading(field, "billing-service", replaces=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: another, new service reads
    the topic from its beginning, as it should, and the first one goes on.
    """
    async with _reading(field, "audit", replaces=False) as begin:
        yield begin


NIGHT = Night(
    name="a renamed group",
    source="https://github.com/flexprice/flexprice/pull/1575",
    story="A release changed the group.id of a service. For the brokers it is a new group without committed offsets, "
    "so it began at the earliest record and billed everything that is still in the topic a second time, while new "
    "orders waited behind the old ones. The old group stayed without members.",
    make=_make,
    twin_story="A new service with a group of its own reads the topic from its beginning; the old service goes on.",
    twin=_twin,
    cause=Words(
        (
            r"\bbilling\b(?!-)",
            r"billing-service",
            r"\bnew\b|renam|replac|instead|another name|took over|moved|earliest|beginning|from the (start|first)|"
            r"again|twice|second time|never committed|no commit",
        )
    ),
    symptom=Words((r"billing", r"\blag|behind|no (active )?members?|empty|nobody|new group|left|earliest|beginning")),
    step=Words((r"reset|offset|group\.id|old (name|group)|former|rename|\bstop\b|start \w+ again|members?",)),
    wrong=(r"delete group billing\b(?!-)", r"reset group billing-service.*(latest|\bend\b)", r"delete (topic|records)"),
    # A new reader of a long topic is behind for some minutes, which is true and falls without help.
    fine=(r"audit.{0,300}(catch|falls|falling|shrink|new group|began|started|beginning)",),
)
