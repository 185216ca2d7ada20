"""Tests of properties of an embedded cluster's state, topics, logs and groups."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from console.embedded.brokers import EmbeddedCluster
from console.embedded.group_coordinator import partition_of
from console.embedded.groups import Group, GroupState, Joined, JoinRequest, Synced
from console.embedded.handlers.replicas import elect, elect_all
from console.embedded.handlers.topics import grow, planned_growth
from console.embedded.java import java_hash
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import CorruptBatch, InvalidBatch, placed_batch, produced_batch, read_batch
from console.embedded.refusals import DONE, Refusal
from console.embedded.replicas import broker_back, broker_lost, is_moving, new_topic, start_move, striped
from console.embedded.spec import RELEASE_NAMES, ClusterSpec, release
from console.embedded.state import TABLE_NAMES, ClusterState, Propagation
from console.embedded.tables import NO_LEADER, RETENTION, BrokerNode, Partition, Table
from console.embedded.topics import PlannedTopic, Planner, WantedTopic, create
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from tests.embedded.record_batches import START, batch, values
from tests.support.examples import examples
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
    """Takes random steps on a cluster; after each of them, older views still show the state of their time, and
    partitions obey the controller's rules.
    """

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
    """A source of entries that generates the squares of the first numbers."""

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
    """A group's partition of __consumer_offsets follows from Kafka's Utils.abs of its name's hash, which turns the
    lowest int into 0.
    """
    assert [partition_of(name) for name in ("a", "billing", "my-group", "polygenelubricants")] == [47, 9, 12, 0]


# -- Partitions stay valid through any changes of topics and brokers ---------------------------------------------------

GOOD = st.lists(st.integers(1, 3), min_size=1, max_size=3, unique=True).map(tuple)
ANY = st.lists(st.integers(0, 4), max_size=4).map(tuple)
TARGETS = st.one_of(GOOD, GOOD, GOOD, st.none(), ANY)
ASSIGNMENTS = st.none() | st.lists(GOOD | ANY, max_size=2)
TOPIC_NAMES = st.sampled_from(("a", "a", "a", "b", "a.b", "a_b"))
PLACES = st.integers(0, 3)
TOPIC_STEPS = st.one_of(
    st.tuples(st.just("down"), st.integers(1, 3)),
    st.tuples(st.just("up"), st.integers(1, 3)),
    st.tuples(st.just("wait"), st.floats(0.1, 30)),
    st.tuples(st.just("create"), TOPIC_NAMES, st.integers(-1, 4), st.integers(-1, 4)),
    st.tuples(st.just("delete"), TOPIC_NAMES),
    st.tuples(st.just("grow"), TOPIC_NAMES, st.integers(0, 6), ASSIGNMENTS),
    st.tuples(st.just("move"), TOPIC_NAMES, PLACES, TARGETS),
    st.tuples(st.just("move"), st.just("a"), st.integers(0, 2), TARGETS),
    st.tuples(st.just("elect"), TOPIC_NAMES, PLACES, st.integers(0, 1)),
    st.tuples(st.just("elect all"), st.integers(0, 1)),
)


def is_sound(partition: Partition, alive: tuple[int, ...]) -> bool:
    """Return whether a partition obeys the controller's rules. alive: the brokers that are up."""
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
        # It has a leader if any replica in sync is alive.
        and (led or (partition.leader == NO_LEADER and not set(isr) & set(alive)))
        # No move is left that could have ended.
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
            for _ in range(3):  # lets started tasks reach their sleep, and leave it
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


@given(st.sampled_from(RELEASE_NAMES), st.lists(TOPIC_STEPS, max_size=30))
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


# -- Laws of a partition's log and of a group, in any order of events --------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("delete"), st.integers(-5, 60)),
        st.tuples(st.just("trim"), st.integers(0, 600)),
        st.tuples(st.just("expire"), st.integers(0, 50)),
    ),
    max_size=30,
)


@given(STEPS, st.integers(0, 60), st.integers(0, 1000))
def test_a_log_gives_from_any_offset_what_was_appended_there(
    steps: list[tuple[str, int]], offset: int, most: int
) -> None:
    log, written = PartitionLog(), 0
    for number, (what, amount) in enumerate(steps):
        before = log.start
        if what == "append":
            texts = [b"%d" % (written + place) for place in range(amount)]
            moment = START + number
            assert log.append(produced_batch(batch(*texts, times=[moment] * amount)), 0) == written
            written += amount
        elif what == "delete":
            log.delete_before(amount)
        elif what == "trim":
            log.trim(amount)
        else:
            log.expire(START + amount)
        assert before <= log.start <= log.end == written
        assert log.size == sum(len(each.data) for each in log.batches)
    if log.start <= offset <= log.end:
        everything = values(b"".join(each.data for each in log.read(offset, 10**9, at_least_one=False)))
        assert [int(each) for each in everything if int(each) >= offset] == list(range(offset, written))
        limited = b"".join(each.data for each in log.read(offset, most, at_least_one=True))
        assert len(limited) <= most or len(values(limited)) <= 4
        assert values(limited) == everything[: len(values(limited))]
        assert bool(limited) == bool(everything)


@given(st.integers(0, 1), st.lists(st.integers(0, 2000), min_size=1, max_size=10))
def test_what_memory_has_no_room_for_counts_where_more_is_said_to_be_on_disk(older: int, limits: list[int]) -> None:
    log = PartitionLog(0, older * 10_000)
    for number in range(20):
        log.append(produced_batch(batch(b"%d" % number * 50, times=[START])), 0)
    whole = log.size + log.older_bytes
    for most in limits:
        log.evict(most)
        assert log.size <= max(most, len(log.batches[-1].data))
        assert log.end == 20
        if older:
            assert (log.start, log.size + log.older_bytes) == (0, whole)
        else:
            assert log.start == log.batches[0].base_offset


@given(st.lists(st.integers(0, 100), min_size=1, max_size=10), st.integers(0, 100))
def test_a_moment_is_found_where_the_first_record_is_no_older(times: list[int], wanted: int) -> None:
    log = PartitionLog()
    for moment in times:
        log.append(produced_batch(batch(b"v", times=[START + moment])), 0)
    expected = next((place for place, moment in enumerate(times) if moment >= wanted), None)
    found = log.since(START + wanted)
    assert (None if found is None else found[1]) == expected
    newest = log.newest()
    assert newest is not None
    assert (newest[0], newest[1]) == (START + max(times), times.index(max(times)))


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_a_batch_or_refused(data: bytes) -> None:
    with pytest.raises((CorruptBatch, InvalidBatch)):
        produced_batch(data)


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_batch_with_one_byte_changed_is_refused_or_says_another_place(at: int, change: int) -> None:
    data = bytearray(batch(b"value", times=[START]))
    at %= len(data)
    data[at] ^= change
    free = [*range(8), *range(12, 16)]  # offset and leader epoch, which the broker sets: not in the checksum
    if at in free:
        assert produced_batch(bytes(data)).records == 1
    else:
        with pytest.raises((CorruptBatch, InvalidBatch)):
            produced_batch(bytes(data))


@given(st.integers(0, 2**62), st.integers(0, 2**31 - 1), st.none() | st.integers(0, 2**40))
def test_a_placed_batch_reads_the_same(offset: int, epoch: int, append_time: int | None) -> None:
    kept = placed_batch(produced_batch(batch(b"a", b"b")), offset, epoch, append_time)
    assert read_batch(kept.data, 0) == kept
    assert (kept.base_offset, kept.last_offset, kept.leader_epoch) == (offset, offset + 1, epoch)


CLIENTS = 4
Deeds = st.lists(st.tuples(st.sampled_from(["join", "sync", "heartbeat", "leave", "time"]), st.integers(0, 30)))


class Story:
    """Several clients of a group; each takes a given step if the protocol allows it."""

    def __init__(self) -> None:
        self.group = Group("g", 3.0)
        self.now = 0.0
        self.ids = [""] * CLIENTS
        self.generations = [-1] * CLIENTS
        self.waiting: list[asyncio.Future[Any] | None] = [None] * CLIENTS
        self._made = 0

    def do(self, deed: str, number: int) -> None:
        client = number % CLIENTS
        if deed == "time":
            self.now += number
            self.group.pass_time(self.now)
        elif self.waiting[client] is None:
            getattr(self, deed)(client)
        self.hear()
        self.check()

    def join(self, client: int) -> None:
        self._made += 1
        wish = JoinRequest(
            self.ids[client], None, "c", "/h", 10.0, 20.0, "consumer", (("range", b"m"),), f"member {self._made}", True
        )
        self.answered(client, self.group.join(wish, self.now))

    def sync(self, client: int) -> None:
        shares = {member: member.encode() for member in self.group.members}
        self.answered(
            client,
            self.group.sync(self.ids[client], None, self.generations[client], (None, None), shares, self.now),
        )

    def heartbeat(self, client: int) -> None:
        self.group.heartbeat(self.ids[client], None, self.generations[client], self.now)

    def leave(self, client: int) -> None:
        self.group.leave(self.ids[client], None, self.now)
        self.ids[client] = ""

    def answered(self, client: int, answer: Joined | Synced | asyncio.Future[Any]) -> None:
        if isinstance(answer, asyncio.Future):
            self.waiting[client] = answer
        elif isinstance(answer, Joined):
            self.ids[client] = answer.member_id if answer.code in (0, 79) else ""
            if answer.code == 0:
                self.generations[client] = answer.generation
        elif not answer.code:
            assert answer.assignment == self.ids[client].encode()

    def hear(self) -> None:
        for client, future in enumerate(self.waiting):
            if future is not None and future.done():
                self.waiting[client] = None
                self.answered(client, future.result())

    def check(self) -> None:
        group = self.group
        assert (group.state == GroupState.EMPTY) == (not group.members)
        assert (group.next_deadline is None) == (not group.members and not group.pending)
        if group.state == GroupState.STABLE:
            assert all(member.joining is None and member.syncing is None for member in group.members.values())
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            assert group.leader in group.members
            assert group.protocol == "range"
        for client, future in enumerate(self.waiting):
            if future is not None:
                assert self.ids[client] in group.members


@examples(50, at_length=200)
@given(Deeds)
def test_a_group_holds_together_and_nobody_waits_for_ever(deeds: list[tuple[str, int]]) -> None:
    async def tell() -> None:
        story = Story()
        generation = 0
        for deed, number in deeds:
            story.do(deed, number)
            assert story.group.generation >= generation
            generation = story.group.generation
        for _ in range(20):
            deadline = story.group.next_deadline
            if deadline is not None:
                story.now = max(story.now, deadline)
                story.do("time", 0)
        assert story.waiting == [None] * CLIENTS
        assert story.group.state == GroupState.EMPTY

    asyncio.run(tell())


def test_stand_ins_give_way_to_a_real_member() -> None:
    async def tell(check: Callable[[Group], None]) -> None:
        story = Story()
        story.join(0)
        story.join(0)
        story.do("time", 3)
        story.sync(0)
        story.group.members[story.ids[0]].session_timeout = float("inf")
        story.join(1)
        story.join(1)
        story.hear()
        check(story.group)

    def only_the_second(group: Group) -> None:
        assert [member.id for member in group.members.values()] == ["member 3"]
        assert group.state == GroupState.COMPLETING

    asyncio.run(tell(only_the_second))
