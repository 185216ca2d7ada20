"""Tests of rates computed from polls: properties for logs that grow, are truncated, deleted from or moved, and for
clocks that are set back.
"""

from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.model import cluster
from console.model.disk_trend import DirSample, sampled, seconds_left
from console.model.rates import (
    KNOWN_SHARE,
    NOT_POLLED,
    SHORTEST,
    WINDOW,
    Counter,
    Rate,
    Rates,
    RateTotals,
    Tally,
    count,
    total,
    with_dirs,
    with_ends,
)
from console.model.snapshot import Snapshot, with_topics

START = datetime(2026, 3, 1, tzinfo=UTC)
gaps = st.lists(st.floats(SHORTEST, 60.0), min_size=1, max_size=20)
polls = st.lists(st.tuples(st.floats(-30.0, 60.0), st.integers(0, 10_000), st.sampled_from([1, 2])), min_size=1)


def topic_rate(rates: Rates, topic: cluster.Topic) -> Rate:
    """Return the rate of a topic over all its partitions, as a pane shows it."""
    return RateTotals().after(rates, {topic.name: topic}).topics.get(topic.name, Rate())


def seen(*polls: tuple[float, int]) -> Counter:
    """Return the counter after polls, given as (seconds, value); at least one."""
    counter: Counter | None = None
    for at, value in polls:
        counter = count(counter, value, at)
    assert counter is not None
    return counter


def topic(name: str, *leaders: int) -> cluster.Topic:
    """Return a topic whose partitions have these leaders (broker ids, -1 for no leader); broker 3 has a replica of
    each.
    """
    return cluster.Topic(
        name, tuple(cluster.Partition(n, leader, (leader, 3), (leader, 3)) for n, leader in enumerate(leaders))
    )


def held(*replicas: tuple[str, int, int]) -> tuple[cluster.LogDir, ...]:
    """Return the log directories of a broker: one directory with these replicas, given as (topic, partition, bytes)."""
    return (cluster.LogDir("/d", cluster.ReplicaSizes(cluster.ReplicaSize(*each, 0, False) for each in replicas)),)


@given(gaps, st.integers(0, 1_000_000))
def test_a_steady_log_has_its_rate_however_uneven_the_ticks(gaps: list[float], a_second: int) -> None:
    times = [0.0, *accumulate(gaps)]
    rate = seen(*((at, round(at * a_second)) for at in times)).rate
    assert rate == pytest.approx(a_second, abs=1 / SHORTEST)


@given(polls)
def test_no_rate_is_negative_or_made_of_one_poll(polls: list[tuple[float, int, int]]) -> None:
    counter, at = None, 0.0
    for number, (gap, value, source) in enumerate(polls):
        at += gap
        counter = count(counter, value, at, source)
        assert counter.rate is None or (counter.rate >= 0 and number > 0)
        assert counter.base_at <= counter.next_at <= counter.at
        assert counter.base <= counter.next <= counter.value


@given(polls)
def test_a_rate_covers_polls_of_one_log_and_one_way_of_the_clock(polls: list[tuple[float, int, int]]) -> None:
    counter, at, run = None, 0.0, 0.0
    before: tuple[float, int, int] | None = None
    for gap, value, source in polls:
        at += gap
        begins_again = before is None or value < before[1] or at < before[0] or source != before[2]
        run = at if begins_again else run
        before = at, value, source
        counter = count(counter, value, at, source)
        assert counter.base_at >= run
        assert (counter.rate is None) == (counter.at - counter.base_at < SHORTEST)


@given(st.lists(st.floats(SHORTEST, WINDOW / 2), min_size=30, max_size=60))
def test_the_window_of_a_rate_is_what_is_said(gaps: list[float]) -> None:
    counter: Counter | None = None
    for at in accumulate(gaps):
        counter = count(counter, round(at), at)
        if at - gaps[0] >= 3 * WINDOW:
            assert WINDOW - WINDOW / 2 <= counter.at - counter.base_at <= 2 * WINDOW + WINDOW / 2


def test_a_burst_is_forgotten_after_two_windows() -> None:
    burst = [(0.0, 0), (2.0, 10_000), *((2.0 * n, 10_000) for n in range(2, 21))]
    rates = [seen(*burst[: n + 1]).rate for n in range(len(burst))]
    assert rates[0] is None
    assert rates[1] == 5_000
    assert rates[-1] == 0


def test_of_polls_far_apart_the_last_two_count_and_what_goes_back_begins_again() -> None:
    assert seen((0, 0), (100, 1_000), (200, 5_000)).rate == 40
    assert seen((0, 500), (5, 1_000), (10, 900)).rate is None  # a truncated log
    assert seen((0, 500), (5, 1_000), (10, 900), (15, 1_400)).rate == 100
    assert seen((100, 500), (50, 600)).rate is None  # a clock that was set back
    assert seen((100, 500), (50, 600), (60, 700)).rate == 10


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e9)), min_size=1, max_size=30))
def test_a_sum_is_known_where_nearly_all_of_it_is(parts: list[float | None]) -> None:
    known = [each for each in parts if each is not None]
    tallies = (Tally(1, each is not None, each or 0.0) for each in parts)
    found = total(tallies).rate
    assert found.records is None
    assert (found.bytes is not None) == (len(known) >= KNOWN_SHARE * len(parts))
    assert found.bytes is None or found.bytes == pytest.approx(sum(known))


def test_ends_give_records_by_topic_and_leader() -> None:
    topics = {"a": topic("a", 1, 2), "b": topic("b", 2, -1)}
    rates = Rates()
    nothing = RateTotals().after(rates, topics)
    assert nothing.topics == {} == nothing.leaders
    for second in (0, 5):
        found = {("a", 0): 100 * second, ("a", 1): 10 * second, ("b", 0): 1_000}
        rates = with_ends(rates, found, found, START + timedelta(seconds=second))
    assert topic_rate(rates, topics["a"]) == Rate(None, 110)
    assert topic_rate(rates, topics["b"]) == Rate(
        None, 0
    )  # its other partition has no leader, so clients can't write there
    assert nothing.after(rates, topics).leaders == {1: Rate(None, 100), 2: Rate(None, 10)}


def test_equal_sums_of_topics_are_one_object() -> None:
    """Equal rates of topics share one object, because most topics of a cluster with 40,000 topics are idle."""
    topics = {name: topic(name, 1) for name in "abc"}
    rates = Rates()
    for second in (0, 5):
        found = {("a", 0): 7, ("b", 0): 9_000, ("c", 0): 10 * second}
        rates = with_ends(rates, found, found, START + timedelta(seconds=second))
    totals = RateTotals().after(rates, topics)
    assert totals.tallies["a"] is totals.tallies["b"]
    assert totals.topics["a"] is totals.topics["b"]
    assert totals.topics["c"] == Rate(None, 10) != totals.topics["a"]


_places = st.dictionaries(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), st.integers(0, 10_000), max_size=6)
_topics = st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(-1, 3), max_size=3), max_size=4)


@given(st.lists(st.tuples(_places, _topics, st.booleans()), max_size=12))
@example([({}, {"a": []}, False), ({("c", 0): 0}, {}, False), ({}, {}, False), ({}, {}, True)])  # no topics, twice
def test_sums_made_poll_by_poll_are_those_of_the_whole(
    polls: list[tuple[dict[tuple[str, int], int], dict[str, list[int]], bool]],
) -> None:
    rates, totals = Rates(), RateTotals()
    topics = {"a": topic("a", 1, 2), "b": topic("b", 2, -1)}
    for second, (found, others, of_logs) in enumerate(polls):
        at = START + timedelta(seconds=5 * second)
        if others:
            topics = topics | {name: topic(name, *leaders) for name, leaders in others.items()}
        elif second % 3 == 2:
            topics = dict(list(topics.items())[1:])
        if of_logs:
            rates = with_dirs(rates, topics, {3: held(*((*place, size) for place, size in found.items()))}, at)
        else:
            rates = with_ends(rates, [*found, ("a", 0)], found, at)
        before, totals = totals, totals.after(rates, topics)
        whole = RateTotals().after(rates, topics)
        assert totals.topics == whole.topics
        led, led_by_all = totals.leaders, whole.leaders
        assert led.keys() == led_by_all.keys()
        assert all(led[broker] == pytest.approx(rate) for broker, rate in led_by_all.items())
        assert totals.topics is before.topics or totals.topics != before.topics


def test_what_is_not_found_again_is_unknown() -> None:
    place = ("a", 0)
    rates = Rates()
    for second, found in ((0, {place: 1}), (5, {place: 6})):
        rates = with_ends(rates, [place], found, START + timedelta(seconds=second))
    assert rates.of("a", 0).records == 1
    assert with_ends(rates, [place], {}, START + timedelta(seconds=10)).of("a", 0) == Rate()


def test_bytes_are_those_of_the_leaders_log() -> None:
    topics = {"a": topic("a", 1)}
    rates = Rates()
    for second in (0, 10):
        at = START + timedelta(seconds=second)
        dirs = {1: held(("a", 0, 1_000 * second)), 3: held(("a", 0, 77 * second))}
        rates = with_dirs(rates, topics, dirs, at)
    assert rates.of("a", 0).bytes == 1_000
    moved = {"a": topic("a", 3)}
    rates = with_dirs(rates, moved, {3: held(("a", 0, 50_000))}, START + timedelta(seconds=20))
    assert rates.of("a", 0).bytes is None  # another leader's log has another size
    rates = with_dirs(rates, moved, {3: held(("a", 0, 60_000))}, START + timedelta(seconds=30))
    assert rates.of("a", 0).bytes == 1_000


def test_a_replica_on_its_way_counts_for_nothing_and_topics_that_are_gone_are_forgotten() -> None:
    future = cluster.LogDir("/e", cluster.ReplicaSizes([cluster.ReplicaSize("a", 0, 5, 0, True)]))
    rates = with_dirs(Rates(), {"a": topic("a", 1)}, {1: (*held(("a", 0, 9)), future)}, START)
    assert rates.sizes["a", 0].value == 9
    rates = with_ends(Rates(), [("a", 0)], {("a", 0): 1}, START)
    rates = with_dirs(rates, {"a": topic("a", 1)}, {1: held(("a", 0, 9))}, START)
    assert not with_dirs(rates, {}, {2: ()}, START).ends
    assert not with_dirs(rates, {}, {2: ()}, START).sizes


@given(st.sampled_from([None, "a", "b"]), st.sampled_from([None, "a", "b"]), st.booleans())
def test_what_was_counted_of_a_topic_is_nothing_of_another_of_its_name(
    was: str | None, became: str | None, whole: bool
) -> None:
    """A topic that was deleted and created again, with more records than before, gets no rate from the counts of the
    deleted topic.
    """
    at, later = START, START + timedelta(seconds=20)
    before = msgspec.structs.replace(topic("t", 1), topic_id=was)
    snapshot = with_topics(Snapshot(), cluster.TopicListing({"t": before}), whole=whole, at=at)
    snapshot = msgspec.structs.replace(snapshot, rates=with_ends(NOT_POLLED, [("t", 0)], {("t", 0): 500}, at))
    now = msgspec.structs.replace(topic("t", 1), topic_id=became)
    snapshot = with_topics(snapshot, cluster.TopicListing({"t": now}), whole=whole, at=later)
    rates = with_ends(snapshot.rates, [("t", 0)], {("t", 0): 1_500}, later)
    assert (rates.ends["t", 0].rate is None) == ({was, became} == {"a", "b"})
    assert cluster.is_gone(before, now) == ({was, became} == {"a", "b"})
    assert cluster.is_gone(before, None)
    assert not cluster.is_gone(None, now)


def test_a_disk_that_fills_has_a_time_and_samples_begin_again_with_the_clock() -> None:
    rates = Rates()
    for minute, usable in enumerate((9_000, 8_000, 7_000)):
        dirs = {
            1: (cluster.LogDir("/d", cluster.ReplicaSizes(), 10_000, usable),),
            2: (cluster.LogDir("/d", cluster.ReplicaSizes(), 10_000, 500),),
        }
        rates = with_dirs(rates, {}, dirs, START + timedelta(minutes=minute))
    assert rates.seconds_left == {1: 7 * 60}
    first = sampled((), DirSample(START, 100))
    assert sampled(first, DirSample(START - timedelta(hours=1), 50)) == (DirSample(START - timedelta(hours=1), 50),)


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=40))
def test_the_time_left_is_of_disks_that_fill(usable: list[int]) -> None:
    samples: tuple[DirSample, ...] = ()
    for minute, each in enumerate(usable):
        samples = sampled(samples, DirSample(START + timedelta(minutes=minute), each))
    assert all(a.at < b.at for a, b in pairwise(samples))
    left = seconds_left(samples)
    assert (left is None) == (samples[0].usable <= samples[-1].usable)
    assert left is None or left >= 0
