"""Some jobs in a queue kill the workers of its share group, and are delivered again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from benchmarks.nights.programs import mortal_share_worker

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BAD_JOBS = 60


@asynccontextmanager
async def _mailing(field: Field, *options: str) -> AsyncIterator[Begin]:
    """Run a queue with two workers. The yielded function writes bad jobs between the good ones.

    Args:
        options: further arguments of the workers.
    """
    await field.topic("mails", partitions=2)
    group = ("--entity-type", "groups", "--entity-name", "mailers")
    await field.tool("kafka-configs", "--alter", *group, "--add-config", "share.auto.offset.reset=earliest")
    worker = (sys.executable, "-m", mortal_share_worker.__name__, field.cluster.bootstrap, "mails", "mailers")
    async with (
        field.producer("mails", rate=30, name="newsletter"),
        field.program(*worker, "mailer-1", *options) as first,
        field.program(*worker, "mailer-2", *options) as second,
    ):

        async def work() -> bool:
            return all("working" in each.output.read_text() for each in (first, second))

        await field.until(work, "both workers have jobs")
        await asyncio.sleep(6)

        async def begin() -> None:
            for _ in range(4):
                await field.writes("mails", BAD_JOBS // 4, value=mortal_share_worker.BAD)
                await asyncio.sleep(1)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a bad job ends the process of its worker."""
    async with _mailing(field) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the workers notice bad
    jobs, and put them aside.
    """
    async with _mailing(field, "--careful") as begin:
        yield begin


NIGHT = Night(
    name="a share job that kills its workers",
    source="https://github.com/apache/kafka/pull/21092",
    story="Some mails in a queue crash the process that works on them. Such a job goes back to the queue, with the "
    "other jobs that the worker had, and the next worker dies of it. The workers are started again, take jobs and die, "
    "until the brokers give a job up after some deliveries; meanwhile the queue grows.",
    make=_make,
    twin_story="The same bad mails, and workers that put them aside.",
    twin=_twin,
    # The brokers know that members of the group go and others come. What killed them is in the workers' own logs.
    cause=Words(
        (
            r"mailers",
            r"(member|worker|consumer|client|mailer-\d|process).{0,160}"
            r"(crash|restart|\bdie|died|killed|start\w* again|again and again|come and go|came and went|replac|"
            r"over and over|times|one after another|flap|rejoin|new ones?)|crash",
            r"\blogs?\b|job|record|poison|crash|deliver",
        )
    ),
    symptom=Words((r"mailers|mails", r"\blag|behind|grow|member|deliver|unread|no progress|empty|not (read|acknowl)")),
    step=Words((r"\blogs?\b|worker|reject|poison|crash|release|restart|delivery|member|share\.",)),
    wrong=(r"reset group mailers.*(latest|\bend\b)", r"delete (group|topic|records)"),
    unknowable=True,
    # Share groups are available since 4.2 without enabling a preview.
    versions=("4.3", "4.4"),
)
