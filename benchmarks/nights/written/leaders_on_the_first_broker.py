"""After a rolling restart no preferred leaders are elected: one broker leads twice its share, the last one leads no
partition.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _shop(field: Field) -> AsyncIterator[None]:
    """Run clients of two topics whose leaders are spread evenly."""
    await field.topic("orders", partitions=6)
    await field.topic("clicks", partitions=6)
    async with (
        field.producer("orders", rate=100),
        field.producer("clicks", rate=100),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        yield


async def _restart_all(field: Field) -> None:
    for broker in field.cluster.broker_ids:
        await field.restart(broker)


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: every broker is restarted, one after another,
    without an election afterwards.
    """
    async with _shop(field):

        async def begin() -> None:
            """Restart the brokers one after another."""
            await _restart_all(field)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: every broker is restarted,
    one after another, and the preferred leaders are elected afterwards.
    """
    async with _shop(field):

        async def begin() -> None:
            """Restart the brokers one after another, and elect the preferred leaders."""
            await _restart_all(field)
            await field.settled()

        yield begin


NIGHT = Night(
    name="leaders on the first broker",
    source="https://github.com/banzaicloud/koperator/issues/239",
    story="After brokers had been restarted their partitions stayed where they had fled: one broker led far more than "
    "its share, another almost none, and the busy one used twice as much page cache as the rest. Nothing moved them "
    "back, as automatic balancing was off.",
    make=_make,
    twin_story="The same rolling restart with an election of the preferred leaders at its end.",
    twin=_twin,
    cause=Words(
        (
            r"\blead",
            r"preferred|imbalanc|unbalanc|skew|uneven|share|leads? (none|nothing|no partition|0)|not lead|most of",
            r"broker|partitions",
        )
    ),
    symptom=Words((r"brokers? [13]\b", r"load|traffic|bytes|more than|busy|idle")),
    step=Words((r"preferred|elect|auto\.leader\.rebalance",)),
    wrong=(r"unclean", r"restart|stop broker", r"delete (topic|group)", r"unregister"),
    stands=True,
    watch=60.0,
    properties={"auto.leader.rebalance.enable": "false"},
)
