"""Tests of slow groups: title and evidence say what changed when their lag began to grow, and where it grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.grammar import parse
from console.model import cluster
from console.model.codes import ConfigSource
from console.model.config import ConfigResource, ConfigSet, broker_resource, topic_resource
from console.model.connect import SOURCE, ConnectCluster
from console.model.coordinators import OFFSETS
from console.model.lag_trend import trend_after
from console.model.observed_logs import LogOffsets
from console.model.rate_samples import APART, KEPT, Sample, rates_between, sampled
from console.model.rates import Counter, Rates
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.session.slow_polls import FORMER, former_of
from console.triage.cause import Claim
from console.triage.causes.slow_groups import _with_rates
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts, Former
from console.triage.lag_shares import loaded_member, uneven_member
from tests.support import connectors, samples
from tests.unit.test_triage import START, healthy, moved, watched

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
    facts: Facts | None = None,
    facts_at: Callable[[int], Facts] | None = None,
    clients: Callable[[int], Sequence[str]] = lambda _: ("app-1", "app-2", "app-3"),
) -> list[Claim]:
    """Return the claims of `consumer-slow` on a cluster with the group `billing`.

    Args:
        rows: tick -> (committed offset, end offset, member id) of each partition; of topic orders, unless `topics`
            names the topic of each.
        type_, assignor: the type and the assignor of the group. Its members subscribe to all topics.
        connect: tick -> the Connect clusters.
        configs: resource -> its configs; None for no configs.
        facts, facts_at: the facts of all polls, or tick -> its facts; None for empty facts.
        clients: tick -> the client ids of the group's members; text after a # makes another member id.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        places = [*zip(topics, [0] * len(topics), strict=True)] or [("orders", n) for n in range(6)]
        mine = [(*place, *row) for place, row in zip(places, rows(tick), strict=False)]
        members = tuple(
            cluster.GroupMember(
                who,
                client := who.partition("#")[0],
                f"/10.0.0.{client[-1]}",
                tuple((t, n) for t, n, _, _, by in mine if by == who),
                topics=topics or ("orders",),
            )
            for who in clients(tick)
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

    observations = watched(change, ticks, before=change(healthy(), 0), facts=facts_at or (lambda _: facts or Facts()))
    found = diagnose(observations).causes
    return [each.claim for each in found if each.claim.cause == "consumer-slow"]


def at_rates(writes: Callable[[int], int], reads: Callable[[int], int]) -> Callable[[int], list[tuple[int, int, str]]]:
    """Return a function from tick to the rows of six partitions. writes, reads: tick -> the records written to, and
    read from, each partition in that tick.
    """

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


@pytest.mark.parametrize(
    ("former", "says"),
    [
        pytest.param(
            lambda x: 80 * x if x > -30 else 6 * (x + 30) - 2_400, "13.3 times as many are written", id="rise"
        ),
        pytest.param(lambda x: 80 * x, None, id="as many"),
        pytest.param(lambda x: 80 * x if x > -30 else -2_400, None, id="a new topic"),
        pytest.param(lambda x: 80 * x if x > -30 else 70 * (x + 30) - 2_400, None, id="a little more"),
        pytest.param(
            lambda x: 80 * x if x > -30 else 6 * (x + 30) - 2_400 - 4_000 * (x < -200), None, id="there was a burst"
        ),
        pytest.param(
            lambda x: 80 * x if x > -30 else -2_400 - 40 * sum(min(60, max(0, at - x)) for at in (-270, -570)),
            None,
            id="a job of a minute every 5 minutes",
        ),
        pytest.param(lambda x: 80 * x if x > -30 else 40 * (x + 30) - 2_400, None, id="it reads less than came before"),
        pytest.param(lambda _: 80 * 20, None, id="the times of the records are older"),
    ],
)
def test_a_rise_from_before_the_console_is_told_by_the_times_of_the_records(
    former: Callable[[float], float], says: str | None
) -> None:
    """If writes rose before the first poll, the timestamps of records show when: 30 s before it, to 80 records per
    second in each partition, of which 10 are read.

    Args:
        former: seconds since the first poll -> the end offset of a log at that time.
        says: words of the title; None if it does not name the writes.
    """

    def rows(tick: int) -> list[tuple[int, int, str]]:
        return [(50_000 + 50 * tick, 100_000 + 400 * tick, f"app-{1 + n % 3}") for n in range(6)]

    began = START.timestamp()
    times = [20.0 - each for each in FORMER]
    ends = tuple((began + x, 100_000 + round(former(x))) for x in times)
    known = Former(began + 20, 101_600, ends)
    facts = Facts(former={("orders", n): known for n in range(6)})
    configs = {topic_resource("orders"): samples.config_set({"cleanup.policy": "compact"}, ConfigSource(1))}
    found = {ticks: slow(rows, ticks, facts=facts, configs=configs)[0] for ticks in (7, 20)}
    assert ("are written since" in found[20].title) is (says is not None)
    if says is not None:
        assert says in found[20].title
        assert "is a table written again?" in found[20].title
        assert "what writes to its topics" in found[20].next[0].text
        assert found[20].certainty is Certainty.LIKELY


@pytest.mark.parametrize("start", [0, 40])
def test_nothing_is_known_of_a_log_before_its_first_record(start: int) -> None:
    offsets = {1_000: start, 2_000: 70, 3_000: -1}
    assert former_of(LogOffsets(start, 100, 100), 4.0, offsets) == Former(4.0, 100, ((2.0, 70), (3.0, 100)))
    assert former_of(LogOffsets(100, 100, 100), 4.0, {1_000: -1}).ends == ((1.0, 100),)


@pytest.mark.parametrize(
    ("writes", "reads", "says"),
    [
        (
            since_then(50, 400),
            since_then(50, 60),
            "480 records/s arrive in 6 partitions, and 3 members read 72; before ",
        ),
        (since_then(50, 400), since_then(50, 60), " 60 arrived and 60 were read: more arrive"),
        (lambda _: 50, since_then(50, 10), " 60 arrived and 60 were read: it reads less"),
        (lambda _: 50, lambda _: 10, "60 records/s arrive in 6 partitions, and 3 members read 12"),
    ],
)
def test_the_rates_of_a_slow_group_are_one_line(
    writes: Callable[[int], int], reads: Callable[[int], int], says: str
) -> None:
    (claim,) = slow(at_rates(writes, reads), BEGINS + 20)
    assert says in claim.evidence[1].fact
    assert ("before" in claim.evidence[1].fact) is (reads(1) == 50)


def test_no_client_reads_for_a_group_without_members_that_commits_nothing() -> None:
    trend = None
    for at, end in ((0.0, 5), (10.0, 105)):
        trend = trend_after(trend, cluster.GroupLag((cluster.PartitionLag("orders", 0, 5, end, end - 5, ""),)), at)
    (claim,) = slow(at_rates(lambda _: 50, lambda _: 10), 20)
    assert trend is not None
    said = _with_rates(claim, cluster.Group("g", "Empty", "classic"), trend, START).evidence[1].fact
    assert said == "10 records/s arrive in 1 partition, and no client commits"


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
    """The rates in the title are only those of partitions that the group reads, not of a topic that it left and of
    which it has an offset. written: the new records of that topic in each tick.
    """
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
    """The title names the member or the leader whose partitions have the growing lag. Each broker leads two
    partitions, and each of three members has two. behind: the partitions that lag.
    """
    owner = [1, 2, 1, 2, 3, 3] if behind == {1, 4} else [1, 2, 3, 1, 2, 3]

    def rows(tick: int) -> list[tuple[int, int, str]]:
        return [(100 + (5 if n in behind else 50) * tick, 100 + 50 * tick, f"app-{owner[n]}") for n in range(6)]

    (claim,) = slow(rows, 20)
    assert f"100{says}" in claim.title
    assert any("2 of 6 partitions" in each.fact for each in claim.evidence)
    assert "look at" in claim.next[0].text


@pytest.mark.parametrize(
    ("type_", "key", "most", "is_full"),
    [
        ("classic", "group.max.size", "3", True),
        ("consumer", "group.consumer.max.size", "3", True),
        ("classic", "group.max.size", "2147483647", False),
        ("classic", "group.consumer.max.size", "3", False),
        ("classic", "group.max.size", "4", False),
    ],
)
def test_a_slow_group_with_as_many_members_as_brokers_take_is_told(
    type_: str, key: str, most: str, *, is_full: bool
) -> None:
    configs = {broker_resource(1): samples.config_set({key: most}, ConfigSource(4))}
    (claim,) = slow(at_rates(lambda _: 50, lambda _: 10), 20, type_=type_, configs=configs)
    assert (f"it has 3 members, the maximum by {key}" in claim.title) is is_full
    assert any(f"raise {key}" in step.text for step in claim.next) is is_full


@pytest.mark.parametrize("joins", [0, 6])
def test_a_slow_member_that_joined_lately_may_be_of_another_service(joins: int) -> None:
    """If member app-3 joined lately, got two partitions of app-1 and reads more slowly, the title says when it
    joined, and the first step proposes a group.id of its own, because the member may be of another service.
    """

    def rows(tick: int) -> list[tuple[int, int, str]]:
        owner = [1, 2, 3 if tick >= joins else 1, 1, 2, 3 if tick >= joins else 1]
        read = [50 * tick if n not in (2, 5) else 50 * min(tick, joins) + 5 * max(0, tick - joins) for n in range(6)]
        return [(100 + read[n], 100 + 50 * tick, f"app-{owner[n]}") for n in range(6)]

    (claim,) = slow(rows, joins + 20, clients=lambda tick: ("app-1", "app-2", "app-3")[: 3 if tick >= joins else 2])
    assert "growth is at member app-3@10.0.0.3" in claim.title
    assert ("which joined at 03:00:30" in claim.title) is (joins == 6)
    assert ("a group.id of its own" in claim.next[0].text) is (joins == 6)


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
    """The title warns if retention will soon delete unread records, and a step sets a longer retention. After 100 s
    the oldest unread record is 80 s old.
    """
    configs = samples.config_set({"cleanup.policy": policy, "retention.ms": retention}, ConfigSource(1))
    rows = at_rates(lambda _: 50, lambda _: 10)
    (claim,) = slow(rows, 20, configs={topic_resource("orders"): configs})
    assert ("retention deletes its next records in" in claim.title) is is_near
    assert (claim.next[0].command == "set topic orders retention.ms=200000") is is_near
    if is_near:
        assert parse(claim.next[0].command)


def test_the_facts_of_a_slow_group_are_one_sentence() -> None:
    """The title says in one sentence that most of the growth is at one member, and that retention deletes this
    member's next records.
    """
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

    observations = watched(change, 20, before=change(healthy(), 0))
    first, again = (
        [each.claim for each in diagnose(observations).causes if each.claim.cause == "consumer-slow"] for _ in range(2)
    )
    assert "retention deletes" in first[0].title
    assert first[0] is again[0]


@pytest.mark.parametrize(
    ("type_", "assignor", "is_range"),
    [
        pytest.param("classic", "range", True, id="range"),
        pytest.param("classic", "stream", False, id="Kafka Streams"),
        pytest.param("classic", "sticky", False, id="another assignor"),
        pytest.param("consumer", "range", False, id="an assignor of the brokers"),
    ],
)
@pytest.mark.parametrize("count", [2, 4])
def test_a_member_with_all_partitions_is_told(count: int, type_: str, assignor: str, *, is_range: bool) -> None:
    """The title names a member that has all partitions. Only classic groups with the range assignor get the step for
    it: two rolling restarts.
    """

    def rows(tick: int) -> list[tuple[int, int, str]]:
        return [(100 + 10 * tick, 100 + 50 * tick, "app-1") for _ in range(count)]

    (claim,) = slow(rows, 20, topics=tuple("abcd"[:count]), type_=type_, assignor=assignor)
    assert claim.title.endswith(
        f"app-1@10.0.0.1 has all {count} partitions, 2 of its 3 members have none (assignor {assignor})"
    )
    assert any("assignment.strategy" in each.text for each in claim.next) is is_range
    is_streams = assignor == "stream"
    assert claim.next[0].text.startswith("restart its members") is not (is_range or is_streams)
    assert claim.next[0].text.startswith("wait if instances of this Kafka Streams") is is_streams
    if is_range:
        assert "first [cooperative-sticky, range] on all members, then without range" in claim.next[0].text


def test_members_that_have_no_partition_may_subscribe_to_other_topics() -> None:
    held = cluster.GroupMember("m1", "a", "/h", tuple((topic, 0) for topic in "abcd"), topics=tuple("abcd"))
    for topics, helps in ((tuple("abcd"), True), (("a",), False)):
        idle = tuple(cluster.GroupMember(name, name, "/h", topics=topics) for name in ("m2", "m3"))
        loaded = loaded_member(cluster.Group("g", "Stable", "classic", "consumer", members=(held, *idle)))
        assert loaded is not None
        assert loaded.helps is helps


def member_of(name: str, count: int, *, topics: tuple[str, ...] = ("t",)) -> cluster.GroupMember:
    """Return a member with `count` partitions of the first of its topics. topics: its subscription."""
    return cluster.GroupMember(name, name, "/h", tuple((topics[0], n) for n in range(count)), topics=topics)


@pytest.mark.parametrize(
    ("held", "is_loaded"),
    [((2, 0), True), ((5, 0), True), ((1, 0), False), ((1, 1, 1, 0, 0, 0), False), ((3, 1, 0), False)],
)
def test_members_in_reserve_leave_partitions_to_others(held: tuple[int, ...], *, is_loaded: bool) -> None:
    members = tuple(member_of(f"m{n}", count) for n, count in enumerate(held))
    assert (loaded_member(cluster.Group("g", "Stable", "classic", members=members)) is not None) is is_loaded
    others = (members[0], *(replace(each, topics=("other",)) for each in members[1:]))
    assert loaded_member(cluster.Group("g", "Stable", "classic", members=others)) is None


@pytest.mark.parametrize(
    ("held", "is_uneven"),
    [((60, 30, 30), True), ((4, 1), True), ((40, 40, 40), False), ((3, 2, 2), False), ((3, 1), False), ((9, 0), False)],
)
def test_a_member_with_far_more_partitions_than_another(held: tuple[int, ...], *, is_uneven: bool) -> None:
    members = tuple(member_of(f"m{n}", count) for n, count in enumerate(held))
    assert (uneven_member(cluster.Group("g", "Stable", "classic", members=members)) is not None) is is_uneven
    others = (members[0], *(replace(each, topics=("other",)) for each in members[1:]))
    assert uneven_member(cluster.Group("g", "Stable", "classic", members=others)) is None


@pytest.mark.parametrize(("behind", "is_told"), [({3, 8}, True), ({1, 3, 8, 10}, False)])
def test_a_few_partitions_with_the_growth_are_told(behind: set[int], *, is_told: bool) -> None:
    """If the lag grows only in a few partitions, in two of twelve but not in four, the title names them."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rows = {n: (100 + (5 if n in behind else 50) * tick, 100 + 50 * tick) for n in range(12)}
        return moved(snapshot, rows)

    found = diagnose(watched(change, 20, before=change(healthy(), 0))).causes
    (claim,) = [each.claim for each in found if each.claim.cause == "consumer-slow"]
    assert ("100% of the growth is in orders/3, orders/8" in claim.title) is is_told


@pytest.mark.parametrize(
    ("commits", "other", "held", "says"),
    [
        pytest.param(200, 0, 1, "it commits 200 times a second, about after each record", id="after each record"),
        pytest.param(45, 0, 1, None, id="not often"),
        pytest.param(80, 0, 1, None, id="often, and for few of its records"),
        pytest.param(200, 20, 1, "it commits 200 times a second, about", id="another group reads little"),
        pytest.param(200, 300, 1, "it or other commits 200 times a second", id="another group reads as much"),
        pytest.param(200, 0, 1_000, None, id="another group commits unchanged offsets"),
    ],
)
def test_a_group_that_commits_after_each_record_is_told(commits: int, other: int, held: int, says: str | None) -> None:
    """If a group that reads 200 records per second commits about as often, the title says how often. commits: records
    per second in the group's partition of __consumer_offsets.

    Args:
        other: the records per second that another group reads whose offsets are in the same partition.
        held: the number of partitions of that group.
        says: words of the title; None if it does not name commits.
    """
    offsets = cluster.Topic(OFFSETS, (cluster.Partition(0, 1, (1,), (1,)),), internal=True)

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        now = moved(snapshot, {0: (100 + 1_000 * tick, 100 + 1_500 * tick)})
        row = cluster.PartitionLag("orders", 1, 5 * other * tick, 5 * other * tick, 0, "m")
        idle = [cluster.PartitionLag("big", n, 7, 7, 0, "m") for n in range(held - 1)]
        member = cluster.GroupMember("m", "m", "/h", (("orders", 1),))
        group = cluster.Group("other", "Stable", "consumer", coordinator=1, members=(member,))
        counter = Counter(0.0, 0, 0.0, 0, 15.0, 15 * commits)
        return replace(
            now,
            topics={**now.topics, OFFSETS: offsets},
            groups={**now.groups, "other": group},
            lags={**now.lags, "other": cluster.GroupLag((row, *idle))},
            rates=Rates(ends={(OFFSETS, 0): counter}),
        )

    found = diagnose(watched(change, 20, before=change(healthy(), 0))).causes
    (claim,) = [each.claim for each in found if each.claim.cause == "consumer-slow"]
    assert (says is not None and says in claim.title) is ("commits" in claim.title) is (says is not None)
    assert says is None or "or other" not in says or "after each record" not in claim.title
    assert any(each.text.startswith("commit less often") for each in claim.next) is (says is not None)


# -- samples -----------------------------------------------------------------------------------------------------------


def lag_of(committed: int, end: int) -> tuple[cluster.PartitionLag, ...]:
    return (cluster.PartitionLag("orders", 0, committed, end, end - committed, "m"),)


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=200))
def test_samples_are_few_and_never_say_more_than_was_seen(steps: list[tuple[int, int, int]]) -> None:
    """Whatever is written and read, few samples are kept, and their rates are never above the observed ones. steps:
    seconds, and records written and read in them.
    """
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


@pytest.mark.parametrize("every", [3, 4])
def test_the_lag_of_a_late_commit_is_no_trouble(every: int) -> None:
    """A group commits every 15 or 20 s, so that its lag grows between two commits: no poll has a row above information.
    If it commits less than is written, its lag is a row.
    """

    def rows(share: float) -> Callable[[int], list[tuple[int, int, str]]]:
        return lambda tick: [(100 + int(share * 60 * (tick - tick % every)), 100 + 60 * tick, "app-1")] * 6

    for ticks in range(1, 30):
        assert all(each.severity is Severity.INFO for each in slow(rows(1), ticks)), ticks
    assert any(each.severity is not Severity.INFO for each in slow(rows(0.5), 25))


@pytest.mark.parametrize("wanted", [("mails",), ("mails", "orders"), ()])
def test_a_topic_to_which_no_member_subscribes_any_more_is_named(wanted: tuple[str, ...]) -> None:
    """A group read topics orders and mails, and from tick 4 on commits only in mails. wanted: the subscription of its
    member from then on; empty if it is unknown.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        left = tick >= 4
        held = (("mails", 0),) if left else (("mails", 0), ("orders", 0))
        topics = wanted if left else ("mails", "orders")
        at, end = 100 + 50 * min(tick, 3), 100 + 50 * tick
        lags = (
            cluster.PartitionLag("orders", 0, at, end, end - at, "" if left else "m"),
            cluster.PartitionLag("mails", 0, end, end, 0, "m"),
        )
        member = cluster.GroupMember("m", "app", "/10.0.0.1", held, topics=topics)
        group = cluster.Group("billing", "Stable", "classic", "consumer", coordinator=1, members=(member,))
        return replace(snapshot, groups={"billing": group}, lags={"billing": cluster.GroupLag(lags)})

    found = diagnose(watched(change, 14, before=change(healthy(), 0))).causes
    titles = [each.claim.title for each in found if each.claim.cause == "consumer-slow"]
    is_left = wanted == ("mails",)
    assert any("no member subscribes to orders any more" in each for each in titles) is is_left
