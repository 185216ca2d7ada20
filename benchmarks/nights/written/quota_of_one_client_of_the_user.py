"""A user's quota is raised, but an older quota of the user together with a client id precedes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _sale(field: Field, *, has_own: bool) -> AsyncIterator[Begin]:
    """Run alice's client `shop`. The yielded function raises alice's quota, and then the shop writes more.

    Args:
        has_own: whether alice's client `shop` has a quota of its own.
    """
    alice = ("--alter", "--entity-type", "users", "--entity-name", "alice")
    of_client = ("--entity-type", "clients", "--entity-name", "shop") if has_own else ()
    await field.tool("kafka-configs", *alice, *of_client, "--add-config", "producer_byte_rate=30000")
    await field.topic("orders", on=[(1, 2, 3)])
    await field.topic("clicks", partitions=3)
    async with (
        field.producer("orders", rate=15, value_bytes=1_000, name="shop", user="alice") as shop,
        field.producer("clicks", rate=30, name="web", user="bob"),
        field.consumer("orders", "billing", user="bob"),
    ):
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            await field.tool("kafka-configs", *alice, "--add-config", "producer_byte_rate=10000000")
            await shop.tell(rate=120)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the user's quota is raised for more traffic,
    and the quota of the user's client stays.
    """
    async with _sale(field, has_own=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the only quota is that of
    the user, and it is raised for more traffic.
    """
    async with _sale(field, has_own=False) as begin:
        yield begin


NIGHT = Night(
    name="quota of one client of the user",
    source="https://kafka.apache.org/documentation/#design_quotasconfig",
    story="For a sale the quota of user alice was raised to 10 MB/s, and still her shop was throttled to 30 kB/s: long "
    "ago somebody had given alice together with the client id shop a quota of 30 kB/s, which precedes the quota of the "
    "user alone. Orders arrived at a quarter of the rate at which they were made.",
    make=_make,
    twin_story="alice has one quota, which is raised before the same sale.",
    twin=_twin,
    cause=Words((r"quota|throttl|producer_byte_rate", r"alice", r"shop")),
    symptom=Words((r"orders|alice|shop", r"throttl|quota|limit|ceiling|flat|slow|held|capped")),
    step=Words((r"quota|producer_byte_rate",)),
    wrong=(r"delete topic", r"reset group", r"(unset|delete|remove) .*quota.* bob\b"),
    security="logins",
)
