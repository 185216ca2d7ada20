"""Operations on an embedded cluster: from a goal to its last throttle, whatever dies meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli.scheduled import read_leftovers
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster
from console.embedded.partition_log import PartitionLog
from console.embedded.replica_dirs import dir_of, start_copy
from console.embedded.replicas import is_moving, new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource, topic_resource
from console.operations.forecast import forecast
from console.operations.goals import Drain, DrainDir, Goal, MoveIntoDir, MoveTopic, Reassign, Replicate
from console.operations.operation import Progress, State
from console.operations.placement import placement_of
from console.operations.planner import propose
from console.plan.stale_throttles import LISTS, LOG_DIRS_RATE, RATES
from console.session.operating import NEEDS, Pace, ask_of, begin, read_operations, way_back, work_on
from console.session.reading import read_needs
from console.session.session import Session
from console.session.snapshot_reader import Clock, Refused
from tests.support.manual_clock import ManualClock

RACKS = {1: "a", 2: "b", 3: "c", 4: "c"}
LAYOUT = ((1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 2, 4))
RATE = 50_000_000


class World:
    """A cluster with a clock that tests turn, and a session by the same clock."""

    def __init__(self, cluster: EmbeddedCluster, clock: ManualClock, session: Session) -> None:
        self.cluster = cluster
        self.clock = clock
        self.session = session

    @property
    def pace(self) -> Pace:
        """Waiting turns the clock."""
        return Pace(first=5.0, most=40.0, sleep=self.wait, patience=60.0)

    async def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def holds(self, layout: Sequence[tuple[int, ...]]) -> None:
        """Make topic orders, with replicas of 100 MB."""
        state = self.cluster.state
        state.put_topic(new_topic("orders", layout, (1, 2, 3, 4)))
        for number in range(len(layout)):
            state.logs["orders", number] = PartitionLog(older_bytes=10**8)

    def replicas(self, topic: str = "orders") -> list[tuple[int, ...]]:
        return [each.replicas for each in self.cluster.state.topics[topic].partitions]

    def moving(self) -> int:
        return sum(is_moving(each) for topic in self.cluster.state.topics.values() for each in topic.partitions)

    def leaders(self) -> list[int]:
        return [each.leader for each in self.cluster.state.topics["orders"].partitions]

    def put_into(self, number: int, broker: int, path: str) -> None:
        """Have a replica of orders in this directory."""
        self.cluster.state.replica_dirs[self.cluster.state.topics["orders"].id, number, broker] = path

    def copy(self, number: int, broker: int, path: str) -> None:
        """Begin a copy as another tool does."""
        start_copy(self.cluster, self.cluster.state.topics["orders"], number, broker, path)

    def dirs(self, broker: int) -> list[str]:
        """Where the replicas of orders are on a broker."""
        topic = self.cluster.state.topics["orders"]
        some = range(len(topic.partitions))
        return [dir_of(self.cluster, topic, n, broker) for n in some if broker in topic.partitions[n].replicas]

    def copying(self) -> int:
        return len(self.cluster.state.dir_copies)

    def throttles(self) -> dict[tuple[str, str], str]:
        """All replication throttles that are set, by entity and key."""
        keys = {*RATES, *LISTS, LOG_DIRS_RATE}
        return {
            (resource.name, key): value
            for resource, configs in self.cluster.state.configs.items()
            for key, value in configs.items()
            if key in keys
        }

    async def reached(self, goal: Goal, throttle: int | None = RATE) -> State:
        """How an operation that is begun and worked on stands then."""
        return (await work_on(self.session, await begin(self.session, goal, throttle), pace=self.pace)).state


@asynccontextmanager
async def world_of(spec: ClusterSpec | None = None) -> AsyncIterator[World]:
    clock = ManualClock()
    async with EmbeddedCluster(spec or ClusterSpec(brokers=4, racks=RACKS), clock) as cluster:
        with AdminClient(ConnectionSettings(tuple(cluster.addresses.values()))) as client:
            timed = Clock(lambda: datetime.fromtimestamp(clock.time(), UTC), clock.time)
            yield World(cluster, clock, Session(client, Context("test", "tests", client.settings), "moves", timed))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with world_of() as made:
        made.holds(LAYOUT)
        yield made


async def test_a_broker_is_drained_and_nothing_is_left(world: World) -> None:
    """In the end no replica is on it, no throttle is set, and the journal says so."""
    assert await world.reached(Drain((3,))) is State.DONE
    assert all(3 not in replicas for replicas in world.replicas())
    assert world.moving() == 0
    assert world.throttles() == {}
    known = await read_operations(world.session, ended=5)
    assert known.open == ()
    assert known.holder is None
    (ended,) = known.ended
    assert (ended.state, str(ended.goal), len(ended.moves())) == (State.DONE, "drain 3", 3)


async def test_throttles_are_set_while_it_copies_and_in_the_journal_before(world: World) -> None:
    number = await begin(world.session, Drain((3,)), RATE)
    seen: list[dict[tuple[str, str], str]] = []
    owned: list[int] = []

    async def check(seconds: float) -> None:
        seen.append(world.throttles())
        (operation,) = (await read_operations(world.session)).open
        owned.append(len(operation.owned().rates))
        await world.wait(seconds)

    await work_on(world.session, number, pace=Pace(sleep=check))
    assert seen[0]["4", RATES[1]] == str(RATE)
    assert seen[0]["orders", LISTS[1]] == "0:4,1:4,2:4"
    assert owned[0] == 8
    assert world.throttles() == {}


async def test_how_far_it_is_is_in_the_journal(world: World) -> None:
    """Bytes that are copied and that are left, as log directories have them; they come to the same sum."""
    number = await begin(world.session, Drain((3,)), 100_000)
    seen: list[tuple[int, int]] = []

    async def check(seconds: float) -> None:
        (operation,) = (await read_operations(world.session)).open
        if operation.progress is not None and operation.state is State.RUNNING:
            seen.append((operation.progress.copied, operation.progress.left))
        await world.wait(30 * seconds)

    await work_on(world.session, number, pace=Pace(sleep=check))
    sums = {copied + left for copied, left in seen if left}
    assert len(sums) == 1, seen
    assert len({copied for copied, _ in seen}) > 2, seen


async def test_what_another_owner_throttled_stays(world: World) -> None:
    """Its rate limits the moves too, and is said; its replicas in a list stay beside ours."""
    world.cluster.state.alter_config(broker_resource(1), {RATES[0]: "77"})
    world.cluster.state.alter_config(topic_resource("orders"), {LISTS[0]: "3:1"})
    before = world.throttles()
    said: list[str] = []
    number = await begin(world.session, Drain((3,)), RATE)
    done = await work_on(world.session, number, said.append, world.pace)
    assert done.state is State.DONE
    assert world.throttles() == before
    assert any("broker 1: throttle of unknown owner" in line for line in said), said


async def test_a_move_of_another_tool_is_waited_for(world: World) -> None:
    """It is never replaced; while it does not end, the operation says so."""
    await world.cluster.broker_down(4)
    assert start_move(world.cluster, "orders", 0, (1, 2, 4)).code == 0
    assert start_move(world.cluster, "orders", 1, (4, 1, 3)).code == 0
    number = await begin(world.session, Drain((3,)), None)
    stalled = await work_on(world.session, number, pace=world.pace)
    assert stalled.state is State.STALLED
    assert stalled.progress is not None
    assert any(line.startswith("orders/0: another tool moves it") for line in stalled.progress.waits)
    assert world.replicas()[0] == (1, 2, 4, 3)
    await world.cluster.broker_up(4)
    assert (await work_on(world.session, number, pace=world.pace)).state is State.DONE
    assert all(3 not in replicas for replicas in world.replicas())


async def test_cancelling_puts_replicas_back_in_their_order(world: World) -> None:
    """What is under way is cancelled; what was moved before stays, until it is asked back."""
    await world.cluster.broker_down(4)
    number = await begin(world.session, MoveTopic("orders", (1, 2, 4)), RATE)
    await world.cluster.broker_up(4)
    asked = False

    async def cancel(_seconds: float) -> None:
        nonlocal asked
        if not asked:
            asked = True
            assert world.moving() > 0
            await ask_of(world.session, number, cancel=True)
        await world.wait(0.01)

    over = await work_on(world.session, number, pace=Pace(sleep=cancel))
    assert over.state is State.CANCELLED
    assert world.replicas() == list(LAYOUT)
    assert world.throttles() == {}
    assert world.moving() == 0


async def test_the_way_back_of_what_is_done(world: World) -> None:
    """The original replicas in their order, by an operation like any other."""
    assert await world.reached(Drain((3,))) is State.DONE
    assert world.replicas() != list(LAYOUT)
    (ended,) = (await read_operations(world.session, ended=1)).ended
    assert await world.reached(await way_back(await world.session.journal(), ended.number)) is State.DONE
    assert world.replicas() == list(LAYOUT)


async def test_a_throttle_is_raised_and_taken_away_while_it_runs(world: World) -> None:
    number = await begin(world.session, Drain((3,)), RATE)
    seen: list[set[str]] = []
    asks = [2 * RATE, 0]

    async def ask(_seconds: float) -> None:
        seen.append({value for (_, key), value in world.throttles().items() if key in RATES})
        if asks:
            await ask_of(world.session, number, throttle=asks.pop(0))
            await world.wait(0.01)
        else:
            await world.wait(5)

    assert (await work_on(world.session, number, pace=Pace(sleep=ask))).state is State.DONE
    assert seen[:3] == [{str(RATE)}, {str(2 * RATE)}, set()]


async def test_the_number_of_replicas(world: World) -> None:
    assert await world.reached(Replicate("orders", 2)) is State.DONE
    assert [len(each) for each in world.replicas()] == [2, 2, 2, 2]


async def test_one_operation_and_one_holder_at_a_time(world: World) -> None:
    number = await begin(world.session, Drain((3,)), None)
    with pytest.raises(Refused, match=f"operation {number} \\(drain 3\\) is open"):
        await begin(world.session, Drain((4,)), None)
    other = Session(world.session.client, world.session.context, "cron", world.session.clock)
    refused: list[str] = []

    async def beside(seconds: float) -> None:
        if not refused:
            with pytest.raises(Refused) as error:
                await work_on(other, number, pace=world.pace)
            refused.append(error.value.failure.name)
        await world.wait(seconds)

    assert (await work_on(world.session, number, pace=Pace(sleep=beside))).state is State.DONE
    assert refused == ["HELD"]


async def test_few_changes_take_throttles_off(world: World) -> None:
    """Moves end one after another; each change is a part of the journal, and two are enough: to set them and to end."""
    for number in range(len(LAYOUT)):
        world.cluster.state.logs["orders", number] = PartitionLog(older_bytes=10**8 * (number + 1))
    number = await begin(world.session, Drain((3,)), 10_000_000)
    done = await work_on(world.session, number, pace=Pace(sleep=world.wait))
    assert done.state is State.DONE
    assert world.throttles() == {}
    assert [len(step.moves) for step in done.steps] == [3, 0]


async def test_the_throttle_of_a_broker_that_does_not_come_back_is_given_up(world: World) -> None:
    """It waits for the broker, and says how to end without it; what it left is known to be its own later."""
    number = await begin(world.session, Drain((3,)), RATE)

    async def dies(seconds: float) -> None:
        if ("3", RATES[0]) in world.throttles() and 3 in world.cluster.state.alive():
            await world.cluster.broker_down(3)
        await world.wait(seconds)

    waits = await work_on(world.session, number, pace=Pace(first=5.0, most=40.0, sleep=dies, patience=60.0))
    assert waits.state is State.STALLED
    assert waits.progress is not None
    (line,) = waits.progress.waits
    assert line.startswith("broker 3 does not answer: its throttle is taken off when it is back")
    assert f"kac moves --operation {number} --give-up" in line
    await ask_of(world.session, number, give_up=True)
    assert (await work_on(world.session, number, pace=world.pace)).state is State.DONE
    assert {broker for broker, _ in world.throttles()} == {"3"}
    await world.cluster.broker_up(3)
    left = await read_leftovers(world.session)
    assert {each.edit.key for each in left.throttles} == set(RATES)
    assert {left.owners[each].number for each in left.throttles} == {number}


# -- between the directories of a broker -----------------------------------------------------------------------------

DIRS = ("/data1", "/data2", "/data3")


@pytest.fixture
async def disks() -> AsyncIterator[World]:
    """Brokers with three directories; the replicas of broker 1 are in two of them."""
    spec = ClusterSpec(brokers=4, racks=RACKS, static_configs={"log.dirs": ",".join(DIRS)})
    async with world_of(spec) as made:
        made.holds(LAYOUT)
        for number in range(len(LAYOUT)):
            made.put_into(number, 1, DIRS[number // 2])
        yield made


async def test_a_directory_is_drained_and_nothing_is_left(disks: World) -> None:
    """Its others have what was in it; the broker's throttle is set meanwhile; the way back is its own."""
    number = await begin(disks.session, DrainDir(1, DIRS[0]), 10_000_000)
    rates: list[dict[tuple[str, str], str]] = []
    far: list[Progress] = []

    async def check(seconds: float) -> None:
        rates.append(disks.throttles())
        await disks.wait(seconds)

    done = await work_on(disks.session, number, pace=Pace(sleep=check), on_progress=far.append)
    assert done.state is State.DONE
    assert rates[0] == {("1", LOG_DIRS_RATE): "10000000"}
    assert disks.throttles() == {}
    assert len({each.copied for each in far if each.copied + each.left == 2 * 10**8}) > 2, far
    assert DIRS[0] not in disks.dirs(1)
    assert disks.replicas() == list(LAYOUT)
    back = await way_back(await disks.session.journal(), number)
    assert await disks.reached(back) is State.DONE
    assert disks.dirs(1) == [DIRS[0], DIRS[0], DIRS[1], DIRS[1]]


async def test_a_list_of_replicas_and_directories_is_reached(disks: World) -> None:
    """What has to change its broker does so first; then it changes its directory. The way back is of both."""
    wanted = ((4, 2, 1), *LAYOUT[1:])
    into = (("orders", 0, 4, DIRS[2]), ("orders", 1, 1, DIRS[2]))
    goal = Reassign(tuple(("orders", number, replicas) for number, replicas in enumerate(wanted)), into)
    before = disks.replicas(), disks.dirs(1)
    number = await begin(disks.session, goal, RATE)
    assert (await work_on(disks.session, number, pace=disks.pace)).state is State.DONE
    assert disks.replicas() == list(wanted)
    assert {dir_of(disks.cluster, disks.cluster.state.topics["orders"], *place[1:3]) for place in into} == {DIRS[2]}
    assert disks.throttles() == {}
    (ended,) = (await read_operations(disks.session, ended=5)).ended
    assert str(ended.goal) == f"reassign {len(LAYOUT)} partitions of orders"
    back = await way_back(await disks.session.journal(), number)
    assert await disks.reached(back) is State.DONE
    assert (disks.replicas(), disks.dirs(1)) == before


async def test_a_copy_between_directories_is_cancelled(disks: World) -> None:
    """What had been copied before stays."""
    before = disks.dirs(1)
    number = await begin(disks.session, MoveIntoDir("orders", 1, DIRS[2], 0), RATE)

    async def cancel(_seconds: float) -> None:
        if disks.copying():
            await ask_of(disks.session, number, cancel=True)

    over = await work_on(disks.session, number, pace=Pace(sleep=cancel))
    assert over.state is State.CANCELLED
    assert (disks.dirs(1), disks.copying(), disks.throttles()) == (before, 0, {})


async def test_a_copy_of_another_tool_is_waited_for(disks: World) -> None:
    """Into the directory that is drained: it is left alone, and said."""
    disks.copy(2, 1, DIRS[0])
    number = await begin(disks.session, DrainDir(1, DIRS[0]), None)
    said: list[str] = []

    async def ends(seconds: float) -> None:
        await disks.wait(seconds)

    done = await work_on(disks.session, number, said.append, Pace(first=0.1, most=1.0, sleep=ends))
    assert done.state is State.DONE
    assert any("broker 1 copies it into /data1, which has to end" in line for line in said), said
    assert DIRS[0] not in disks.dirs(1)


async def test_a_directory_that_is_cordoned_or_a_broker_that_is_down_is_waited_for(disks: World) -> None:
    disks.cluster.state.alter_config(broker_resource(1), {"cordoned.log.dirs": ",".join(DIRS[1:])})
    number = await begin(disks.session, DrainDir(1, DIRS[0]), None)
    stalled = await work_on(disks.session, number, pace=disks.pace)
    assert stalled.progress is not None
    assert stalled.progress.waits == ("no other log directory of broker 1 is online and takes replicas",)
    disks.cluster.state.alter_config(broker_resource(1), {"cordoned.log.dirs": None})
    await disks.cluster.broker_down(1)
    stalled = await work_on(disks.session, number, pace=disks.pace)
    assert stalled.progress is not None
    assert "the log directories of broker 1 are unknown: it has to answer first" in stalled.progress.waits
    await disks.cluster.broker_up(1)
    assert (await work_on(disks.session, number, pace=disks.pace)).state is State.DONE
    assert DIRS[0] not in disks.dirs(1)


# -- leaders -----------------------------------------------------------------------------------------------------------


async def test_preferred_leaders_of_what_it_moved_are_elected_at_the_end(world: World) -> None:
    """Of what it did not touch none is; the forecast says how many each leads then."""
    await world.cluster.broker_down(1)
    await world.cluster.broker_up(1)
    before = world.leaders()
    assert before == [2, 3, 2, 2]
    await read_needs(world.session, NEEDS)
    placement = placement_of(world.session.snapshot)
    said = forecast(propose(Drain((4,)), placement), placement)
    number = await begin(world.session, Drain((4,)), RATE)
    told: list[str] = []
    done = await work_on(world.session, number, told.append, world.pace)
    assert done.state is State.DONE
    assert world.leaders() == [2, 3, 2, 1]
    assert {each.id: each.leads for each in said.brokers} == {1: (0, 1), 2: (3, 2), 3: (1, 1), 4: (0, 0)}
    assert [step.elects for step in done.steps] == [(), (("orders", 3),)]
    assert "step 2: 1 preferred leaders to elect" in told


async def test_a_preferred_replica_that_is_down_is_not_waited_for(world: World) -> None:
    """The goal is reached without it."""
    number = await begin(world.session, Drain((4,)), None)

    async def dies(seconds: float) -> None:
        if 1 in world.cluster.state.alive():
            await world.cluster.broker_down(1)
        await world.wait(seconds)

    assert (await work_on(world.session, number, pace=Pace(sleep=dies))).state is State.DONE
    assert 4 not in world.replicas()[3]
    assert 1 not in world.leaders()
