"""Tests of elections, and of cancelling a reassignment, from the rows that show the trouble."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import produced_batch
from console.embedded.replicas import broker_back, broker_lost, new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.plan.edits import CancelMove, ElectPreferred, ElectUnclean
from tests.embedded.record_batches import batch
from tests.support import worlds
from tests.tui.console_app import Driven, driven, driven_on
from tests.tui.console_app import cluster as model_cluster
from tests.tui.model_client import ModelClient

ALIVE = (1, 2, 3)


def trouble(cluster: EmbeddedCluster) -> None:
    state = cluster.state
    state.put_topic(new_topic("away", [(1, 2), (2, 1), (1, 3)], ALIVE))
    state.put_topic(new_topic("well", [(2, 3)], ALIVE))
    broker_lost(state, 1)
    broker_back(state, 1)
    broker_lost(state, 4)
    state.put_topic(new_topic("lost", [(4, 2)], (1, 2, 3, 4)))
    state.logs["lost", 0] = PartitionLog()
    write(cluster, 4)
    broker_lost(state, 2)
    write(cluster, 3)
    broker_lost(state, 4)
    broker_back(state, 2)
    state.put_topic(new_topic("moved", [(1, 2), (2, 3)], ALIVE))
    assert start_move(cluster, "moved", 0, (1, 4)).code == 0


cluster = worlds.cluster(ClusterSpec(brokers=4), trouble)
"""Provide a cluster in which brokers 1 and 2 were down, one after the other, so that others lead their partitions.
The topic `lost` has no live replica in its ISR; the reassignment of the topic `moved` waits for broker 4, which
is down.
"""


def write(cluster: EmbeddedCluster, count: int) -> None:
    epoch = cluster.state.topics["lost"].partitions[0].leader_epoch
    cluster.state.logs["lost", 0].append(produced_batch(batch(*[b"x"] * count)), epoch)


async def on_topic(it: Driven, name: str) -> None:
    """Move the cursor to the row of a topic."""
    await it.press("2", shows=name)
    names = sorted(("away", "lost", "moved", "well"))
    await it.until(lambda: all(each in it.text for each in names))
    await it.press("g", *["j"] * names.index(name))


async def test_brokers_say_whom_to_elect_and_the_key_stages_it(cluster: ThreadedCluster, it: Driven) -> None:
    await it.press("1")
    await it.until(lambda: "127.0.0.1" in it.text)
    assert "Elect" in it.line("Host")
    await it.shows("fenced", "4 topics")
    await it.press("j", "E", shows="staged: leader of away/2")
    assert it.edits == [ElectPreferred("away", 2)]
    await it.press("7", shows="elect broker 1, its preferred replica; now 3 leads")
    await it.shows("leaders by broker: 1: 3 → 4, 3: 2 → 1")
    await it.press("A", shows="Apply 1 edit")
    await it.press("y", shows="applied")
    leaders = cluster.call(lambda c: [each.leader for each in c.state.topics["away"].partitions])
    assert leaders == [1, 1, 1]
    await it.press("1")
    await it.press("g", "j", "j", "j", "E", shows="each partition is led by its preferred replica")
    await it.press("g", "E", shows="staged: 2 edits; not needed: it stays without a leader: broker 4, its")
    assert it.edits == [ElectPreferred("away", 1), ElectPreferred("well", 0)]


async def test_before_the_topics_are_read_it_is_not_said_that_all_is_well() -> None:
    read = asyncio.Event()

    class Late(ModelClient):
        async def run(self, operation: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
            if operation.__name__ == "describe_topics":
                await read.wait()
            return await super().run(operation, *args, **options)

    async with driven(Late(model_cluster()), settings=ConsoleSettings(start_pane="brokers", refresh=0.2)) as it:
        await it.shows("active controller")
        await it.press("j", "E", shows="the topics are still being read")
        read.set()
        await it.shows("Leads")
        await it.until(lambda: "topics" in it.app.session.snapshot.read_at)
        await it.press("E", shows="staged: 2 edits")


async def test_topics_and_partitions_stage_their_elections(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 40)) as it:
        await on_topic(it, "away")
        await it.press("E", shows="staged: 2 edits")
        await it.press("u")
        await it.press("enter")
        await it.press("tab", shows="preferred 1")
        await it.press("E", shows="broker 1, its preferred replica, leads already")
        await it.press("j", "E", shows="staged: leader of away/1")
        assert it.edits == [ElectPreferred("away", 1)]
        await it.press("x", shows="partition 1 does not move")


async def test_an_unclean_election_is_written_into_the_bar_and_typed(cluster: ThreadedCluster, it: Driven) -> None:
    await on_topic(it, "lost")
    await it.press("E")
    assert it.app.bar.line.text == "elect unclean topic lost partition 0"
    await it.press("escape")
    assert it.edits == []
    await it.press("enter", "tab", shows="LEADER_NOT_AVAILABLE")
    await it.press("E")
    assert it.app.bar.line.text == "elect unclean topic lost partition 0"
    await it.press("enter", shows="staged: leader of lost/0")
    assert it.edits == [ElectUnclean("lost", 0)]
    await it.press("7", shows=("unclean-loss: records from offset 4 on are lost", "broker 2: its log ends at 4"))
    await it.press("A", shows="no way back")
    await it.type("lost/1", "enter", shows="that is not")
    assert cluster.call(lambda c: c.state.topics["lost"].partitions[0].leader) == -1
    for _ in "lost/1":
        await it.press("backspace")
    await it.type("lost/0", "enter", shows="applied")
    assert cluster.call(lambda c: c.state.topics["lost"].partitions[0].leader) == 2
    assert cluster.call(lambda c: c.state.logs["lost", 0].end) == 4


async def test_a_partition_shows_its_move_which_a_key_cancels(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 40)) as it:
        await on_topic(it, "moved")
        await it.press("enter")
        await it.press("tab", shows="moves 1,2 → 1,4")
        await it.press("x", shows="staged: move of moved/0")
        assert it.edits == [CancelMove("moved", 0)]
        await it.press("7", shows="cancel the move 1,2 → 1,4; it stays on 1,2")
        await it.press("A")
        await it.press("y", shows="applied")
        assert cluster.call(lambda c: c.state.topics["moved"].partitions[0].replicas) == (1, 2)


async def test_one_statement_stages_once_whatever_is_marked(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 40)) as it:
        await on_topic(it, "away")
        await it.press("g", "space", "space", "space")
        await it.command("elect preferred topic away", shows="staged: 2 edits")
        assert "not needed" not in it.text
