"""Two processes use the same group.instance.id, and each in turn fences the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

# Static members usually have long sessions, so that a restart ends within the session.
_SESSION_MS = 180_000


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a deployment starts its new pod before the old
    one has ended; both have the same group.instance.id.
    """
    await field.topic("requests", partitions=4)
    async with (
        AsyncExitStack() as later,
        field.producer("requests", rate=80),
        field.consumer("requests", "apigw", name="apigw-pod-old", instance="apigw-0", session_timeout_ms=_SESSION_MS),
        field.consumer("requests", "apigw", name="apigw-pod-2", instance="apigw-1", session_timeout_ms=_SESSION_MS),
    ):
        await field.reads("apigw", "requests")
        await asyncio.sleep(5)

        async def begin() -> None:
            await later.enter_async_context(
                field.consumer(
                    "requests", "apigw", name="apigw-pod-new", instance="apigw-0", session_timeout_ms=_SESSION_MS
                )
            )
            await asyncio.sleep(15)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: each static member is
    restarted once, the second after the first is back.
    """
    await field.topic("requests", partitions=4)
    async with (
        field.producer("requests", rate=80),
        field.consumer(
            "requests", "apigw", name="apigw-pod-1", instance="apigw-0", session_timeout_ms=_SESSION_MS
        ) as first,
        field.consumer(
            "requests", "apigw", name="apigw-pod-2", instance="apigw-1", session_timeout_ms=_SESSION_MS
        ) as second,
    ):
        await field.reads("apigw", "requests")
        await asyncio.sleep(5)

        async def begin() -> None:
            for each in (first, second):
                await each.stop()
                await each.start()
                await asyncio.sleep(5)

        yield begin


NIGHT = Night(
    name="instance id of two pods",
    source="https://github.com/twmb/franz-go/issues/931",
    story=(
        "A service has static membership, and its instance id comes from the deployment, not from the pod. During a "
        "roll-out a second pod ran beside the first one with the same id: each one that joins fences the other, "
        "which fails for good, is started again and joins in turn. Records are read twice, and progress is uneven."
    ),
    make=_make,
    twin_story="A rolling restart of static members: each one takes its own place again within the session timeout.",
    twin=_twin,
    cause=Words(
        must=(
            r"apigw",
            r"instance|static",
            r"\btwo\b|twice|both|(second|another) (process|client|consumer|member|pod)|"
            r"duplicate|fenc|shared|more than one|same (group\.)?instance|replac|take turns|alternat|"
            r"chang(es|ed|ing) (its )?(member|client|host|hand)",
        )
    ),
    symptom=Words(
        must=(r"apigw", r"rebalanc|lag|behind|re-?join|member.{0,40}(come|go|join|leav|chang|new)|flap|unstable")
    ),
    step=Words(must=(r"instance", r"\bown\b|unique|distinct|different|each|only one|stop|second")),
    wrong=(r"reset group apigw", r"delete group apigw", r"delete topic requests"),
)
