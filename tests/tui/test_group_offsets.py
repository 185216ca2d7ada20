"""A group's offsets from the row that shows them: staged, foreseen, applied and taken back, at 80×24."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.groups import Committed, Group
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from tests.support.group_flows import write
from tests.tui.console_app import Driven, driven_on


@pytest.fixture
async def cluster() -> AsyncIterator[ThreadedCluster]:
    def furnish(running: EmbeddedCluster) -> None:
        running.state.put_topic(new_topic("orders", striped([1], 1, 1), [1]))
        group = Group("billing", protocol_type="consumer", written=True)
        group.offsets["orders", 0] = Committed(4)
        running.state.groups["billing"] = group

    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(furnish)
        await write(running.bootstrap, "orders", {0: 10})
        yield running


def committed(cluster: ThreadedCluster) -> int:
    return cluster.call(lambda running: running.state.groups["billing"].offsets["orders", 0].offset)


async def applied(it: Driven) -> None:
    """The plan is applied from its pane."""
    await it.press("7")
    await it.shows("OffsetCommit")
    await it.press("A")
    await it.shows("Apply")
    await it.press("y")


async def test_a_poison_record_is_skipped_from_its_row_and_that_is_taken_back(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster) as it:
        await it.press("6")
        await it.shows("billing")
        await it.press("enter")
        await it.until(lambda: "orders" in it.line("orders"))
        await it.press("s")
        await it.shows("skip group billing topic orders partition 0")
        await it.press("enter")
        await it.press("7")
        await it.shows("reset from 4 to 5")
        await it.shows("up to 1 record is never read")
        await it.shows("consumers that assign() partitions are no members")
        await it.press("A")
        await it.settle()
        print(it.text)
        assert 0
