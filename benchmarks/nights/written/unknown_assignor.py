"""A deployment configures a server assignor that the brokers lack: they refuse each member, so the group stays
empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _deployed(field: Field, assignor: str) -> AsyncIterator[Begin]:
    """Run a group with the consumer protocol. The yielded function replaces its member by a new release.

    Args:
        assignor: the new release's group.remote.assignor.
    """
    await field.topic("orders", partitions=6)
    async with AsyncExitStack() as clients:
        await clients.enter_async_context(field.producer("orders", rate=40))
        old = await clients.enter_async_context(
            field.consumer("orders", "billing", name="billing-1", protocol="consumer", group_remote_assignor="uniform")
        )
        await field.reads("billing", "orders")
        await asyncio.sleep(5)

        async def begin() -> None:
            """Stop the old member, and start the new one."""
            await old.stop()
            await clients.enter_async_context(
                field.consumer(
                    "orders", "billing", name="billing-2", protocol="consumer", group_remote_assignor=assignor
                )
            )

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a new release configures the sticky assignor of
    the classic protocol, which brokers do not have.
    """
    async with _deployed(field, "sticky") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a new release configures
    the other one of the two assignors that brokers have.
    """
    async with _deployed(field, "range") as begin:
        yield begin


NIGHT = Night(
    name="an assignor that brokers lack",
    source="https://cwiki.apache.org/confluence/display/KAFKA/"
    "KIP-848%3A+The+Next+Generation+of+the+Consumer+Rebalance+Protocol",
    story="A new release of a service asked for the server assignor `sticky`, as it had with the classic protocol; "
    "brokers have `uniform` and `range`. Each heartbeat was refused with UNSUPPORTED_ASSIGNOR, which the process "
    "logged and nobody saw: the group was empty, its lag grew, and the brokers keep nothing of clients that they "
    "refuse.",
    make=_make,
    twin_story="The same deployment with `range`, which brokers have: the group is empty for a moment, then reads on.",
    twin=_twin,
    # The brokers show that the group is empty. Only the client's log shows that it tries to join, and why it is
    # refused.
    cause=Words(
        (
            r"billing",
            r"no members?|empty|left|nobody|without (a )?members?|lost its",
            r"assignor|refus|reject|(client|application|member|process|service).{0,40}\blogs?\b|\blogs?\b.{0,40}(client|application|member|process|service)|"
            r"no trace|cannot (tell|know|say)|can't (tell|know|say)|do(es)? not (tell|know|say)",
        )
    ),
    symptom=Words((r"billing", r"no members?|empty|left|nobody|lag|without")),
    step=Words((r"\blogs?\b|start|client|application|assignor",)),
    wrong=(r"reset group billing", r"delete (group|topic|records)", r"add acl"),
    unknowable=True,
    versions=("4.3", "4.4"),
)
