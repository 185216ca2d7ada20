"""A tool sets a group's offsets back to the first record: the group reads everything again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_RECORDS = 8000
_WORK_MS = 10.0
"""Milliseconds of work for a record, so about 85 records per second: the group reaches the end again only after the
console has stopped watching.
"""


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the offsets of a group that has read everything
    are set back to the first record between two runs of its member.
    """
    await field.topic("orders", partitions=3)
    await field.writes("orders", _RECORDS)
    async with (
        field.producer("orders", rate=20),
        field.consumer("orders", "billing", auto_commit_interval_ms=1000) as member,
    ):
        await field.reads("billing", "orders")
        await asyncio.sleep(8)  # the group reaches the end
        await member.tell(work_ms=_WORK_MS)

        async def is_reset() -> bool:
            """Run the tool, which refuses while the coordinator counts the member as alive. Return whether it
            succeeded.
            """
            to_start = ("--topic", "orders", "--reset-offsets", "--to-earliest", "--execute")
            return "Error" not in await field.tool(
                "kafka-consumer-groups", "--group", "billing", *to_start, check=False
            )

        async def begin() -> None:
            """Stop the member, reset the group with the wrong option, and start the member."""
            await member.stop()
            await field.until(is_reset, "the group is set back", within=90)
            await member.start()

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a new group begins at the
    first record, as intended, in addition to the old group.
    """
    await field.topic("orders", partitions=3)
    await field.writes("orders", _RECORDS)
    async with field.producer("orders", rate=20), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        await asyncio.sleep(8)
        audit = field.consumer("orders", "audit", work_ms=_WORK_MS, auto_commit_interval_ms=1000)

        async def begin() -> None:
            """Start the new group."""
            await audit.__aenter__()

        try:
            yield begin
        finally:
            await audit.__aexit__(None, None, None)


NIGHT = Night(
    name="offsets set back to zero by a tool",
    source="https://www.darshanturakhia.com/blog/kafka-offset-reset-duplicate-payments",
    story="During a deployment somebody ran kafka-consumer-groups --reset-offsets --to-earliest --execute, where "
    "another position was meant. The group read everything again from the first record and did what it does with "
    "each: the brokers were well, the members were well, and every record had its effect twice.",
    make=_make,
    twin_story="A new group reads the topic from its first record on purpose; its lag is as large, and falls.",
    twin=_twin,
    cause=Words(
        (
            r"billing",
            r"reset|set back|moved back|went back|rewound|rewind|back ?wards?|jumped back|lower(ed)? (offset|commit)",
            r"offset|earliest|beginning|start of|first record|\d+ records",
        ),
        # The group moves, and quickly.
        never=(r"stands? still",),
    ),
    symptom=Words((r"billing", r"lag|behind|catch|again")),
    step=Words((r"catch|wait|let it|stop (its|the) members?|reset .*billing|set .*offset|duplicat|idempot|back to",)),
    wrong=(
        r"reset group billing\b.*(latest|earliest|\bend\b|\b0\b)",
        r"delete (group|topic|records)",
        r"set topic orders retention",
    ),
)
