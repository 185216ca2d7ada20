"""A tool applies a file of ACLs and deletes all others, among them a group's right that an operator had granted by
hand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_PATIENCE_MS = 10_000
"""Milliseconds after which the coordinator removes a member whose requests are refused."""


async def _acl(field: Field, verb: str, user: str, operation: str, *resource: str) -> None:
    force = ("--force",) if verb == "--remove" else ()
    await field.tool(
        "kafka-acls", verb, *force, "--allow-principal", f"User:{user}", "--operation", operation, *resource
    )


@asynccontextmanager
async def _applied(field: Field, user: str, group: str) -> AsyncIterator[Begin]:
    """Run the clients of two teams with ACLs; a former user has ACLs, too. The yielded function adds the ACL that is
    new in a tool's file, and deletes the ACL that the file lacks.

    Args:
        user: the user whose ACL is not in the file.
        group: the group of that ACL.
    """
    await field.topic("payments", partitions=3)
    await field.topic("parcels", partitions=3)
    for name, topic, its_group in (("alice", "payments", "booking"), ("bob", "parcels", "labels")):
        for operation in ("Read", "Write", "Describe"):
            await _acl(field, "--add", name, operation, "--topic", topic)
        await _acl(field, "--add", name, "Read", "--group", its_group)
    await _acl(field, "--add", "carol", "Read", "--topic", "payments")
    await _acl(field, "--add", "carol", "Read", "--group", "audit-2019")
    async with (
        field.producer("payments", rate=50, user="alice"),
        field.consumer("payments", "booking", user="alice", session_timeout_ms=_PATIENCE_MS),
        field.producer("parcels", rate=50, user="bob"),
        field.consumer("parcels", "labels", user="bob", session_timeout_ms=_PATIENCE_MS),
    ):
        await field.reads("booking", "payments")
        await field.reads("labels", "parcels")

        async def begin() -> None:
            """Add the ACLs that are new in the file, and delete those that it lacks."""
            await _acl(field, "--add", "bob", "Write", "--topic", "parcels.returned")
            await _acl(field, "--remove", user, "Read", "--group", group)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a tool deletes all ACLs that are not in its
    file. The file has the ACLs for alice's topic, but lacks the one for her group, which an operator once added
    by a command.
    """
    async with _applied(field, "alice", "booking") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a tool deletes all ACLs
    that are not in its file. The file lacks only the ACL of a former user, whose group no longer exists.
    """
    async with _applied(field, "carol", "audit-2019") as begin:
        yield begin


NIGHT = Night(
    name="an ACL that is not in the file",
    source="https://github.com/devshawn/kafka-gitops/issues/24",
    story="ACLs were kept in a file, and a tool made the cluster like the file: it deleted every ACL that it did not "
    "find there, among them those that others had made. One project's run took away rights of another one, whose "
    "services were refused from then on.",
    make=_make,
    twin_story="The same run, and what is deleted is the right of a user and a group that nobody uses.",
    twin=_twin,
    cause=Words(
        (
            r"booking",
            r"\bacls?\b|authori[sz]|permission|rights?\b|\bmay (not|no longer)\b|\bmay\b|allow",
            r"remov|delet|gone|no longer|lost|taken|revok|was there|missing|\bno\b.{0,40}\bacls?\b|not allow|may not|"
            r"without",
        ),
        never=(r"booking (was|has been|is) deleted",),
    ),
    symptom=Words((r"booking", r"no members?|empty|\blag\b|behind|stopp|stand|left|gone|lost|not (read|commit)|refus")),
    step=Words((r"\bacls?\b|allow|grant", r"booking|alice")),
    wrong=(
        r"super\.users",
        r"allow\.everyone\.if\.no\.acl\.found=true",
        r"grant .*User:\*",
        r"reset group",
        r"delete (topic|group|records)",
        r"(delete|remove|revoke) .*\ballow\b",
    ),
    security="acls",
)
