"""Tests of the ways in which a broker leaves a cluster, the same on embedded and on real brokers.

A broker in an orderly stop still answers while others become the leaders of its partitions. A broker that is killed or
hangs remains the leader until its session ends.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import NamedTuple

import pytest

from console.admin import settings, topics
from console.admin.changes import send
from console.admin.cluster import describe_cluster, silence
from console.admin.link import Link
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.model.changes import CreateTopics, NewTopic
from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import BETWEEN_LOOKS, PATIENCE
from tests.support.real_clusters import or_skip

LEAVES, OTHERS = 3, (1, 2)
ANSWERS, REFUSES, HANGS = "answers", "refuses", "hangs"
SESSION = "broker.session.timeout.ms"


class Side(NamedTuple):
    """A cluster of three brokers, with functions that stop broker 3. session: seconds from its last heartbeat until it
    is fenced.
    """

    link: Link
    session: float
    kill: Callable[[], Awaitable[object]]
    stop: Callable[[], Awaitable[object]]
    hang: Callable[[], Awaitable[object]]
    come_back: Callable[[], Awaitable[object]]


Make = Callable[[], AbstractAsyncContextManager[Side]]


class Look(NamedTuple):
    """The state of broker 3 as its port and the other brokers show it."""

    port: str
    leads: bool
    in_sync: bool
    fenced: bool


@asynccontextmanager
async def embedded() -> AsyncIterator[Side]:
    """Yield an embedded cluster whose brokers have short sessions."""
    spec = ClusterSpec(brokers=3, static_configs={SESSION: "1500"})
    async with EmbeddedCluster(spec) as cluster, _side_link(tuple(cluster.addresses.values())) as link:

        async def hang() -> None:
            cluster.broker_hangs(LEAVES)

        yield Side(
            link,
            1.5,
            lambda: cluster.broker_killed(LEAVES),
            lambda: cluster.broker_down(LEAVES),
            hang,
            lambda: cluster.broker_up(LEAVES),
        )


@asynccontextmanager
async def real() -> AsyncIterator[Side]:
    """Yield a cluster of real brokers with the shortest sessions that their heartbeats allow."""
    with or_skip():
        cluster = KafkaCluster(brokers=3, properties={SESSION: "6000"})
    await asyncio.to_thread(cluster.__enter__)
    hanging = cluster.hanging(LEAVES)
    is_hung = False

    async def hang() -> None:
        nonlocal is_hung
        await asyncio.to_thread(hanging.__enter__)
        is_hung = True

    async def come_back() -> None:
        nonlocal is_hung
        if is_hung:
            is_hung = False
            await asyncio.to_thread(hanging.__exit__, None, None, None)
        await asyncio.to_thread(cluster.bring_up)

    try:
        async with _side_link(cluster.addresses) as link:
            yield Side(
                link,
                6.0,
                lambda: asyncio.to_thread(cluster.kill, LEAVES),
                lambda: asyncio.to_thread(cluster.stop, LEAVES),
                hang,
                come_back,
            )
    finally:
        if is_hung:
            await asyncio.to_thread(hanging.__exit__, None, None, None)
        await asyncio.to_thread(cluster.close)


@asynccontextmanager
async def _side_link(addresses: tuple[tuple[str, int], ...]) -> AsyncIterator[Link]:
    async with worlds.linked(settings.ConnectionSettings(addresses[: len(OTHERS)], request_timeout=PATIENCE)) as link:
        await send(link, CreateTopics((NewTopic("orders", assignments=((LEAVES, *OTHERS),)),)), validate_only=False)
        await until(link, lambda look: look == Look(ANSWERS, leads=True, in_sync=True, fenced=False))
        yield link


async def look_at(link: Link) -> Look:
    """Try to connect to broker 3, then ask the other brokers for its state. Return both."""
    silent = await silence(link, 1.0)
    port = REFUSES if LEAVES in silent.refusing else HANGS if LEAVES in silent.brokers else ANSWERS
    cluster = await describe_cluster(link)
    (partition,) = (await topics.describe_topics(link, ["orders"])).topics["orders"].partitions
    fenced = any(each.id == LEAVES and each.fenced for each in cluster.brokers)
    return Look(port, partition.leader == LEAVES, LEAVES in partition.isr, fenced)


async def until(link: Link, holds: Callable[[Look], bool], rest: float = BETWEEN_LOOKS) -> Look:
    """Read the state of broker 3 until `holds` returns true for it, and return that state. Raises TimeoutError after
    `PATIENCE` seconds. rest: seconds between two reads.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(KeyError, ValueError):  # the topic does not exist yet
                if holds(look := await look_at(link)):
                    return look
            await asyncio.sleep(rest)


ON_REAL = [pytest.mark.broker, pytest.mark.slow, pytest.mark.takes(60)]
SIDES = pytest.mark.parametrize("side", [embedded, pytest.param(real, marks=ON_REAL)], ids=["embedded", "4.3"])


@pytest.mark.parametrize(
    ("side", "port"),
    [
        *((embedded, port) for port in (REFUSES, HANGS)),
        pytest.param(real, HANGS, marks=ON_REAL),
        pytest.param(real, REFUSES, marks=[*ON_REAL, pytest.mark.long]),
    ],
    ids=["refuses-embedded", "hangs-embedded", "hangs-4.3", "refuses-4.3"],
)
async def test_one_that_fails_keeps_its_leaders_until_its_session_has_ended(side: Make, port: str) -> None:
    """A broker that is killed or hangs remains the leader of its partitions until its session ends. A refused
    connection alone does not take the leadership away. After the broker is back, its replicas join the ISR again.
    """
    async with side() as it:
        began = time.monotonic()
        await (it.kill() if port == REFUSES else it.hang())
        first = await until(it.link, lambda look: look.port != ANSWERS, 0)
        assert first == Look(port, leads=True, in_sync=True, fenced=False)
        fenced = await until(it.link, lambda look: look.fenced)
        # The session began with the last heartbeat, which is sent every two seconds.
        assert time.monotonic() - began >= it.session / 2
        assert (fenced.leads, fenced.in_sync) == (False, False)
        await it.come_back()
        await until(it.link, lambda look: look == Look(ANSWERS, leads=False, in_sync=True, fenced=False))


@SIDES
async def test_one_that_is_stopped_in_order_hands_its_leaders_over_first(
    side: Make,
) -> None:
    async with side() as it:
        stopping = asyncio.ensure_future(it.stop())
        first = await until(it.link, lambda look: look.port == REFUSES or look.fenced, 0)
        assert (first.leads, first.in_sync) == (False, False), "no look shows a closed port of a leader"
        await until(it.link, lambda look: look.fenced)
        await stopping
        await it.come_back()
        await until(it.link, lambda look: look == Look(ANSWERS, leads=False, in_sync=True, fenced=False))
