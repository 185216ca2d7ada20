"""A user's ACLs are restricted to one host, but the service runs on another host: its next request is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

HERE, ELSEWHERE = "127.0.0.1", "10.20.0.7"


async def _allow(field: Field, host: str) -> None:
    for role in (("--producer",), ("--consumer", "--group", "booking")):
        await field.tool(
            "kafka-acls",
            "--add",
            "--allow-principal",
            "User:alice",
            "--allow-host",
            host,
            *role,
            "--topic",
            "payments",
        )


@asynccontextmanager
async def _tightened(field: Field, host: str) -> AsyncIterator[Begin]:
    """Run alice's services, which ACLs allow from every host. The yielded function restricts the ACLs to one host."""
    await field.topic("payments", partitions=3)
    await field.topic("orders", partitions=3)
    await _allow(field, "*")
    async with (
        field.producer("payments", rate=80, user="alice"),
        field.consumer("payments", "booking", user="alice"),
        field.producer("orders", rate=50),
        field.consumer("orders", "billing"),
    ):
        await field.reads("booking", "payments")
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Another operator adds ACLs with an address, and removes those for every host."""
            await _allow(field, host)
            for role in (("--producer",), ("--consumer", "--group", "booking")):
                await field.tool(
                    "kafka-acls",
                    "--remove",
                    "--force",
                    "--allow-principal",
                    "User:alice",
                    "--allow-host",
                    "*",
                    *role,
                    "--topic",
                    "payments",
                )

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the user's service runs on another host than
    its ACLs allow.
    """
    async with _tightened(field, ELSEWHERE) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the user's service runs on
    the host that its ACLs allow.
    """
    async with _tightened(field, HERE) as begin:
        yield begin


NIGHT = Night(
    name="an ACL of another host",
    source="https://github.com/apache/kafka/pull/11807",
    story="ACLs allowed a user from given addresses only, and what brokers compared with them was not the address in "
    "the ACL. Every request of the user was refused as not authorized, although there were ACLs for user, topic and "
    "operation that anybody would take for right.",
    make=_make,
    twin_story="The same ACLs are tightened to the address from which the services come.",
    twin=_twin,
    cause=Words(
        (
            r"alice",
            r"\bacls?\b|allow|authori[sz]|permission|rights?\b|may\b",
            r"hosts?\b|address|10\.20\.0\.7",
        )
    ),
    symptom=Words((r"payments|booking|alice", r"\bno\b|nothing|stopped|empty|left|gone|lag|behind|acl|allow|may not")),
    step=Words((r"\bacls?\b|allow|grant", r"alice|hosts?\b|127\.0\.0\.1|\*")),
    wrong=(r"delete (topic|group|records)", r"reset group", r"(remove|delete) .*acl.*allow", r"grant .*User:\*"),
    security="acls",
    watch=75.0,
)
