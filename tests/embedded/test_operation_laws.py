"""Tests of a property of operations on any cluster, if kac is killed at a write or a request, or brokers stop: in
the end either the goal is reached and nothing is left behind, or the operation says what it waits for.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import event as seen
from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin import changes
from console.embedded.replicas import start_move
from console.embedded.spec import ClusterSpec
from console.journal import file
from console.journal.entries import this_process
from console.journal.operations import Lease
from console.model.config import broker_resource, topic_resource
from console.model.journal_lines import Origin
from console.operations import goals
from console.operations.operation import Operation, State
from console.operations.placement import placement_of
from console.operations.planner import propose
from console.plan.stale_throttles import LISTS, LOG_DIRS_RATE, RATES
from console.session import applying, former_changes, operating, reading, snapshot_reader
from console.session.operating import NEEDS, ask_of, begin, read_operations, work_on
from console.session.session import Session
from tests.scenarios.test_operations import World, world_of
from tests.support.real_clusters import RACKS

BROKERS = (1, 2, 3, 4)
DIRS = ("/data1", "/data2")
FOREIGN = 7_000_000


class Died(BaseException):
    """Ends a run of kac as SIGKILL would."""


class Deaths:
    """Ends a run of kac, by raising `Died`, right before or after it writes a line of the journal or sends a request
    that changes the cluster.
    """

    def __init__(self) -> None:
        self.left = 0
        self.dead = False

    def event(self) -> None:
        """Count a moment at which a run may end. Raises Died if it is the chosen one or a later one."""
        if self.dead:
            raise Died
        self.left -= 1
        if self.left == 0:
            self.dead = True
            raise Died


@contextmanager
def mortal(patch: pytest.MonkeyPatch, deaths: Deaths) -> Iterator[None]:
    """Inside the block, let runs of kac end at an event of `deaths`. A run that died releases no lease, and other runs
    see its process as dead.
    """
    write, send, free = file._write, changes.send, Lease.free

    def writing(journal: Path, descriptor: int, data: bytes) -> None:
        deaths.event()
        write(journal, descriptor, data)
        deaths.event()

    async def sending(link: Any, request: Any, *, validate_only: bool, **rest: Any) -> Any:
        if validate_only:
            return await send(link, request, validate_only=True, **rest)
        deaths.event()
        outcomes = await send(link, request, validate_only=False, **rest)
        deaths.event()
        return outcomes

    def freeing(self: Lease) -> None:
        if not deaths.dead:
            free(self)

    def process(front_end: str) -> Origin:
        return replace(this_process(front_end), started=front_end)

    with patch.context() as patched:
        patched.setattr(file, "_write", writing)
        patched.setattr(changes, "send", sending)
        patched.setattr(Lease, "free", freeing)
        patched.setattr(operating, "this_process", process)
        patched.setattr(applying, "this_process", process)
        patched.setattr(former_changes, "IN_FLIGHT", 0.0)
        yield


class Die(NamedTuple):
    """An event: kac runs until its nth write or request, and dies there."""

    nth: int


class Down(NamedTuple):
    broker: int


class Up(NamedTuple):
    broker: int


class Foreign(NamedTuple):
    """An event: another tool reassigns a partition."""

    partition: int
    to: tuple[int, ...]


class ForeignCopy(NamedTuple):
    """An event: another tool moves a replica into another log directory."""

    partition: int
    broker: int
    path: str


class Ask(NamedTuple):
    """An event: an operator requests another throttle, or a cancellation."""

    cancel: bool
    throttle: int


Test = Callable[[Any], None]
Happens = Die | Down | Up | Foreign | ForeignCopy | Ask


class Case(NamedTuple):
    layout: tuple[tuple[int, ...], ...]
    min_isr: int
    goal: goals.Goal
    throttle: int | None
    foreign: bool
    events: tuple[Happens, ...]


def replicas(least: int = 1) -> st.SearchStrategy[tuple[int, ...]]:
    return st.permutations(BROKERS).flatmap(lambda order: st.integers(least, 3).map(lambda n: tuple(order[:n])))


BROKER = st.sampled_from(BROKERS)
GOALS: st.SearchStrategy[goals.Goal] = st.one_of(
    BROKER.map(lambda broker: goals.Drain((broker,))),
    st.permutations(BROKERS).map(lambda order: goals.Replace(order[0], order[1])),
    st.just(goals.Balance()),
    st.permutations(BROKERS).map(lambda order: goals.MoveTopic("orders", tuple(order[:3]))),
    st.integers(1, 4).map(lambda n: goals.Replicate("orders", n)),
    st.builds(goals.DrainDir, BROKER, st.sampled_from(DIRS)),
    st.builds(goals.MoveIntoDir, st.just("orders"), BROKER, st.sampled_from(DIRS), st.none() | st.integers(0, 5)),
)
EVENTS: st.SearchStrategy[Happens] = st.one_of(
    st.builds(Die, st.integers(1, 30)),
    st.builds(Die, st.integers(1, 30)),
    st.builds(Down, BROKER),
    st.builds(Up, BROKER),
    st.builds(Foreign, st.integers(0, 5), replicas()),
    st.builds(Ask, st.booleans(), st.sampled_from([0, 10**7, 10**8])),
    st.builds(ForeignCopy, st.integers(0, 5), BROKER, st.sampled_from(DIRS)),
)
CASES = st.builds(
    Case,
    st.lists(replicas(), min_size=1, max_size=6).map(tuple),
    st.integers(1, 2),
    GOALS,
    st.sampled_from([None, 10**7, 10**8]),
    st.booleans(),
    st.lists(EVENTS, max_size=8).map(tuple),
)


async def lived(world: World, number: int, life: int) -> Operation:
    """Run kac on the operation, with a new session, so without memory of earlier runs. Return the operation."""
    session = Session(world.session.client, world.session.context, f"life-{life}", world.session.clock)
    return await work_on(session, number, pace=world.pace)


async def go_through(case: Case, patch: pytest.MonkeyPatch) -> None:
    deaths = Deaths()
    async with world_of(ClusterSpec(brokers=4, racks=RACKS, static_configs={"log.dirs": ",".join(DIRS)})) as world:
        state = world.cluster.state
        world.holds(case.layout)
        for number, broker in product(range(len(case.layout)), BROKERS):
            world.put_into(number, broker, DIRS[(number + broker) % 2])
        state.alter_config(topic_resource("orders"), {"min.insync.replicas": str(case.min_isr)})
        if case.foreign:
            state.alter_config(broker_resource(1), {RATES[1]: str(FOREIGN), LOG_DIRS_RATE: str(FOREIGN)})
            state.alter_config(topic_resource("orders"), {LISTS[1]: "0:1"})
        before = world.throttles()
        number = await begin(world.session, case.goal, case.throttle)
        with mortal(patch, deaths):
            over = False
            for life, event in enumerate(case.events):
                # Judge the goal before a broker comes back, because it may hold replicas then.
                over = over or await happens(world, event, number, life, deaths) or await has_ended(world, before)
            deaths.dead, deaths.left = False, 0
            if not over:
                await goes_on(world, number, before)
        assert (await read_operations(world.session)).open == ()


async def has_ended(world: World, before: dict[tuple[str, str], str]) -> bool:
    """Return whether the operation has ended. If so, check its end as `ended_well` does. before: (entity, key) ->
    value, the throttles that were set before the operation.
    """
    for operation in (await read_operations(world.session, ended=1)).ended:
        await ended_well(world, operation, before)
        return True
    return False


async def goes_on(world: World, number: int, before: dict[tuple[str, str], str]) -> None:
    """Start all brokers, and run the operation without deaths until it ends; if it can't end, cancel it. Check its
    end.
    """
    for broker in BROKERS:
        await world.cluster.broker_up(broker)
    operation = await lived(world, number, 1000)
    # The first run waits for copies of another tool, which end by the clock.
    operation = operation if operation.ended is not None else await lived(world, number, 1001)
    await ended_well(world, operation, before)
    if operation.ended is None:
        await ask_of(world.session, number, cancel=True)
        operation = await lived(world, number, 1002)
        assert operation.state is State.CANCELLED, operation
        await ended_well(world, operation, before)


async def happens(world: World, event: Happens, number: int, life: int, deaths: Deaths) -> bool:
    """Let an event happen. Return whether an operator's request was refused because the operation has ended."""
    alive = world.cluster.state.alive()
    match event:
        case Die(nth):
            deaths.dead, deaths.left = False, nth
            try:
                await lived(world, number, life)
            except Died:
                seen("died")
        case Down(broker) if len(alive) > 2:
            await world.cluster.broker_down(broker)
        case Up(broker):
            await world.cluster.broker_up(broker)
        case Foreign(partition, to) if partition < len(world.replicas()):
            moving = {each.replicas for each in world.cluster.state.topics["orders"].partitions if each.adding}
            if world.replicas()[partition] not in moving:
                start_move(world.cluster, "orders", partition, to)
        case ForeignCopy(partition, broker, path):
            if partition < len(world.replicas()) and broker in world.replicas()[partition]:
                world.copy(partition, broker, path)
        case Ask(cancel, throttle):
            deaths.dead, deaths.left = False, 0
            try:
                await ask_of(world.session, number, cancel=cancel, throttle=throttle)
            except snapshot_reader.Refused:
                return True
    return False


async def ended_well(world: World, operation: Operation, before: dict[tuple[str, str], str]) -> None:
    """Raise AssertionError unless the goal is reached and nothing is left behind, or the operation says what it waits
    for.
    """
    seen(operation.state.value)
    if operation.ended is None:
        assert operation.progress is not None
        assert operation.state in (State.STALLED, State.WAITING)
        assert operation.progress.waits, operation
        return
    await reading.read_needs(world.session, NEEDS)
    assert world.throttles() == before
    assert not operation.running(world.session.snapshot)
    assert not operation.copying(world.session.snapshot)
    if operation.state is State.DONE:
        assert propose(operation.goal, placement_of(world.session.snapshot)).reached
        match operation.goal:
            case goals.Drain(brokers=(gone,)) | goals.Replace(broker=gone):
                assert all(gone not in each for each in world.replicas()), "also those that are on their way out"
            case goals.MoveTopic() | goals.Replicate():
                assert world.moving() == 0
            case goals.DrainDir(broker=broker, path=path):
                assert path not in world.dirs(broker)
            case goals.MoveIntoDir(broker=broker, path=path, partition=None):
                assert set(world.dirs(broker)) <= {path}
        assert not elections_left(world, operation)


def elections_left(world: World, operation: Operation) -> list[int]:
    """Return the numbers of moved partitions that are not led by their preferred replica, although it is in sync and
    its broker is up.
    """
    alive, partitions = world.cluster.state.alive(), world.cluster.state.topics["orders"].partitions
    moved = (number for _, number in operation.moves())
    return [
        number
        for number in moved
        if (each := partitions[number]).leader != each.replicas[0] and each.replicas[0] in {*each.isr} & {*alive}
    ]


FOUND = Case(((2,), (1, 2), (2, 4, 3), (1, 3, 2), (2, 4), (1,)), 1, goals.Balance(), None, False, (Down(2), Die(2)))
"""A case: a broker that was down during the balance comes back with too few replicas; the goal is judged by the brokers
that were up.
"""

LED = Case(((1, 2, 3), (1, 3), (2, 3)), 1, goals.Drain((3,)), 10**7, False, (Down(1), Up(1)))
"""A case: broker 1 does not lead the partitions that prefer it; at the end the operation elects it for the moved ones.
"""
WITHIN = Case(((1, 2), (1, 3), (2, 1)), 1, goals.DrainDir(1, DIRS[0]), 10**7, True, (ForeignCopy(2, 1, DIRS[0]),))
"""A case: the operation waits for another tool's copy into the directory that is drained."""


def dying(case: Case, every: int) -> Callable[[Test], Test]:
    """Return a decorator that adds examples to a test: the case with a death at every nth write or request."""

    def with_examples(test: Test) -> Test:
        for nth in range(1, 66, every):
            test = example(case._replace(events=(*case.events, Die(nth))))(test)
        return test

    return with_examples


@dying(LED, 9)
@dying(WITHIN, 9)
@example(FOUND)
@given(CASES)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_whatever_dies_the_goal_is_reached_or_what_it_waits_for_is_said(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(go_through(case, patch))


@pytest.mark.long
@dying(LED, 1)
@dying(WITHIN, 1)
@given(CASES)
@settings(max_examples=1_000, suppress_health_check=list(HealthCheck))
def test_a_thousand_of_them(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(go_through(case, patch))
