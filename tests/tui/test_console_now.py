"""What is wrong, on the screen: named while it lasts, looked at, mended from its row, and green again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource
from tests.tui.console_app import driven_on

THROTTLE = "leader.replication.throttled.rate"


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    def seed(running: EmbeddedCluster) -> None:
        running.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3]))

    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(seed)
        yield running


async def test_a_healthy_cluster_says_what_was_looked_at(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster) as it:
        await it.press("full_stop")
        await it.shows("healthy: 3 brokers, 1 topic")
        await it.press("F")
        await it.shows("there is nothing under the cursor")


async def test_from_the_alarm_to_green(cluster: ThreadedCluster) -> None:
    """Five keys: the pane, its fix, the plan, apply, yes."""
    cluster.call(lambda running: running.state.alter_config(broker_resource(2), {THROTTLE: "1024"}))
    async with driven_on(cluster) as it:
        await it.press("full_stop")
        await it.shows("WARN  start     replication throttles without a reassignment")
        await it.shows(f"broker 2 {THROTTLE} = 1024: no partition is")
        await it.press("F", "7")
        await it.shows(THROTTLE)
        await it.press("A", "y")
        await it.shows("applied")
        await it.press("full_stop")
        await it.shows("healthy")
        assert cluster.call(lambda running: dict(running.state.configs.get(broker_resource(2), {}))) == {}


async def test_a_broker_goes_down_while_it_is_watched(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster) as it:
        await it.press("full_stop")
        await it.shows("healthy")
        cluster.run(lambda running: running.broker_down(3))
        await it.shows("broker 3 is down")
        line = it.line("broker 3 is down")
        assert "CRIT" in line
        assert "start" not in line, "it began while the console watched"
        await it.shows("6 under-replicated")
        await it.press("F")
        await it.shows("outside of Kafka: look at")
        await it.press("enter")
        await it.shows("active controller")
        cluster.run(lambda running: running.broker_up(3))
        await it.press("full_stop")
        await it.until(lambda: "broker 3 is down" not in it.text)
        await it.press("y")
        await it.shows("copied: # Kafka:")
