"""Whatever is done to topics while brokers come and go: partitions stay such as a cluster can have."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from console.embedded.brokers import EmbeddedCluster
from console.embedded.handlers.replicas import elect, elect_all
from console.embedded.handlers.topics import grow, planned_growth
from console.embedded.refusals import DONE, Refusal
from console.embedded.replicas import broker_back, broker_lost, is_moving, new_topic, start_move
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from console.embedded.tables import NO_LEADER, Partition
from console.embedded.topics import PlannedTopic, Planner, WantedTopic, create
from tests.support.examples import examples
from tests.support.manual_clock import ManualClock

GOOD = st.lists(st.integers(1, 3), min_size=1, max_size=3, unique=True).map(tuple)
ANY = st.lists(st.integers(0, 4), max_size=4).map(tuple)
TARGETS = st.one_of(GOOD, GOOD, GOOD, st.none(), ANY)
ASSIGNMENTS = st.none() | st.lists(GOOD | ANY, max_size=2)
NAMES = st.sampled_from(("a", "a", "a", "b", "a.b", "a_b"))
PLACES = st.integers(0, 3)
STEPS = st.one_of(
    st.tuples(st.just("down"), st.integers(1, 3)),
    st.tuples(st.just("up"), st.integers(1, 3)),
    st.tuples(st.just("wait"), st.floats(0.1, 30)),
    st.tuples(st.just("create"), NAMES, st.integers(-1, 4), st.integers(-1, 4)),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("grow"), NAMES, st.integers(0, 6), ASSIGNMENTS),
    st.tuples(st.just("move"), NAMES, PLACES, TARGETS),
    st.tuples(st.just("move"), st.just("a"), st.integers(0, 2), TARGETS),
    st.tuples(st.just("elect"), NAMES, PLACES, st.integers(0, 1)),
    st.tuples(st.just("elect all"), st.integers(0, 1)),
)


def is_sound(partition: Partition, alive: tuple[int, ...]) -> bool:
    """What the controller holds of every partition."""
    replicas, isr = partition.replicas, partition.isr
    led = partition.leader in isr and partition.leader in alive
    staying = set(replicas) - set(partition.removing)
    return (
        bool(replicas)
        and len(set(replicas)) == len(replicas)
        and len(set(isr)) == len(isr)
        and bool(isr)
        and set(isr) <= set(replicas)
        and set(partition.adding) | set(partition.removing) <= set(replicas)
        and bool(staying)
        # It is led where anybody in sync could.
        and (led or (partition.leader == NO_LEADER and not set(isr) & set(alive)))
        # A move that could end has.
        and (not is_moving(partition) or not set(partition.adding) <= set(isr) or not staying & set(isr))
    )


async def step(cluster: EmbeddedCluster, clock: ManualClock, action: tuple[object, ...]) -> None:
    state = cluster.state
    match action:
        case ("down", int(broker)) if len(state.alive()) > 1:
            broker_lost(state, broker) if broker in state.alive() else None
        case ("up", int(broker)):
            broker_back(state, broker) if broker not in state.alive() else None
        case ("wait", float(seconds)):
            for _ in range(3):  # what was begun gets to its sleep, and out of it
                await asyncio.sleep(0)
                clock.advance(seconds / 3)
        case ("create", str(name), int(partitions), int(replication)):
            planned = Planner(cluster).plan(WantedTopic(name, partitions, replication))
            if isinstance(planned, PlannedTopic):
                create(state, planned)
        case ("delete", str(name)):
            state.remove_topic(name)
        case ("grow", str(name), int(count), given):
            growth = planned_growth(state, name, count, given)  # type: ignore[arg-type]
            if not isinstance(growth, Refusal):
                grow(state, name, growth)
                assert len(state.topics[name].partitions) == count
        case ("move", str(name), int(index), target):
            before = state.topics.get(name)
            result = start_move(cluster, name, index, target)  # type: ignore[arg-type]
            assert result == DONE or state.topics.get(name) == before
        case ("elect", str(name), int(index), int(kind)):
            elect(state, kind, name, index)
        case ("elect all", int(kind)):
            list(elect_all(state, kind))


@given(st.sampled_from(RELEASE_NAMES), st.lists(STEPS, max_size=30))
@examples(20, at_length=60, deadline=None)
def test_partitions_stay_sound(release: str, steps: list[tuple[object, ...]]) -> None:
    async def run() -> None:
        clock = ManualClock()
        async with EmbeddedCluster(ClusterSpec(versions=release), clock) as cluster:
            state = cluster.state
            state.put_topic(new_topic("a", [(1, 2, 3), (2, 3), (3,)], (1, 2, 3)))
            for action in steps:
                await step(cluster, clock, action)
                for topic in state.topics.values():
                    for partition in topic.partitions:
                        assert is_sound(partition, state.alive()), (action, topic.name, partition)
                    alike = state.topics.like(topic.name)
                    assert alike in (topic.name, None) or alike.replace(".", "_") == topic.name.replace(".", "_")
                    assert state.topics.name_of(topic.id) == topic.name

    asyncio.run(run())
