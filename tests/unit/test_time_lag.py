"""Tests of a lag in seconds: properties for end offsets that never fall, and the results if polls and records do not
determine it.
"""

from bisect import bisect_left
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import time_lag
from console.model.cluster import GroupLag, PartitionLag
from console.model.lag_trend import LagTrend, times_to_read, trend_after, with_times

START = 1_800_000_000.0

STEPS = st.lists(st.tuples(st.floats(0.5, 30), st.integers(0, 500)), min_size=1, max_size=250)
"""Draws, for each poll after the first, the seconds since the one before, and the number of records written in them."""


def watched(steps: list[tuple[float, int]], first: int = 100) -> tuple[time_lag.EndsSeen, list[tuple[float, int]]]:
    """Return the end offsets that kac keeps after polls, and all polls as (time in seconds, end offset)."""
    at, end = START, first
    polls, seen = [(at, end)], time_lag.see_end(None, end, at)
    for seconds, records in steps:
        at, end = at + seconds, end + records
        polls.append((at, end))
        seen = time_lag.see_end(seen, end, at)
    return seen, polls


def row(committed: int, end: int, number: int = 0) -> PartitionLag:
    return PartitionLag("t", number, committed, end, end - committed if committed >= 0 else -1)


@given(STEPS, st.data())
def test_a_time_lies_between_the_polls_before_and_after_the_record_was_written(
    steps: list[tuple[float, int]], data: st.DataObject
) -> None:
    seen, polls = watched(steps)
    now, end = polls[-1]
    committed = data.draw(st.integers(0, end))
    found = time_lag.time_lag(row(committed, end), seen, None, now)
    if committed == end:
        assert found == time_lag.NOT_BEHIND
        return
    after = bisect_left([offset for _, offset in polls], committed + 1)
    if after == 0:  # the record was there at the first poll
        assert found.least or found == time_lag.Behind()
        assert found.seconds is None or 0 < found.seconds <= now - polls[0][0]
        return
    earliest, latest = now - polls[after][0], now - polls[after - 1][0]
    if found.least:  # the record is older than the kept polls
        assert latest >= time_lag.HELD >= (found.seconds or 0) - max(step for step, _ in steps)
        return
    assert found.seconds is not None
    assert found.seconds >= 0
    # A poll that was thinned out was at most this far from a kept one.
    slack = max(time_lag.CLOSE, time_lag.CLOSE_SHARE * latest)
    assert earliest - slack - 1e-5 <= found.seconds <= latest + slack + 1e-5


@given(STEPS)
def test_who_has_read_more_is_never_further_behind_and_what_is_kept_is_bounded(steps: list[tuple[float, int]]) -> None:
    seen, polls = watched(steps)
    now, end = polls[-1]
    found = [time_lag.time_lag(row(committed, end), seen, None, now).seconds for committed in range(90, end + 1, 7)]
    known = [seconds for seconds in found if seconds is not None]
    assert all(a >= b for a, b in pairwise(known))
    assert len(seen.ats) == len(seen.ends) <= time_lag.MOST + 1
    assert list(seen.ends) == sorted(seen.ends)
    assert list(seen.ats) == sorted(seen.ats)
    assert (seen.ats[-1], seen.ends[-1]) == polls[-1]
    # One older poll is kept, for the end at the beginning of the kept time.
    assert sum(at < polls[-1][0] - time_lag.HELD for at in seen.ats[:-1]) <= 1


@given(st.floats(0.5, 6.0), st.integers(1, 200), st.integers(10, 400), st.integers(1, 1500))
def test_a_steady_producer_is_told_to_the_second(every: float, rate: int, polls: int, behind: int) -> None:
    seen, at = time_lag.see_end(None, 0, START), START
    for _ in range(polls):
        at += every
        seen = time_lag.see_end(seen, int((at - START) * rate), at)
    committed = int((at - behind - START) * rate)
    found = time_lag.time_lag(row(committed, seen.ends[-1]), seen, None, at)
    if committed >= 0 and at - behind > max(START, at - time_lag.HELD):
        assert found.seconds == pytest.approx(behind, abs=max(2.0, 0.01 * behind) / 1 + 1 / rate)
        assert not found.least


def test_a_log_that_stands_still_is_two_polls_and_one_that_was_cut_begins_again() -> None:
    seen = time_lag.see_end(None, 7, START)
    for number in range(1, 100):
        seen = time_lag.see_end(seen, 7, START + number)
    assert seen == time_lag.EndsSeen((START, START + 99.0), (7, 7))
    # The next record was written between the last two polls, however long the pause before it.
    seen = time_lag.see_end(seen, 8, START + 100)
    assert time_lag.waits_since(seen, 7) == START + 100
    seen = time_lag.see_end(time_lag.see_end(None, 7, START), 9, START + 1)
    assert time_lag.see_end(seen, 8, START + 2) == time_lag.EndsSeen((START + 2,), (8,))
    assert time_lag.see_end(seen, 9, START) == time_lag.EndsSeen((START,), (9,))


def test_a_record_says_since_when_it_waits_where_the_polls_do_not() -> None:
    now = START + 10
    seen = time_lag.see_end(time_lag.see_end(None, 50, START), 60, now)
    assert time_lag.time_lag(row(40, 60), seen, None, now) == time_lag.Behind(10.0, least=True)
    assert time_lag.time_lag(
        row(40, 60), seen, time_lag.Written(40, round((now - 300) * 1000)), now
    ) == time_lag.Behind(300.0)
    # A time of another offset does not count, and the time since the first poll does, whatever the producer's clock
    # says.
    assert time_lag.time_lag(
        row(41, 60), seen, time_lag.Written(40, round((now - 300) * 1000)), now
    ) == time_lag.Behind(10.0, least=True)
    assert time_lag.time_lag(row(40, 60), seen, time_lag.Written(40, round((now - 3) * 1000)), now) == time_lag.Behind(
        10.0
    )
    assert time_lag.time_lag(row(55, 60), seen, None, now).seconds == pytest.approx(4.0)


def test_what_holds_no_record_makes_nobody_wait() -> None:
    """A group whose next offset is a transaction's marker has no lag in time, because the marker is no record. On an
    idle topic it may be the last offset for hours.
    """
    marker = time_lag.Written(40, why="no record is there", until=41)
    long_ago = time_lag.EndsSeen((START,), (41,))
    assert time_lag.time_lag(row(40, 41), long_ago, None, START + 900) == time_lag.Behind(900.0, least=True)
    assert time_lag.time_lag(row(40, 41), long_ago, marker, START + 900) == time_lag.NOT_BEHIND
    # The first record comes after the marker, between two polls.
    later = time_lag.EndsSeen((START + 890, START + 892), (41, 42))
    assert time_lag.time_lag(row(40, 42), later, marker, START + 900) == time_lag.Behind(8.0)
    assert time_lag.time_lag(row(39, 41), long_ago, marker, START + 900) == time_lag.Behind(900.0, least=True), (
        "of another offset"
    )


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (time_lag.Written(40, -1), time_lag.NO_TIMESTAMP),
        (time_lag.Written(40, round((START + 3600) * 1000)), time_lag.IN_FUTURE),
        (time_lag.Written(40, why="no record is there"), "no record is there"),
        (
            time_lag.Written(1, why="Fetch: TOPIC_AUTHORIZATION_FAILED", refused=True),
            "Fetch: TOPIC_AUTHORIZATION_FAILED",
        ),
    ],
)
def test_a_record_whose_time_is_worth_nothing_leaves_it_unknown(written: time_lag.Written, why: str) -> None:
    seen = time_lag.see_end(None, 60, START)
    assert time_lag.time_lag(row(40, 60), seen, written, START) == time_lag.Behind(why=why)
    assert time_lag.time_lag(row(40, 60), seen, written, START + 90) == time_lag.Behind(90.0, least=True, why=why)
    assert time_lag.time_lag(row(60, 60), seen, written, START) == time_lag.NOT_BEHIND


def test_it_is_unknown_without_a_commit_and_at_the_first_poll() -> None:
    assert time_lag.time_lag(row(-1, 60), time_lag.see_end(None, 60, START), None, START + 5) == time_lag.Behind()
    assert time_lag.time_lag(row(10, 60), None, None, START) == time_lag.Behind()
    assert (
        time_lag.time_lag(row(10, 60), time_lag.see_end(None, 60, START), None, START + time_lag.LEAST / 2)
        == time_lag.Behind()
    )


def test_a_group_is_as_far_behind_as_its_worst_partition() -> None:
    assert time_lag.longest([time_lag.Behind(3.0), time_lag.Behind(300.0), time_lag.NOT_BEHIND]) == time_lag.Behind(
        300.0
    )
    assert time_lag.longest([time_lag.Behind(300.0), time_lag.Behind(10.0, least=True)]) == time_lag.Behind(
        300.0, least=True
    )
    assert time_lag.longest([time_lag.Behind(300.0), time_lag.Behind()]) == time_lag.Behind(300.0, least=True)
    assert time_lag.longest([time_lag.NOT_BEHIND, time_lag.Behind(why="w")]) == time_lag.Behind(why="w")
    assert time_lag.longest([time_lag.Behind()]) == time_lag.longest([]) == time_lag.Behind()


def trend_of(*polls: tuple[float, tuple[PartitionLag, ...]]) -> LagTrend:
    trend = None
    for at, rows in polls:
        trend = trend_after(trend, GroupLag(rows), at)
    assert trend is not None
    return trend


def test_records_are_asked_for_once_the_largest_lag_first_and_the_groups_in_turn() -> None:
    one = trend_of((START, (row(5, 9), row(5, 50, 1), row(9, 9, 2), row(-1, 9, 3))))
    two = trend_of((START, (row(5, 9), row(4, 9, 1))))
    assert times_to_read([one], 10) == [time_lag.Spot("t", 1, 5), time_lag.Spot("t", 0, 5)]
    assert times_to_read([one, two], 3) == [
        time_lag.Spot("t", 1, 5),
        time_lag.Spot("t", 1, 4),
        time_lag.Spot("t", 0, 5),
    ]
    found = {
        time_lag.Spot("t", 1, 5): time_lag.Written(5, round((START - 60) * 1000)),
        time_lag.Spot("t", 0, 5): time_lag.Written(5, -1),
    }
    known = with_times({"one": one}, found)["one"]
    assert times_to_read([known], 10) == []
    assert known.longest_behind == time_lag.Behind(60.0, least=True, why=time_lag.NO_TIMESTAMP)


def test_a_record_counts_while_the_commit_stands_and_then_what_was_seen() -> None:
    first = trend_of((START, (row(5, 9),)))
    known = with_times({"g": first}, {time_lag.Spot("t", 0, 5): time_lag.Written(5, round((START - 60) * 1000))})["g"]
    later = trend_after(known, GroupLag((row(5, 19),)), START + 10)
    assert later.longest_behind == time_lag.Behind(70.0)
    moved = trend_after(later, GroupLag((row(12, 19),)), START + 12)
    assert moved.longest_behind.seconds == pytest.approx(12 - 10 * 4 / 10, abs=0.5)
    assert not moved.written
    caught_up = trend_after(moved, GroupLag((row(19, 19),)), START + 14)
    assert caught_up.longest_behind == time_lag.NOT_BEHIND


def test_nothing_is_kept_of_who_has_read_everything_but_the_last_poll() -> None:
    well = trend_of((START, (row(9, 9),)), (START + 5, (row(9, 9),)))
    assert not well.seen
    assert well.longest_behind == time_lag.NOT_BEHIND
    later = trend_after(well, GroupLag((row(9, 19),)), START + 15)
    # Ten records were written in ten seconds, and the first of them is the next to be read.
    assert later.longest_behind == time_lag.Behind(pytest.approx(9.0))  # type: ignore[arg-type]
    assert not trend_after(later, GroupLag((row(19, 19),)), START + 20).seen
