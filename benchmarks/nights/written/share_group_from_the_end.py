"""A new share group begins at the end of its topic: the jobs that were written before are never processed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

WAITING = 5_000
WORKERS = 2


@asynccontextmanager
async def _queue(field: Field) -> AsyncIterator[Begin]:
    """Write jobs for some time. The yielded function deploys the workers of the share group that should process
    them.
    """
    await field.topic("mails", partitions=3)
    await field.writes("mails", WAITING)
    async with AsyncExitStack() as later, field.producer("mails", rate=10, name="newsletter"):

        async def begin() -> None:
            for _ in range(WORKERS):
                await later.enter_async_context(
                    field.java("kafka-console-share-consumer", "--topic", "mails", "--group", "mailers")
                )
            await asyncio.sleep(10)  # the workers join

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a share group gets its first member while
    share.auto.offset.reset is not set for it, so it begins at the end; its clients have no such setting.
    """
    async with _queue(field) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a share group gets its
    first member after share.auto.offset.reset was set to the earliest offset.
    """
    group = ("--entity-type", "groups", "--entity-name", "mailers")
    await field.tool("kafka-configs", "--alter", *group, "--add-config", "share.auto.offset.reset=earliest")
    async with _queue(field) as begin:
        yield begin


NIGHT = Night(
    name="a share group that begins at the end",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-932%3A+Queues+for+Kafka",
    story="Jobs were written to a topic before the workers of a new share group were deployed. Where a share group "
    "begins is a config of the group at the brokers, share.auto.offset.reset, not of its clients, and it is the end "
    "unless somebody sets it: thousands of jobs stayed undone, and the group showed members, work and no lag.",
    make=_make,
    twin_story="The config was set to earliest before the first worker came: the same jobs are done within seconds.",
    twin=_twin,
    cause=Words(
        (
            r"mailers",
            r"latest|(at|from) the end|auto\.offset\.reset|start(ed|s)? at|beg(an|ins|un) at|start offset",
            r"earlier|before|older|existing|unread|never (read|deliver)|not (read|deliver)|skip|miss|\d+ records",
        )
    ),
    symptom=Words(
        (r"mailers|mails", r"unread|never (read|deliver)|not (read|deliver)|skip|miss|new (share )?group|\bend\b")
    ),
    step=Words((r"share\.auto\.offset\.reset|reset|earliest",)),
    wrong=(r"delete topic mails", r"delete.?records", r"to latest", r"share\.auto\.offset\.reset=latest"),
    # Share groups are available since 4.2 without enabling a preview.
    versions=("4.3", "4.4"),
)
