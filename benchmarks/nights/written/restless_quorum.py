"""A timeout of the quorum is shorter than an idle fetch: the controllers elect a leader again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

TIMEOUT = "controller.quorum.fetch.timeout.ms"


async def _roll(field: Field, brokers: Sequence[int], milliseconds: int) -> None:
    """Change the timeout in the properties of these brokers, and restart them one after another. milliseconds: the
    timeout.
    """
    for broker in brokers:
        await field.with_properties(broker, {TIMEOUT: str(milliseconds)})
        await field.restart(broker)


@asynccontextmanager
async def _rolled(field: Field, milliseconds: int) -> AsyncIterator[Begin]:
    """Run a busy cluster in which one broker already has a new timeout of the quorum, as a trial. If the new timeout is
    shorter, this broker alone asks for votes, which the others do not give. The yielded function gives the other
    brokers the new timeout.

    Args:
        milliseconds: the new timeout.
    """
    await _roll(field, (3,), milliseconds)
    await field.topic("orders", partitions=3)
    async with field.producer("orders", rate=50), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            await _roll(field, (2, 1), milliseconds)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the brokers are restarted with a shorter
    timeout of the quorum, for a faster failover of the controller.
    """
    # A fetch of the quorum waits for half a second if there are no new records.
    async with _rolled(field, 400) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the brokers are restarted
    with a longer timeout of the quorum. There is one election whenever the active controller restarts.
    """
    async with _rolled(field, 4_000) as begin:
        yield begin


NIGHT = Night(
    name="a restless quorum",
    source="https://github.com/bitnami/charts/issues/20403",
    story="The controllers' fetch timeout is shorter than what a fetch takes when there is nothing new. The "
    "followers believe that their leader is gone and elect another one, again and again; brokers and clients "
    "go on with what they have, while topics, settings and ISR changes go through at some times and fail at "
    "others.",
    make=_make,
    twin_story="A rolling restart with a longer timeout: the active controller changes once or twice, and stays.",
    twin=_twin,
    cause=Words((r"quorum\.fetch\.timeout|fetch.?timeout", r"elect|epoch|leader|controller|quorum")),
    symptom=Words(
        (
            r"quorum|controller|metadata",
            r"elect|epoch|changes? (its |of )?(leader|hands)|chang|flap|unstable|moves|fail.?over|no leader",
        )
    ),
    step=Words((r"quorum\.fetch\.timeout|fetch.?timeout",)),
    wrong=(r"unregister", r"remove.?controller|remove.?voter", r"unclean", r"delete topic"),
)
