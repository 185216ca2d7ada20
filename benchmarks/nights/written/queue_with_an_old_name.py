"""Workers of a share group are deployed with the name of a consumer group, but a name belongs to one kind of group."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _moving(field: Field, *, cleared: bool) -> AsyncIterator[Begin]:
    """Run two consumers that send mails. The yielded function replaces them by workers of a share group with the same
    name.

    Args:
        cleared: whether to delete the consumers' group first, and let the share group begin at the earliest offset.
    """
    await field.topic("mails", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer("mails", rate=25, name="newsletter"),
        field.consumer("mails", "mailers", name="mailer-1") as first,
        field.consumer("mails", "mailers", name="mailer-2") as second,
    ):
        await field.reads("mailers", "mails")
        await asyncio.sleep(8)

        async def begin() -> None:
            await first.stop()
            await second.stop()
            if cleared:
                await field.tool("kafka-consumer-groups", "--delete", "--group", "mailers")
                group = ("--entity-type", "groups", "--entity-name", "mailers")
                await field.tool("kafka-configs", "--alter", *group, "--add-config", "share.auto.offset.reset=earliest")
            for number in (1, 2):
                arguments = (field.cluster.bootstrap, "mails", "mailers", f"mail-worker-{number}")
                worker = (sys.executable, "-m", "benchmarks.nights.programs.share_worker", *arguments)
                await later.enter_async_context(field.program(*worker))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: workers of a share group are deployed under the
    name of a consumer group that still exists, with its committed offsets.
    """
    async with _moving(field, cleared=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: workers of a share group
    are deployed under the name of a consumer group that was deleted first.
    """
    async with _moving(field, cleared=True) as begin:
        yield begin


NIGHT = Night(
    name="a queue with an old name",
    source="https://github.com/apache/kafka/pull/17039",
    story="A service was moved from a consumer group to a share group and kept the group's name. A name belongs to "
    "one kind of group as long as that group exists, and the old one exists while it has commits: each heartbeat of "
    "the new workers was answered with GROUP_ID_NOT_FOUND, of a group that every tool lists. No mail was sent, "
    "and the old group showed no members and a lag that grew.",
    make=_make,
    twin_story="The old group is deleted before the workers come: they make a share group of that name, and work.",
    twin=_twin,
    # The brokers show that the consumer group is empty. Only a client's log shows that it tries to join as a member of
    # another kind of group, and is refused.
    cause=Words(
        (
            r"mailers",
            r"no members?|empty|left|nobody|without (a )?members?|lost its",
            r"share|kind of group|group type|refus|reject|(client|application|member|process|service).{0,40}\blogs?\b"
            r"|\blogs?\b.{0,40}(client|application|member|process|service)"
            r"|no trace|cannot (tell|know|say)|can't (tell|know|say)|do(es)? not (tell|know|say)",
        )
    ),
    symptom=Words((r"mailers", r"no members?|empty|left|nobody|lag|behind|without")),
    step=Words((r"\blogs?\b|start|client|application|service|another (name|group)|delete group mailers",)),
    wrong=(r"reset group mailers", r"delete topic", r"delete records", r"add acl"),
    unknowable=True,
    # Share groups are available since 4.2 without enabling a preview.
    versions=("4.3", "4.4"),
)
