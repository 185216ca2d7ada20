"""The overview: the last half hour in lines, on the screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.present.overview import GAP
from tests.tui.console_app import driven_on


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    """Two of three partitions are under-replicated."""
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", ((1, 2), (3, 1), (2, 3)), (1, 2, 3))))
        running.run(lambda c: c.broker_down(3))
        yield running


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_last_half_hour_is_drawn_and_leads_to_what_it_shows(
    cluster: ThreadedCluster, size: tuple[int, int]
) -> None:
    async with driven_on(cluster, size=size) as it:
        await it.press("ctrl+g")
        await it.until(lambda: "overview" in it.lines[2] and it.line("under-replicated  ").split()[1] == "2")
        assert GAP in it.line("events   ")
        assert len(it.line("under-replicated  ").rstrip()) <= size[0]
        await it.press("down", "down", "enter")
        await it.shows("orders")
        await it.press("escape")
        await it.shows("under-replicated  ")
