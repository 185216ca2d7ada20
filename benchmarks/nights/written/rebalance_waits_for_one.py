"""A group is scaled out while one member works on a very long record: the rebalance, and so all members, wait for that
member.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

# A value that is often recommended for long jobs, so that their members stay in the group; a rebalance also waits that
# long.
_MAX_POLL_MS = 900_000


@asynccontextmanager
async def _group(field: Field, long_ms: float) -> AsyncIterator[Begin]:
    """Run a group of three members. The yielded function makes one of them take long for its next record, then starts a
    fourth member.

    Args:
        long_ms: milliseconds of work for that record.
    """
    await field.topic("jobs", partitions=6)
    async with (
        AsyncExitStack() as later,
        field.producer("jobs", rate=30),
        field.consumer("jobs", "encoders", name="encoder-1", work_ms=20, max_poll_interval_ms=_MAX_POLL_MS) as busy,
        field.consumer("jobs", "encoders", name="encoder-2", work_ms=20, max_poll_interval_ms=_MAX_POLL_MS),
        field.consumer("jobs", "encoders", name="encoder-3", work_ms=20, max_poll_interval_ms=_MAX_POLL_MS),
    ):
        await field.reads("encoders", "jobs")
        await asyncio.sleep(5)

        async def begin() -> None:
            await busy.tell(work_ms=long_ms)
            await asyncio.sleep(2)
            await later.enter_async_context(
                field.consumer("jobs", "encoders", name="encoder-4", work_ms=20, max_poll_interval_ms=_MAX_POLL_MS)
            )
            await busy.tell(work_ms=20)
            await asyncio.sleep(3)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a group is scaled out while one member works on
    a record, which takes longer than the night; the rebalance waits for it.
    """
    async with _group(field, 850_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a group is scaled out
    while one member works for some seconds on a record; the rebalance takes as long.
    """
    async with _group(field, 5_000) as begin:
        yield begin


NIGHT = Night(
    name="rebalance waits for one member",
    source="https://github.com/dpkp/kafka-python/issues/816",
    story=(
        "Consumers of long jobs were scaled out while one of them was busy with a record that takes many minutes. "
        "It still sends heartbeats, but joins again only when it asks for the next record; with a maximal poll "
        "interval of a quarter of an hour the rebalance waits for it, and none of the other members gets a record."
    ),
    make=_make,
    twin_story="The same is scaled out while a record takes five seconds: the rebalance ends by itself.",
    twin=_twin,
    cause=Words(
        must=(
            r"encoders",
            r"rebalanc",
            r"member|consumer|client|encoder-1",
            r"re-?join|not (yet )?joined|has to join|wait(s|ing)? for|holds? (it |the group |this )?up|slow|busy|"
            r"max\.poll\.interval|processing|still work",
        )
    ),
    symptom=Words(must=(r"encoders", r"rebalanc|lag|behind|nobody reads|no member|no progress|not read|stuck")),
    step=Words(must=(r"restart|remov|stop|end|kill|max\.poll\.interval|thread dump|shorter|fewer",)),
    wrong=(r"reset group encoders", r"delete group encoders", r"delete topic jobs"),
)
