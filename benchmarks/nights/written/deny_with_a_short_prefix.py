"""An ACL that denies one team's topics has a prefix that also matches another team's topic; DENY overrides every
ALLOW.
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


@asynccontextmanager
async def _shutting_out(field: Field, prefix: str) -> AsyncIterator[Begin]:
    """Run bob's clients, which write and read payroll, another user's writer to payroll, and alice's clients of
    pay.transfers. The yielded function denies bob all topics with a prefix.

    Args:
        prefix: of the topics that are denied to bob.
    """
    for topic, user in (("payroll", "bob"), ("pay.transfers", "alice")):
        await field.topic(topic, partitions=3)
        of_user = ("--allow-principal", f"User:{user}")
        for operation in ("Read", "Write"):
            await field.tool("kafka-acls", "--add", *of_user, "--operation", operation, "--topic", topic)
        await field.tool("kafka-acls", "--add", *of_user, "--operation", "Read", "--group", "*")
    async with (
        field.producer("payroll", rate=40, name="time-clock", user="bob"),
        field.producer("payroll", rate=20, name="overtime", user="admin"),
        field.consumer("payroll", "payslips", user="bob", session_timeout_ms=_PATIENCE_MS),
        field.producer("pay.transfers", rate=40, name="bank", user="alice"),
        field.consumer("pay.transfers", "ledger", user="alice", session_timeout_ms=_PATIENCE_MS),
    ):
        await field.reads("payslips", "payroll")
        await field.reads("ledger", "pay.transfers")

        async def begin() -> None:
            pattern = ("--topic", prefix, "--resource-pattern-type", "prefixed")
            await field.tool("kafka-acls", "--add", "--deny-principal", "User:bob", "--operation", "All", *pattern)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an ACL denies topics with a prefix that lacks
    its dot, so it also matches the topic payroll of another team.
    """
    async with _shutting_out(field, "pay") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an ACL denies topics with
    a prefix that ends with a dot, so it matches no topic of another team.
    """
    async with _shutting_out(field, "pay.") as begin:
        yield begin


NIGHT = Night(
    name="a deny with a short prefix",
    source="https://github.com/streamthoughts/jikkou/issues/310",
    story="To keep one user out of the payments somebody added an ACL that denies him all topics of their prefix. The "
    "prefix was a letter too short and fitted the topic that he works with. He had an ALLOW for that by name, and "
    "everybody took the exact one to be the stronger one; but a DENY wins over every ALLOW, in whatever order they "
    "were made. His producer and his consumers were refused, and who looked up his rights found them all there.",
    make=_make,
    twin_story="The same DENY with the whole prefix, which fits no topic that he uses.",
    twin=_twin,
    cause=Words((r"payroll|\bbob\b", r"\bden(y|ies|ied|ying)\b", r"\bacls?\b|prefix|authori[sz]|rule")),
    symptom=Words(
        (
            r"payroll|payslips|\bbob\b",
            r"\blag|behind|no members?|empty|refus|denied|stands? still|not (read|commit|written)|no (new )?records"
            r"|stopp|silent|fell|no more",
        )
    ),
    step=Words((r"\bacls?\b|\bdeny\b", r"remov|delet|take.{0,20}(back|away)|narrow|replac|longer prefix|literal")),
    wrong=(
        r"super\.users",
        r"allow\.everyone\.if\.no\.acl\.found=true",
        r"reset group",
        r"delete group",
        r"delete topic",
        r"(delete|remove) acl.{0,80}\ballow\b",
    ),
    security="acls",
)
