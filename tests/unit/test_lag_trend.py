"""Tests of lag trends over polls: properties for consumers that commit in steps, and stuck partitions."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.cluster import Group, GroupLag, GroupMember, GroupPolls, PartitionLag
from console.model.lag_trend import (
    LONGEST_THROTTLE,
    SHORTEST,
    STUCK_ALONE,
    STUCK_SOON,
    WINDOW,
    LagTrend,
    direction,
    time_left,
    trend_after,
)
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot, throttled_groups, with_group_polls

Offsets = tuple[int, int, str]
"""Committed offset, end offset, and the member's id."""


def lag(*partitions: Offsets) -> GroupLag:
    return GroupLag(
        tuple(
            PartitionLag("t", number, at, end, max(0, end - at) if at >= 0 and end >= 0 else -1, member)
            for number, (at, end, member) in enumerate(partitions)
        )
    )


def seen(*polls: tuple[float, GroupLag], throttled: bool = False) -> LagTrend:
    """Return the trend after these polls, given as (seconds, lag). throttled: whether the group's clients are
    throttled.
    """
    trend: LagTrend | None = None
    for at, found in polls:
        trend = trend_after(trend, found, at, throttled=throttled)
    assert trend is not None
    return trend


def story(times: Iterable[float], *partitions: tuple[float, float, float, str]) -> LagTrend:
    """Return the trend after polls at these times, in seconds. partitions: records written per second, the share of
    them (0 to 1) that a consumer commits, the seconds between its commits, and the member.
    """

    def at(time: float, produced: float, share: float, every: float, member: str) -> Offsets:
        steps = time // every * every
        return int(produced * share * steps), int(produced * time) + 1, member

    return seen(*((time, lag(*(at(time, *each) for each in partitions))) for time in times))


@st.composite
def polls(draw: st.DrawFn, longest: float = 20.0) -> list[float]:
    """Draw the times of polls in seconds, each at most `longest` seconds after the one before."""
    gaps = draw(st.lists(st.floats(0.5, longest), min_size=2, max_size=20))
    times = [draw(st.floats(0, 10))]
    for gap in gaps:
        times.append(times[-1] + gap)
    return times


@given(polls(), st.integers(1, 100_000), st.floats(0.05, 5.0))
def test_a_consumer_that_keeps_up_has_no_trend_whenever_one_looks(
    times: list[float], produced: int, every: float
) -> None:
    """If a consumer keeps up, so that the lag rises and falls by at most one interval's records, there is no trend,
    whenever the polls are.
    """
    trend = story(times, (produced, 1.0, every, "m"))
    assert trend.rate is None or abs(trend.rate) <= 1  # an offset is a whole number
    assert trend.stuck == ()


@given(polls(), st.integers(1, 100_000))
def test_a_lag_without_commits_grows_by_what_is_produced(times: list[float], produced: int) -> None:
    trend = story(times, (produced, 0.0, 1.0, ""))
    if times[-1] - times[0] < SHORTEST:
        assert trend.rate is None
    else:
        assert trend.rate == pytest.approx(produced, rel=0.3, abs=1)
        assert direction(trend.rate) == "grows"
    assert trend.stuck == ()  # no member, and no other partition moves


@given(polls())
def test_what_is_compared_is_not_older_than_two_windows_where_polls_are_often(times: list[float]) -> None:
    trend = story(times, (10, 0.5, 1.0, "m"))
    assert trend.last.at == times[-1]
    assert trend.base.at in times
    gaps = [after - before for before, after in pairwise(times)]
    assert trend.last.at - trend.base.at <= 2 * WINDOW + 2 * max(gaps)


@given(st.lists(st.tuples(st.integers(-1, 10**9), st.integers(-1, 10**9), st.sampled_from(["", "a", "b"])), max_size=6),
       st.lists(st.tuples(st.integers(-1, 10**9), st.integers(-1, 10**9), st.sampled_from(["", "a", "b"])), max_size=6),
       st.floats(0.1, 1e6))  # fmt: skip
def test_a_groups_rate_is_the_sum_of_its_partitions_and_the_stuck_ones_have_records_waiting(
    before: list[Offsets], after: list[Offsets], seconds: float
) -> None:
    trend = seen((0.0, lag(*before)), (seconds, lag(*after)))
    rates = [each.rate for each in trend.partitions.values() if each.rate is not None]
    assert trend.rate == (pytest.approx(sum(rates)) if rates else None)
    lags = {(row.topic, row.partition): row for row in trend.last.lag.partitions}
    for place, each in trend.partitions.items():
        if each.stuck:
            assert lags[place].lag > 0
            assert each.still >= STUCK_SOON
        if each.still:
            assert lags[place].lag > 0
        if direction(each.rate) == "shrinks":
            assert (time_left(lags[place].lag, each.rate) is None) == (lags[place].lag == 0)
        else:
            assert time_left(lags[place].lag, each.rate) is None


def stands(until: float, other: bool, member: str = "m", moves: float = 10, *, throttled: bool = False) -> LagTrend:
    """Return the trend, at `until` seconds, of a partition whose committed offset stays at 5 while its end grows, from
    polls every 2 s. other: whether the committed offset of the member's other partition advances. moves: records per
    second.
    """
    times = [second / 1 for second in range(0, int(until) + 1, 2)]
    return seen(
        *(
            (at, lag((5, 100 + int(moves * at), member), (int(10 * at) if other else 0, int(10 * at) or 1, member)))
            for at in times
        ),
        throttled=throttled,
    )


def test_a_partition_is_stuck_soon_or_late_and_no_more_once_its_commit_moves() -> None:
    first = ("t", 0)
    assert stands(STUCK_SOON - 2, other=True).stuck == ()
    assert stands(STUCK_SOON + 2, other=True).stuck == (first,)
    assert first not in stands(STUCK_ALONE - 2, other=False).stuck
    assert first in stands(STUCK_ALONE + 2, other=False).stuck
    polls_at = [(float(at), lag((5, 100 + 10 * at, "m"), (10 * at, 10 * at + 1, "m"))) for at in range(0, 40, 2)]
    assert seen(*polls_at).stuck == (("t", 0),)
    skipped = [*polls_at, (40.0, lag((6, 500, "m"), (400, 401, "m")))]
    assert seen(*skipped).stuck == ()
    backwards = [*polls_at, (40.0, lag((1, 500, "m"), (400, 401, "m")))]
    assert seen(*backwards).stuck == ()


@pytest.mark.parametrize(("left", "stuck"), [(5_000, ()), (0, (("t", 0),))])
def test_a_partition_waits_while_its_member_works_off_another_one(
    left: int, stuck: tuple[tuple[str, int], ...]
) -> None:
    """A partition without commits does not count as stuck while its member still has, in its other partition, more
    records to read than those of one interval.
    """
    end = 10_000
    times = [second / 1 for second in range(0, 61, 2)]
    rate = (end - left) / 60

    def at(time: float) -> GroupLag:
        return lag((5, 100 + int(10 * time), "m"), (min(end, int(rate * time)), end, "m"))

    assert seen(*((time, at(time)) for time in times)).stuck == stuck


@pytest.mark.parametrize(
    ("entity", "key", "groups"),
    [
        ({"client-id": "a"}, "consumer_byte_rate", {"one"}),
        ({"client-id": "a"}, "request_percentage", {"one"}),
        ({"user": "alice", "client-id": "b"}, "consumer_byte_rate", {"two"}),
        ({"client-id": "b"}, "producer_byte_rate", set()),
        ({"client-id": "c"}, "consumer_byte_rate", set()),
        ({"client-id": None}, "consumer_byte_rate", {"one", "two", "empty"}),
        ({"user": "alice"}, "consumer_byte_rate", {"one", "two", "empty"}),
        ({"ip": "10.0.0.1"}, "connection_creation_rate", set()),
    ],
)
def test_which_groups_a_quota_may_delay(entity: dict[str, str | None], key: str, groups: set[str]) -> None:
    clients = {"one": ["a"], "two": ["b"], "empty": []}
    known = {
        name: Group(name, "Stable", "classic", members=tuple(GroupMember("m", each, "/127.0.0.1") for each in own))
        for name, own in clients.items()
    }
    assert throttled_groups(known, {QuotaEntity.of(entity): {key: 1.0}}) == groups


def ended(at: float, every: float, until: float, gap: float) -> LagTrend:
    """Return the trend of a partition with ten records per second, from polls every `gap` seconds until `at`. Its only
    consumer commits every `every` seconds, and ends at `until`.
    """
    times = [gap * n for n in range(int(at / gap) + 1)]
    return seen(*((t, lag((int(10 * (min(t, until) // every * every)), int(10 * t) + 1, "m"))) for t in times))


@given(st.floats(0.5, 5.0), st.floats(0.5, 2.5), st.floats(0.0, 30.0))
def test_a_consumer_alone_that_commits_is_stuck_within_fifteen_seconds_and_never_while_it_commits(
    every: float, gap: float, later: float
) -> None:
    """A partition's only consumer counts as stuck within 15 s after its end, and never before, if polls are at most 2.5
    s apart and commits at most 5 s, the default of auto.commit.interval.ms.
    """
    until = 30.0 + later
    assert ended(until, every, until, gap).stuck == ()
    assert ended(until // every * every + 15.0 + gap, every, until, gap).stuck == (("t", 0),)


@given(st.floats(20.0, 60.0))
def test_a_consumer_that_commits_rarely_has_its_own_rhythm(every: float) -> None:
    """A consumer that commits every 20 to 60 s, as Kafka Connect does, is stuck only after two and a half of its own
    intervals without a commit.
    """
    assert ended(6 * every, every, 6 * every, 2.5).stuck == ()
    assert ended(6 * every, every, 3.5 * every, 2.5).stuck == (("t", 0),)


def test_what_is_not_stuck_and_what_is_so_much_later() -> None:
    assert stands(200, other=True, moves=0).stuck == ()  # no record arrives
    assert stands(200, other=False, member="").stuck == ()  # no member reads, nothing of the group moves
    idle = seen(*((at, lag((100, 100, "m"))) for at in range(0, 300, 10)))
    assert (idle.stuck, idle.rate) == ((), 0)
    soonest = next(at for at in range(2, 200, 2) if stands(at, other=True).stuck)  # a throttle may delay it
    assert not stands(soonest + LONGEST_THROTTLE - 2, other=True, throttled=True).stuck
    assert stands(soonest + LONGEST_THROTTLE + 2, other=True, throttled=True).stuck


@pytest.mark.parametrize("every", [30.0, 60.0, 80.0])
def test_a_consumer_that_commits_seldom_is_not_stuck(every: float) -> None:
    """A consumer that commits every 30 to 80 s is never stuck between its commits: kac measures its interval when the
    committed offset advances again.
    """
    for end in range(10, 600, 7):
        assert story([at / 1 for at in range(0, end, 2)], (100, 1.0, every, "m")).stuck == ()


def test_the_time_left_and_a_clock_that_goes_back() -> None:
    shrinks = seen((0.0, lag((0, 1000, "m"))), (10.0, lag((500, 1000, "m"))), (20.0, lag((600, 1000, "m"))))
    assert shrinks.rate == pytest.approx(-30)
    assert shrinks.catch_up == pytest.approx(400 / 30)
    trend = seen((1000.0, lag((1, 10, "m"))), (1010.0, lag((1, 20, "m"))), (5.0, lag((1, 30, "m"))))
    assert (trend.rate, trend.base.at, trend.stuck) == (None, 5.0, ())


def test_what_did_not_change_between_polls_is_kept_once() -> None:
    """If a group's offsets do not change, as those of most groups, the three polls that a trend keeps share one
    object.
    """

    def poll(end: int) -> GroupLag:
        return GroupLag(
            (PartitionLag("".join(("or", "ders")), 0, 7, 9, 2, "m"), PartitionLag("orders", 1, 7, end, end - 7, "m"))
        )

    resting = seen((0, poll(8)), (20, poll(8)), (40, poll(8)))
    assert resting.base is not resting.last
    assert resting.base.lag is resting.next_base.lag is resting.last.lag
    moving = seen((0, poll(8)), (20, poll(8)), (40, poll(9)))
    assert moving.last.lag == poll(9)
    assert moving.base.lag.partitions[0] is moving.last.lag.partitions[0]
    asked = GroupPolls({}, {"readers": poll(9)})
    known = with_group_polls(Snapshot(), asked, {"readers": moving}, datetime.fromtimestamp(40, UTC))
    assert known.lags["readers"] is moving.last.lag


def test_a_commit_before_markers_stands_still_only_from_the_next_record_on() -> None:
    """Offsets 100 to 102 are markers of transactions: they wait for 60 s, but no record does. The clock of a partition
    that stands still begins with the record after them.
    """
    known = None
    for second in range(0, 200, 2):
        read = min(60 + second, 100)
        end = read if second < 40 else 103 if second < 100 else 103 + second
        rows = (PartitionLag("t", 0, read, end, end - read, "m"),)
        known = trend_after(known, GroupLag(rows), float(second))
        assert not known.stuck or second >= 108, second
    assert known is not None
    assert known.stuck == (("t", 0),)


def test_several_partitions_that_stand_still_at_once_wait_for_a_longer_batch_first() -> None:
    """If a group that commits every 2 s commits nothing more, it is stuck after 20 s, and after 10 s if only one of its
    partitions stands still.
    """

    def stuck_at(end: int, standing: int) -> int:
        known = None
        for second in range(0, 120, 2):
            commits = [second if n >= standing else min(second, end) for n in range(2)]
            rows = tuple(PartitionLag("t", n, at, second, second - at, "m") for n, at in enumerate(commits))
            known = trend_after(known, GroupLag(rows), float(second))
            if known.stuck:
                return second - end
        raise AssertionError("never stuck")

    assert stuck_at(40, standing=1) < 14
    assert 20 <= stuck_at(40, standing=2) < 26


def test_a_record_in_another_partition_does_not_end_a_stuck_one() -> None:
    """A member commits every 2 s and hangs at 40 s. Its other partition gets records from 54 s on."""
    known = None
    for second in range(0, 80, 2):
        done, late = min(second, 40), max(0, second - 53)
        rows = (PartitionLag("t", 0, done, second, second - done, "m"), PartitionLag("t", 1, 0, late, late, "m"))
        known = trend_after(known, GroupLag(rows), float(second))
        assert ("t", 0) in known.stuck or second < 52, second


def test_a_partition_is_not_stuck_as_soon_as_its_first_member_joins() -> None:
    """Records wait for 600 s before kac sees a member, as of a job that comes every ten minutes."""
    known = None
    for second in range(0, 612, 4):
        member = "m" if second >= 600 else ""
        known = trend_after(known, lag((100, 200 + second, member)), float(second))
        assert not known.stuck, second
