"""A broker advertises the address of another broker: clients ask the wrong broker for a third of everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _clients(field: Field) -> AsyncIterator[None]:
    """Run clients on the listener with logins; brokers use the other listener among themselves."""
    await field.topic("orders", partitions=6)
    async with (
        field.producer("orders", rate=120, user="alice", message_timeout_ms=10_000),
        field.consumer("orders", "billing", user="bob"),
    ):
        await field.reads("billing", "orders")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: broker 3 is restarted with the advertised
    addresses from broker 2's file.
    """
    async with _clients(field):

        async def begin() -> None:
            """Copy the line, and restart the broker."""
            (_, client), (host, login) = field.cluster.addresses[2], field.cluster.login_addresses[1]
            advertised = f"PLAINTEXT://{host}:{client},SASL_PLAINTEXT://{host}:{login}"
            await field.set(3, {"advertised.listeners": advertised})
            await field.restart(3)
            await field.settled()  # wait until broker 3 leads a third of the partitions again

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: broker 3 is restarted with
    a changed setting that has no effect on clients.
    """
    async with _clients(field):

        async def begin() -> None:
            """Change a setting, and restart the broker."""
            await field.set(3, {"log.retention.check.interval.ms": "200000"})
            await field.restart(3)
            await field.settled()  # wait until broker 3 leads a third of the partitions again

        yield begin


NIGHT = Night(
    name="the address of another broker",
    source="https://github.com/inverse-inc/packetfence/pull/9089",
    story="On the listener for services brokers advertised an address that led to another broker than themselves. "
    "Clients bootstrapped well, then asked the wrong broker for partitions and groups of this one, and got 'not leader "
    "for partition' and 'not coordinator' for ever, while the cluster itself was healthy.",
    make=_make,
    twin_story="The same broker is restarted with another setting that harms nobody.",
    twin=_twin,
    cause=Words(
        (
            r"broker 3\b|brokers?:? (2 and 3|2, 3|3)\b",
            r"advertis|listener|address|port\b",
            r"broker 2\b|brokers 2\b|same|twice|both|another|other broker|wrong|share|duplicat|changed",
        )
    ),
    symptom=Words((r"broker 3\b|orders|billing|partitions?", r"writ|read|records|rate|nothing|lag|behind|reach")),
    step=Words((r"advertised|listeners",)),
    wrong=(
        r"unclean",
        r"delete (topic|group|records)",
        r"unregister",
        r"reset group",
    ),
    security="logins",
    # In the night and in the twin, broker 3 is down for some seconds during its restart.
    fine=(r"broker 3\b.*(away|down|gone|restart|stopped|left)|under.?replicated|out of sync|not in sync",),
    watch=70.0,
)
