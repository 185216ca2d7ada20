"""The first ACL of a topic locks its clients out, on a cluster that allows every operation on resources without
ACLs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _open_cluster(field: Field) -> AsyncIterator[None]:
    """Run clients of a topic on a cluster without ACLs, where every user may do everything: alice's service writes and
    reads, another service also writes.
    """
    await field.topic("orders", partitions=3)
    async with (
        field.producer("orders", rate=20, name="web-shop"),
        field.producer("orders", rate=20, name="till", user="alice"),
        field.consumer("orders", "billing", user="alice"),
    ):
        await field.reads("billing", "orders")
        yield


async def _allow_bob(field: Field) -> None:
    """Add an ACL that lets bob, the new audit service, read the topic."""
    await field.tool("kafka-acls", "--add", "--allow-principal", "User:bob", "--operation", "Read", "--topic", "orders")


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an operator adds the first ACL of a topic, for
    one reader. Before, all users had access to the topic; now only this reader has.
    """
    async with _open_cluster(field):

        async def begin() -> None:
            await _allow_bob(field)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the users of a topic get
    ACLs of their own before another reader gets one.
    """
    async with _open_cluster(field):

        async def begin() -> None:
            await field.tool(
                "kafka-acls", "--add", "--allow-principal", "User:alice", "--operation", "All", "--topic", "orders"
            )
            await _allow_bob(field)

        yield begin


NIGHT = Night(
    name="the first acl of a topic",
    source="https://docs.aws.amazon.com/msk/latest/developerguide/msk-acls.html",
    story="The cluster has allow.everyone.if.no.acl.found=true, as a cloud vendor sets it, and no topic had an ACL. "
    "To let a new service in, somebody adds an ACL for it on one topic: from then on only this one may use "
    "the topic, and the services that wrote and read it for years are refused.",
    make=_make,
    twin_story="The user of the topic gets an ACL first, then the new service: nobody is refused.",
    twin=_twin,
    cause=Words(
        (
            r"\bacls?\b|authori[sz]|permission",
            r"orders",
            r"allow\.everyone|\bonly\b|\bbob\b|no (other|one else)|first acl|all others|everyone else"
            r"|nobody else|\balice\b",
        )
    ),
    symptom=Words((r"billing|orders", r"lag|behind|no member|empty|stopp|fell|less|refus|denied|does not read|stand")),
    step=Words((r"\bacls?\b", r"orders", r"alice|\*|add|remove|delete|grant|allow")),
    wrong=(r"super\.users", r"reset group", r"delete group", r"delete topic", r"add acl.*deny"),
    security="logins",
)
