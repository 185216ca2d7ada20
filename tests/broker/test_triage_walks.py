"""From the alarm to green on real brokers: a leftover throttle, an impossible min ISR, and the leaders of a broker that
was away. The keys are counted, as on the embedded cluster (tests/tui/test_console_now.py)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic
from console.model.codes import DELETE, SET
from console.model.config import broker_resource, topic_resource
from tests.support.changing import applied
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import shortly
from tests.tui.console_app import Driven, driven_on

THROTTLE = "leader.replication.throttled.rate"
MIN_ISR = "min.insync.replicas"
MOST_KEYS = 8


@pytest.fixture
async def troubled(own_cluster: KafkaCluster, name: str) -> AsyncIterator[str]:
    """The cluster with all three; gives the topic whose min ISR is impossible."""
    link = Link(ConnectionSettings(bootstrap=own_cluster.addresses))
    cards, orders = f"cards-{name}", f"orders-{name}"
    assert await applied(link, CreateTopics((NewTopic(cards, 2, 2), NewTopic(orders, 24, 3))))
    of_cards, of_broker = topic_resource(cards), broker_resource(2)
    for resource, key, value, broker in ((of_cards, MIN_ISR, "3", None), (of_broker, THROTTLE, "1048576", 2)):
        assert await applied(link, AlterConfigs({resource: (ConfigOp(key, SET, value),)}, broker))
    await asyncio.to_thread(own_cluster.kill, 3)
    await asyncio.to_thread(own_cluster.restart, 3)

    async def is_in_sync() -> bool:
        return not (await describe_topics(link)).topics[orders].under_replicated

    # A console that sees the broker come back waits for the controller's own election instead.
    await shortly(is_in_sync)
    yield cards
    for resource, key, broker in ((of_cards, MIN_ISR, None), (of_broker, THROTTLE, 2)):
        await applied(link, AlterConfigs({resource: (ConfigOp(key, DELETE),)}, broker))
    await link.close()


async def walk(it: Driven, title: str) -> int:
    """Mend one of the causes that are shown; how many keys that took."""
    keys: list[str] = []

    async def press(*more: str) -> None:
        keys.extend(more)
        await it.press(*more)

    await it.shows(title)
    rows = [line for line in it.lines if {"HIGH", "WARN"} & set(line[:8].split())]
    place = next(number for number, line in enumerate(rows) if title in line)
    here = next((number for number, line in enumerate(rows) if line.startswith("▸")), 0)
    await press(*("j" if place > here else "k") * abs(place - here))
    await it.until(lambda: f"── {title}" in it.text)
    await press("F")
    moved = "the cursor is on another cause now"  # since the one that it was on is gone
    await it.until(lambda: "Plan*" in it.text or moved in it.text)
    if "Plan*" not in it.text:
        await press("F")
        await it.until(lambda: "Plan*" in it.text)
    await press("7", "A")
    await it.shows("y checks the plan")
    await press("y")
    await it.shows("applied")
    await press("full_stop")
    await it.until(lambda: title not in it.text)
    return len(keys)


@pytest.mark.takes(60)
async def test_from_the_alarm_to_green(own_cluster: KafkaCluster, troubled: str) -> None:
    async with driven_on(own_cluster, start_pane="now") as it:
        titles = ("broker 2: a throttle is left over", f"{troubled}: min ISR 3, 2 replicas", "broker 3 does not lead")
        for title in titles:
            await it.shows(title)  # a row that comes later would move the others
        for title in titles:
            assert await walk(it, title) <= MOST_KEYS
