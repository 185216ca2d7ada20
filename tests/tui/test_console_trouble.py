"""Tests of the key `!`. In every pane it hides all rows without trouble, by the rules of triage; pressed again, it
shows all rows.
"""

from datetime import UTC, datetime

import pytest

from console.embedded.brokers import ThreadedCluster
from console.embedded.replicas import striped
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource, topic_resource
from console.tui.reading import answered
from tests.support import worlds
from tests.tui.console_app import Driven, driven_on

THROTTLE = "leader.replication.throttled.rate"
ALL = "exclamation_mark"


cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("orders", 6, 3),
    worlds.topic("safe", striped([1, 2], 4, 2), brokers=[1, 2, 3]),
    down=(3,),
)
"""Provide a cluster with two topics, in which broker 3 is down. Only the topic `orders` has replicas on this broker."""


async def test_topics_and_partitions_in_trouble(it: Driven) -> None:
    await it.press("2", shows="safe")
    await it.until(lambda: it.line("orders").lstrip(" ▸").startswith("!"))
    await it.press(ALL)
    assert "safe" not in it.text
    assert "only trouble" in it.lines[2]
    assert "1 of 2" in it.lines[2]
    await it.press("escape")
    assert "safe" in it.text
    assert "only trouble" not in it.text
    await it.press("G", "enter", "tab", shows="Partition")
    await it.press(ALL, shows="nothing is in trouble here; `!` shows all")
    await it.press(ALL)
    assert "nothing is in trouble" not in it.text


async def test_a_filter_holds_within_the_trouble(it: Driven) -> None:
    await it.press("2", shows="safe")
    await it.press(ALL, "slash")
    await it.type("saf", "enter", shows="nothing is in trouble here and passes /saf")
    await it.press("escape", shows="orders")
    assert "only trouble" in it.lines[2]


async def test_the_broker_that_is_down_and_one_that_falls_silent_later(it: Driven) -> None:
    await it.press("1", shows="active controller")
    await it.until(lambda: any(line.startswith(" ! 3") for line in it.lines))
    await it.press(ALL)
    await it.until(lambda: not any(line.lstrip(" ▸").startswith("1 ctrl") for line in it.lines))
    assert any("! 3" in line for line in it.lines)
    assert "<default>" not in it.text
    await it.press("1", shows="active controller")
    trouble = it.app.view.trouble
    assert 2 not in trouble.found.brokers
    it.app.reading.contact = answered(datetime.now(UTC), frozenset({2}))
    assert 2 in trouble.found.brokers


async def test_configs_that_are_odd(cluster: ThreadedCluster) -> None:
    cluster.call(lambda running: running.state.alter_config(topic_resource("safe"), {"min.insync.replicas": "3"}))
    async with driven_on(cluster) as it:
        await it.press("3", shows="safe")
        await it.press(ALL, shows="1 of ")
        assert "orders" not in it.text
        await it.press("G", "enter", shows="min.insync.replicas")
        await it.press(ALL)
        await it.until(lambda: "cleanup.policy" not in it.text)
        assert "min.insync.replicas" in it.text


@pytest.mark.parametrize(
    ("key", "there", "calm"),
    [
        ("4", "entities", "no edit was refused; brokers do not say what sits at its limit"),
        ("5", "by principal", "ACLs are never in trouble"),
        ("6", "0", "nothing is in trouble here; `!` shows all"),
        ("ctrl+t", "transactions", "nothing is in trouble here; `!` shows all"),
        ("comma", "events", "nothing is in trouble here; `!` shows all"),
    ],
)
async def test_panes_without_trouble_say_so(key: str, there: str, calm: str, it: Driven) -> None:
    await it.press(key, shows=there)
    await it.press(ALL, shows=calm)
    assert "only trouble" in it.lines[2]


async def test_edits_that_were_refused_the_past_and_causes_that_are_on_their_way(it: Driven) -> None:
    await it.command("set topic orders retention.ms=1000")
    await it.command("grow topic safe partitions=2")
    await it.press("7", shows="retention.ms")
    await it.press(ALL, shows="no edit was refused; `!` shows all")
    await it.press("escape", shows="retention.ms")
    await it.press("8", ALL, shows="what changed is in no trouble by itself")
    assert "only trouble" not in it.text
    await it.press("full_stop", shows="broker 3 is down")
    await it.press(ALL)
    assert "only trouble" in it.lines[2]
    assert "broker 3 is down" in it.text


async def test_a_broker_with_a_throttle_that_was_left_behind(cluster: ThreadedCluster) -> None:
    cluster.call(lambda running: running.state.alter_config(broker_resource(2), {THROTTLE: "1024"}))
    async with driven_on(cluster) as it:
        await it.press("full_stop", shows="a throttle is left over")
        await it.press("1", shows="active controller")
        await it.press(ALL)
        await it.until(lambda: any(line.lstrip(" ▸!").startswith("2 ") for line in it.lines))
