"""A new release of a service asks for a longer session timeout than the brokers allow: its group stays empty."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_FORMER_MS = 10_000
"""Milliseconds of the former release's session timeout: the default of clients before KIP-735."""
_ALLOWED_MS = 30_000
"""Milliseconds of the brokers' longest session timeout: the default of brokers before 0.10.1."""


@asynccontextmanager
async def _released(field: Field, session_ms: int) -> AsyncIterator[Begin]:
    """Run a service that reads a topic. The yielded function replaces the service by its next release.

    Args:
        session_ms: milliseconds of the next release's session timeout.
    """
    await field.topic("orders", partitions=3)
    async with (
        field.producer("orders", rate=60),
        field.consumer("orders", "billing", name="billing-1", session_timeout_ms=_FORMER_MS) as former,
        AsyncExitStack() as running,
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Stop the former release, and start the next one."""
            await former.stop()
            following = field.consumer("orders", "billing", name="billing-2", session_timeout_ms=session_ms)
            await running.enter_async_context(following)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the next release of a service has the
    present default of clients as its session timeout, 45 seconds, which brokers do not allow.
    """
    async with _released(field, 45_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the next release of a
    service has a longer session timeout than the former one, but the brokers allow it.
    """
    async with _released(field, 20_000) as begin:
        yield begin


NIGHT = Night(
    name="a session longer than allowed",
    source="https://github.com/zendesk/ruby-kafka/issues/186",
    story="The brokers allow session timeouts of at most 30 seconds. A service came out with a client that asks for "
    "more, and every attempt to join its group failed with InvalidSessionTimeout: the group had no members any more, "
    "and nobody read its topic.",
    make=_make,
    twin_story="The same release with a session timeout that is longer than before, and below the brokers' limit.",
    twin=_twin,
    # No API shows the client's timeout. The limit, below the clients' default, and the empty group do show.
    cause=Words(
        (
            r"session[ ._-]?timeout|group\.max\.session",
            r"max|longest|at most|limit|above|below|exceed|longer|shorter|allow|range|refus|reject|default",
        )
    ),
    symptom=Words(
        (
            r"billing",
            r"no (active )?members?|empty|nobody|no consumers?|not (being )?read|lag|behind|left|stopped|stands? still",
        )
    ),
    step=Words((r"session[ ._-]?timeout|group\.max\.session",)),
    wrong=(
        r"reset group",
        r"delete (group|topic|records)",
        r"set topic orders retention",
        r"group\.max\.session\.timeout\.ms\s*=\s*(\d{1,4}|[12]\d{4})\b",
    ),
    properties={"group.max.session.timeout.ms": str(_ALLOWED_MS)},
)
