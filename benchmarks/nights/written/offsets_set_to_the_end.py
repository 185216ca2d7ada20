"""A group was down for a while, and an operator set its offsets to the end: the group never reads the backlog."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _backlog(field: Field, *, skipped: bool) -> AsyncIterator[Begin]:
    """Run a service. The yielded function stops it for half a minute and starts it again.

    Args:
        skipped: whether the group's offsets are set to the end meanwhile.
    """
    await field.topic("pages", partitions=3)
    async with (
        field.producer("pages", rate=200),
        field.consumer("pages", "indexer", batch=100) as member,
    ):
        await field.reads("indexer", "pages")

        async def begin() -> None:
            """Stop the service, let records wait, set the offsets if wanted, and start the service."""
            await member.stop()
            await asyncio.sleep(30)  # the time for which the service is down
            if skipped:
                await field.tool(
                    "kafka-consumer-groups",
                    "--group",
                    "indexer",
                    "--topic",
                    "pages",
                    "--reset-offsets",
                    "--to-latest",
                    "--execute",
                )
            await member.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the offsets of a group that was stopped are set
    to the end before its service starts again.
    """
    async with _backlog(field, skipped=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the service of a group
    that was stopped starts again, and reads its backlog.
    """
    async with _backlog(field, skipped=False) as begin:
        yield begin


NIGHT = Night(
    name="offsets set to the end",
    source="https://geekmonks.com/kafka/alert-playbooks/offset-problems",
    story="After an operational change a consumer skipped ahead: its offsets had been moved by hand to the wrong "
    "place, past records that nobody had consumed. Lag looked well at once, and the gap was found later by those who "
    "missed the records.",
    make=_make,
    twin_story="The same stop and start, without a change of offsets: the backlog is read in a moment.",
    twin=_twin,
    cause=Words(
        (
            r"indexer",
            r"offsets?|records|position|committed",
            r"skipp|unread|never (been )?read|not (been )?read|without (being )?read|jump|passed over|"
            r"(moved|set|reset|advanced|forward)\w*\b.*\b(end|latest|ahead|forward|past|by (hand|somebody|another))|"
            r"nobody (has )?read",
        )
    ),
    symptom=Words((r"indexer", r"offsets?|committed|records", r"moved|set|reset|changed|jump|ahead|forward")),
    step=Words((r"reset (group )?.*indexer|reset offsets|offsets? .*(back|before)|read .*again",)),
    wrong=(r"delete (topic|group|records)", r"reset group indexer.*(latest|\bend\b)"),
    # In the night and in the twin, the group has no members for half a minute, and lags.
    fine=(r"indexer.*(no members?|nobody|empty|lag|behind|stopped)",),
    watch=75.0,
)
