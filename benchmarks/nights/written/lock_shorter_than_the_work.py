"""The lock duration of a share group is set below the time that its workers need: the broker delivers jobs again while
a worker still works on them.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

JOBS, SECONDS = 20, 20
"""Number of jobs that a worker takes at a time, and seconds from taking them to acknowledging them."""


_JOB = re.compile(r"\(\d+, \d+\)")
"""Matches partition and offset of a job in a worker's output; a worker writes a line for each poll."""


async def _set(field: Field, config: str) -> None:
    """Set a config of the group, given as ``key=value``."""
    group = ("--entity-type", "groups", "--entity-name", "mailers")
    await field.tool("kafka-configs", "--alter", *group, "--add-config", config)


@asynccontextmanager
async def _changed(field: Field, lock_ms: int) -> AsyncIterator[Begin]:
    """Run two workers that reduce a backlog, with the brokers' default lock of thirty seconds. The yielded function
    changes the group's lock duration.

    Args:
        lock_ms: milliseconds for which a job is then locked for a worker.
    """
    await field.topic("mails", partitions=3)
    await field.topic("orders", partitions=3)
    await _set(field, "share.auto.offset.reset=earliest")
    arguments = (field.cluster.bootstrap, "mails", "mailers")
    worker = (sys.executable, "-m", "benchmarks.nights.programs.share_job_worker", *arguments)
    async with (
        field.producer("mails", rate=30, name="newsletter") as newsletter,
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        await asyncio.sleep(15)  # a backlog of single jobs arises
        await newsletter.tell(rate=1)
        async with (
            field.program(*worker, "mail-worker-1", str(JOBS), str(SECONDS)) as one,
            field.program(*worker, "mail-worker-2", str(JOBS), str(SECONDS)) as two,
        ):

            def taken() -> str:
                return one.output.read_text() + two.output.read_text()

            await asyncio.sleep(30)  # the first jobs are acknowledged

            async def begin() -> None:
                """Change the lock, and wait until each worker has taken jobs with it twice."""
                before = taken().count("[(")
                await _set(field, f"share.record.lock.duration.ms={lock_ms}")

                async def have_gone_on() -> bool:
                    return taken().count("[(") >= before + 4

                await field.until(have_gone_on, "the workers have taken jobs twice", 4 * SECONDS)
                jobs = _JOB.findall(taken())
                is_long_enough = lock_ms > SECONDS * 1000
                assert (len(jobs) == len(set(jobs))) == is_long_enough, "a job is done twice if its lock is too short"

            yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the lock duration of a share group is shortened
    to fifteen seconds, less than its workers need for a job.
    """
    async with _changed(field, 15_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the lock duration of a
    share group is made longer.
    """
    async with _changed(field, 45_000) as begin:
        yield begin


NIGHT = Night(
    name="a lock shorter than the work",
    source="https://github.com/apache/kafka/pull/20918",
    story="Consumers of a share group worked longer on what they had taken than the brokers kept it locked for them. "
    "When a lock ran out its record was given to somebody else, the acknowledgement came too late and was refused, "
    "and the same jobs were done again and again, until they were given up.",
    make=_make,
    twin_story="The same setting is changed to more than the workers need, and the backlog gets smaller.",
    twin=_twin,
    cause=Words(
        (
            r"mailers",
            r"lock|acquisition|acquir",
            r"short|less than|below|longer|expir|r[au]n out|time|too (soon|early|late)|again|redeliver|lowered|\bcut\b|"
            r"chang|reduc|before",
        )
    ),
    symptom=Words(
        (
            r"mailers|mails",
            r"\blag\b|behind|stand|stuck|stall|progress|redeliver|again|not (done|acknowledg|finish|move|advance)|grow",
        )
    ),
    step=Words((r"share\.record\.lock\.duration|lock|renew|max\.poll\.records|fewer|smaller batch",)),
    wrong=(
        r"delete (topic|group|records)",
        r"reset .*mailers",
        r"share\.record\.lock\.duration\.ms=1[0-5]000\b",
        r"max\.record\.locks",
    ),
    watch=50.0,
    # Share groups are available since 4.2 without enabling a preview.
    versions=("4.3", "4.4"),
)
