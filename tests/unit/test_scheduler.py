"""When a part is read next: by its pace, by what its last reads took, and after what comes before it."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from console.admin.errors import AdminError
from console.model.failure import Failure
from console.session import scheduler
from console.session.scheduler import Pace, Scheduled, Scheduler, Turns
from tests.support.patience import PATIENCE


class Hand:
    """A clock that stands until it is set, in place of the module `time`."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    clock = Hand()
    monkeypatch.setattr(scheduler, "time", clock)
    return clock


def read(turns: Turns, hand: Hand, took: float) -> float:
    """Read once; the seconds from the read's end until the next one is due."""
    with turns:
        hand.now += took
    return turns.due - hand.now


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
def test_a_part_that_takes_long_rests(hand: Hand, pace: Pace, took: list[float], waits: list[float]) -> None:
    turns = Turns(pace)
    assert turns.is_due()
    for seconds, wait in zip(took, waits, strict=True):
        assert read(turns, hand, seconds) == pytest.approx(wait)
        hand.now = turns.due
        assert turns.is_due()


def fail(turns: Turns, hand: Hand) -> None:
    with turns:
        hand.now += 30
        raise OSError("gone")


def test_what_failed_rests_only_where_its_pace_counts_from_the_end(hand: Hand) -> None:
    for pace, wait in ((Pace(every=5), 300.0), (Pace(every=5, from_begin=True), -25.0)):
        turns = Turns(pace)
        with pytest.raises(OSError, match="gone"):
            fail(turns, hand)
        assert turns.due - hand.now == pytest.approx(wait)


def test_what_is_hurried_is_due(hand: Hand) -> None:
    turns = Turns(Pace(every=60))
    read(turns, hand, 1.0)
    assert not turns.is_due()
    turns.hurry()
    assert turns.is_due()
    assert turns.due == -inf


async def started(parts: Scheduler) -> None:
    """Begin what is due, and wait until it was read."""
    for part in parts.parts:
        parts.start(part)
    await asyncio.wait_for(asyncio.wait(parts._tasks.values()), PATIENCE)


async def test_a_part_waits_for_what_comes_first_and_a_slow_one_delays_no_other() -> None:
    order: list[str] = []
    slow = asyncio.Event()

    async def first() -> None:
        await asyncio.sleep(0)
        order.append("first")

    async def second() -> None:
        order.append("second")

    async def hangs() -> None:
        await slow.wait()

    often = Pace(every=0.0, rest=0.0)
    parts = Scheduler(
        [
            Scheduled("second", often, second, after=("first",)),
            Scheduled("first", often, first),
            Scheduled("slow", often, hangs),
        ]
    )
    for part in (parts.parts[1], parts.parts[0], parts.parts[2]):
        parts.start(part)
    await asyncio.wait_for(asyncio.wait([parts._tasks["first"], parts._tasks["second"]]), PATIENCE)
    assert order == ["first", "second"]
    running = parts._tasks["slow"]
    parts.start(parts.parts[2])
    assert parts._tasks["slow"] is running, "what is being read is not begun again"
    await parts.close()
    assert running.cancelled()


async def test_why_a_part_was_not_read_is_kept_until_it_is() -> None:
    problems: list[Exception] = [AdminError(Failure("REFUSED", "no right")), ValueError("a bug")]

    async def fails() -> None:
        if problems:
            raise problems.pop(0)

    async def never() -> None:
        raise AssertionError("what it needs was not read")

    often = Pace(every=0.0, rest=0.0)
    parts = Scheduler([Scheduled("one", often, fails), Scheduled("later", often, never, after=("one",))])
    await started(parts)
    assert parts.problems == {"one": Failure("REFUSED", "no right")}
    parts.start(parts.parts[0])
    await asyncio.wait_for(parts._tasks["one"], PATIENCE)
    assert parts.problems["one"].name == "INTERNAL"
    parts.start(parts.parts[0])
    await asyncio.wait_for(parts._tasks["one"], PATIENCE)
    assert parts.problems == {}


async def test_a_small_read_ends_at_its_limit() -> None:
    parts = Scheduler([Scheduled("small", Pace(every=0.0), asyncio.Event().wait, within=0.01)])
    await started(parts)
    assert parts.problems["small"].name == "TIMED_OUT"
