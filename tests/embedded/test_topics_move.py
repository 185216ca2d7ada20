"""Reassignments and elections: what brokers of 4.3.0 and 3.9.1 answered to the same requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded import replicas
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.embedded.tables import Partition
from console.model.config import topic_resource
from tests.embedded.proposals_client import Rights, until
from tests.embedded.raw_client import RawClient
from tests.embedded.topic_requests import elect, move, moving
from tests.support.kafka_messages import with_fields
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE

DONE = (0, None)
ALIVE = (1, 2, 3)
INCLUDES = "The manual partition assignment includes "
PREFERRED, UNCLEAN = 0, 1
NOT_ELIGIBLE = "Eligible topic partition leaders are not available."


@pytest.fixture
async def any_release(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Each release, with a topic of two partitions."""
    any_release.state.put_topic(replicas.new_topic("t", [(1, 2), (2, 3)], ALIVE))
    return any_release


def partition(cluster: EmbeddedCluster, number: int = 0) -> Partition:
    return cluster.state.topics["t"].partitions[number]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("t", 0, None), (85, None)),
        (
            ("t", 0, []),
            (39, f"{INCLUDES}an empty replica list."),
        ),
        (
            ("t", 0, [1, 1]),
            (39, f"{INCLUDES}the broker 1 more than once."),
        ),
        (
            ("t", 0, [-1, 1]),
            (39, f"{INCLUDES}broker -1, but no such broker is registered."),
        ),
        (
            ("t", 0, [1, 8, 9]),
            (39, f"{INCLUDES}broker 8, but no such broker is registered."),
        ),
        (("nope", 0, [1]), (3, "Unable to find a topic named nope.")),
        (("t", 7, [1]), (3, "Unable to find partition t:7.")),
        (
            ("nope", 0, None),
            (3, "Unable to find a topic named nope."),
        ),
    ],
)
async def test_moves_that_can_not_be(any_release: EmbeddedCluster, asked: Any, expected: tuple[int, str]) -> None:
    async with RawClient(any_release) as client:
        results = await move(client, asked, ("t", 1, [3, 2]), version=0)
        assert set(results) == {expected, DONE}
    assert partition(any_release).replicas == (1, 2)
    assert partition(any_release, 1).replicas == (3, 2)


async def test_a_move_is_seen_and_comes_to_its_end() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(clock=clock) as cluster, RawClient(cluster) as client:
        cluster.state.put_topic(replicas.new_topic("t", [(1, 2), (2, 3)], ALIVE))
        assert await move(client, ("t", 0, [2, 3])) == [DONE]
        expected = {("t", 0): ((2, 3, 1), (3,), (1,))}
        assert await moving(client) == expected
        assert await moving(client, {"t": [0, 1, 9], "nope": [0]}) == expected
        assert await moving(client, {"t": [1]}) == {}
        assert await moving(client, {}) == {}
        assert (partition(cluster).leader, partition(cluster).isr) == (1, (1, 2))
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()
        clock.advance(30.0)
        await cluster.settled()
        assert await moving(client) == {}
        done = partition(cluster)
        assert (done.replicas, done.isr, done.leader, done.leader_epoch) == ((2, 3), (2, 3), 2, 1)


async def test_large_partitions_take_longer() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(scenario="quiet"), clock) as cluster, RawClient(cluster) as client:
        name = "checkout.payments"
        count = len(cluster.state.topics[name].partitions)
        moves = [(name, number, [1]) for number in range(count)]
        assert await move(client, *moves) == [DONE] * count
        assert await moving(client) == {}, "nothing is copied where replicas only go"
        moves = [(name, number, [1, 2, 3]) for number in range(count)]
        assert await move(client, *moves) == [DONE] * count
        left = []
        for _ in range(25):
            left.append(len(await moving(client)))
            clock.advance(1.0)
            await asyncio.sleep(0)
        await cluster.settled()
        assert left[0] == count
        assert left == sorted(left, reverse=True)
        assert len(set(left)) > 3
        assert await moving(client) == {}


async def test_what_only_goes_or_changes_places_is_done_at_once(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        assert await move(client, ("t", 0, [2, 1]), ("t", 1, [3]), version=0) == [DONE, DONE]
        assert await moving(client) == {}
    assert (partition(any_release).replicas, partition(any_release).leader) == ((2, 1), 1)
    assert (partition(any_release, 1).replicas, partition(any_release, 1).leader) == ((3,), 3)


async def test_a_move_waits_for_a_broker_that_is_down_and_can_be_changed_and_cancelled() -> None:
    async with EmbeddedCluster() as cluster, RawClient(cluster) as client:
        cluster.state.put_topic(replicas.new_topic("t", [(1, 2)], ALIVE))
        await cluster.broker_down(3)
        place = ("t", 0)
        # Each as a cluster of 4.3.0 listed it.
        for target, shown in (
            ([1, 3], ((1, 3, 2), (3,), (2,))),
            ([3, 1, 2], ((3, 1, 2), (3,), (2,))),
            ([2, 3], ((2, 3, 1), (3,), (1,))),
        ):
            assert await move(client, (*place, target)) == [DONE]
            assert await moving(client) == {place: shown}
        changed = (38, "The replication factor is changed from 2 to 3")
        assert await move(client, (*place, [1, 2, 3]), any_replication=False) == [changed]
        assert await move(client, (*place, None)) == [DONE]
        assert await moving(client) == {}
        assert (partition(cluster).replicas, partition(cluster).isr, partition(cluster).leader) == ((2, 1), (1, 2), 1)
        assert await move(client, (*place, [3, 2])) == [DONE]
        assert (partition(cluster).adding, partition(cluster).removing) == ((3,), (1,))
        await cluster.broker_up(3)
        assert await moving(client) == {}
        assert partition(cluster).replicas == (3, 2)


async def test_a_move_goes_on_after_a_restart(tmp_path: Any) -> None:
    spec = ClusterSpec(state_file=tmp_path / "state")
    async with EmbeddedCluster(spec, ManualClock()) as cluster, RawClient(cluster) as client:
        cluster.state.put_topic(replicas.new_topic("t", [(1, 2)], ALIVE))
        assert await move(client, ("t", 0, [1, 3])) == [DONE]
    async with EmbeddedCluster(spec) as cluster:
        assert replicas.is_moving(partition(cluster))
        await until(cluster, lambda: partition(cluster).replicas == (1, 3))


async def test_moves_without_time(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        results = await move(client, ("t", 0, [2, 1]), version=0, wait=0)
    assert results == [(7, None)]


async def test_elections_that_are_not_needed_or_can_not_be(any_release: EmbeddedCluster) -> None:
    not_needed = (84, "Leader election not needed for topic partition.")
    no_partition, no_topic = "No such partition as t-9", "No such topic as nope"
    async with RawClient(any_release) as client:
        for version in (0, 1, 2):
            code, results = await elect(client, PREFERRED, [("t", 0), ("t", 9), ("nope", 0)], version)
            assert (code, results) == (0, {"t": [(0, *not_needed), (9, 3, no_partition)], "nope": [(0, 3, no_topic)]})
        assert await elect(client, UNCLEAN, [("t", 0)]) == (0, {"t": [(0, *not_needed)]})
        assert await elect(client, PREFERRED, None) == (0, {"t": []})
        assert await elect(client, 7, [("t", 0)]) == (42, {"t": [(0, 42, "Unknown election type 7")]})
        assert await elect(client, PREFERRED, [("t", 0)], wait=0) == (7, {"t": [(0, 7, None)]})


async def test_the_preferred_leader_is_elected(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        assert await move(client, ("t", 0, [2, 1]), version=0) == [DONE]
        assert partition(any_release).leader == 1
        assert await elect(client, PREFERRED, None) == (0, {"t": [(0, *DONE)]})
        assert (partition(any_release).leader, partition(any_release).leader_epoch) == (2, 1)


async def test_elections_where_the_leader_is_down(any_release: EmbeddedCluster) -> None:
    any_release.state.put_topic(replicas.new_topic("alone", [(3,)], ALIVE))
    any_release.state.put_topic(replicas.new_topic("led", [(3, 1)], ALIVE))
    await any_release.broker_down(3)
    preferred = "The preferred leader was not available."
    async with RawClient(any_release) as client:
        _, results = await elect(client, PREFERRED, [("alone", 0), ("led", 0)])
        assert results == {"alone": [(0, 80, preferred)], "led": [(0, 80, preferred)]}
        _, results = await elect(client, UNCLEAN, [("alone", 0)])
        assert results == {"alone": [(0, 83, NOT_ELIGIBLE)]}


async def test_an_unclean_election_takes_who_is_there(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic("t", [(3, 1)], ALIVE))
    await cluster.broker_down(1)
    await cluster.broker_down(3)
    await cluster.broker_up(1)
    assert (partition(cluster).leader, partition(cluster).isr) == (-1, (3,))
    async with RawClient(cluster) as client:
        _, results = await elect(client, UNCLEAN, [("t", 0)])
    assert results == {"t": [(0, *DONE)]}
    assert (partition(cluster).leader, partition(cluster).isr) == (1, (1,))


async def test_all_of_it_needs_rights_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic("t", [(1, 2)], ALIVE))
    cluster.authorizer = Rights(("ALTER", "TOPIC", "t"), ("DESCRIBE", "TOPIC", "t"))
    async with RawClient(cluster) as client:
        ((code, message),) = await move(client, ("t", 0, [2, 1]))
        assert code == 31
        assert message is not None
        assert message.endswith("needs ALTER permission.")
        assert await elect(client, PREFERRED, [("t", 0)]) == (31, {"t": [(0, 31, message)]})
        assert await elect(client, PREFERRED, None) == (31, {})
        answer = await client.ask("list_partition_reassignments", 0, with_fields(topics=None))
        assert (answer.error_code, answer.topics) == (31, ())
    assert partition(cluster).replicas == (1, 2)


REPLICAS = st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True).map(tuple)


@given(REPLICAS, st.lists(REPLICAS, min_size=1, max_size=4), st.sets(st.integers(1, 6)))
def test_what_has_caught_up_is_on_the_last_target(
    first: tuple[int, ...], targets: Sequence[tuple[int, ...]], down: set[int]
) -> None:
    alive = set(range(1, 7)) - down
    now = replicas.new_partition(first, sorted(alive))
    for target in targets:
        now = replicas.cancelled(now, alive) if replicas.is_moving(now) else now
        now = replicas.reassigned(now, target, alive)
        assert set(target) <= set(now.replicas)
    for replica in targets[-1]:
        now = replicas.caught_up(now, replica, alive)
    assert not replicas.is_moving(now)
    assert now.replicas == targets[-1]
    assert now.leader in (*now.isr, -1)
    assert set(now.isr) <= set(now.replicas)


@given(REPLICAS, REPLICAS)
def test_what_is_cancelled_is_back_on_what_it_was_on(first: tuple[int, ...], target: tuple[int, ...]) -> None:
    before = replicas.new_partition(first, range(1, 7))
    moved = replicas.reassigned(before, target, range(1, 7))
    if replicas.is_moving(moved):
        back = replicas.cancelled(moved, range(1, 7))
        assert set(back.replicas) == set(first)
        assert set(back.isr) == set(first)
        assert back.leader in first
    else:
        assert moved.replicas == target


async def test_a_throttle_of_replication_is_kept_to() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(scenario="incident"), clock) as cluster, RawClient(cluster) as client:
        state = cluster.state
        throttled, free = "logistics.stock", "logistics.shipments"
        assert "follower.replication.throttled.replicas" in state.configs[topic_resource(throttled)]
        places = [(name, number) for name in (throttled, free) for number in range(3)]
        assert set(await move(client, *((*place, [1]) for place in places))) == {DONE}
        assert set(await move(client, *((*place, [1, 3]) for place in places))) == {DONE}
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()
        clock.advance(30.0)
        await until(cluster, lambda: not any(map(replicas.is_moving, state.topics[free].partitions)))
        assert {name for name, _ in await moving(client)} == {throttled}
