"""A release of a service numbers its transactional ids, and the ACL allows only the id without a number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_ENDED = 3.0
"""Seconds in which a producer without new records commits its last transaction."""


async def _allow(field: Field, user: str, *what: str) -> None:
    """Add ACLs that allow a user some operations. what: the operations and the resource, as arguments of kafka-acls."""
    await field.tool("kafka-acls", "--add", "--allow-principal", f"User:{user}", *what)


@asynccontextmanager
async def _released(field: Field, pattern: str) -> AsyncIterator[Begin]:
    """Run a service that writes in transactions. The yielded function replaces the service by its next release, which
    has another transactional id.

    Args:
        pattern: the pattern type of the ACL for the transactional id: literal or prefixed.
    """
    await field.topic("payments", partitions=3)
    await _allow(field, "alice", "--operation", "Write", "--topic", "payments")
    by_name = ("--transactional-id", "payments", "--resource-pattern-type", pattern)
    await _allow(field, "alice", "--operation", "Write", "--operation", "Describe", *by_name)
    await _allow(field, "bob", "--consumer", "--topic", "payments", "--group", "ledger")
    async with (
        field.producer("payments", rate=60, user="alice", transactional_id="payments") as former,
        field.consumer("payments", "ledger", user="bob"),
        AsyncExitStack() as running,
    ):
        await field.reads("ledger", "payments")

        async def begin() -> None:
            """Stop the former release after its last transaction, and start the next one."""
            await former.tell(rate=0)
            await asyncio.sleep(_ENDED)
            await former.stop()
            following = field.producer("payments", rate=60, user="alice", transactional_id="payments-0")
            await running.enter_async_context(following)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a service's next release has a number in its
    transactional id, and the ACL allows only the id without a number.
    """
    async with _released(field, "literal") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service's next
    release has a number in its transactional id, and the ACL allows all ids that begin with the former one.
    """
    async with _released(field, "prefixed") as begin:
        yield begin


NIGHT = Night(
    name="transactional ids with a suffix",
    source="https://github.com/kafka-ops/julie/issues/503",
    story="A service came out with a pool of transactional producers, whose ids are a prefix with a number, as Spring "
    "makes them. Its ACL was a literal one for the id without a number, so the brokers refused each transaction: "
    "nothing was written to its topic any more, and only the service's own log said why.",
    make=_make,
    twin_story="The same release under an ACL for the prefix.",
    twin=_twin,
    # No API shows which transactional id a refused producer asked for, nor that one was refused. The console can see
    # that the writes to the topic ended, and the ACLs, and can point to the logs of the producer or the authorizer.
    cause=Words(
        (
            r"payments",
            r"transactional|authoriz|\bacls?\b|refus|denied|permission"
            r"|(producer|client|application|service|writer).{0,80}\blogs?\b"
            r"|\blogs?\b.{0,80}(producer|client|application|service|writer)",
        )
    ),
    symptom=Words(
        (
            r"payments",
            r"no (new |more )?(writes?|records?)|writes? .{0,20}(stop|end)|stopped|silent|quiet|\bidle\b"
            r"|nothing (is |was )?(written|arrives)|stands? still",
        )
    ),
    step=Words((r"transactional|\bacls?\b|authoriz|\blogs?\b",)),
    wrong=(
        r"(drop|delete) acl",
        r"add acl .*(user:\*|principal=\*)",
        r"reset group",
        r"delete (group|topic|records)",
        r"set topic payments retention",
    ),
    unknowable=True,
    security="acls",
)
