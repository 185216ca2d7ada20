"""A broker comes back with an older copy of its disk: the log of a topic with one replica ends at a lower offset than
before.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2


def _log(field: Field) -> Path:
    """Return the folder with the log of readings-0 on the only broker that has it."""
    (folder,) = field.cluster.directory.glob(f"broker-{BROKER}/data-*/readings-0")
    return folder


def _put_back(copy: Path, folder: Path) -> None:
    """Replace `folder` by its earlier copy."""
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)


@asynccontextmanager
async def _restarted(field: Field, *, restored: bool) -> AsyncIterator[Begin]:
    """Run clients. The yielded function stops a broker and starts it again.

    Args:
        restored: whether its volume is replaced by the last copy before the start.
    """
    copy = field.cluster.directory / "readings-0.copy"
    # With a single replica, the leader alone acknowledges records.
    await field.topic("readings", on=[(BROKER,)], configs={"min.insync.replicas": "1"})
    await field.topic("orders", partitions=3)
    await field.writes("readings", 500)
    await field.stop(BROKER)
    await asyncio.to_thread(shutil.copytree, _log(field), copy)
    await field.start(BROKER)
    await field.settled()
    await field.writes("readings", 6_000)
    async with (
        field.producer("readings", rate=20),
        field.producer("orders", rate=30),
        field.consumer("readings", "history"),
    ):
        await field.reads("history", "readings")

        async def begin() -> None:
            await field.stop(BROKER)
            if restored:
                await asyncio.to_thread(_put_back, copy, _log(field))
            await field.start(BROKER)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker's volume is restored from its last
    copy, which lacks the newest thousands of records.
    """
    async with _restarted(field, restored=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is started again
    with the data that it had.
    """
    async with _restarted(field, restored=False) as begin:
        yield begin


NIGHT = Night(
    name="a volume of yesterday",
    source="https://github.com/confluentinc/librdkafka/issues/1558",
    story="A broker's volume was restored from a copy, and the topic of one replica on it had lost all records since. "
    "Its end went back by thousands: what readers had committed was beyond it, lags were negative, and new records "
    "got offsets that had been used before. The broker was up, every replica was in sync, and nothing was red.",
    make=_make,
    twin_story="The same broker is restarted with the disk that it had, and the topic goes on where it ended.",
    twin=_twin,
    cause=Words(
        (
            r"readings",
            r"\bend\b|end.offset|log.end|records?|offsets?",
            r"lost|loss|truncat|shorter|shrank|shrunk|(went|goes|jumped|fell|moved|set|gone) back|backward|rewound"
            r"|rolled back|lower than|dropped from|decreas|smaller",
        ),
        # The topic still has its id.
        never=(r"topic (was |has been )?(deleted|recreated|made again|created again)",),
    ),
    symptom=Words(
        (
            r"readings|history",
            r"beyond|past the end|out of range|negative|ahead of|outside|behind|lag|no leader|offline|lost|reread"
            r"|read again|went back",
        )
    ),
    step=Words(
        (
            r"reset|restor|disk|volume|replication|more replicas|(add|second) .{0,20}replica|\bmove\b|\blogs? of"
            r"|server\.log",
        )
    ),
    wrong=(r"delete topic", r"delete group", r"delete.?records", r"unclean"),
    # A single replica is too few, also with the correct disk.
    fine=(r"readings.*(one|\b1|single|only).{0,20}replica", r"(one|\b1|single|only).{0,20}replica.*readings"),
)
