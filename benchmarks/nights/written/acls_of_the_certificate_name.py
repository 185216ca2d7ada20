"""The ACLs of a service that logs in by password are written again under the name of its certificate."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

OLD, NEW = "User:alice", "User:CN=alice"


@asynccontextmanager
async def _shop(field: Field, *, removes: bool) -> AsyncIterator[Begin]:
    """Run a service of alice, who logs in by password, and may write orders. The yielded function gives her ACLs to the
    name in a certificate.

    Args:
        removes: whether the ACLs of the name by which she logs in are removed then.
    """
    await field.topic("orders", partitions=3)
    await field.topic("clicks", partitions=3)
    may = ("--operation", "Write", "--operation", "Describe", "--topic", "orders")
    await field.tool("kafka-acls", "--add", "--allow-principal", OLD, *may)
    await field.tool(
        "kafka-acls", "--add", "--allow-principal", "User:bob", "--consumer", "--topic", "*", "--group", "*"
    )
    async with (
        field.producer("orders", rate=60, name="shop", user="alice"),
        field.producer("clicks", rate=60, name="web"),
        field.consumer("orders", "billing", user="bob"),
        field.consumer("clicks", "stats", user="bob"),
    ):
        await field.reads("billing", "orders")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            await field.tool("kafka-acls", "--add", "--allow-principal", NEW, *may)
            if removes:
                await field.tool("kafka-acls", "--remove", "--force", "--allow-principal", OLD, *may)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the ACLs move to the certificate's name."""
    async with _shop(field, removes=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the certificate's name
    gets the same ACLs, and those of the login stay.
    """
    async with _shop(field, removes=False) as begin:
        yield begin


NIGHT = Night(
    name="ACLs of the certificate's name",
    source="https://github.com/strimzi/strimzi-kafka-operator/issues/825",
    story="An operator of users writes ACLs for the principal CN=alice if a user has a certificate, and for alice if "
    "she has a password. After the declaration of alice was changed, her ACLs stood under CN=alice, while her shop "
    "still logged in by password. From then on the shop was not allowed to write orders.",
    make=_make,
    twin_story="The certificate's name gets the same ACLs, and the old ones stay for the time of the migration.",
    twin=_twin,
    cause=Words(
        (
            r"alice",
            r"\bacls?\b|permission|allow|authori[sz]|permitted|access",
            r"CN=|principal|remov|delet|revok|drop|no longer|lost|missing|gone|lacks|without|no acl",
        )
    ),
    symptom=Words((r"orders", r"no (new )?(record|write)|silent|idle|stopp|stand|not grow|nothing|quiet|ended")),
    step=Words((r"\bacl", r"alice")),
    wrong=(r"(delete|drop|remove) acl .*bob", r"delete topic", r"reset group", r"\* .*allow|allow .*User:\*"),
    security="acls",
)
