"""A job dies in a transaction that has the offsets of its group: its successor can't learn where to begin."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PROGRAMS = "benchmarks.nights.programs"
OLD, NEW = "settling-7f3a", "settling-c91e"
"""The transactional ids of the two runs of the job, which makes one at each start."""


@asynccontextmanager
async def _killed(field: Field, *options: str) -> AsyncIterator[Begin]:
    """Run a job that settles records of a topic in transactions. The yielded function kills it, and starts it again
    with another transactional id.

    Args:
        options: of the job that is killed.
    """
    await field.topic("trades", partitions=2)
    await field.topic("settled", partitions=2)
    await field.topic("orders", partitions=3)
    flow = (field.cluster.bootstrap, "trades", "settled", "settling")
    file = field.cluster.directory / "stop"
    first = (sys.executable, "-m", f"{PROGRAMS}.dying_settler", *flow, OLD, str(file), *options)
    second = (sys.executable, "-m", f"{PROGRAMS}.settler", *flow, NEW, "--starts-again")
    async with (
        field.producer("trades", rate=60),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.program(*first) as job,
        AsyncExitStack() as more,
    ):
        await field.reads("settling", "trades")
        await field.reads("billing", "orders")

        async def has_stopped() -> bool:
            return "stopped" in job.output.read_text()

        async def begin() -> None:
            file.touch()
            await field.until(has_stopped, "the job has stopped", within=90)
            await job.kill()
            await more.enter_async_context(field.program(*second))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """The job is killed before it commits its last transaction."""
    async with _killed(field, "--midway") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The job is killed after it has committed its last transaction."""
    async with _killed(field) as begin:
        yield begin


NIGHT = Night(
    name="offsets in an open transaction",
    source="https://github.com/twmb/franz-go/issues/581",
    story="A job that reads and writes in transactions died between two steps of one, and each start of it makes a new "
    "transactional id, so nobody ended the transaction. It had the offsets of the job's group: brokers refused to tell "
    "them with UNSTABLE_OFFSET_COMMIT, and the new run was a member of its group that got its partitions and read "
    "nothing, for as long as the transaction may stay open.",
    make=_make,
    twin_story="The job is killed just after a commit, and its next run goes on.",
    twin=_twin,
    cause=Words(
        (
            r"transaction",
            r"\bopen\b|ongoing|unfinished|hang|\bhung\b|not (yet )?(ended|committed|completed|finished)|pending|never|"
            r"abandon|\bstill\b|unstable",
            r"settl|trades",
        )
    ),
    symptom=Words((r"settling|trades", r"\blag\b|behind|commit|stuck|progress|stands still|stopped|reads nothing")),
    step=Words((r"\babort",)),
    wrong=(r"reset group", r"delete (topic|group|records)", rf"(abort|fence)\b.*{NEW}"),
    # It is true that the killed member was still in its group for some seconds.
    fine=(r"settling.*(rebalanc|joined|member.*(left|lost|gone|expired))",),
)
