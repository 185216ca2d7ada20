"""The SCRAM credential of a consumer's user is deleted; the consumer fails when it has to log in again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _deleting(field: Field, mechanism: str) -> AsyncIterator[Begin]:
    """Run a group's only member, which logs in as carol with SCRAM-SHA-256. The yielded function deletes a credential
    of carol.

    Args:
        mechanism: of the deleted credential.
    """
    password = await field.scram("carol")
    of_carol = ("--alter", "--entity-type", "users", "--entity-name", "carol")
    await field.tool("kafka-configs", *of_carol, "--add-config", f"SCRAM-SHA-512=[password={password}]")
    await field.topic("orders", partitions=3)
    async with (
        field.producer("orders", rate=40),
        field.consumer("orders", "billing", user="carol", session_timeout_ms=10_000),
    ):
        await field.reads("billing", "orders")
        await asyncio.sleep(5)

        async def begin() -> None:
            """Delete the credential."""
            await field.tool("kafka-configs", *of_carol, "--delete-config", mechanism)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the SCRAM credential with which a group's
    member logs in is deleted.
    """
    async with _deleting(field, "SCRAM-SHA-256") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a SCRAM credential with
    another mechanism, which no client uses, is deleted.
    """
    async with _deleting(field, "SCRAM-SHA-512") as begin:
        yield begin


NIGHT = Night(
    name="a SCRAM user deleted under a consumer",
    source="https://cwiki.apache.org/confluence/display/KAFKA/"
    "KIP-368%3A+Allow+SASL+Connections+to+Periodically+Re-Authenticate",
    story="In a clean-up of old users a SCRAM credential was deleted that a consumer still used. Its connections lived "
    "on until they had to log in again; then each was refused, the member fell out of its group, and the lag grew. "
    "Between the change and the trouble lay the whole time of connections.max.reauth.ms.",
    make=_make,
    twin_story="A credential of the same user is deleted for a mechanism that nobody logs in with.",
    twin=_twin,
    cause=Words(
        (
            r"billing",
            r"carol",
            r"scram|credential|password|log ?in|authenticat|\buser\b",
            r"delet|remov|gone|no longer|missing|without|lost|revoked",
        )
    ),
    symptom=Words((r"billing", r"lag|behind|no members?|empty|left|without|stopp|stands? still")),
    step=Words((r"carol|scram|credential|password",)),
    wrong=(r"reset group", r"delete (group|topic|records|user)", r"add acl", r"set topic"),
    security="logins",
    # A connection may live for fifteen seconds, instead of an hour, until the client has to log in again.
    properties={"connections.max.reauth.ms": "15000"},
)
