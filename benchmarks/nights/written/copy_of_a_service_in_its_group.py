"""A copy of a service, for another environment, joins the group of the real one, and gets some of its partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _joined(field: Field, name: str, work_ms: float) -> AsyncIterator[Begin]:
    """Run two pods of a service. The yielded function adds a third member to their group.

    Args:
        name: the client id of the third member.
        work_ms: its milliseconds of work for each record.
    """
    await field.topic("invoices", partitions=6)
    await field.topic("orders", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer("invoices", rate=60),
        field.producer("orders", rate=30),
        field.consumer("orders", "shipping"),
        field.consumer("invoices", "billing", name="billing-prod-0"),
        field.consumer("invoices", "billing", name="billing-prod-1"),
    ):
        await field.reads("billing", "invoices")
        await field.reads("shipping", "orders")

        async def begin() -> None:
            third = await later.enter_async_context(field.consumer("invoices", "billing", name=name, work_ms=work_ms))

            async def is_in() -> bool:
                return any(each.get("assigned") for each in third.errors())

            await field.until(is_in, f"{name} has partitions", within=120)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a third member joins the group: a copy of the
    service for another environment, which is slow.
    """
    async with _joined(field, "billing-staging-0", 300.0) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a third member joins the
    group: one more pod of the service.
    """
    async with _joined(field, "billing-prod-2", 0.0) as begin:
        yield begin


NIGHT = Night(
    name="a copy of a service in its group",
    source="https://github.com/confluentinc/parallel-consumer/issues/96",
    story="A second reader was started with the settings of the first one, and nobody gave it a group id of its own. "
    "For brokers both are one group, so they share the partitions: part of the records went to the copy, which keeps "
    "its results elsewhere, and were never seen by the real service. No request failed, and the group was stable.",
    make=_make,
    twin_story="The service is scaled out: the third member is another pod with the same kind of name.",
    twin=_twin,
    cause=Words(
        (
            r"\bbilling\b",
            r"staging",
            r"belong|foreign|unlike|joined|\bjoins\b|new (member|client)|newcomer|stranger|since it came|"
            r"(another|different|second|other) (service|application|deployment|environment|client|name|kind|program)|"
            r"client.?ids? (differ|of)|shares? (the|its|their) (group|partitions)|same (group|group\.id)",
        )
    ),
    symptom=Words((r"\bbilling\b|invoices", r"\blag\b|behind|slow|uneven|rebalanc|fewer partitions")),
    step=Words(
        (
            r"group\.id|(another|own|different|separate) (consumer )?group|"
            r"(stop|remove|end|take out).{0,80}(staging|member|client)|(staging|member|client).{0,80}(stop|remove)|"
            r"remove member",
        )
    ),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records"),
)
