"""Groups that are slow: what changed when their lag began to grow, and where it grows."""

from collections.abc import Callable, Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.grammar import parse
from console.model import cluster
from console.model.codes import ConfigSource
from console.model.config import ConfigResource, ConfigSet, topic_resource
from console.model.connect import SOURCE, ConnectCluster
from console.model.rate_samples import APART, KEPT, Sample, rates_between, sampled
from console.model.severity import Certainty
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.lag_shares import loaded_member
from tests.support import connectors, samples
from tests.unit.test_triage import claims_of, healthy, moved, watched

BEGINS = 10
"""The tick at which something changes, 50 s after the first poll."""


def slow(
    rows: Callable[[int], list[tuple[int, int, str]]],
    ticks: int,
    *,
    topics: tuple[str, ...] = (),
    type_: str = "classic",
    assignor: str = "",
    connect: Callable[[int], Mapping[str, ConnectCluster]] = lambda _: {},
    configs: Mapping[ConfigResource, ConfigSet] | None = None,
) -> list[Claim]:
    """The rows of a slow group.

    Args:
        rows: tick -> committed, end and member of each partition; those of orders, unless `topics` names a topic each.
        type_, assignor: of the group. Its members subscribe to all topics.
        connect: tick -> the Connect clusters.
        configs: of topics.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        places = [*zip(topics, [0] * len(topics), strict=True)] or [("orders", n) for n in range(6)]
        mine = [(*place, *row) for place, row in zip(places, rows(tick), strict=False)]
        members = tuple(
            cluster.GroupMember(
                who,
                who,
                f"/10.0.0.{who[-1]}",
                tuple((t, n) for t, n, _, _, by in mine if by == who),
                topics=topics or ("orders",),
            )
            for who in ("app-1", "app-2", "app-3")
        )
        lags = tuple(cluster.PartitionLag(t, n, at, end, end - at, who) for t, n, at, end, who in mine)
        group = cluster.Group("billing", "Stable", type_, "consumer", coordinator=1, members=members, assignor=assignor)
        known = snapshot.topics["orders"]
        more = {name: replace(known, name=name, topic_id=name) for name in topics}
        return replace(
            snapshot,
            connect=connect(tick),
            configs=configs or {},
            groups={"billing": group},
            lags={"billing": cluster.GroupLag(lags)},
            topics={**snapshot.topics, **more},
        )

    found = diagnose(watched(change, ticks, before=change(healthy(), 0))).causes
    return [each.claim for each in found if each.claim.cause == "consumer-slow"]


def at_rates(writes: Callable[[int], int], reads: Callable[[int], int]) -> Callable[[int], list[tuple[int, int, str]]]:
    """The rows of six partitions. writes, reads: tick -> the records of each partition in it."""

    def rows(tick: int) -> list[tuple[int, int, str]]:
        end, at = (sum(map(rate, range(1, tick + 1))) for rate in (writes, reads))
        return [(100 + min(at, end), 100 + end, f"app-{1 + n % 3}") for n in range(6)]

    return rows


def since_then(before: int, after: int) -> Callable[[int], int]:
    return lambda tick: before if tick < BEGINS else after


def test_more_writes_are_told_and_may_be_a_burst_for_a_minute() -> None:
    rows = at_rates(since_then(50, 400), lambda _: 60)
    (claim,) = slow(rows, BEGINS + 20)
    assert "times as many are written since" in claim.title
    assert claim.certainty is Certainty.LIKELY
    assert "what writes to its topics" in claim.next[0].text
    assert any("and 60 before" in each.fact for each in claim.evidence)
    (early,) = slow(rows, BEGINS + 10)
    assert early.certainty is Certainty.POSSIBLE


def test_a_source_that_was_created_when_the_writes_rose_is_told() -> None:
    pg = connectors.connector("pg", kind=SOURCE)
    made = [
        connectors.with_connect(healthy(), connectors.cluster(connectors.connector("other"), *some)).connect
        for some in ([], [pg])
    ]
    rows = at_rates(since_then(50, 400), lambda _: 60)
    (claim,) = slow(rows, BEGINS + 20, connect=lambda tick: made[tick >= BEGINS - 1])
    (fact,) = [each.fact for each in claim.evidence if "source connector" in each.fact]
    assert fact.startswith("source connector main/pg, which writes to orders, was created at ")
    (claim,) = slow(rows, BEGINS + 20, connect=lambda _: made[1])
    assert not any("source connector" in each.fact for each in claim.evidence)


def test_fewer_reads_are_told() -> None:
    (claim,) = slow(at_rates(lambda _: 50, since_then(50, 10)), BEGINS + 14)
    assert "it reads 12 records/s since" in claim.title
    assert claim.title.endswith("and read 60")
    assert claim.certainty is Certainty.LIKELY
    assert "look at its consumers" in claim.next[0].text


@pytest.mark.parametrize("written", [0, 500])
def test_what_changed_is_told_of_the_partitions_that_are_read(written: int) -> None:
    """The group has an offset of a topic that it left. written: the new records of that topic at each tick."""
    rows = at_rates(since_then(50, 400), lambda _: 60)

    def with_leftover(tick: int) -> list[tuple[int, int, str]]:
        return [*rows(tick), (5, 9 + written * tick, "")]

    topics = ("a", "b", "c", "d", "e", "f")
    (claim,) = slow(rows, BEGINS + 20, topics=topics)
    (with_old,) = slow(with_leftover, BEGINS + 20, topics=(*topics, "old"))
    assert "times as many are written since" in claim.title
    assert with_old.title == claim.title


@pytest.mark.parametrize(
    ("writes", "reads"),
    [
        pytest.param(lambda _: 50, lambda _: 10, id="from the first poll on"),
        pytest.param(since_then(50, 70), lambda _: 50, id="a little more is written"),
        pytest.param(since_then(50, 400), since_then(50, 10), id="both changed"),
    ],
)
def test_nothing_is_told_of_a_change_that_is_not_clear(
    writes: Callable[[int], int], reads: Callable[[int], int]
) -> None:
    (claim,) = slow(at_rates(writes, reads), BEGINS + 20)
    assert ": " not in claim.title
    assert claim.certainty is Certainty.LIKELY


@pytest.mark.parametrize(
    ("behind", "says"),
    [
        pytest.param({2, 5}, "% of the growth is at member app-3@10.0.0.3", id="member"),
        pytest.param({1, 4}, "% of the growth is in partitions that broker 2 leads", id="leader"),
    ],
)
def test_where_the_lag_grows_is_told(behind: set[int], says: str) -> None:
    """Each broker leads two partitions, and each of three members has two."""
    owner = [1, 2, 1, 2, 3, 3] if behind == {1, 4} else [1, 2, 3, 1, 2, 3]

    def rows(tick: int) -> list[tuple[int, int, str]]:
        return [(100 + (5 if n in behind else 50) * tick, 100 + 50 * tick, f"app-{owner[n]}") for n in range(6)]

    (claim,) = slow(rows, 20)
    assert f"100{says}" in claim.title
    assert any("2 of 6 partitions" in each.fact for each in claim.evidence)
    assert "look at" in claim.next[0].text


@pytest.mark.parametrize(
    ("behind", "writes"),
    [
        pytest.param({0, 1, 2, 3, 4, 5}, 50, id="everywhere"),
        pytest.param({2, 5}, 0, id="nothing is written elsewhere"),
    ],
)
def test_a_lag_that_grows_everywhere_is_nowhere(behind: set[int], writes: int) -> None:
    def rows(tick: int) -> list[tuple[int, int, str]]:
        arrived = [100 + (50 if n in behind else writes) * tick for n in range(6)]
        return [(100 + 5 * tick if n in behind else arrived[n], arrived[n], f"app-{1 + n % 3}") for n in range(6)]

    (claim,) = slow(rows, 20)
    assert "of the growth" not in claim.title


def test_a_topic_whose_records_take_long_is_told() -> None:
    def rows(tick: int) -> list[tuple[int, int, str]]:
        return [(100 + (5 if n == 3 else 50) * tick, 100 + 50 * tick, f"app-{1 + n % 2}") for n in range(4)]

    (claim,) = slow(rows, 20, topics=("a", "b", "c", "d"))
    assert "100% of the growth is in topic d" in claim.title


@pytest.mark.parametrize(
    ("policy", "retention", "is_near"),
    [("delete", "100000", True), ("delete", "600000", False), ("compact", "100000", False), ("delete", "-1", False)],
)
def test_records_that_retention_deletes_before_they_are_read_are_told(
    policy: str, retention: str, *, is_near: bool
) -> None:
    """After 100 s the first record that was not read has waited for 80 s."""
    configs = samples.config_set({"cleanup.policy": policy, "retention.ms": retention}, ConfigSource(1))
    rows = at_rates(lambda _: 50, lambda _: 10)
    (claim,) = slow(rows, 20, configs={topic_resource("orders"): configs})
    assert ("retention deletes its next records in" in claim.title) is is_near
    assert (claim.next[0].command == "set topic orders retention.ms=200000") is is_near
    if is_near:
        assert parse(claim.next[0].command)


def test_the_facts_of_a_slow_group_are_one_sentence() -> None:
    """Most of the growth is at one member, and its records have waited for longer than retention keeps them."""
    configs = samples.config_set({"cleanup.policy": "delete", "retention.ms": "60000"}, ConfigSource(1))

    def rows(tick: int) -> list[tuple[int, int, str]]:
        return [(100 + (5 if n in {2, 5} else 50) * tick, 100 + 50 * tick, f"app-{1 + n % 3}") for n in range(6)]

    (claim,) = slow(rows, 20, configs={topic_resource("orders"): configs})
    name, facts = claim.title.split(": ")
    assert name.startswith("group billing lags ")
    assert facts == ("100% of the growth is at member app-3@10.0.0.3; retention deletes its next records now"), (
        "what it refers to comes before"
    )
    assert claim.next[0].command == "set topic orders retention.ms=180000", "the record has waited for 90 s"
    assert "look at app-3@10.0.0.3" in claim.next[1].text


def test_a_group_that_was_not_read_again_is_not_examined_again() -> None:
    configs = samples.config_set({"cleanup.policy": "delete", "retention.ms": "60000"}, ConfigSource(1))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return replace(
            moved(snapshot, {0: (100 + 5 * tick, 100 + 50 * tick)}), configs={topic_resource("orders"): configs}
        )

    observations = watched(change, 20)
    first, again = (claims_of(diagnose(observations), "consumer-slow") for _ in range(2))
    assert "retention deletes" in first[0].title
    assert first[0] is again[0]


@pytest.mark.parametrize(
    ("type_", "assignor", "is_step"),
    [
        pytest.param("classic", "range", True, id="range"),
        pytest.param("classic", "stream", False, id="Kafka Streams"),
        pytest.param("classic", "sticky", False, id="another assignor"),
        pytest.param("consumer", "range", False, id="an assignor of the brokers"),
    ],
)
def test_a_member_with_all_partitions_is_told(type_: str, assignor: str, *, is_step: bool) -> None:
    """Only members of classic groups with the range assignor have a step: two rolling restarts."""

    def rows(tick: int) -> list[tuple[int, int, str]]:
        return [(100 + 10 * tick, 100 + 50 * tick, "app-1") for _ in range(4)]

    (claim,) = slow(rows, 20, topics=("a", "b", "c", "d"), type_=type_, assignor=assignor)
    assert "app-1@10.0.0.1 has 4 of its 4 partitions" in claim.title
    assert any(each.fact.endswith(f"(assignor {assignor}); 2 of its 3 members have none") for each in claim.evidence)
    assert any("assignment.strategy" in each.text for each in claim.next) is is_step
    if is_step:
        assert "first [cooperative-sticky, range] on all members, then without range" in claim.next[0].text


def test_members_that_have_no_partition_may_subscribe_to_other_topics() -> None:
    held = cluster.GroupMember("m1", "a", "/h", tuple((topic, 0) for topic in "abcd"), topics=tuple("abcd"))
    for topics, helps in ((tuple("abcd"), True), (("a",), False)):
        idle = tuple(cluster.GroupMember(name, name, "/h", topics=topics) for name in ("m2", "m3"))
        loaded = loaded_member(cluster.Group("g", "Stable", "classic", "consumer", members=(held, *idle)))
        assert loaded is not None
        assert loaded.helps is helps


# -- samples -----------------------------------------------------------------------------------------------------------


def lag_of(committed: int, end: int) -> tuple[cluster.PartitionLag, ...]:
    return (cluster.PartitionLag("orders", 0, committed, end, end - committed, "m"),)


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=200))
def test_samples_are_few_and_never_say_more_than_was_seen(steps: list[tuple[int, int, int]]) -> None:
    """Each step: its seconds, and the records that were written and read in it."""
    at, written, read = 0.0, 10_000, 0
    samples = sampled((), lag_of(read, written), at, at)
    seen = {at: (written, read)}
    for seconds, more_written, more_read in steps:
        before, at = at, at + seconds
        written, read = written + more_written, read + more_read
        seen[at] = written, read
        samples = sampled(samples, lag_of(read, written), before, at)
        assert all((each.written, each.read) == seen[each.at] for each in samples), "a sample is a poll"
        assert all(one.at < two.at for one, two in pairwise(samples))
        assert len(samples) <= 2 * (KEPT // APART)
    found = rates_between(samples, 0.0, at, 1.0)
    if found is not None:
        assert 0 <= found.written <= 100
        assert 0 <= found.read <= 100


def test_samples_start_over_if_an_offset_is_set_back() -> None:
    known = (Sample(0.0, 100, 50, 1),)
    assert sampled(known, lag_of(20, 120), 10.0, 20.0) == (Sample(20.0, 120, 20, 1),)
    assert sampled(known, lag_of(50, 100), 10.0, 20.0) is known
