"""One broker comes back without SCRAM: services with a SCRAM login can't reach the partitions that it leads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

REFUSALS = {"_AUTHENTICATION", "UNSUPPORTED_SASL_MECHANISM"}


@asynccontextmanager
async def _configured(field: Field, kept: str, *, refused: bool) -> AsyncIterator[Begin]:
    """Run a service that logs in with SCRAM. The yielded function restarts broker 3 with one SASL mechanism only.

    Args:
        kept: the mechanism that remains.
        refused: whether the broker refuses the service then; the function waits for it.
    """
    await field.topic("bookings", partitions=6)
    await field.topic("orders", partitions=3)
    await field.scram("carol")
    async with (
        field.producer("bookings", rate=60),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("bookings", "ticketing", user="carol") as service,
    ):
        await field.reads("ticketing", "bookings")
        await field.reads("billing", "orders")

        async def is_refused() -> bool:
            return any(each.get("error") in REFUSALS for each in service.errors())

        async def begin() -> None:
            await field.with_properties(3, sasl_enabled_mechanisms=kept)
            await field.restart(3)
            await field.settled()
            if refused:
                await field.until(is_refused, "the service is refused", within=90)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """PLAIN remains, and the service uses SCRAM."""
    async with _configured(field, "PLAIN", refused=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """SCRAM remains, and the service uses it."""
    async with _configured(field, "SCRAM-SHA-256", refused=False) as begin:
        yield begin


NIGHT = Night(
    name="a broker without the mechanism",
    source="https://github.com/birdayz/kaf/issues/212",
    story="A broker accepted other SASL mechanisms than the client used, and refused it in the handshake, before any "
    "password was compared: the user existed and had its rights. Here one broker of three was restarted with a list "
    "without SCRAM: it was in sync and looked well, and a service could not reach the partitions that it leads.",
    make=_make,
    twin_story="The broker is restarted without the mechanism that no service uses.",
    twin=_twin,
    cause=Words(
        (
            r"mechanism",
            r"scram|sasl|plain",
            r"\b3\b",
        )
    ),
    symptom=Words(
        (
            r"ticketing|bookings|carol",
            r"no members?|empty|\bleft\b|nobody|without (a )?members?|\blag\b|behind|lost its|log ?in|authenticat|"
            r"commit|stuck|broker 3",
        )
    ),
    step=Words((r"sasl\.enabled\.mechanisms|mechanism",)),
    wrong=(
        r"reset group",
        r"delete (group|topic|records)",
        r"delete.*\b(scram|user|credential)",
        r"set broker [12] .*sasl\.enabled\.mechanisms",
    ),
    security="logins",
    # It is true that the broker was restarted and that its mechanisms differ from those of the others.
    fine=(r"broker 3\b.*(restart|\bback\b|return|came|start)", r"sasl\.enabled\.mechanisms|mechanism"),
)
