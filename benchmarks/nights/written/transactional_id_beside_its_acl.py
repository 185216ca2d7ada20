"""A service begins to number its transactional ids, and its ACL is for one literal id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _release(field: Field, pattern: str) -> AsyncIterator[Begin]:
    """Run alice's service, which writes orders in transactions. The yielded function replaces it by a release that
    numbers its transactional ids.

    Args:
        pattern: the pattern type of the ACL for transactional ids, ``literal`` or ``prefixed``.
    """
    await field.topic("orders", partitions=3)
    await field.topic("clicks", partitions=3)
    alice = ("--add", "--allow-principal", "User:alice", "--operation", "Write", "--operation", "Describe")
    await field.tool("kafka-acls", *alice, "--topic", "orders")
    await field.tool("kafka-acls", *alice, "--transactional-id", "shop", "--resource-pattern-type", pattern)
    async with (
        field.producer("orders", rate=40, name="shop", user="alice", transactional_id="shop") as old,
        field.producer("clicks", rate=40),
        field.consumer("orders", "billing"),
        AsyncExitStack() as stack,
    ):
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            await old.tell(rate=0)  # its last transaction ends within a second
            await asyncio.sleep(4)
            await old.stop()
            new = field.producer("orders", rate=40, name="shop", user="alice", transactional_id="shop-0")
            await stack.enter_async_context(new)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the ACL is for the id ``shop`` alone."""
    async with _release(field, "literal") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the ACL is for all ids
    that start with ``shop``.
    """
    async with _release(field, "prefixed") as begin:
        yield begin


NIGHT = Night(
    name="transactional id beside its ACL",
    source="https://github.com/kafka-ops/julie/issues/503",
    story="A service wrote in transactions as shop, which a literal ACL allowed. Its next release used a library that "
    "numbers its producers, shop-0 and so on: brokers refused these ids, the service tried again and again, and no "
    "order arrived, although alice had every ACL for the topic.",
    make=_make,
    twin_story="The same release, with an ACL for the prefix shop.",
    twin=_twin,
    cause=Words(
        (
            r"transactional.?id|transactional",
            r"\bacls?\b|authori[sz]|allow|permi|den(y|ies|ied)\b|may (not|only)",
            r"shop|alice|orders",
        )
    ),
    symptom=Words(
        (r"orders|billing|shop", r"no (new )?(record|write|transaction)|silent|idle|stopp|stand|quiet|ended")
    ),
    step=Words((r"transactional", r"acl|allow|permi|prefix")),
    wrong=(r"delete topic", r"reset group", r"(delete|remove|drop) acl", r"allow\.everyone", r"principal=?\s*User:\*"),
    security="acls",
)
