"""A broker is restarted with a wrong port in advertised.listeners: its replicas are in every ISR, but no client can
reach it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.free_ports import LOOPBACK, free_ports

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: under a usual load, one broker is restarted
    with a wrong port in advertised.listeners.
    """
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=40), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            """Restart broker 2, which now advertises a port without a listener."""
            await field.stop(2)
            (port,) = free_ports(1)
            await field.set(2, {"advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}"})
            await field.start(2)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: in a rolling restart, each
    broker is shut down in a controlled way, and is up again before the next one is shut down.
    """
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=40), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            """Restart all brokers, one after another, and each time wait until every replica is in sync."""
            for broker in field.cluster.broker_ids:
                await field.restart(broker)
                await field.settled()
                await asyncio.sleep(2)

        yield begin


NIGHT = Night(
    name="back with a wrong advertised port",
    source="https://www.automq.com/blog/advertised-listener-pitfalls-in-cloud-and-kubernetes-kafka-deployments",
    story="A broker's configuration was rolled out with a wrong port in advertised.listeners. The broker came back, "
    "registered, fetched from the others and was in every ISR, as it is the one that connects for that; but clients "
    "and tools that were sent to it by the metadata met a port at which nobody listens, and so will the others as "
    "soon as it leads.",
    make=_make,
    twin_story="A rolling restart of all brokers, each shut down in order and back in sync before the next.",
    twin=_twin,
    cause=Words(
        (
            r"broker 2\b",
            r"advertis|listeners?\b|wrong (port|address|endpoint)|"
            r"(port|address|endpoint)\b.{0,60}(changed|other|new|wrong|moved|registered|nobody)|"
            r"(changed|other|new|registered|moved|nobody).{0,60}\b(port|address|endpoint)\b",
        ),
        # The broker is up, and in sync.
        never=(r"broker 2 (is|was|went) (down|dead|offline)", r"drain"),
    ),
    symptom=Words(
        (r"broker 2\b", r"does not answer|did not answer|cannot be reached|unreach|connect|refus|not answer"),
        never=(r"drain",),
    ),
    step=Words((r"advertised\.listeners|listener|address|\bport\b",)),
    wrong=(
        # Statements that let the broker lead make the situation worse, and statements that remove its replicas lose
        # redundancy because of a wrong line in a file.
        r"^\s*(move|drain|unregister|elect|reassign)\b",
        r"reset group",
        r"delete (group|topic|records)",
        r"min\.insync",
    ),
    # It is true that brokers were restarted in order, and worth a row in the history.
    fine=(r"(rolling|planned|orderly|controlled) (restarts?|shut ?downs?)|restart(s|ed)? in order|shut down in order",),
)
