"""Feature levels were not raised after an upgrade: a service with the new group protocol is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Literal

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _release(field: Field, protocol: Literal["classic", "consumer"]) -> AsyncIterator[Begin]:
    """Run brokers of a new release with group.version 0, and a reading service. The yielded function deploys a new
    release of the service.

    Args:
        protocol: the group protocol of the service's new release.
    """
    # group.version is 0 in an upgraded cluster whose feature levels were not raised. In a new cluster it is 1, so
    # downgrade it.
    await field.tool("kafka-features", "downgrade", "--feature", "group.version=0")
    await field.topic("orders", partitions=3)
    async with AsyncExitStack() as later, field.producer("orders", rate=50):
        async with AsyncExitStack() as former:
            await former.enter_async_context(field.consumer("orders", "billing", name="billing-v1"))
            await field.reads("billing", "orders")
            ended = former.pop_all()
            later.push_async_exit(ended)

        async def begin() -> None:
            await ended.aclose()
            await later.enter_async_context(field.consumer("orders", "billing", name="billing-v2", protocol=protocol))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a service's new release uses the new group
    protocol, which the cluster's feature levels do not allow.
    """
    async with _release(field, "consumer") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service's new release
    uses the classic group protocol, like the former release.
    """
    async with _release(field, "classic") as begin:
        yield begin


NIGHT = Night(
    name="a feature left behind",
    source="https://github.com/embeddedkafka/embedded-kafka/issues/613",
    story="All brokers run a release with the new group protocol, but the level of the feature group.version was "
    "never raised. A service is deployed with group.protocol=consumer: it is refused as if the brokers were "
    "too old, its group has no member, and the lag grows.",
    make=_make,
    twin_story="The same cluster and a deployment of the same service with the classic protocol: it is away for a "
    "moment.",
    twin=_twin,
    cause=Words(
        (
            r"group\.version|feature level|finali[sz]ed",
            r"\b0\b|not (raised|finali[sz]ed|enabled)|lower|below|behind|could be|supports?|disabled",
        )
    ),
    symptom=Words((r"billing", r"empty|no (active )?member|\blag|behind|nobody reads")),
    step=Words((r"group\.version|features?\b|group\.protocol|classic",)),
    wrong=(r"reset group", r"delete group", r"delete topic", r"downgrade"),
    # This is also true for the twin, and useful: the level can be raised.
    fine=(r"group\.version|feature",),
    versions=("4.3", "4.4"),
)
