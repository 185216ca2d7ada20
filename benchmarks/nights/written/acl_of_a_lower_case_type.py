"""The ACLs of a new user begin with user: in place of User:. Brokers accept such ACLs, but they match no user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


async def _allow(field: Field, principal: str) -> None:
    """Add ACLs that let a principal read topic parcels as group shipping."""
    for resource in (("--topic", "parcels"), ("--group", "shipping")):
        await field.tool("kafka-acls", "--add", "--allow-principal", principal, "--operation", "Read", *resource)


@asynccontextmanager
async def _moved(field: Field, principal: str) -> AsyncIterator[Begin]:
    """Run a service that logs in as alice, as other services do. The yielded function creates a user for it, with ACLs,
    and deploys the service with this user.

    Args:
        principal: the principal of the ACLs for the new user.
    """
    await field.topic("parcels", partitions=3)
    await field.topic("orders", partitions=3)
    await _allow(field, "User:alice")
    await field.scram("courier")
    async with (
        AsyncExitStack() as later,
        field.producer("parcels", rate=40),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("parcels", "shipping", name="shipping-1", user="alice") as before,
    ):
        await field.reads("shipping", "parcels")
        await field.reads("billing", "orders")

        async def begin() -> None:
            await _allow(field, principal)
            await before.stop()
            after = field.consumer("parcels", "shipping", name="shipping-2", user="courier")
            await later.enter_async_context(after)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the ACLs of a new user have the principal type
    in lower case, user:.
    """
    async with _moved(field, "user:courier") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the ACLs of a new user
    have the right principal type, User:.
    """
    async with _moved(field, "User:courier") as begin:
        yield begin


NIGHT = Night(
    name="an acl of a lower-case type",
    source="https://github.com/apache/kafka/pull/5734",
    story="ACLs were added for the principal user:courier. The type of a principal is case-sensitive and no login has "
    "another one than User, but brokers take any word for a type without an error. The ACLs were in every list, and "
    "the service that was deployed with the new user was refused its topic and its group.",
    make=_make,
    twin_story="The same ACLs are added for User:courier; the service comes back with its new user.",
    twin=_twin,
    cause=Words(
        (
            r"courier",
            r"\bacls?\b|principal",
            r"lower.?case|upper.?case|capital|case.?sensitiv|\bcase\b|spell|misspelt|typo|"
            r"(principal|acl).{0,40}\btype\b|\btype\b.{0,40}(principal|user)|"
            r"(match|fit|mean|concern|appl)\w* (to )?(nobody|no ?one|no (user|login|client)|nothing)|never (match|fit)|"
            r"no (such|login|user) .{0,30}(principal|type)|"
            r"(principal|type) .{0,60}(nobody|no ?one|no (login|client|user))",
        )
    ),
    symptom=Words(
        (
            r"shipping|parcels|courier",
            r"no members?|empty|\bleft\b|nobody|without (a )?members?|\blag\b|behind|refus|den(y|ies|ied)|"
            r"not (authori[sz]ed|allowed)",
        )
    ),
    step=Words((r"User:courier|\bacls?\b.{0,120}(courier|principal)|principal.{0,120}(\bacls?\b|courier)",)),
    wrong=(
        r"allow\.everyone\.if\.no\.acl\.found=true",
        r"super\.users",
        r"User:\*",
        r"(delete|remove) acl.*User:alice",
        r"reset group",
        r"delete group",
        r"delete topic",
    ),
    security="acls",
)
