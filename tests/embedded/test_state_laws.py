"""Laws of the state: views of the past, partitions when brokers come and go, tables over a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from console.embedded.group_coordinator import partition_of
from console.embedded.java import java_hash
from console.embedded.replicas import broker_back, broker_lost, new_topic, striped
from console.embedded.spec import release
from console.embedded.state import TABLE_NAMES, ClusterState, Propagation
from console.embedded.tables import NO_LEADER, RETENTION, BrokerNode, Table
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from tests.support.manual_clock import ManualClock

NAMES = st.sampled_from("abcdef")
BROKERS = (1, 2, 3, 4)


def fresh(clock: ManualClock | None = None) -> ClusterState:
    state = ClusterState("c", release("4.4"), clock or ManualClock())
    for broker in BROKERS:
        state.put_broker(BrokerNode(broker))
    state.move_controller(1)
    return state


class Cluster(RuleBasedStateMachine):
    """Whatever is done: an older view is what was there then, and partitions keep to their rules."""

    @initialize()
    def begin(self) -> None:
        self.clock = ManualClock()
        self.state = fresh(self.clock)
        self.past: dict[int, dict[str, dict[object, object]]] = {}
        self.remember()

    def remember(self) -> None:
        self.past[self.state.log.end] = {name: dict(self.state.tables.named(name)) for name in TABLE_NAMES}

    @rule(name=NAMES, partitions=st.integers(1, 4), replication=st.integers(1, 4))
    def topic(self, name: str, partitions: int, replication: int) -> None:
        alive = self.state.alive()
        if name not in self.state.topics and replication <= len(alive):
            self.state.put_topic(new_topic(name, striped(alive, partitions, replication), alive))
        self.remember()

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        there = name in self.state.topics
        self.state.remove_topic(name)
        assert not there or topic_resource(name) not in self.state.configs
        self.remember()

    @rule(name=NAMES, key=st.sampled_from(("k", "l")), value=st.one_of(st.none(), st.text(max_size=3)))
    def config(self, name: str, key: str, value: str | None) -> None:
        self.state.alter_config(topic_resource(name), {key: value})
        assert self.state.configs.get(topic_resource(name), {}).get(key) == value
        self.remember()

    @rule(name=NAMES, value=st.one_of(st.none(), st.floats(1, 100)))
    def quota(self, name: str, value: float | None) -> None:
        entity = QuotaEntity.of({"user": name})
        self.state.alter_quota(entity, {"producer_byte_rate": value})
        assert self.state.quotas.get(entity, {}).get("producer_byte_rate") == value
        self.remember()

    @rule(broker=st.sampled_from(BROKERS))
    def down(self, broker: int) -> None:
        if self.state.brokers[broker].alive:
            broker_lost(self.state, broker)
        self.remember()

    @rule(broker=st.sampled_from(BROKERS))
    def up(self, broker: int) -> None:
        if not self.state.brokers[broker].alive:
            broker_back(self.state, broker)
        self.remember()

    @invariant()
    def the_past_stays_as_it_was(self) -> None:
        for offset, tables in self.past.items():
            view = self.state.view_at(offset)
            for name, content in tables.items():
                table: Mapping[object, object] = getattr(view, name)
                assert dict(table) == content
                assert len(table) == len(content)
                assert all(key in table for key in content)

    @invariant()
    def partitions_keep_to_their_rules(self) -> None:
        alive = self.state.alive()
        for topic in self.state.topics.values():
            for partition in topic.partitions:
                assert partition.isr
                assert set(partition.isr) <= set(partition.replicas)
                assert partition.leader == NO_LEADER or partition.leader in set(partition.isr) & set(alive)
                assert (partition.leader == NO_LEADER) == (not set(partition.isr) & set(alive))
                if partition.leader != NO_LEADER:
                    assert set(partition.isr) <= set(alive)

    @invariant()
    def some_broker_that_is_alive_is_the_controller(self) -> None:
        alive = self.state.alive()
        assert self.state.controller_id in alive if alive else self.state.controller_id == NO_LEADER

    @invariant()
    def topics_are_found_by_id(self) -> None:
        for name, topic in self.state.topics.items():
            assert self.state.topics.name_of(topic.id) == name


TestCluster = Cluster.TestCase


class Squares:
    """A source: the squares of the first numbers."""

    def __init__(self, size: int) -> None:
        self.size = size

    def find(self, key: int) -> int | None:
        return key * key if 0 <= key < self.size else None

    def items(self) -> Iterator[tuple[int, int]]:
        return ((key, key * key) for key in self)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.size))

    def __len__(self) -> int:
        return self.size


@given(
    size=st.integers(0, 5),
    steps=st.lists(st.tuples(st.integers(0, 7), st.one_of(st.none(), st.integers()))),
)
def test_a_table_over_a_source_is_a_dictionary(size: int, steps: list[tuple[int, int | None]]) -> None:
    table = Table("squares", Squares(size))
    expected = {key: key * key for key in range(size)}
    for key, value in steps:
        if value is None:
            table.remove(key)
            expected.pop(key, None)
        else:
            table.put(key, value)
            expected[key] = value
        assert {key: table[key] for key in table} == dict(table.items()) == expected
        assert sorted(table.values()) == sorted(expected.values())
        assert len(table) == len(expected)
        assert [key in table for key in range(8)] == [key in expected for key in range(8)]


@given(delay=st.floats(0.1, 10), steps=st.lists(st.tuples(st.floats(0, 5), st.booleans()), max_size=20))
def test_brokers_lag_by_the_delay_and_no_more(delay: float, steps: list[tuple[float, bool]]) -> None:
    clock = ManualClock()
    state = fresh(clock)
    propagation = Propagation(state, delay)
    made: list[tuple[float, int]] = []
    for wait, change in steps:
        clock.advance(wait)
        if change:
            made.append((clock.time(), state.set_feature("f", len(made) + 1)))
        assert propagation.applied(1) == state.log.end
        for at, offset in made:
            assert (propagation.applied(2) >= offset) == (at <= clock.time() - delay)


def test_old_changes_are_dropped_and_the_end_stays() -> None:
    clock = ManualClock()
    state = fresh(clock)
    state.set_feature("old", 1)
    clock.advance(RETENTION + 1)
    end = state.set_feature("new", 1)
    assert [change.key for change in state.log.after(0)] == ["new"]
    assert state.log.end == end


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("billing", -109829509),
        ("my-group", -1906497762),
        ("polygenelubricants", -(2**31)),
        ("ünïcode 😀", 1630102937),
    ],
)
def test_strings_hash_as_javas(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_the_coordinator_of_a_group_is_found_as_in_kafka() -> None:
    """Utils.abs, in which the lowest number becomes 0."""
    assert [partition_of(name) for name in ("a", "billing", "my-group", "polygenelubricants")] == [47, 9, 12, 0]
