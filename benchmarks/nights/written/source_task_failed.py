"""The task of a source connector has failed: its topics get no changes and no heartbeats."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

ORDERS, CUSTOMERS = "shop.public.orders", "shop.public.customers"
HEARTBEATS = "__debezium-heartbeat.shop"
NAME = "connector-producer-shop-source-0"


@asynccontextmanager
async def _capturing(field: Field, *, with_heartbeats: bool) -> AsyncIterator[Begin]:
    """Run a writer of a database's changes and heartbeats, and a reader. The yielded function ends the changes.

    Args:
        with_heartbeats: whether the heartbeats end, too.
    """
    await field.topic(ORDERS, partitions=3)
    await field.topic(CUSTOMERS, partitions=3)
    await field.topic(HEARTBEATS, partitions=1)
    async with (
        field.producer(ORDERS, rate=30, name=NAME) as orders,
        field.producer(CUSTOMERS, rate=8, name=NAME) as customers,
        field.producer(HEARTBEATS, rate=1, name=NAME, key="one") as heartbeats,
        field.consumer(ORDERS, "warehouse"),
        field.consumer(CUSTOMERS, "crm"),
    ):
        await field.reads("warehouse", ORDERS)
        await field.reads("crm", CUSTOMERS)

        async def begin() -> None:
            for each in (orders, customers, heartbeats) if with_heartbeats else (orders, customers):
                await each.stop()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the task that writes everything has failed."""
    async with _capturing(field, with_heartbeats=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: nobody changes the
    database, and the connector goes on with its heartbeats.
    """
    async with _capturing(field, with_heartbeats=False) as begin:
        yield begin


NIGHT = Night(
    name="a failed source task",
    source="https://github.com/MaterializeInc/materialize/issues/6570",
    story="The task of a connector that writes a database's changes into topics stopped with an error, which only "
    "Connect knows. For Kafka everything was well: the readers have no lag, as there is nothing to read. The connector "
    "writes a heartbeat every second even while nothing changes, and these had ended, too.",
    make=_make,
    twin_story="No changes, as a shop that is closed has none, but heartbeats all the time.",
    twin=_twin,
    # Brokers know who writes only while it writes. The names of the topics and the end of the heartbeats show what
    # has stopped; the reason is in the status of the connector's task.
    cause=Words(
        (
            r"shop",
            r"(no|not|nobody|none|stopped|ceased|ended|silent|idle|without).{0,100}"
            r"(writ|record|produc|heartbeat|arriv|get|change)|(writ|record|produc|heartbeat)\w*.{0,60}"
            r"(stopped|ceased|ended|silent|stands?|no longer)",
            r"(?<!-)\bconnector|debezium|\btask|source|producer|writer",
        )
    ),
    symptom=Words((r"shop|heartbeat", r"no (new |longer )?|stopp|ceas|silent|ended|idle|nobody|not (written|get)")),
    step=Words((r"(?<!-)\bconnector|kafka connect|\btask|debezium|producer|writer|source|client",)),
    wrong=(r"delete (group|topic|records)", r"reset group"),
    unknowable=True,
)
