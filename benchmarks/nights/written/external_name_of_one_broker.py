"""One broker advertises its listener for other networks by a name that its clients can not resolve."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 3


@asynccontextmanager
async def _renamed(field: Field, host: str) -> AsyncIterator[Begin]:
    """Run services on the listener with logins and on the plain one. The yielded function restarts broker 3, which
    advertises the listener with logins by another host.

    Args:
        host: the name of the new host.
    """
    await field.topic("orders", partitions=3)
    await field.topic("clicks", partitions=3)
    port = field.cluster.login_addresses[BROKER - 1][1]
    plain = field.cluster.addresses[BROKER - 1][1]
    advertised = f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://{host}:{port}"
    async with (
        field.producer("orders", rate=60, name="shop", user="alice"),
        field.producer("clicks", rate=60, name="web"),
        field.consumer("orders", "billing", user="bob"),
        field.consumer("clicks", "stats"),
    ):
        await field.reads("billing", "orders")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            await field.with_properties(BROKER, {"advertised.listeners": advertised})
            await field.restart(BROKER)
            await field.settled()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a name that only the broker's own network
    knows.
    """
    async with _renamed(field, "kafka-3.kafka-headless.internal") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a name that everybody can
    resolve.
    """
    async with _renamed(field, "localhost") as begin:
        yield begin


NIGHT = Night(
    name="an external name that no client resolves",
    source="https://github.com/Yolean/kubernetes-kafka/issues/99",
    story="A broker was set up again, and advertised its external listener by the name of its internal network. "
    "Services outside reached the cluster by its bootstrap address, and then failed to resolve the name of broker 3: "
    "orders for its partitions stayed in the shop. On the internal listener all was well.",
    make=_make,
    twin_story="The broker advertises the listener by another name, which its clients resolve.",
    twin=_twin,
    cause=Words(
        (
            r"\b3\b",
            r"advertis|listener|address|\bhost|endpoint",
            r"internal|resolv|\bdns\b|differ|unlike|wrong|other brokers|can ?not|"
            r"advertised\.listeners|unreachable|reach",
        )
    ),
    symptom=Words(
        (r"orders|broker 3\b", r"no (new )?(record|write)|silent|idle|stopp|stand|not grow|uneven|fell|less|quiet|lag")
    ),
    step=Words((r"advertis|listener|address|\bdns\b|\bhost",)),
    wrong=(r"unclean", r"unregister", r"delete (topic|group)", r"reset group"),
    # The broker is restarted in the twin, too.
    fine=(
        r"broker 3.*(down|gone|away|missing|left|offline|restart|not (in|there)|unreachable|answer|back)",
        r"under.?replicat|in.?sync",
    ),
    security="logins",
)
