"""A sale multiplies the traffic of a topic: its group, which never had to hurry, falls behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _sold(field: Field, rate: float) -> AsyncIterator[Begin]:
    """A group processes up to about 100 records per second, of which 25 come. The yielded function lets more come.

    Args:
        rate: the new records per second.
    """
    await field.topic("checkouts", partitions=6)
    await field.topic("audit", partitions=3)
    async with (
        field.producer("checkouts", rate=25) as shop,
        field.producer("audit", rate=25),
        field.consumer("audit", "archive"),
        field.consumer("checkouts", "order-desk", work_ms=9, batch=50),
    ):
        await field.reads("archive", "audit")
        await field.reads("order-desk", "checkouts")

        async def begin() -> None:
            await shop.tell(rate=rate)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Ten times as many records come, which is more than the group can process."""
    async with _sold(field, 250) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Twice as many records come, which the group can process."""
    async with _sold(field, 50) as begin:
        yield begin


NIGHT = Night(
    name="a flash sale",
    source="https://interviewcrafted.com/real-engineering-stories/message-queue-backpressure",
    story="A flash sale brought ten times the usual orders. The one consumer worked as fast as ever, as its database "
    "allowed, and fell hours behind. Nothing was broken: more came in than one member can process, and there were "
    "partitions for several.",
    make=_make,
    twin_story="The sale doubles the orders, which is within what the consumer can process.",
    twin=_twin,
    cause=Words(
        (
            r"checkouts|order-desk",
            r"traffic|writes|written|incoming|input|produc|records/s|per second|\brates?\b|\bload\b|arriv|come",
            r"\brose\b|risen|grew|grown|increas|doubl|\btimes\b|\bmore\b|higher|jump|surge|burst|peak|faster than|"
            r"exceed|×|\bup from\b",
        )
    ),
    symptom=Words((r"order-desk", r"\blag\b|behind|slower|keep up|too slow|grow|capacity")),
    step=Words((r"members?|instances|consumers?|scale|parallel|quota",)),
    wrong=(r"reset group", r"delete (topic|group|records)", r"retention\.(ms|bytes)\s*=\s*\d"),
    # It is true that the traffic has doubled.
    fine=(r"checkouts.*(traffic|rate|records/s|more|twice|doubl|increas|rose)",),
)
