"""Tests of operations, from the goal to the removal of the last throttle: on an embedded cluster, while kac or brokers
die; and a drain and a replacement of real brokers under load, with kills.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import errors, link, partitions, topics
from console.admin.changes import send
from console.admin.client import AdminClient
from console.cli.scheduled import read_leftovers
from console.contexts.context import Context
from console.embedded import brokers, partition_log
from console.embedded.replica_dirs import dir_of, start_copy
from console.embedded.replicas import is_moving, new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.model.changes import CreateTopics, NewTopic
from console.model.config import broker_resource, topic_resource
from console.operations import goals as operations_goals
from console.operations.forecast import forecast
from console.operations.operation import Progress, State
from console.operations.placement import placement_of
from console.operations.planner import propose
from console.plan.stale_throttles import LISTS, LOG_DIRS_RATE, RATES
from console.session import operating
from console.session.reading import read_needs
from console.session.session import Session
from console.session.snapshot_reader import Clock, Refused
from tests.support import forked_runs, kafka_cluster, manual_clock, patience, real_clusters, worlds

LAYOUT = ((1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 2, 4))

RATE = 50_000_000


class World:
    """An embedded cluster and a session that share a manual clock."""

    def __init__(self, cluster: brokers.EmbeddedCluster, clock: manual_clock.ManualClock, session: Session) -> None:
        self.cluster = cluster
        self.clock = clock
        self.session = session

    @property
    def pace(self) -> operating.Pace:
        """The pace of an operation, which advances the manual clock instead of waiting."""
        return operating.Pace(first=5.0, most=40.0, sleep=self.wait, patience=60.0)

    async def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def holds(self, layout: Sequence[tuple[int, ...]]) -> None:
        """Create topic orders with replicas of 100 MB each. layout: the broker ids of each partition's replicas."""
        state = self.cluster.state
        state.put_topic(new_topic("orders", layout, (1, 2, 3, 4)))
        for number in range(len(layout)):
            state.logs["orders", number] = partition_log.PartitionLog(older_bytes=10**8)

    def replicas(self, topic: str = "orders") -> list[tuple[int, ...]]:
        return [each.replicas for each in self.cluster.state.topics[topic].partitions]

    def moving(self) -> int:
        return sum(is_moving(each) for topic in self.cluster.state.topics.values() for each in topic.partitions)

    def leaders(self) -> list[int]:
        return [each.leader for each in self.cluster.state.topics["orders"].partitions]

    def put_into(self, number: int, broker: int, path: str) -> None:
        """Put the broker's replica of partition orders/`number` into the log directory `path`."""
        self.cluster.state.replica_dirs[self.cluster.state.topics["orders"].id, number, broker] = path

    def copy(self, number: int, broker: int, path: str) -> None:
        """Begin to copy the broker's replica of partition orders/`number` to the log directory `path`, as another tool
        does.
        """
        start_copy(self.cluster, self.cluster.state.topics["orders"], number, broker, path)

    def dirs(self, broker: int) -> list[str]:
        """Return the log directory of each replica of topic orders on a broker, in the order of the partitions."""
        topic = self.cluster.state.topics["orders"]
        some = range(len(topic.partitions))
        return [dir_of(self.cluster, topic, n, broker) for n in some if broker in topic.partitions[n].replicas]

    def copying(self) -> int:
        return len(self.cluster.state.dir_copies)

    def throttles(self) -> dict[tuple[str, str], str]:
        """Return (name of a broker or topic, config key) -> value, for all replication throttles that are set."""
        keys = {*RATES, *LISTS, LOG_DIRS_RATE}
        return {
            (resource.name, key): value
            for resource, configs in self.cluster.state.configs.items()
            for key, value in configs.items()
            if key in keys
        }

    async def reached(self, goal: operations_goals.Goal, throttle: int | None = RATE) -> State:
        """Begin an operation and work on it until it ends or stalls; return its state. throttle: bytes per second; None
        for no throttle.
        """
        return (
            await operating.work_on(self.session, await operating.begin(self.session, goal, throttle), pace=self.pace)
        ).state


@asynccontextmanager
async def world_of(spec: ClusterSpec | None = None) -> AsyncIterator[World]:
    clock = manual_clock.ManualClock()
    async with brokers.EmbeddedCluster(spec or ClusterSpec(brokers=4, racks=real_clusters.RACKS), clock) as cluster:
        with AdminClient(worlds.settings(cluster)) as client:
            timed = Clock(lambda: datetime.fromtimestamp(clock.time(), UTC), clock.time)
            yield World(cluster, clock, Session(client, Context("test", "tests", client.settings), "moves", timed))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with world_of() as made:
        made.holds(LAYOUT)
        yield made


async def test_a_broker_is_drained_and_nothing_is_left(world: World) -> None:
    """After a drain the broker has no replica, no throttle is set, and the journal has no open operation."""
    assert await world.reached(operations_goals.Drain((3,))) is State.DONE
    assert all(3 not in replicas for replicas in world.replicas())
    assert world.moving() == 0
    assert world.throttles() == {}
    known = await operating.read_operations(world.session, ended=5)
    assert known.open == ()
    assert known.holder is None
    (ended,) = known.ended
    assert (ended.state, str(ended.goal), len(ended.moves())) == (State.DONE, "drain 3", 3)


async def test_throttles_are_set_while_it_copies_and_in_the_journal_before(world: World) -> None:
    number = await operating.begin(world.session, operations_goals.Drain((3,)), RATE)
    seen: list[dict[tuple[str, str], str]] = []
    owned: list[int] = []

    async def check(seconds: float) -> None:
        seen.append(world.throttles())
        (operation,) = (await operating.read_operations(world.session)).open
        owned.append(len(operation.owned().rates))
        await world.wait(seconds)

    await operating.work_on(world.session, number, pace=operating.Pace(sleep=check))
    assert seen[0]["4", RATES[1]] == str(RATE)
    assert seen[0]["orders", LISTS[1]] == "0:4,1:4,2:4"
    assert owned[0] == 8
    assert world.throttles() == {}


async def test_how_far_it_is_is_in_the_journal(world: World) -> None:
    """While an operation runs, the journal has the number of bytes that were copied and that are left, computed from
    the log directories. Their sum does not change.
    """
    number = await operating.begin(world.session, operations_goals.Drain((3,)), 100_000)
    seen: list[tuple[int, int]] = []

    async def check(seconds: float) -> None:
        (operation,) = (await operating.read_operations(world.session)).open
        if operation.progress is not None and operation.state is State.RUNNING:
            seen.append((operation.progress.copied, operation.progress.left))
        await world.wait(30 * seconds)

    await operating.work_on(world.session, number, pace=operating.Pace(sleep=check))
    sums = {copied + left for copied, left in seen if left}
    assert len(sums) == 1, seen
    assert len({copied for copied, _ in seen}) > 2, seen


async def test_what_another_owner_throttled_stays(world: World) -> None:
    """If another owner has set a throttle, kac reports its rate, which limits kac's moves too. At the end the other
    owner's rate and list of throttled replicas are as before.
    """
    world.cluster.state.alter_config(broker_resource(1), {RATES[0]: "77"})
    world.cluster.state.alter_config(topic_resource("orders"), {LISTS[0]: "3:1"})
    before = world.throttles()
    said: list[str] = []
    number = await operating.begin(world.session, operations_goals.Drain((3,)), RATE)
    done = await operating.work_on(world.session, number, said.append, world.pace)
    assert done.state is State.DONE
    assert world.throttles() == before
    assert any("broker 1: throttle of unknown owner" in line for line in said), said


async def test_a_move_of_another_tool_is_waited_for(world: World) -> None:
    """If another tool moves a partition of the operation, kac does not replace this move. Until the move ends, the
    operation says that it waits for the move.
    """
    await world.cluster.broker_down(4)
    assert start_move(world.cluster, "orders", 0, (1, 2, 4)).code == 0
    assert start_move(world.cluster, "orders", 1, (4, 1, 3)).code == 0
    number = await operating.begin(world.session, operations_goals.Drain((3,)), None)
    stalled = await operating.work_on(world.session, number, pace=world.pace)
    assert stalled.state is State.STALLED
    assert stalled.progress is not None
    assert any(line.startswith("orders/0: another tool moves it") for line in stalled.progress.waits)
    assert world.replicas()[0] == (1, 2, 4, 3)
    await world.cluster.broker_up(4)
    assert (await operating.work_on(world.session, number, pace=world.pace)).state is State.DONE
    assert all(3 not in replicas for replicas in world.replicas())


async def test_cancelling_puts_replicas_back_in_their_order(world: World) -> None:
    """If the user cancels an operation, kac cancels the running moves, and the replicas are in their former order.
    Finished moves stay until the user reverts them.
    """
    await world.cluster.broker_down(4)
    number = await operating.begin(world.session, operations_goals.MoveTopic("orders", (1, 2, 4)), RATE)
    await world.cluster.broker_up(4)
    asked = False

    async def cancel(_seconds: float) -> None:
        nonlocal asked
        if not asked:
            asked = True
            assert world.moving() > 0
            await operating.ask_of(world.session, number, cancel=True)
        await world.wait(0.01)

    over = await operating.work_on(world.session, number, pace=operating.Pace(sleep=cancel))
    assert over.state is State.CANCELLED
    assert world.replicas() == list(LAYOUT)
    assert world.throttles() == {}
    assert world.moving() == 0


async def test_the_way_back_of_what_is_done(world: World) -> None:
    """The revert of an operation is another operation, which restores the original replicas in their order."""
    assert await world.reached(operations_goals.Drain((3,))) is State.DONE
    assert world.replicas() != list(LAYOUT)
    (ended,) = (await operating.read_operations(world.session, ended=1)).ended
    assert await world.reached(await operating.way_back(await world.session.journal(), ended.number)) is State.DONE
    assert world.replicas() == list(LAYOUT)


async def test_a_throttle_is_raised_and_taken_away_while_it_runs(world: World) -> None:
    number = await operating.begin(world.session, operations_goals.Drain((3,)), RATE)
    seen: list[set[str]] = []
    asks = [2 * RATE, 0]

    async def ask(_seconds: float) -> None:
        seen.append({value for (_, key), value in world.throttles().items() if key in RATES})
        if asks:
            await operating.ask_of(world.session, number, throttle=asks.pop(0))
            await world.wait(0.01)
        else:
            await world.wait(5)

    assert (await operating.work_on(world.session, number, pace=operating.Pace(sleep=ask))).state is State.DONE
    assert seen[:3] == [{str(RATE)}, {str(2 * RATE)}, set()]


async def test_the_number_of_replicas(world: World) -> None:
    assert await world.reached(operations_goals.Replicate("orders", 2)) is State.DONE
    assert [len(each) for each in world.replicas()] == [2, 2, 2, 2]


async def test_one_operation_and_one_holder_at_a_time(world: World) -> None:
    number = await operating.begin(world.session, operations_goals.Drain((3,)), None)
    with pytest.raises(Refused, match=f"operation {number} \\(drain 3\\) is open"):
        await operating.begin(world.session, operations_goals.Drain((4,)), None)
    other = Session(world.session.client, world.session.context, "cron", world.session.clock)
    refused: list[str] = []

    async def beside(seconds: float) -> None:
        if not refused:
            with pytest.raises(Refused) as error:
                await operating.work_on(other, number, pace=world.pace)
            refused.append(error.value.failure.name)
        await world.wait(seconds)

    assert (await operating.work_on(world.session, number, pace=operating.Pace(sleep=beside))).state is State.DONE
    assert refused == ["HELD"]


async def test_few_changes_take_throttles_off(world: World) -> None:
    """kac changes throttles only twice, to set them and to remove them, although the moves end one after another,
    because the journal records each change.
    """
    for number in range(len(LAYOUT)):
        world.cluster.state.logs["orders", number] = partition_log.PartitionLog(older_bytes=10**8 * (number + 1))
    number = await operating.begin(world.session, operations_goals.Drain((3,)), 10_000_000)
    done = await operating.work_on(world.session, number, pace=operating.Pace(sleep=world.wait))
    assert done.state is State.DONE
    assert world.throttles() == {}
    assert [len(step.moves) for step in done.steps] == [3, 0]


async def test_the_throttle_of_a_broker_that_does_not_come_back_is_given_up(world: World) -> None:
    """If a broker with a throttle is down, the operation waits for it, and says how the user can end the operation
    without the broker. If the user does that, kac still knows later that the operation owns the throttle.
    """
    number = await operating.begin(world.session, operations_goals.Drain((3,)), RATE)

    async def dies(seconds: float) -> None:
        if ("3", RATES[0]) in world.throttles() and 3 in world.cluster.state.alive():
            await world.cluster.broker_down(3)
        await world.wait(seconds)

    waits = await operating.work_on(
        world.session, number, pace=operating.Pace(first=5.0, most=40.0, sleep=dies, patience=60.0)
    )
    assert waits.state is State.STALLED
    assert waits.progress is not None
    (line,) = waits.progress.waits
    assert line.startswith("broker 3 does not answer: its throttle is taken off when it is back")
    assert f"kac moves --operation {number} --give-up" in line
    await operating.ask_of(world.session, number, give_up=True)
    assert (await operating.work_on(world.session, number, pace=world.pace)).state is State.DONE
    assert {broker for broker, _ in world.throttles()} == {"3"}
    await world.cluster.broker_up(3)
    left = await read_leftovers(world.session)
    assert {each.edit.key for each in left.throttles} == set(RATES)
    assert {left.owners[each].number for each in left.throttles} == {number}


DIRS = ("/data1", "/data2", "/data3")


@pytest.fixture
async def disks() -> AsyncIterator[World]:
    """Provide a cluster whose brokers have three log directories each. The replicas on broker 1 are in two of its
    directories.
    """
    spec = ClusterSpec(brokers=4, racks=real_clusters.RACKS, static_configs={"log.dirs": ",".join(DIRS)})
    async with world_of(spec) as made:
        made.holds(LAYOUT)
        for number in range(len(LAYOUT)):
            made.put_into(number, 1, DIRS[number // 2])
        yield made


async def test_a_directory_is_drained_and_nothing_is_left(disks: World) -> None:
    """A drain of a log directory moves its replicas to the broker's other directories, with a throttle on the broker
    while it runs. A revert moves them back.
    """
    number = await operating.begin(disks.session, operations_goals.DrainDir(1, DIRS[0]), 10_000_000)
    rates: list[dict[tuple[str, str], str]] = []
    far: list[Progress] = []

    async def check(seconds: float) -> None:
        rates.append(disks.throttles())
        await disks.wait(seconds)

    done = await operating.work_on(disks.session, number, pace=operating.Pace(sleep=check), on_progress=far.append)
    assert done.state is State.DONE
    assert rates[0] == {("1", LOG_DIRS_RATE): "10000000"}
    assert disks.throttles() == {}
    assert len({each.copied for each in far if each.copied + each.left == 2 * 10**8}) > 2, far
    assert DIRS[0] not in disks.dirs(1)
    assert disks.replicas() == list(LAYOUT)
    back = await operating.way_back(await disks.session.journal(), number)
    assert await disks.reached(back) is State.DONE
    assert disks.dirs(1) == [DIRS[0], DIRS[0], DIRS[1], DIRS[1]]


async def test_a_list_of_replicas_and_directories_is_reached(disks: World) -> None:
    """If a goal names brokers and log directories, a replica first moves to its new broker, then to its new
    directory there. The revert restores both the brokers and the directories.
    """
    wanted = ((4, 2, 1), *LAYOUT[1:])
    into = (("orders", 0, 4, DIRS[2]), ("orders", 1, 1, DIRS[2]))
    goal = operations_goals.Reassign(
        tuple(("orders", number, replicas) for number, replicas in enumerate(wanted)), into
    )
    before = disks.replicas(), disks.dirs(1)
    number = await operating.begin(disks.session, goal, RATE)
    assert (await operating.work_on(disks.session, number, pace=disks.pace)).state is State.DONE
    assert disks.replicas() == list(wanted)
    assert {dir_of(disks.cluster, disks.cluster.state.topics["orders"], *place[1:3]) for place in into} == {DIRS[2]}
    assert disks.throttles() == {}
    (ended,) = (await operating.read_operations(disks.session, ended=5)).ended
    assert str(ended.goal) == f"reassign {len(LAYOUT)} partitions of orders"
    back = await operating.way_back(await disks.session.journal(), number)
    assert await disks.reached(back) is State.DONE
    assert (disks.replicas(), disks.dirs(1)) == before


async def test_a_copy_between_directories_is_cancelled(disks: World) -> None:
    """After a copy between log directories is cancelled, the replica is in its former directory, and no copy and no
    throttle is left.
    """
    before = disks.dirs(1)
    number = await operating.begin(disks.session, operations_goals.MoveIntoDir("orders", 1, DIRS[2], 0), RATE)

    async def cancel(_seconds: float) -> None:
        if disks.copying():
            await operating.ask_of(disks.session, number, cancel=True)

    over = await operating.work_on(disks.session, number, pace=operating.Pace(sleep=cancel))
    assert over.state is State.CANCELLED
    assert (disks.dirs(1), disks.copying(), disks.throttles()) == (before, 0, {})


async def test_a_copy_of_another_tool_is_waited_for(disks: World) -> None:
    """If another tool copies a replica into the directory that kac drains, kac reports this copy, and waits until it
    ends.
    """
    disks.copy(2, 1, DIRS[0])
    number = await operating.begin(disks.session, operations_goals.DrainDir(1, DIRS[0]), None)
    said: list[str] = []

    async def ends(seconds: float) -> None:
        await disks.wait(seconds)

    done = await operating.work_on(disks.session, number, said.append, operating.Pace(first=0.1, most=1.0, sleep=ends))
    assert done.state is State.DONE
    assert any("broker 1 copies it into /data1, which has to end" in line for line in said), said
    assert DIRS[0] not in disks.dirs(1)


async def test_a_directory_that_is_cordoned_or_a_broker_that_is_down_is_waited_for(disks: World) -> None:
    disks.cluster.state.alter_config(broker_resource(1), {"cordoned.log.dirs": ",".join(DIRS[1:])})
    number = await operating.begin(disks.session, operations_goals.DrainDir(1, DIRS[0]), None)
    stalled = await operating.work_on(disks.session, number, pace=disks.pace)
    assert stalled.progress is not None
    assert stalled.progress.waits == ("no other log directory of broker 1 is online and takes replicas",)
    disks.cluster.state.alter_config(broker_resource(1), {"cordoned.log.dirs": None})
    await disks.cluster.broker_down(1)
    stalled = await operating.work_on(disks.session, number, pace=disks.pace)
    assert stalled.progress is not None
    assert "the log directories of broker 1 are unknown: it has to answer first" in stalled.progress.waits
    await disks.cluster.broker_up(1)
    assert (await operating.work_on(disks.session, number, pace=disks.pace)).state is State.DONE
    assert DIRS[0] not in disks.dirs(1)


async def test_preferred_leaders_of_what_it_moved_are_elected_at_the_end(world: World) -> None:
    """At the end an operation elects the preferred leaders of the partitions that it moved, and of no others. The
    forecast has the number of leaders of each broker.
    """
    await world.cluster.broker_down(1)
    await world.cluster.broker_up(1)
    before = world.leaders()
    assert before == [2, 3, 2, 2]
    await read_needs(world.session, operating.NEEDS)
    placement = placement_of(world.session.snapshot)
    said = forecast(propose(operations_goals.Drain((4,)), placement), placement)
    number = await operating.begin(world.session, operations_goals.Drain((4,)), RATE)
    told: list[str] = []
    done = await operating.work_on(world.session, number, told.append, world.pace)
    assert done.state is State.DONE
    assert world.leaders() == [2, 3, 2, 1]
    assert {each.id: each.leads for each in said.brokers} == {1: (0, 1), 2: (3, 2), 3: (1, 1), 4: (0, 0)}
    assert [step.elects for step in done.steps] == [(), (("orders", 3),)]
    assert "step 2: 1 preferred leaders to elect" in told


async def test_a_preferred_replica_that_is_down_is_not_waited_for(world: World) -> None:
    """If a preferred replica is down, the operation ends without electing it."""
    number = await operating.begin(world.session, operations_goals.Drain((4,)), None)

    async def dies(seconds: float) -> None:
        if 1 in world.cluster.state.alive():
            await world.cluster.broker_down(1)
        await world.wait(seconds)

    assert (await operating.work_on(world.session, number, pace=operating.Pace(sleep=dies))).state is State.DONE
    assert 4 not in world.replicas()[3]
    assert 1 not in world.leaders()


# -- on real brokers --------------------------------------------------------------------------------------------------


REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"

TOPIC = "orders"

REAL_LAYOUT = ((1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 2, 4), (4, 2, 1), (3, 2, 1))

MIN_ISR = 2

RECORD = b"x" * 20_000

KILLED = -9

DRAIN_POINTS = (
    "after:operation:1",
    "before:step:1",
    "after:step:1",
    "after:intent:1",
    "after:sending:1",
    "after:AlterConfigs:1",
    "before:AlterReassignments:1",
    "after:AlterReassignments:1",
    "before:AlterConfigs:2",
    "before:ended:1",
)
"""The points at which kac is killed, one for each process of kac, in this order: in the first step, at the removal
of throttles, and at the end.
"""

client = worlds.client("racked_cluster")


class Load:
    """Counts of the records that producers wrote and that a group read, and of the polls of a sampler.

    below: the polls at which a partition had fewer in-sync replicas than its min ISR.
    """

    def __init__(self) -> None:
        self.produced = self.read = self.polls = 0
        self.below: list[object] = []
        self.stop = asyncio.Event()
        self.all_written = asyncio.Event()


@asynccontextmanager
async def load_on(cluster: kafka_cluster.KafkaCluster, client: AdminClient) -> AsyncIterator[Load]:
    """Run producers with acks=all and a group of consumers on a topic until the end of the block. An error of one of
    them fails the test.
    """
    load = Load()

    async def produce() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", enable_idempotence=True)
        await producer.start()
        try:
            while not load.stop.is_set():
                await asyncio.gather(
                    *(producer.send_and_wait(TOPIC, RECORD, partition=number) for number in range(len(REAL_LAYOUT)))
                )
                load.produced += len(REAL_LAYOUT)
                await asyncio.sleep(0.1)  # a load below the throttle: the producers' records also count as copied
        finally:
            load.all_written.set()
            await producer.stop()

    async def consume() -> None:
        servers = cluster.bootstrap
        consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest")
        await consumer.start()
        try:
            while not (load.all_written.is_set() and load.read >= load.produced):
                found = await consumer.getmany(timeout_ms=200)
                load.read += sum(map(len, found.values()))
        finally:
            await consumer.stop()

    async def sample() -> None:
        while not load.stop.is_set():
            try:
                listing = await client.run(topics.describe_topics, [TOPIC])
            except errors.AdminError:
                continue
            for topic in listing.topics.values():
                load.polls += 1
                load.below += [each for each in topic.partitions if len(each.isr) < MIN_ISR]
            await asyncio.sleep(0.05)

    made = NewTopic(TOPIC, assignments=REAL_LAYOUT, configs={"min.insync.replicas": str(MIN_ISR)})
    assert all(each.ok for each in await client.run(send, CreateTopics((made,)), validate_only=False))
    work = asyncio.gather(produce(), consume(), sample())

    async def written() -> int:
        assert not work.done(), work.exception()
        return load.produced

    await link.until_settled(written, lambda count: count < 120, within=120, attempts=1200)
    try:
        yield load
    finally:
        load.stop.set()
        await work


class Kac(NamedTuple):
    """Runs ``kac moves`` on a cluster, each time in a new process."""

    runs: forked_runs.ForkedRuns
    bootstrap: str

    async def moves(self, *words: str, crash: str = "") -> int:
        await self.runs.start("moves", "-b", self.bootstrap, *words, crash=crash)
        return await self.runs.ended()

    async def reached(self) -> None:
        """Run `kac moves --continue` until the operation ends. Raises AssertionError with kac's output if the exit code
        is not 0.
        """
        code = await self.moves("--continue")
        assert code == 0, self.runs.output


@asynccontextmanager
async def kac_on(cluster: kafka_cluster.KafkaCluster, home: Path, folder: Path) -> AsyncIterator[Kac]:
    async with forked_runs.ForkedRuns({"HOME": str(home)}, folder / "output") as runs:
        await runs.warm("moves", "-b", cluster.bootstrap)
        yield Kac(runs, cluster.bootstrap)


async def replicas(client: AdminClient) -> list[tuple[int, ...]]:
    found = await client.run(topics.describe_topics, [TOPIC])
    return [each.replicas for each in found.topics[TOPIC].partitions]


async def nothing_is_left(kac: Kac, cluster: kafka_cluster.KafkaCluster, client: AdminClient, folder: Path) -> None:
    """Check with kac and with Kafka's tool that no reassignment, no throttle and no open operation is left. Raises
    AssertionError if one is.
    """
    assert await client.run(partitions.list_reassignments) == ()
    await kac.runs.start("leftovers", "-b", kac.bootstrap, "--output", "json")
    assert await kac.runs.ended() == 0, kac.runs.output
    assert json.loads(kac.runs.output.splitlines()[-1])["leftovers"] == []
    now = await replicas(client)
    wanted = [{"topic": TOPIC, "partition": number, "replicas": list(each)} for number, each in enumerate(now)]
    file = folder / "wanted.json"
    file.write_text(json.dumps({"version": 1, "partitions": wanted}))
    words = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(file))
    verified = await asyncio.to_thread(
        cluster.run_tool, REASSIGN, *words, "--verify", "--preserve-throttles", timeout=patience.PATIENCE
    )
    assert verified.stdout.count("is completed") == len(now), verified.stdout + verified.stderr
    assert len({real_clusters.RACKS[broker] for each in now for broker in each}) == 3
    assert all(len({real_clusters.RACKS[broker] for broker in each}) == 3 for each in now), now


@pytest.mark.core
@pytest.mark.takes(50)
async def test_a_drain_and_a_replacement_survive_kills(
    racked_cluster: kafka_cluster.KafkaCluster, client: AdminClient, own_home: Path, tmp_path: Path
) -> None:
    """A drain reaches its goal although kac is killed at ten points of it. A replacement of a broker by another one
    reaches its goal although both a broker and kac are killed.
    """
    async with kac_on(racked_cluster, own_home, tmp_path) as kac, load_on(racked_cluster, client) as load:
        assert await kac.moves("drain", "3", "--throttle", "8MB/s", "--run", "--yes", crash=DRAIN_POINTS[0]) == KILLED
        for point in DRAIN_POINTS[1:]:
            assert await kac.moves("--continue", crash=point) == KILLED, (point, kac.runs.output)
        await kac.reached()
        assert all(3 not in each for each in await replicas(client))
        await nothing_is_left(kac, racked_cluster, client, tmp_path)
        assert load.below == []

        asked = ("replace", "4", "by", "3", "--throttle", "4MB/s", "--run", "--yes")
        assert await kac.moves(*asked, crash="after:AlterReassignments:1") == KILLED
        await asyncio.to_thread(racked_cluster.kill, 2)
        assert await kac.moves("--continue", crash="after:progress:1") == KILLED
        await asyncio.to_thread(racked_cluster.restart, 2)
        await kac.reached()
        assert all(4 not in each for each in await replicas(client))
        await nothing_is_left(kac, racked_cluster, client, tmp_path)
        assert load.below == []
        assert load.polls > 50
    assert load.read >= load.produced > 120


@pytest.mark.core
@pytest.mark.long
async def test_a_hundred_random_kills(
    racked_cluster: kafka_cluster.KafkaCluster, client: AdminClient, own_home: Path, tmp_path: Path
) -> None:
    """Operations run one after another, each with kills of kac or of a broker, until a hundred processes were killed.
    Each operation reaches its goal.
    """
    rng = Random(16)
    goals: tuple[tuple[str, ...], ...] = (
        ("drain", "3"),
        ("replace", "4", "by", "3"),
        ("balance",),
        ("drain", "4"),
        ("replace", "3", "by", "4"),
    )
    deaths = turn = 0
    async with kac_on(racked_cluster, own_home, tmp_path) as kac, load_on(racked_cluster, client) as load:
        while deaths < 100:
            goal = goals[turn % len(goals)]
            turn += 1
            words: tuple[str, ...] = (*goal, "--throttle", "8MB/s", "--run", "--yes")
            for _ in range(rng.randint(2, 8)):
                point = f"{rng.choice(('before', 'after'))}:any:{rng.randint(1, 14)}"
                died = await kac.moves(*words, crash=point) == KILLED
                deaths += died
                words = ("--continue",)
                if died and rng.randrange(8) == 0:
                    broker = rng.choice((1, 2))
                    await asyncio.to_thread(racked_cluster.kill, broker)
                    deaths += 1
                    await kac.moves("--continue", crash="after:any:3")
                    await asyncio.to_thread(racked_cluster.restart, broker)
            await kac.reached()
            await nothing_is_left(kac, racked_cluster, client, tmp_path)
            if goal[0] != "balance":
                assert all(int(goal[1]) not in each for each in await replicas(client))
        assert load.below == []
