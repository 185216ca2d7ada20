"""Tests of when a part of the snapshot is read next: after its interval and the duration of its last reads, and after
the parts that it depends on.
"""

import asyncio
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings, ConnectSettings, HttpSettings
from console.contexts.context import Context
from console.model.failure import Failure
from console.model.parts import FOR_SCREEN, Part
from console.model.snapshot import Snapshot
from console.session import scheduler
from console.session.event_reads import EventReads
from console.session.parts import is_had
from console.session.scheduler import Pace, Scheduled, Scheduler, Turn, Turns, next_reads
from console.session.session import Session
from console.session.triage_polls import Poller
from tests.support.model_cluster import ModelCluster
from tests.support.patience import PATIENCE
from tests.tui.model_client import ModelClient

OFTEN = Pace(every=0.0, rest=0.0)


async def nothing() -> None:
    """Read nothing."""


@pytest.mark.parametrize(
    ("pace", "took", "waits"),
    [
        (Pace(every=5), [0.1], [5.0]),
        (Pace(every=5), [2.0], [20.0]),
        (Pace(every=5, longest_rest=10), [2.0], [10.0]),
        (Pace(every=5, from_begin=True), [0.2], [4.8]),
        (Pace(every=5, rest=0.0, from_begin=True), [7.0], [0.0]),
        (Pace(every=5, rest=20, first=0.0), [3.0, 0.1, 3.0, 4.0], [5.0, 5.0, 5.0, 60.0]),
        (Pace(every=1, rest=100, first=0.02), [3.0, 0.5], [2.0, 50.0]),
    ],
)
def test_a_part_that_takes_long_rests(pace: Pace, took: list[float], waits: list[float]) -> None:
    turn, now = Turn(), 1_000.0
    assert turn.is_due(now)
    for seconds, wait in zip(took, waits, strict=True):
        turn = turn.begun(pace, now)
        assert not turn.is_due(inf), "what is being read is not begun again"
        now += seconds
        turn = turn.ended_at(pace, now)
        assert turn.due - now == pytest.approx(wait)
        now = turn.due
        assert turn.is_due(now)


def test_what_was_read_for_something_else_counts_and_what_was_asked_for_is_read_nevertheless() -> None:
    pace, now = Pace(every=10), 1_000.0
    turn = Turn().known(pace, now, age=4.0)
    assert turn.was_read
    assert turn.due == pytest.approx(now + 6)
    assert turn.known(pace, now + 6, age=10.0).is_due(now + 6)
    assert Turn().known(pace, now, age=-1.0).is_due(now), "the clock was set back"
    assert Turn().hurried().known(pace, now, age=0.0).is_due(now)
    own = Turn().begun(pace, now).ended_at(pace, now + 1)._replace(due=-inf)
    assert own.known(pace, now + 3, age=2.5) == own, "it is the part's own read"


def test_what_is_asked_for_while_it_is_read_is_read_again() -> None:
    pace = Pace(every=60)
    turn = Turn().begun(pace, 1.0).hurried()
    assert not turn.is_due(1.5)
    turn = turn.ended_at(pace, 2.0)
    assert turn.is_due(2.0)
    assert not turn.begun(pace, 2.0).ended_at(pace, 3.0).is_due(4.0)


def fail(turns: Turns) -> None:
    with turns:
        raise OSError("gone")


def test_a_read_in_a_block_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 3.0, 5.0, 5.0, 8.0])
    monkeypatch.setattr(scheduler, "time", type("Hand", (), {"monotonic": lambda: next(times)}))
    turns = Turns(Pace(every=5))
    assert turns.is_due()
    with turns:
        pass
    assert turns.turn == Turn(due=23.0, ended=3.0, took=2.0, was_read=True)
    assert not turns.is_due()
    with pytest.raises(OSError, match="gone"):
        fail(turns)
    assert turns.turn.due == pytest.approx(38.0)


PACES = st.builds(
    Pace,
    every=st.sampled_from([0.0, 0.5, 2.0, 10.0]),
    rest=st.sampled_from([0.0, 1.0, 10.0]),
    longest_rest=st.sampled_from([5.0, 30.0]),
    from_begin=st.booleans(),
    first=st.sampled_from([None, 0.0]),
)
STEPS = 60
LONGEST = 4.0
"""The longest duration of a read in these tests, in seconds."""


@given(data=st.data())
def test_laws_of_what_is_read(data: st.DataObject) -> None:
    """No part is read twice at once. Each is read again within its interval and pause. After a failure a part pauses,
    unless its interval counts from the beginning of a read. A part that depends on others is read after them, and
    parts on the screen come first.
    """
    drawn = data.draw(st.lists(st.tuples(PACES, st.booleans(), st.booleans()), min_size=1, max_size=6))
    parts = [
        Scheduled(str(each), pace, nothing, after=("0",) if waits and each else (), in_view=view)
        for each, (pace, waits, view) in enumerate(drawn)
    ]
    turns = {part.name: Turn() for part in parts}
    ends: dict[str, float] = {}
    waiting_since = dict.fromkeys(turns, 0.0)
    for step in range(STEPS):
        now = step * 0.5
        for name in [name for name, at in ends.items() if at <= now]:
            del ends[name]
            part, before = parts[int(name)], turns[name]
            failed = data.draw(st.booleans())
            turns[name] = after = before.ended_at(part.pace, now, failed=failed)
            assert before.began is not None
            took = now - before.began
            if failed and part.pace.from_begin:
                assert after.due == before.began + part.pace.every
            else:
                assert after.due >= now + (0.0 if part.pace.from_begin else part.pace.every)
                if part.pace.first is None:
                    assert after.due >= now + min(part.pace.longest_rest, part.pace.rest * took)
            assert after.due <= now + part.pace.every + part.pace.longest_rest
            waiting_since[name] = after.due
        begun = next_reads(parts, turns, now)
        assert [part.in_view for part in begun] == sorted((part.in_view for part in begun), reverse=True)
        for part in begun:
            assert part.name not in ends, "it is being read"
            assert turns[part.name].due <= now
            assert all(turns[each].was_read for each in part.after) or turns[part.name].was_read
            turns[part.name] = turns[part.name].begun(part.pace, now)
            ends[part.name] = now + data.draw(st.sampled_from([0.5, 1.0, LONGEST]))
        for part in parts:
            is_free = all(turns[each].was_read for each in part.after)
            starves = part.name not in ends and is_free and waiting_since[part.name] <= now
            assert not starves, "it is due, and not begun"


async def started(parts: Scheduler) -> None:
    """Begin the reads that are due, and wait until all reads have ended."""
    parts.step()
    while running := [each for each in parts._tasks.values() if not each.done()]:
        await asyncio.wait_for(asyncio.wait(running), PATIENCE)


async def test_a_part_waits_for_what_comes_first_and_a_slow_one_delays_no_other() -> None:
    order: list[str] = []
    both = asyncio.Event()

    async def first() -> None:
        await asyncio.sleep(0)
        order.append("first")

    async def second() -> None:
        order.append("second")
        both.set()

    parts = Scheduler(
        [
            Scheduled("second", OFTEN, second, after=("first",)),
            Scheduled("first", OFTEN, first),
            Scheduled("slow", OFTEN, asyncio.Event().wait),
        ]
    )
    parts.step()
    await asyncio.wait_for(both.wait(), PATIENCE)
    assert order == ["first", "second"]
    running = parts._tasks["slow"]
    parts.step()
    assert parts._tasks["slow"] is running, "what is being read is not begun again"
    await parts.close()
    assert running.cancelled()


async def test_why_a_part_was_not_read_is_kept_until_it_is() -> None:
    problems: list[Exception] = [AdminError(Failure("REFUSED", "no right")), ValueError("a bug")]

    async def fails() -> None:
        if problems:
            raise problems.pop(0)

    never: list[str] = []

    async def later() -> None:
        never.append("read")

    parts = Scheduler([Scheduled("one", OFTEN, fails), Scheduled("later", OFTEN, later, after=("one",))])
    await started(parts)
    assert parts.problems == {"one": Failure("REFUSED", "no right")}
    await started(parts)
    assert parts.problems["one"].name == "INTERNAL"
    assert not never, "what it needs was not read"
    await started(parts)
    assert parts.problems == {}
    assert never


async def test_a_small_read_ends_at_its_limit() -> None:
    parts = Scheduler([Scheduled("small", Pace(every=0.0), asyncio.Event().wait, within=0.01)])
    await started(parts)
    assert parts.problems["small"].name == "TIMED_OUT"


async def test_a_part_in_place_of_another_is_read_and_the_other_no_more() -> None:
    begun, ended, read = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hangs() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def once() -> None:
        read.set()

    parts = Scheduler([Scheduled("view", Pace(60.0), hangs)])
    running = asyncio.create_task(parts.run())
    await asyncio.wait_for(begun.wait(), PATIENCE)
    parts.put(Scheduled("view", Pace(60.0), once))
    await asyncio.wait_for(asyncio.gather(ended.wait(), read.wait()), PATIENCE)
    while not parts.rests("view"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    read.clear()
    parts.hurry("view", "nothing that is read here")
    assert parts.is_asked("view")
    await asyncio.wait_for(read.wait(), PATIENCE)
    running.cancel()
    await asyncio.wait({running})


async def test_a_read_that_is_asked_for_at_the_end_does_not_keep_the_loop_alive() -> None:
    """A cancelled scheduler ends even if a read is requested at the same moment, although before Python 3.12
    asyncio.wait_for swallows a cancellation that arrives together with a result.
    """
    parts = Scheduler([Scheduled("view", Pace(60.0), nothing)])
    loop = asyncio.create_task(parts.run())
    while not parts.rests("view"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    parts.hurry("view")
    loop.cancel()
    await asyncio.wait({loop}, timeout=5)
    assert loop.cancelled()


CONNECT = (ConnectSettings("main", (HttpSettings("127.0.0.1", 8083),)),)


@pytest.mark.parametrize("connect", [(), CONNECT], ids=["without Connect", "with Connect"])
@pytest.mark.parametrize("controllers", [False, True], ids=["brokers", "controllers"])
def test_a_service_is_read_only_if_the_settings_name_it(
    connect: tuple[ConnectSettings, ...], controllers: bool
) -> None:
    settings = ConnectionSettings((("127.0.0.1", 9092),), connect=connect, controllers=controllers)
    session = Session(ModelClient(ModelCluster()), Context("dev", "", settings))
    found = {each.name for each in EventReads(session, FOR_SCREEN).parts}
    assert {part for part in FOR_SCREEN if is_had(part, settings)} <= found
    assert (Part.CONNECT in found) == (bool(connect) and not controllers)
    assert (Part.CONNECT in {each.name for each in Poller(session).parts}) == (Part.CONNECT in found)
    assert (Part.ACLS in found) == (not controllers)


async def test_a_service_without_settings_is_not_read_by_name() -> None:
    class Asked:
        async def run(self, *_: object) -> None:
            raise AssertionError

    session = Session(Asked(), Context("dev", "", ConnectionSettings((("127.0.0.1", 9092),))))  # type: ignore[arg-type]
    await session.read_whole(Part.CONNECT)
    assert session.snapshot == Snapshot()
