"""Two groups lose their members while their coordinator moves to another broker, and no operator starts them again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field


@asynccontextmanager
async def _reading(field: Field) -> AsyncIterator[tuple[int, tuple[Client, Client]]]:
    """Run two groups with the same coordinator (the hashes of their names are equal modulo three), and a third group
    with another coordinator. Yield the broker id of the two groups' coordinator, and a member of each.
    """
    await field.topic("orders", partitions=3)
    # The sessions are as short as brokers allow, instead of 45 seconds.
    soon: dict[str, Any] = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 2000}
    async with (
        field.producer("orders", rate=40),
        field.consumer("orders", "billing", **soon) as billing,
        field.consumer("orders", "audit", **soon) as audit,
        field.consumer("orders", "fraud", **soon),
    ):
        for group in ("billing", "audit", "fraud"):
            await field.reads(group, "orders")
        await field.settled()
        state = await field.tool("kafka-consumer-groups", "--describe", "--group", "billing", "--state")
        found = re.search(r"\((\d+)\)", state)
        if found is None:
            raise RuntimeError(f"no coordinator in {state!r}")
        yield int(found[1]), (billing, audit)


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the coordinator of two groups is restarted, and
    the members of both crash.
    """
    async with _reading(field) as (coordinator, members):

        async def begin() -> None:
            """Restart the coordinator, and kill the members for good."""
            await asyncio.gather(field.stop(coordinator), *(each.kill() for each in members))
            await asyncio.sleep(5)
            await field.start(coordinator)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the coordinator of two
    groups is restarted, and their members find the new coordinator.
    """
    async with _reading(field) as (coordinator, _):

        async def begin() -> None:
            """Restart the coordinator."""
            await field.stop(coordinator)
            await asyncio.sleep(5)
            await field.start(coordinator)

        yield begin


NIGHT = Night(
    name="members lost while the coordinator moved",
    source="https://www.netdata.cloud/guides/kafka/kafka-consumer-group-empty-stuck/",
    story="A broker was restarted. The coordinator of two groups moved to another one, and the services of both, which "
    "took the lost coordinator for a fatal error, ended and were not started again. The broker came back and "
    "everything was in sync; the two groups stayed empty and their lag grew, while a third group read on.",
    make=_make,
    twin_story="The same restart; all groups keep their members, which find the new coordinator by themselves.",
    twin=_twin,
    cause=Words(
        (
            r"billing|audit",
            r"no members?|empty|lost|nobody|without (a |any |its )?members?|left",
            r"coordinator|broker \d.{0,60}(restart|stop|shut|back|down|moved)|"
            r"(restart|stop|shut|back|down|moved).{0,60}broker \d",
        )
    ),
    symptom=Words((r"billing|audit", r"no members?|empty|lost|lag|behind|nobody|left|without")),
    step=Words((r"start|client|application|members?|service",)),
    wrong=(
        r"reset group",
        r"delete (group|topic|records)",
        r"^\s*(move|drain|unregister|elect|reassign)\b",
        r"set topic",
    ),
    # It is true that a broker was restarted in order, and worth a row in the history.
    fine=(r"(rolling|planned|orderly|controlled) (restarts?|shut ?downs?)|restart(s|ed)? in order|shut down in order",),
)
