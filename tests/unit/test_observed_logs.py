"""Tests of what kac derives from the logs' offsets over several polls: jumps, falls, and last stable offsets that do
not advance are exactly those that the polls contain.
"""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from console.model.observed_logs import (
    KEPT_SECONDS,
    PERIOD,
    LogOffsets,
    ObservedLogs,
    logs_after,
    without_logs,
)

PLACE = ("orders", 0)
offsets = (
    st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)).map(sorted).map(lambda o: LogOffsets(*o))
)


def observed(polls: list[LogOffsets], every: float = 5.0) -> ObservedLogs:
    known = ObservedLogs()
    for number, poll in enumerate(polls):
        known = logs_after(known, {PLACE: poll}, 1_000 + every * number)
    return known


@given(st.lists(offsets, min_size=1, max_size=12))
def test_each_rise_is_a_jump_each_lower_end_a_fall_and_a_stable_offset_stands_as_long_as_seen(
    polls: list[LogOffsets],
) -> None:
    known = observed(polls)
    pairs = list(pairwise(polls))
    assert [(each.was, each.start) for each in known.jumps] == [
        (a.start, b.start) for a, b in pairs if b.start > a.start
    ]
    same = [(a, b) for a, b in pairs if b.start >= a.start]  # a log that begins earlier is another log
    assert [(each.was, each.end) for each in known.falls] == [(a.end, b.end) for a, b in same if b.end < a.end]
    assert all(each.after < each.at for each in known.jumps)
    stood = observed(polls).stood(PLACE)
    last = polls[-1]
    if not last.waiting:
        assert stood == -1
        return
    count = 0
    for now, was in zip(reversed(polls), list(reversed(polls))[1:], strict=False):
        if was.stable != last.stable or not was.waiting or now.start < was.start:
            break
        count += 1
    assert stood == 5.0 * count
    assert (PLACE in observed(polls).standing(stood)) is True
    assert observed(polls).standing(stood + 1) == ()


def test_what_is_old_or_of_a_topic_that_is_gone_is_forgotten() -> None:
    polls = [LogOffsets(0, 9, 9), LogOffsets(5, 9, 9)]
    known = observed(polls)
    later = logs_after(known, {}, 1_006 + KEPT_SECONDS)
    assert (len(known.jumps), later.jumps) == (1, ())
    again = logs_after(known, {PLACE: LogOffsets(7, 9, 9)}, 900.0)
    assert again.jumps == ()
    assert again.logs[PLACE].first_at == 900.0
    known = observed([LogOffsets(0, 9, 9), LogOffsets(5, 9, 9), LogOffsets(5, 9, 8)])
    assert (len(known.jumps), len(known.falls)) == (1, 1)
    assert without_logs(known, {"payments"}) is known
    assert without_logs(known, {"orders"}) == ObservedLogs(known.at)


TWO = {"readings": (0, 1), "others": (0,)}


def test_a_topic_that_was_made_again_has_no_untrimmed_log_by_the_jumps_of_the_former_one() -> None:
    known = ObservedLogs()
    for tick in range(4):  # the former topic: retention deletes records of a log, and the other one is idle
        read = {("readings", 0): LogOffsets(tick, 9, 9), ("readings", 1): LogOffsets(0, 9, 9)}
        known = logs_after(known, read, 1_000 + 5.0 * tick)
    assert list(known.untrimmed(lambda topic: TWO[topic])) == []
    known = without_logs(known, {"readings"})
    for tick in range(4, 7):  # the new one: both grow, and retention has deleted nothing yet
        read = {("readings", number): LogOffsets(0, tick, tick) for number in TWO["readings"]}
        known = logs_after(known, read, 1_000 + 5.0 * tick)
    assert list(known.untrimmed(lambda topic: TWO[topic])) == []


@given(
    trimmed=st.lists(st.booleans(), max_size=10),
    also=st.lists(st.booleans(), min_size=10, max_size=10),
    grows=st.booleans(),
)
def test_a_log_is_untrimmed_if_it_grows_and_keeps_its_first_record_while_another_lost_its_own_twice(
    trimmed: list[bool], also: list[bool], *, grows: bool
) -> None:
    """A log counts as untrimmed if it grows and keeps its first record while retention deletes records of another log
    twice.

    Args:
        trimmed, also: whether retention deletes records of the other log, and of this one, at each poll.
        grows: whether records are written to this log.
    """
    known, starts, end = ObservedLogs(), [0, 0], 100
    lost: tuple[list[int], list[int]] = ([], [])
    for tick, each in enumerate(zip([False, *trimmed], [False, *also], strict=False)):
        end += 10
        for number, is_trimmed in enumerate(each):
            starts[number] += is_trimmed
            lost[number].extend([tick] if is_trimmed else [])
        last = end if grows else 100
        read = {
            ("readings", 0): LogOffsets(starts[0], end, end),
            ("readings", 1): LogOffsets(starts[1], last, last),
            ("others", 0): LogOffsets(0, end, end),
        }
        known = logs_after(known, read, 1_000 + 5.0 * tick)
    twice = [each[-2] for each in lost if len(each) > 1]
    second = bool(twice) and grows and (not lost[1] or lost[1][-1] < max(twice))
    assert (("readings", 1) in known.untrimmed(lambda topic: TWO[topic])) is second
    assert ("others", 0) not in known.untrimmed(lambda topic: TWO[topic])


@given(late=st.integers(3, 20), by=st.floats(5, 60))
def test_a_late_read_is_no_pause_of_the_producers(late: int, by: float) -> None:
    """If a log grows between all reads, a read that comes late does not count as a pause of its producers."""
    known = ObservedLogs()
    for tick in range(25):
        known = logs_after(known, {PLACE: LogOffsets(0, tick, tick)}, 1_000 + 5.0 * tick + by * (tick >= late))
    assert abs(known.logs[PLACE].pause - 5) < 1e-6


@given(idle=st.integers(1, 300))
def test_a_log_without_writes_keeps_the_pauses_of_its_last_writes(idle: int) -> None:
    ends = [0, 1, 1, 1, 2, 3, *[3] * idle]
    assert observed([LogOffsets(0, end, end) for end in ends]).logs[PLACE].recent_pause == 15


@given(quiet=st.integers(2, 30), after=st.integers(1, 200))
def test_a_pause_is_a_recent_one_for_five_to_ten_minutes(quiet: int, after: int) -> None:
    """A pause of a log's producers counts as recent for five to ten minutes after its end."""
    ends = [*range(1, 5), *[4] * (quiet - 1), *range(5, 5 + after)]
    log = observed([LogOffsets(0, end, end) for end in ends]).logs[PLACE]
    assert log.pause == 5 * quiet
    if 5 * after <= PERIOD:
        assert log.recent_pause == 5 * quiet
    if 5 * after > 2 * PERIOD + 5 * quiet:
        assert log.recent_pause == 5
    assert len(log.periods) <= 2
    assert all(ends[round((each.at - 1_000) / 5)] == each.end for each in log.periods)
    assert min(log.at - log.first_at, PERIOD) <= log.at - log.periods[0].at <= 2 * PERIOD + 5 * quiet
