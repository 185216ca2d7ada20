"""The password of a SCRAM user is rotated, but its services still have the old one: brokers don't show why the services
have disappeared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field


@asynccontextmanager
async def _services(field: Field) -> AsyncIterator[tuple[Client, Client]]:
    """Run a service that writes and one that reads as the same user, and services of other users. Yield the first
    two.
    """
    await field.scram("payments-service")
    await field.topic("payments", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("payments", rate=80, user="payments-service") as writer,
        field.consumer("payments", "booking", user="payments-service", session_timeout_ms=10_000) as reader,
        field.producer("orders", rate=50, user="alice"),
        field.consumer("orders", "billing", user="bob"),
    ):
        await field.reads("booking", "payments")
        await field.reads("billing", "orders")
        yield writer, reader


async def _rotate(field: Field) -> None:
    """Set a new password for the user, as a regular job would. The number of iterations is the default, as before."""
    await field.scram("payments-service")


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a user's password is changed, and its services
    keep the old one, with which they log in when their sessions end.
    """
    async with _services(field):

        async def begin() -> None:
            """Rotate the password."""
            await _rotate(field)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a user's password is
    changed, and its services are restarted with the new one immediately afterwards.
    """
    async with _services(field) as (writer, reader), AsyncExitStack() as restarted:

        async def begin() -> None:
            """Rotate the password, and restart the services with it."""
            await _rotate(field)
            await writer.stop()
            await reader.stop()
            new = "payments-service"
            await restarted.enter_async_context(field.producer("payments", rate=80, user=new))
            await restarted.enter_async_context(
                field.consumer("payments", "booking", user=new, session_timeout_ms=10_000)
            )

        yield begin


NIGHT = Night(
    name="a rotated SCRAM password",
    source="https://github.com/confluentinc/confluent-kafka-dotnet/issues/2102",
    story="Passwords were rotated every ninety days by a job. Services went on with their open connections; as soon as "
    "one of them had to log in anew it was refused, tried again for ever without telling its own code, and consumed "
    "nothing.",
    make=_make,
    twin_story="The same rotation, and the services are restarted with the new password.",
    twin=_twin,
    # Brokers only show the mechanism and the iterations of a credential, and nothing about a failed login: a service
    # with an old password looks like one that was switched off. A row counts if it says where to find the reason.
    unknowable=True,
    cause=Words(
        (
            r"payments|booking",
            r"log(s|ged)? ?in|logins?|authenticat|passwords?|credentials?|sasl|scram|"
            r"(client|service|consumer|producer|application|process|pod)\w*'?s? (own )?logs?|logs? of (the|its|their)",
        )
    ),
    symptom=Words((r"payments|booking", r"\bno\b|nothing|stopped|empty|left|gone|lag|behind|nobody|members?")),
    step=Words(
        (
            r"log(s|ged)? ?in|logins?|authenticat|passwords?|credentials?|scram|"
            r"(client|service|consumer|producer|application|process|pod)\w*'?s? (own )?logs?|logs? of (the|its|their)|"
            r"(start|restart)\w* (its|the|their|a|his)",
        )
    ),
    wrong=(r"delete (topic|group|records|user|scram)", r"reset group", r"(remove|delete|drop) .*payments-service"),
    security="logins",
    properties={"connections.max.reauth.ms": "15000"},
    watch=70.0,
)
