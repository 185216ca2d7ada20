"""The ACL for all groups is replaced by a prefixed ACL with a star. There the star is a plain character, and no group's
name begins with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_OF_ALICE = ("--allow-principal", "User:alice")


@asynccontextmanager
async def _prefix_of_groups(field: Field, prefix: str) -> AsyncIterator[Begin]:
    """Run alice's services, which may use every group. The yielded function replaces that ACL by a prefixed one.

    Args:
        prefix: of the groups that she may use afterwards.
    """
    await field.topic("orders", partitions=3)
    for operation in ("Read", "Write"):
        await field.tool("kafka-acls", "--add", *_OF_ALICE, "--operation", operation, "--topic", "orders")
    await field.tool("kafka-acls", "--add", *_OF_ALICE, "--operation", "Read", "--group", "*")
    async with (
        field.producer("orders", rate=40, name="till", user="alice"),
        field.consumer("orders", "billing", name="billing-1", user="alice", session_timeout_ms=10_000),
        field.consumer("orders", "billing", name="billing-2", user="alice", session_timeout_ms=10_000),
        field.consumer("orders", "audit", name="audit-1"),
    ):
        await field.reads("billing", "orders")
        await field.reads("audit", "orders")

        async def begin() -> None:
            grant = ("--operation", "Read", "--group", prefix, "--resource-pattern-type", "prefixed")
            await field.tool("kafka-acls", "--add", *_OF_ALICE, *grant)
            everything = ("--operation", "Read", "--group", "*", "--resource-pattern-type", "literal")
            await field.tool("kafka-acls", "--remove", "--force", *_OF_ALICE, *everything)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the ACL for all groups is replaced by a
    prefixed ACL with a star as its prefix, which matches no group.
    """
    async with _prefix_of_groups(field, "*") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the ACL for all groups is
    replaced by a prefixed ACL that matches the names of the user's groups.
    """
    async with _prefix_of_groups(field, "bill") as begin:
        yield begin


NIGHT = Night(
    name="an acl with a star as its prefix",
    source="https://github.com/kafka-ops/julie/issues/111",
    story="A tool that writes ACLs from a file replaced the literal ACL for all groups by a prefixed one for the group "
    "'*'. Brokers take it without a word, and it fits only groups whose names begin with a star: the consumers of "
    "this user were refused their group, while its producers and the groups of others went on.",
    make=_make,
    twin_story="The same ACL is narrowed to a prefix that the names of the user's groups have: nobody is refused.",
    twin=_twin,
    cause=Words(
        (
            r"\bacls?\b|authori[sz]|permission",
            r"billing|\bgroups?\b",
            r"prefix|remov|delet|replac|no longer|match(es)? (no|nothing|none)|no acl|lacks|lost|missing|not allowed",
        ),
    ),
    symptom=Words((r"billing", r"\blag|behind|no members?|empty|refus|denied|stands? still|not (read|commit)")),
    step=Words((r"\bacls?\b", r"billing|\bgroups?\b", r"add|grant|allow|literal|prefix")),
    wrong=(
        r"super\.users",
        r"allow\.everyone\.if\.no\.acl\.found=true",
        r"reset group",
        r"delete group",
        r"delete topic",
        r"add acl.*deny",
    ),
    security="acls",
)
