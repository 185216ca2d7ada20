"""Operations on an embedded cluster: from a goal to its last throttle, whatever dies meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli.scheduled import owners_of, read_stale_throttles
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster
from console.embedded.clock import ManualClock
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import is_moving, new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource, topic_resource
from console.operations.goals import Drain, Goal, MoveTopic, Replicate
from console.operations.operation import State
from console.plan.stale_throttles import LISTS, RATES
from console.session.operating import Pace, ask_of, begin, read_operations, way_back, work_on
from console.session.session import Session
from console.session.snapshot_reader import Clock, Refused

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

    def throttles(self) -> dict[tuple[str, str], str]:
        """All replication throttles that are set, by entity and key."""
        keys = {*RATES, *LISTS}
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

    async def look(seconds: float) -> None:
        seen.append(world.throttles())
        (operation,) = (await read_operations(world.session)).open
        owned.append(len(operation.owned().rates))
        await world.wait(seconds)

    await work_on(world.session, number, pace=Pace(sleep=look))
    assert seen[0]["4", RATES[1]] == str(RATE)
    assert seen[0]["orders", LISTS[1]] == "0:4,1:4,2:4"
    assert owned[0] == 8
    assert world.throttles() == {}


async def test_how_far_it_is_is_in_the_journal(world: World) -> None:
    """Bytes that are copied and that are left, as log directories have them; they come to the same sum."""
    number = await begin(world.session, Drain((3,)), 100_000)
    seen: list[tuple[int, int]] = []

    async def look(seconds: float) -> None:
        (operation,) = (await read_operations(world.session)).open
        if operation.progress is not None and operation.state is State.RUNNING:
            seen.append((operation.progress.copied, operation.progress.left))
        await world.wait(30 * seconds)

    await work_on(world.session, number, pace=Pace(sleep=look))
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
    assert await world.reached(await way_back(world.session, ended.number)) is State.DONE
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
    found = await read_stale_throttles(world.session)
    owners = await owners_of(world.session, found)
    assert {each.edit.key for each in found} == set(RATES)
    assert {owners[each].number for each in found} == {number}
