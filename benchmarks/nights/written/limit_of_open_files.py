"""A broker may open only as many files as a new machine allows by default, and ends when a topic with many partitions
is created.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2
PARTITIONS = 60
FEW, ENOUGH = 16, 4096
"""Files that the broker may have open: fewer than it has open already, and more than it will ever need."""


@asynccontextmanager
async def _growing(field: Field, limit: int) -> AsyncIterator[Begin]:
    """Run topics with traffic. The yielded function limits the open files of one broker, and creates a topic with many
    partitions.

    Args:
        limit: number of files that the broker may have open from then on.
    """
    await field.topic("orders", partitions=3)
    async with field.producer("orders", rate=60), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            pid = field.cluster.pids[BROKER]
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
            await field.topic("devices", partitions=PARTITIONS)
            if limit == ENOUGH:
                await asyncio.sleep(10)
                if not _runs(pid):
                    raise RuntimeError(f"broker {BROKER} has ended")
                return

            async def has_ended() -> bool:
                return not _runs(pid)

            await field.until(has_ended, f"broker {BROKER} has ended", within=40)
            if "Too many open files" not in field.cluster.server_log(BROKER):
                raise RuntimeError(f"broker {BROKER} has ended for another reason")

        yield begin


def _runs(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a topic with many partitions is created. The
    broker reaches its limit of open files, so it can't open files for the new partitions or for a checkpoint.
    """
    async with _growing(field, FEW) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a topic with many
    partitions is created, on a broker whose limit of open files is high enough.
    """
    async with _growing(field, ENOUGH) as begin:
        yield begin


NIGHT = Night(
    name="a limit of open files",
    source="https://github.com/cloudfoundry-community/kafka-boshrelease/pull/20",
    story="A broker ran with the limit of 1024 open files that its machine had by default. It went well until a topic "
    "with many partitions was created: the broker could not open their files, took its disk for broken, and ended. "
    "When it was started, it ended again.",
    make=_make,
    twin_story="The same topic is created while the limit of the broker is high enough.",
    twin=_twin,
    # No API tells why a process has ended, or how many files it may open: the broker's own log has it.
    cause=Words(
        (
            r"broker 2\b",
            r"\bdown\b|\bgone\b|\bleft\b|offline|missing|unreachable|not (there|running|answer|registered)|fenced|"
            r"ended|stopped|crash|lost|no longer",
            r"open files|file (descriptor|handle)|\bnofile\b|ulimit|its? (own )?logs?\b|server\.log|log file|"
            r"(look|check|see).{0,60}(log|machine|host|disk|process)|cannot (be )?(known|tell|see|say)|"
            r"(does|do) not (know|tell|say)|no api",
        )
    ),
    symptom=Words(
        (
            r"broker 2\b|\b2\b",
            r"\bdown\b|\bgone\b|\bleft\b|offline|missing|unreachable|not (there|running|answer|registered)|fenced|"
            r"ended|stopped|crash|lost|no longer|under.?replicat|in.?sync",
        )
    ),
    step=Words((r"\blogs?\b|open files|ulimit|nofile|(start|restart|bring).{0,60}broker|broker.{0,60}(start|back)",)),
    wrong=(r"unclean", r"unregister", r"remove broker", r"delete topic orders", r"reset group", r"delete group"),
    unknowable=True,
)
