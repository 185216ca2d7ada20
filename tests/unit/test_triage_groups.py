"""Tests of causes about groups: a group with members gets its own row, and all groups without members share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers.triage import exit_code, text_lines
from console.model import cluster
from console.model.acl import Acl
from console.model.codes import DYNAMIC_GROUP_CONFIG, ConfigSource
from console.model.config import ConfigEntry, ConfigSet, broker_resource
from console.model.lag_trend import trend_after
from console.model.observed_logs import Fall, LogOffsets, ObservedLogs
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, with_group_polls, with_groups
from console.plan.group_forecast import forecast
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Facts, Former
from console.triage.readers import left_behind
from console.triage.share_beginnings import share_group_config
from console.triage.symptoms import Poll, Subject
from console.triage.trouble import troubles
from tests.support import samples
from tests.unit.test_triage import START, TICK, healthy, logs_seen, moved, watched

Rows = Mapping[str, tuple[str, list[tuple[str, int, int, int, str]]]]
"""Group -> its state, and (topic, partition, committed offset, end offset, member id) of its partitions."""


def with_rows(snapshot: Snapshot, groups: Rows, starts: Mapping[tuple[str, int], tuple[int, int]]) -> Snapshot:
    """Return the snapshot with only these groups. starts: (topic, partition) -> the first and the end offset of its
    log.
    """
    known, lags = {}, {}
    for name, (state, rows) in groups.items():
        members = tuple(
            cluster.GroupMember(who, who, "/h", tuple((topic, number) for topic, number, _, _, by in rows if by == who))
            for who in dict.fromkeys(row[-1] for row in rows if row[-1])
        )
        known[name] = cluster.Group(name, state, "consumer", coordinator=1, members=members)
        lags[name] = cluster.GroupLag(
            tuple(
                cluster.PartitionLag(*row[:4], max(0, row[3] - row[2]) if row[2] >= 0 else -1, row[4]) for row in rows
            )
        )
    ranges = {place: cluster.LogRange(*span) for place, span in starts.items()}
    return replace(snapshot, groups=known, lags=lags, log_ranges=ranges)


def told(verdict: Verdict) -> list[tuple[str, str]]:
    return [(each.claim.cause, each.claim.severity.value) for each in verdict.causes]


def dead(count: int, committed: int = 0) -> Rows:
    return {
        f"old-{n:03}": ("Empty", [(f"topic-{number}", 0, committed, 11, "") for number in range(3)])
        for n in range(count)
    }


STARTS = {(f"topic-{number}", 0): (10, 11) for number in range(3)}


def test_three_hundred_groups_that_nobody_is_in_are_told_once() -> None:
    base = with_rows(healthy(), dead(300), STARTS)
    verdict = diagnose(watched(lambda s, _: s, before=base))
    assert verdict.is_healthy
    assert exit_code(verdict) == 0
    (only,) = verdict.causes
    assert only.claim.title == (
        "300 groups without members, 900 partitions below the log's start: their next start begins at auto.offset.reset"
    )
    lines = list(text_lines(verdict, 40))
    assert lines[0] == "healthy: no trouble in 40 seconds"
    assert len(lines) < 12
    assert not troubles(Poll(START, base)).groups


def test_the_one_that_has_a_member_stands_before_all_of_them() -> None:
    rows = {**dead(100), "alive": ("Stable", [("topic-0", 0, 0, 11, "m")])}
    verdict = diagnose(watched(lambda s, _: s, before=with_rows(healthy(), rows, STARTS)))
    assert told(verdict) == [("offsets-out-of-range", "high"), ("groups-without-members", "info")]
    assert verdict.causes[0].claim.subject == Subject(group="alive", topic="topic-0", partition=0)


@pytest.mark.parametrize(
    ("what", "is_named"),
    [("nobody", False), ("a member that left", True), ("a commit that moved", True), ("members listed", True)],
)
def test_a_group_without_members_is_stopped_where_somebody_was_seen(what: str, *, is_named: bool) -> None:
    """A group without members, for whose topic records are written all the time, is named as stopped only if kac saw a
    member, or a consumer that assigns its own partitions, at work.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        early = tick < 3
        committed = 100 + 20 * min(tick, 2) if what == "a commit that moved" else 100
        member = "m" if early and what == "a member that left" else ""
        state = "Stable" if member else "Empty"
        rows = {"g": (state, [("orders", 0, committed, 150 + 50 * tick, member)])}
        changed = with_rows(snapshot, rows, {})
        return replace(changed, had_members=frozenset({"g"})) if what == "members listed" else changed

    verdict = diagnose(watched(change, ticks=14, before=change(healthy(), 0)))
    assert told(verdict) == ([("group-stopped", "high")] if is_named else [("groups-without-members", "info")])


def stopped_before(
    ends: Sequence[tuple[int, int]],
    limits: Mapping[str, str] | None = None,
    beside: str = "",
    type_: str = "classic",
    protocol: str = "consumer",
    commits: bool = False,
    name: str = "g",
) -> list[Claim]:
    """Return the claims about a group that had no members at the first poll, and has committed offset 500 of a
    partition that gets 10 records per second.

    Args:
        ends: seconds before the fourth poll -> the end offset of the partition at that time, by the records'
            timestamps.
        limits: configs in the brokers' files; None for none.
        beside: the name of a further topic; ``""`` for none.
        type_: the type of the group.
        protocol: the protocol of the group's members; ``""`` if it never had any.
        commits: whether a client commits offsets of another partition for the group.
        name: the id of the group.
    """
    at = (START + 4 * TICK).timestamp()
    former = Former(at, 700, tuple((at - before, end) for before, end in ends))
    files = {broker_resource(n): samples.config_set(limits or {}, ConfigSource(4)) for n in (1, 2, 3)}

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        more = [("orders", 1, 9 + tick, 9 + tick, "")] if commits else []
        rows = {name: ("Empty", [("orders", 0, 500, 500 + 50 * tick, ""), *more])}
        other = {beside: replace(snapshot.topics["orders"], name=beside, topic_id="b")} if beside else {}
        known = with_rows(snapshot, rows, {})
        groups = {name: replace(known.groups[name], type=type_, protocol=protocol)}
        return replace(known, groups=groups, configs=files, topics={**snapshot.topics, **other})

    verdict = diagnose(
        watched(change, 14, before=change(healthy(), 0), facts=lambda _: Facts(former={("orders", 0): former}))
    )
    claims = [each.claim for each in verdict.causes if each.claim.cause in ("group-stopped", "groups-without-members")]
    assert len(claims) <= 1  # a group has one row
    return [each for each in claims if each.cause == "group-stopped"]


def test_a_group_that_stopped_before_the_console_is_possible_trouble() -> None:
    """A group that stopped before the first poll is a possible trouble, and its title says since when at the
    earliest: 300 s before the fourth poll the log ended below the committed offset, so the group read until then
    or later.
    """
    (claim,) = stopped_before([(600, 100), (300, 400), (120, 520)])
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.POSSIBLE)
    assert claim.title == "group g has no member, and records wait; it read until 02:55:20 or later"
    assert any("where fewer records were at 02:55:20" in each.fact for each in claim.evidence)
    assert [each.text.startswith("start its consumers") for each in claim.next] == [True]


@pytest.mark.parametrize(("type_", "is_told"), [("classic", True), ("consumer", False)])
def test_the_limit_that_may_keep_its_consumers_out_is_told_with_it(type_: str, *, is_told: bool) -> None:
    (claim,) = stopped_before([(300, 400)], {"group.max.session.timeout.ms": "30000"}, type_=type_)
    facts = [each.fact for each in claim.evidence]
    assert any("refused when they join: group.max.session.timeout.ms is 30,000" in each for each in facts) is is_told
    assert claim.next[0].text.startswith("start its consumers")
    assert [each.text.startswith("if its consumers ask") for each in claim.next[1:]] == [True] * is_told


def test_a_job_that_assigns_its_partitions_or_commits_now_did_not_stop() -> None:
    assert stopped_before([(300, 400)], protocol="") == []
    assert stopped_before([(300, 400)], commits=True) == []
    assert stopped_before([(300, 400)], name="console-consumer-41837") == []


def test_offsets_that_a_mirror_may_have_copied_show_no_group_that_stopped() -> None:
    assert stopped_before([(300, 400)], beside="eu.checkpoints.internal") == []
    assert len(stopped_before([(300, 400)], beside="eu.orders")) == 1


@pytest.mark.parametrize("ends", [[(600, 500), (300, 510)], [(600, 900)], []], ids=["long ago", "more", "unknown"])
def test_a_group_that_stopped_long_ago_is_none(ends: Sequence[tuple[int, int]]) -> None:
    assert stopped_before(ends) == []


@pytest.mark.parametrize(
    ("ticks", "members_until", "severity", "certainty"),
    [
        (28, 2, Severity.WARNING, Certainty.POSSIBLE),
        (48, 2, Severity.HIGH, Certainty.CERTAIN),
        (28, 19, Severity.HIGH, Certainty.CERTAIN),
    ],
    ids=["may start", "did not start", "had members when they came"],
)
def test_an_autoscaler_has_some_time_to_start_consumers_for_the_first_records(
    ticks: int, members_until: int, severity: Severity, certainty: Certainty
) -> None:
    """A stopped group is first named without alarm, because an autoscaler may start consumers for the first records,
    which are written from the 20th poll on.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        end = 100 + 50 * max(0, tick - 20)
        member = "m" if tick < members_until else ""
        rows = {"g": ("Stable" if member else "Empty", [("orders", 0, 100, end, member)])}
        return replace(with_rows(snapshot, rows, {}), had_members=frozenset({"g"}))

    verdict = diagnose(watched(change, ticks=ticks, before=change(healthy(), 0)))
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause == "group-stopped"]
    assert (claim.severity, claim.certainty) == (severity, certainty)


def test_a_topic_that_a_group_reads_no_more_is_not_its_trouble() -> None:
    """If a group's members read another topic now, records that are written to the old topic count as no lag of the
    group.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rows = {
            "g": ("Stable", [("orders", 0, 100 + tick, 100 + tick, "m"), ("old", 0, 5, 900 + 90 * tick, "")]),
        }
        return with_rows(snapshot, rows, {("old", 0): (50, 900)})

    observations = watched(change, ticks=14, before=change(healthy(), 0))
    verdict = diagnose(observations)
    assert verdict.is_healthy
    (only,) = verdict.causes
    assert "has members, none of them for this" in only.claim.evidence[0].fact
    assert not troubles(observations.last).groups


def test_a_group_whose_members_partitions_are_unknown_is_read() -> None:
    group = cluster.Group("g", "Stable", "classic")
    lag = cluster.GroupLag((cluster.PartitionLag("orders", 0, 0, 11, 11),))
    assert not left_behind(group, lag, None, had_members=True)
    assert left_behind(replace(group, state="Empty"), lag, None, had_members=False)


def test_a_listing_remembers_who_had_members_and_without_states_says_nothing_of_them() -> None:
    busy, idle = cluster.Group("a", "Stable", "classic"), cluster.Group("b", "Empty", "classic")
    first = with_groups(Snapshot(), {"a": busy, "b": idle}, whole=True, at=START)
    later = with_groups(first, {"a": replace(busy, state="Empty"), "b": idle}, whole=True, at=START + TICK)
    assert later.had_members == frozenset({"a"})
    assert not with_groups(later, {"b": idle}, whole=True, at=START + 2 * TICK).had_members
    # Before version 4, and on brokers of some vendors, ListGroups has no states; the description of a group has them.
    nothing = {name: cluster.Group(name, "", "classic") for name in ("busy", "idle")}
    described = {"busy": cluster.Group("busy", "Stable", "classic"), "idle": cluster.Group("idle", "Empty", "classic")}
    first = with_groups(Snapshot(), nothing, whole=True, at=START)
    assert not first.had_members
    polls = cluster.GroupPolls(described, {})
    seen = with_group_polls(first, polls, {}, START)
    assert seen.had_members == frozenset({"busy"})
    again = with_groups(seen, nothing, whole=True, at=START + TICK)
    assert (again.groups, again.had_members) == (described, seen.had_members)


# -- offsets ahead of the end ------------------------------------------------------------------------------------------


def ahead(member: str) -> Snapshot:
    rows: Rows = {"g": ("Stable" if member else "Empty", [("orders", 0, 50_000, 100, member)])}
    return with_rows(healthy(), rows, {("orders", 0): (0, 100)})


def test_offsets_ahead_of_the_end_are_told_of_mirrors_and_a_trouble_of_members() -> None:
    verdict = diagnose(watched(lambda s, _: s, before=ahead("")))
    (only,) = verdict.causes
    assert verdict.is_healthy
    assert (only.claim.cause, only.claim.title) == (
        "offsets-ahead",
        "group g: orders/0 is ahead of the end by 49,900: mirrored, or restored?",
    )
    assert not any(step.command or step.edits for step in only.claim.next)
    verdict = diagnose(watched(lambda s, _: s, before=ahead("m")))
    (only,) = verdict.causes
    assert (only.claim.cause, only.claim.severity) == ("offsets-out-of-range", Severity.HIGH)
    assert "ahead of the end by 49,900" in only.claim.evidence[0].fact
    assert [step.command.rpartition(" ")[2] for step in only.claim.next] == ["earliest"]


@pytest.mark.parametrize(("end", "is_named"), [(100, True), (50_000, False)])
def test_an_offset_that_another_read_of_the_log_reached_is_not_outside_of_it(end: int, *, is_named: bool) -> None:
    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda _: {("orders", 0): LogOffsets(0, end, end)}))

    verdict = diagnose(watched(lambda s, _: s, before=ahead("m"), facts=facts))
    assert ("offsets-out-of-range" in {each.claim.cause for each in verdict.causes}) is is_named


def test_a_mirror_that_goes_on_is_no_reader() -> None:
    """A mirrored group, whose offsets advance but are always beyond the end, does not count as a consumer."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = 50_000 + 90 * min(tick, 5)
        return with_rows(snapshot, {"g": ("Empty", [("orders", 0, at, 100 + tick, "")])}, {})

    assert told(diagnose(watched(change, ticks=9, before=change(healthy(), 0)))) == [("offsets-ahead", "info")]


def test_a_log_that_was_cut_back_is_read_from_there() -> None:
    fall = Fall("orders", 0, 50_000, 90, START.timestamp())
    verdict = diagnose(watched(lambda s, _: s, before=ahead("m"), facts=lambda _: Facts(ObservedLogs(falls=(fall,)))))
    (claim,) = (each.claim for each in verdict.causes if each.claim.cause == "offsets-out-of-range")
    assert [step.command.partition(" to ")[2] for step in claim.next] == ["earliest", "offset 90"]


@given(st.integers(0, 1_000), st.integers(0, 1_000), st.integers(0, 10_000), st.integers(0, 10_000))
def test_no_more_is_read_again_than_the_log_has(start: int, length: int, committed: int, to: int) -> None:
    """The forecast of a reset never has more re-read or skipped records than the log has. If the committed offset is
    in the log, their number is its difference from the new offset.
    """
    log = cluster.LogRange(start, start + length)
    offset = min(max(to, log.start), log.end)  # staging refuses other offsets
    again, never = forecast(cluster.GroupOffset(cluster.CommittedOffset(committed), log, "classic"), offset)
    assert min(again, never) == 0
    assert max(again, never) <= length
    if log.start <= committed <= log.end:
        assert again - never == committed - offset


# -- many similar groups -----------------------------------------------------------------------------------------------


def test_equal_claims_of_many_groups_are_one_and_the_alive_come_first() -> None:
    """If fifty groups lose their members, they share a row, and the row of another group, which is stuck and has
    members, comes first.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        gone = tick > 2
        rows: dict[str, tuple[str, list[tuple[str, int, int, int, str]]]] = {
            f"g-{n}": ("Empty" if gone else "Stable", [("orders", 0, 100, 150 + n + 50 * tick, "" if gone else "m")])
            for n in range(50)
        }
        places = [("orders", 1, 7, 9 + 10 * tick, "x"), ("orders", 2, 10 * tick, 10 * tick, "x")]
        return with_rows(snapshot, {**rows, "held": ("Stable", places)}, {})

    verdict = diagnose(watched(change, ticks=14, before=change(healthy(), 0)))
    assert [(each.claim.cause, each.claim.certainty) for each in verdict.causes] == [
        ("consumer-stuck", Certainty.LIKELY),
        ("group-stopped", Certainty.CERTAIN),
    ]
    stopped = verdict.causes[1]
    assert stopped.claim.title == "50 groups have no member, and records wait"
    assert stopped.claim.subject == Subject()
    assert stopped.explains["lag-grows"] == 50
    *first, more, common, members = [each.fact for each in stopped.claim.evidence]
    assert [": lag " in each for each in first] == [True] * 3
    assert (more, common) == ("and 47 more groups", "the group is Empty")
    assert members.startswith("it had 1 member until ")


def test_many_partitions_of_one_group_are_one_cause_with_all_its_steps() -> None:
    rows: Rows = {"g": ("Stable", [("orders", n, 0, 11, "m") for n in range(5)])}
    base = with_rows(healthy(), rows, {("orders", n): (10, 11) for n in range(5)})
    (only,) = diagnose(watched(lambda s, _: s, before=base)).causes
    assert only.claim.title == "group g is outside of the log in 5 partitions"
    assert only.claim.subject == Subject(group="g", topic="orders")
    *_, step = only.claim.next
    assert step.command.count("reset group g topic orders partition") == 5


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=12))
def test_what_was_read_once_is_read_for_ever(polls: list[tuple[int, bool]]) -> None:
    """A partition counts as read from then on if it had a member, or if its committed offset advanced within the
    log.
    """
    trend, seen, before = None, False, None
    for number, (committed, member) in enumerate(polls):
        row = cluster.PartitionLag("orders", 0, committed, 20, max(0, 20 - committed), "m" if member else "")
        trend = trend_after(trend, cluster.GroupLag((row,)), float(number))
        seen |= member or (before is not None and committed != before and committed <= 20)
        before = committed
        assert trend.standing["orders", 0].read is seen


# -- coordinators ------------------------------------------------------------------------------------------------------

FACTOR, SHARE_FACTOR = "offsets.topic.replication.factor", "share.coordinator.state.topic.replication.factor"


def small(brokers: int, factor: int, key: str = FACTOR, held: str = "orders") -> Snapshot:
    """Return a snapshot of `brokers` brokers with replicas of the topic `held`, whose config `key`, a replication
    factor, is `factor`.
    """
    base = healthy()
    alive = base.cluster.brokers[:brokers]
    entries = ConfigSet((ConfigEntry(key, str(factor), ConfigSource(5)),))
    dirs = (cluster.LogDir("/data", cluster.ReplicaSizes([cluster.ReplicaSize(held, 0, 100, 0, False)]), 1_000, 900),)
    partition = cluster.Partition(0, 1, (1,), (1,))
    return replace(
        base,
        cluster=replace(base.cluster, brokers=alive),
        topics={"orders": cluster.Topic("orders", (partition,), topic_id="id")},
        configs={broker_resource(each.id): entries for each in alive},
        log_dirs=dict.fromkeys([each.id for each in alive], dirs),
        groups={},
        lags={},
        quorum=None,
    )


def test_groups_that_no_coordinator_can_be_made_for_are_a_trouble() -> None:
    """A cluster with one broker and Kafka's defaults is a trouble, because consumers wait for a coordinator without
    end.
    """
    verdict = diagnose(watched(lambda s, _: s, before=small(1, 3)))
    (only,) = verdict.causes
    assert (only.claim.cause, only.claim.subject) == ("coordinator-unavailable", Subject(topic="__consumer_offsets"))
    assert (only.claim.severity, only.claim.title) == (
        Severity.HIGH,
        f"topic __consumer_offsets: it can't be made: {FACTOR} is 3, and 1 broker can take replicas: no group can work",
    )


@pytest.mark.parametrize(
    ("what", "snapshot"),
    [
        ("it can be made", small(2, 2)),
        ("it is there, and this console may not see it", small(1, 3, held="__consumer_offsets")),
        ("nobody shares", small(1, 3, SHARE_FACTOR)),
        ("disks were not read", replace(small(1, 3), read_at={"cluster": START, "topics": START, "configs": START})),
        ("no disk answered", replace(small(1, 3), log_dirs={})),
    ],
)
def test_a_coordinators_topic_that_is_not_there_yet_is_no_trouble(what: str, snapshot: Snapshot) -> None:
    verdict = diagnose(watched(lambda s, _: s, before=snapshot))
    assert not [each for each in verdict.causes if each.claim.cause == "coordinator-unavailable"], what


TRANSACTION_FACTOR = "transaction.state.log.replication.factor"


def allowing(*types: str) -> tuple[Acl, ...]:
    """Return an ACL that allows `pay` on each of these types of resources."""
    return tuple(samples.acl("User:pay", "pay", "WRITE", on=each) for each in types)


def with_offsets(snapshot: Snapshot) -> Snapshot:
    ids = tuple(each.id for each in snapshot.cluster.brokers)
    offsets = cluster.Topic("__consumer_offsets", (cluster.Partition(0, 1, ids, ids),), internal=True)
    return replace(snapshot, topics={**snapshot.topics, offsets.name: offsets})


def test_transactions_need_their_own_topic_once_somebody_may_begin_one() -> None:
    base = with_offsets(small(1, 3, TRANSACTION_FACTOR))
    idle = diagnose(watched(lambda s, _: s, before=replace(base, acls=allowing("TOPIC"))))
    assert idle.causes == ()
    needed = replace(base, acls=allowing("TOPIC", "TRANSACTIONAL_ID"))
    (only,) = diagnose(watched(lambda s, _: s, before=needed)).causes
    assert (only.claim.cause, only.claim.subject) == ("coordinator-unavailable", Subject(topic="__transaction_state"))
    assert only.claim.severity == Severity.HIGH
    assert only.claim.title == (
        f"topic __transaction_state: it can't be made: {TRANSACTION_FACTOR} is 3, and 1 broker can take replicas: no "
        "transaction can begin, and ACLs let some"
    )


def test_a_number_that_a_file_sets_above_the_brokers_is_a_warning_without_acls() -> None:
    base = with_offsets(small(3, 5, TRANSACTION_FACTOR))
    entries = ConfigSet((ConfigEntry(TRANSACTION_FACTOR, "5", ConfigSource(4)),))
    base = replace(base, configs=dict.fromkeys(base.configs, entries))
    (only,) = diagnose(watched(lambda s, _: s, before=base)).causes
    assert (only.claim.cause, only.claim.severity) == ("coordinator-unavailable", Severity.WARNING)
    assert only.claim.next[0].text.startswith(f"set {TRANSACTION_FACTOR}=3 in the brokers' files")
    made = cluster.Topic("__transaction_state", (cluster.Partition(0, 1, (1, 2, 3), (1, 2, 3)),), internal=True)
    there = replace(base, topics={**base.topics, made.name: made})
    assert diagnose(watched(lambda s, _: s, before=there)).causes == ()


def test_brokers_that_go_while_it_is_watched_make_it_a_cause_after_five_minutes() -> None:
    """If brokers stop while kac polls, too few brokers for __consumer_offsets are a cause only after five minutes,
    because the brokers may be restarting.
    """
    whole, less = small(3, 3), small(2, 3)
    assert diagnose(watched(lambda s, _: less, before=whole)).causes == ()
    (only,) = diagnose(watched(lambda s, _: less, before=whole, ticks=80)).causes
    assert only.claim.cause == "coordinator-unavailable"


@pytest.mark.parametrize("other", [2, None])
def test_a_topic_that_one_of_the_brokers_may_make_is_no_trouble(other: int | None) -> None:
    """If some brokers can't create __consumer_offsets, this is no trouble as long as another broker may be able to:
    its replication factor is lower, or hidden. Each broker uses its own value.
    """
    base = small(2, 3)
    entries = () if other is None else (ConfigEntry(FACTOR, str(other), ConfigSource(4)),)
    mixed = replace(base, configs={**base.configs, broker_resource(2): ConfigSet(entries)})
    assert [each.claim.cause for each in diagnose(watched(lambda s, _: s, before=base)).causes] == [
        "coordinator-unavailable"
    ]
    assert diagnose(watched(lambda s, _: s, before=mixed)).causes == ()


def test_share_groups_need_their_own_topic() -> None:
    base = with_offsets(small(1, 3, SHARE_FACTOR))
    sharing = replace(base, groups={"s": cluster.Group("s", "Stable", "share", coordinator=1)})
    (only,) = diagnose(watched(lambda s, _: s, before=sharing)).causes
    assert only.claim.title.startswith("topic __share_group_state: it can't be made: ")
    assert only.claim.title.endswith("no share group can read")


@pytest.mark.parametrize(
    ("arriving", "named"),
    [((500, 10, 10), True), ((200, 150, 170), False), ((500, 10), False)],
    ids=["one of three", "spread", "two partitions prove nothing"],
)
def test_a_slow_group_is_told_which_partition_gets_most_records(arriving: tuple[int, ...], *, named: bool) -> None:
    """Triage names the partition that gets most of the records of a slow group, if the topic has at least three
    partitions. The group reads 8 records per tick of each partition, or as many as arrive.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return moved(snapshot, {n: (min(each, 8) * tick, each * tick) for n, each in enumerate(arriving)})

    claims = [each.claim for each in diagnose(watched(change, 12, before=change(healthy(), 0))).causes]
    (slow,) = [each for each in claims if each.cause == "consumer-slow"]
    assert slow.certainty is Certainty.LIKELY
    assert ("orders/0 gets most of the records" in slow.title) is named
    assert (
        any("orders/0 gets 96% of the records of its topic's 3 partitions" in fact for fact, _ in slow.evidence)
        is named
    )
    assert ("keys" in slow.next[0].text) is named


@pytest.mark.parametrize(("stands", "is_member"), [((2, 3), True), ((3,), False)], ids=["all", "one"])
def test_a_member_that_stands_in_all_of_its_partitions_is_named_itself(
    stands: tuple[int, ...], *, is_member: bool
) -> None:
    """Triage names a member instead of its partitions if the committed offsets of all its partitions do not advance. m1
    advances in two partitions; m2 has two others, and commits at every poll until the eighth.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rows = [
            ("orders", n, 100 + 50 * (min(tick, 8) if n in stands else tick), 100 + 50 * tick, "m1" if n < 2 else "m2")
            for n in range(4)
        ]
        return with_rows(snapshot, {"billing": ("Stable", rows)}, {})

    claims = [each.claim for each in diagnose(watched(change, 20)).causes if each.claim.cause == "consumer-stuck"]
    (claim,) = claims
    if is_member:
        assert claim.title == "group billing: member m2@h stands still in all of its 2 partitions"
        assert not any(each.command for each in claim.next), "a record may not be the reason"
    else:
        assert claim.subject == Subject(group="billing", topic="orders", partition=3)
        assert [each.command.split(" ")[0] for each in claim.next] == ["records", ""], "no record is skipped on a guess"


@pytest.mark.parametrize(("ticks", "certainty"), [(14, Certainty.POSSIBLE), (20, Certainty.LIKELY)])
def test_a_static_member_that_is_away_may_start_again(ticks: int, certainty: Certainty) -> None:
    """A partition of a static member that is away is first named as possible, then as more certain: pods with instance
    ids restart one after the other, and m2 is away since the eighth poll.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rows = [
            ("orders", n, 100 + 50 * (tick if n < 2 else min(tick, 8)), 100 + 50 * tick, "m1" if n < 2 else "m2")
            for n in range(4)
        ]
        now = with_rows(snapshot, {"billing": ("Stable", rows)}, {})
        group = now.groups["billing"]
        members = tuple(replace(each, instance_id=f"app-{each.member_id}") for each in group.members or ())
        return replace(now, groups={"billing": replace(group, members=members)})

    (claim,) = [each.claim for each in diagnose(watched(change, ticks)).causes if each.claim.cause == "consumer-stuck"]
    assert "member m2@h stands still" in claim.title
    assert claim.certainty is certainty


@pytest.mark.parametrize(
    ("came", "left", "ticks", "certainty"),
    [
        pytest.param(3, 6, 14, Certainty.POSSIBLE, id="a job that may come again"),
        pytest.param(3, 6, 38, Certainty.POSSIBLE, id="a job that is away for three minutes"),
        pytest.param(3, 6, 190, Certainty.CERTAIN, id="a job that is away for long"),
        pytest.param(3, 63, 76, Certainty.POSSIBLE, id="a job of five minutes"),
        pytest.param(3, 350, 400, Certainty.POSSIBLE, id="a job of half an hour"),
        pytest.param(0, 3, 11, Certainty.CERTAIN, id="a service that was there at first"),
        pytest.param(1, 362, 370, Certainty.CERTAIN, id="a service that stayed for half an hour"),
    ],
)
def test_the_first_cycle_of_a_job_that_reads_now_and_then(
    came: int, left: int, ticks: int, certainty: Certainty
) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        read = min(max(tick - came, 0), left - came - 1)
        return moved(snapshot, {0: (100 + 50 * read, 150 + 50 * tick)}, *(() if came <= tick < left else ("Empty", "")))

    (claim,) = [
        each.claim
        for each in diagnose(watched(change, ticks, before=change(healthy(), 0))).causes
        if each.claim.cause == "group-stopped"
    ]
    assert claim.title == "group billing has no member, and records wait"
    assert (claim.severity, claim.certainty) == (Severity.HIGH, certainty)


@pytest.mark.parametrize(
    ("commits", "ticks", "certainty"),
    [
        ((3,), 12, Certainty.POSSIBLE),
        ((4,), 63, Certainty.POSSIBLE),
        ((3,), 190, Certainty.CERTAIN),
        ((3, 8), 24, Certainty.CERTAIN),
    ],
    ids=["one checkpoint", "just before the next one", "none for long", "two checkpoints"],
)
def test_a_reader_that_assigns_its_partitions_commits_no_more(
    commits: tuple[int, ...], ticks: int, certainty: Certainty
) -> None:
    """Triage names a consumer that assigns its own partitions, like Flink's, which commits at checkpoints, if it no
    longer commits.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = max((each for each in commits if each <= tick), default=0)
        return moved(snapshot, {0: (100 + 50 * at, 100 + 50 * tick)}, "Empty", "")

    (claim,) = [
        each.claim
        for each in diagnose(watched(change, ticks, before=change(healthy(), 0))).causes
        if each.claim.cause == "group-stopped"
    ]
    assert claim.title == "group billing commits no more, and records wait"
    assert claim.certainty is certainty
    assert "checkpoints" in claim.next[0].text
    assert "start its consumers" not in claim.next[-1].text


def test_a_reader_that_was_overtaken_sets_itself() -> None:
    """If a consumer's offset is below the log's start, the first step waits for the consumer to reset itself, because
    brokers refuse another reset meanwhile.
    """
    rows: Rows = {"g": ("Stable", [("orders", 0, 0, 11, "m")])}
    (only,) = diagnose(watched(lambda s, _: s, before=with_rows(healthy(), rows, {("orders", 0): (10, 11)}))).causes
    waits, resets = only.claim.next
    assert "auto.offset.reset" in waits.text
    assert not waits.command
    assert "refuse" in resets.text
    assert resets.command.endswith("earliest")


def test_the_time_without_a_member_does_not_count_as_standing_still() -> None:
    """If a member joins a group that had no members, the time without members does not count: the member has as long to
    commit as any other before it counts as stuck.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        away = 3 <= tick < 14
        return moved(snapshot, {0: (100, 150 + 50 * tick)}, *(("Empty", "") if away else ("Stable", "m1")))

    before = moved(healthy(), {0: (100, 100)})
    for ticks in (16, 20):
        verdict = diagnose(watched(change, ticks, before=before))
        assert "consumer-stuck" not in {each.claim.cause for each in verdict.causes}
    later = diagnose(watched(change, 50, before=before))
    assert "consumer-stuck" in {each.claim.cause for each in later.causes}


def test_members_of_different_services_are_told_apart() -> None:
    """If the group's clients read different topics, the evidence about rebalances says that they are different
    services. It does not say this of the instances of one service.
    """

    def evidence(*members: tuple[str, tuple[str, ...]]) -> str:
        some = tuple(
            cluster.GroupMember(f"m{n}", client, "/h", topics=topics) for n, (client, topics) in enumerate(members)
        )

        def change(snapshot: Snapshot, tick: int) -> Snapshot:
            state = "PreparingRebalance" if tick % 2 else "Stable"
            group = replace(snapshot.groups["billing"], state=state, members=some)
            return replace(snapshot, groups={"billing": group})

        causes = diagnose(watched(change, 40)).causes
        (claim,) = [each.claim for each in causes if each.claim.cause == "group-rebalancing"]
        return " ".join(each.fact for each in claim.evidence)

    assert "different services: invoicing orders, mailing mails" in evidence(
        ("invoicing", ("orders",)), ("mailing", ("mails",))
    )
    for one in (
        [("app", ("orders",)), ("app", ("mails",))],
        [("a", ("orders",)), ("b", ("mails", "orders"))],
        [("a", ("orders",)), ("b", ("orders",))],
    ):
        assert "different services" not in evidence(*one)


@pytest.mark.parametrize(("stands", "cause"), [(True, "consumer-stuck"), (False, "group-rebalancing")])
def test_a_record_that_ends_its_readers_is_named_rather_than_their_rebalances(*, stands: bool, cause: str) -> None:
    """If a partition's committed offset does not advance through all rebalances, triage names its record instead of the
    rebalances. Polls are 5 s apart, rebalances 25 s. stands: whether one of two partitions does not advance.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = "PreparingRebalance" if tick % 5 == 4 else "Stable"
        at = 100 if stands else 100 + tick
        return moved(snapshot, {0: (at, 100 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)}, state)

    causes = [each.claim for each in diagnose(watched(change, 23)).causes]
    assert [each.cause for each in causes if each.cause in ("consumer-stuck", "group-rebalancing")] == [cause]
    if stands:
        (claim,) = [each for each in causes if each.cause == cause]
        assert any("rebalances meanwhile" in each.fact for each in claim.evidence)
        assert [each.command.split(" ")[0] for each in claim.next] == ["records", "skip"]


def test_the_rebalances_are_named_while_no_member_is_left() -> None:
    """Triage names the stuck record or the rebalances also at polls without a member, because a service's only
    process may end at the record and be started again.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = {4: "PreparingRebalance", 3: "Empty"}.get(tick % 5, "Stable")
        held = {0: (100, 100 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)}
        return moved(snapshot, held, state, "" if state == "Empty" else "m1")

    for ticks in (27, 28, 29):
        found = diagnose(watched(change, ticks))
        assert {"consumer-stuck", "group-rebalancing"} & {each.claim.cause for each in found.causes}, ticks


def test_what_left_is_of_a_sink_connector() -> None:
    """If a group without members has the name of a sink's group, the step names the connector; another group with the
    same client id has no such step.
    """

    def steps(group: str) -> list[str]:
        def change(snapshot: Snapshot, tick: int) -> Snapshot:
            at, end = 100 + 50 * min(tick, 2), 100 + 50 * tick
            row = cluster.PartitionLag("orders", 0, at, end, end - at, "m1" if tick < 3 else "")
            client = cluster.GroupMember("m1", "connector-consumer-copies-0", "/127.0.0.1", (("orders", 0),))
            state, members = ("Stable", (client,)) if tick < 3 else ("Empty", ())
            known = cluster.Group(group, state, "consumer", coordinator=1, members=members)
            return replace(snapshot, lags={group: cluster.GroupLag((row,))}, groups={group: known})

        before = change(healthy(), 0)
        (claim,) = [
            each.claim
            for each in diagnose(watched(change, 20, before=before)).causes
            if each.claim.cause == "group-stopped"
        ]
        return [each.text for each in claim.next]

    first, *rest = steps("connect-copies")
    assert first.startswith("it is of the sink connector copies")
    assert steps("copies") == rest


@pytest.mark.parametrize(
    ("client", "name", "later", "topic", "comes", "is_named"),
    [
        pytest.param("indexer", "app-2e", "indexer", "orders", 4, True, id="the same client"),
        pytest.param(
            "consumer-app-1f-1", "app-2e", "consumer-app-2e-1", "orders", 4, True, id="called after its group"
        ),
        pytest.param("rdkafka", "app-2e", "rdkafka", "orders", 4, True, id="a library's name, and a similar group"),
        pytest.param("rdkafka", "fraud", "rdkafka", "orders", 4, False, id="a library's name, and another group"),
        pytest.param("indexer", "app-2e", "mailer", "orders", 4, False, id="another client"),
        pytest.param("indexer", "app-2e", "indexer", "users", 4, False, id="another topic"),
        pytest.param("indexer", "app-2e", "indexer", "orders", 0, False, id="a group of before"),
        pytest.param("indexer", "app-2e", "indexer", "orders", 60, False, id="a group of much later"),
    ],
)
def test_the_clients_of_a_group_without_members_went_to_a_new_group(
    client: str, name: str, later: str, topic: str, comes: int, *, is_named: bool
) -> None:
    """If a new group with the same clients appears when a group loses its members, triage names it: a service may use
    another group name when it starts again. comes: the first tick with the new group.
    """

    def group(name: str, client: str, topic: str, *, is_there: bool) -> cluster.Group:
        member = cluster.GroupMember("m1", client, "/10.0.0.1", ((topic, 0),))
        state, members = ("Stable", (member,)) if is_there else ("Empty", ())
        return cluster.Group(name, state, "consumer", coordinator=1, members=members)

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at, end = 100 + 50 * min(tick, 2), 100 + 50 * tick
        row = cluster.PartitionLag("orders", 0, at, end, end - at, "m1" if tick < 3 else "")
        groups = {"app-1f": group("app-1f", client, "orders", is_there=tick < 3)}
        if tick >= comes:
            groups[name] = group(name, later, topic, is_there=tick >= 4)
        read_at = {**snapshot.read_at, Part.GROUPS: START + tick * TICK}
        return replace(snapshot, lags={"app-1f": cluster.GroupLag((row,))}, groups=groups, read_at=read_at)

    verdict = diagnose(watched(change, max(20, comes + 2), before=change(healthy(), 0)))
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause == "group-stopped"]
    assert ("its clients went to a new group" in claim.title) is is_named
    assert any(name in each.fact for each in claim.evidence) is is_named
    assert ("group.id" in claim.next[0].text) is is_named
    assert claim.severity is (Severity.WARNING if is_named else Severity.HIGH)
    assert claim.certainty is (Certainty.POSSIBLE if is_named else Certainty.CERTAIN), "a release may have another name"


def test_names_that_change_at_each_start_are_no_release() -> None:
    """If the only client uses a new group at each of three starts, so that two groups have no members, triage does not
    call it a release with a new name.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        groups, lags = {}, {}
        for n in range(3):
            first, last = (0, 4, 8)[n], (4, 8, 99)[n]
            if tick < first:
                continue
            member = cluster.GroupMember(f"m{n}", "indexer", "/10.0.0.1", (("orders", 0),))
            state, members = ("Stable", (member,)) if tick < last else ("Empty", ())
            at, end = 100 + 50 * (min(tick, last - 1)), 100 + 50 * tick
            row = cluster.PartitionLag("orders", 0, at, end, end - at, f"m{n}" if members else "")
            groups[f"app-{n}"] = cluster.Group(f"app-{n}", state, "consumer", coordinator=1, members=members)
            lags[f"app-{n}"] = cluster.GroupLag((row,))
        read_at = {**snapshot.read_at, Part.GROUPS: START + tick * TICK}
        return replace(snapshot, lags=lags, groups=groups, read_at=read_at)

    verdict = diagnose(watched(change, 20, before=change(healthy(), 0)))
    found = [each.claim for each in verdict.causes if each.claim.cause == "group-stopped"]
    assert {each.certainty for each in found} == {Certainty.CERTAIN}
    assert {each.severity for each in found} == {Severity.WARNING}


@pytest.mark.parametrize(
    ("type_", "lock_ms", "limit", "ticks", "is_stuck"),
    [
        ("consumer", None, None, 10, True),
        ("share", None, None, 10, False),
        ("share", None, None, 35, True),
        ("share", "15000", None, 14, False),
        ("share", "15000", None, 20, True),
        ("share", "60000", None, 35, False),
        ("share", "15000", "10", 20, False),
        ("share", "15000", "10", 35, True),
    ],
)
def test_a_share_group_stands_at_a_record_until_its_deliveries_are_used_up(
    type_: str, lock_ms: str | None, limit: str | None, ticks: int, *, is_stuck: bool
) -> None:
    """A share group counts as stuck only after all deliveries of a record are used up: its start offset advances only
    when the first record is done, while members work on later records.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        now = moved(snapshot, {0: (100, 100 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)})
        if lock_ms is not None:
            own = samples.config_set({"share.record.lock.duration.ms": lock_ms}, DYNAMIC_GROUP_CONFIG)
            now = replace(now, configs={**now.configs, share_group_config("billing"): own})
        if limit is not None:
            of_broker = samples.config_set({"group.share.delivery.count.limit": limit}, DYNAMIC_GROUP_CONFIG)
            now = replace(now, configs={**now.configs, broker_resource(1): of_broker})
        return replace(now, groups={"billing": replace(now.groups["billing"], type=type_)})

    found = diagnose(watched(change, ticks, before=change(healthy(), 0)))
    assert ("consumer-stuck" in {each.claim.cause for each in found.causes}) is is_stuck


# -- partitions that stand on purpose ----------------------------------------------------------------------------------


def alone(committed: Callable[[int], int], ticks: int, topic: str = "orders") -> list[Claim]:
    """Return the claims about a stuck partition that is the only one of its group. committed: tick -> its committed
    offset.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return with_rows(snapshot, {"g": ("Stable", [(topic, 0, committed(tick), 150 + 50 * tick, "m")])}, {})

    verdict = diagnose(watched(change, ticks, before=change(healthy(), 0)))
    return [each.claim for each in verdict.causes if each.claim.cause == "consumer-stuck"]


@pytest.mark.parametrize(
    ("moves", "ticks", "certainty"),
    [
        pytest.param(0, 24, Certainty.POSSIBLE, id="no commit was seen"),
        pytest.param(1, 24, Certainty.POSSIBLE, id="one commit was seen"),
        pytest.param(0, 70, Certainty.LIKELY, id="brokers would have put it out"),
        pytest.param(8, 24, Certainty.LIKELY, id="its rhythm is known"),
    ],
)
def test_a_member_may_work_on_a_long_batch(moves: int, ticks: int, certainty: Certainty) -> None:
    (claim,) = alone(lambda tick: 100 + min(tick, moves), ticks)
    assert claim.certainty is certainty
    assert claim.next[0].text.startswith("look again in 5 minutes") is (certainty is Certainty.POSSIBLE)


@pytest.mark.parametrize(
    ("topic", "ticks", "is_stuck"),
    [
        ("orders-retry-100000", 38, False),
        ("orders-retry-100000", 44, True),
        ("orders.retry.2", 170, False),
        ("orders.retry.2", 184, True),
        ("retries", 38, True),
    ],
)
def test_a_reader_of_a_retry_topic_pauses_on_purpose(topic: str, ticks: int, *, is_stuck: bool) -> None:
    """A reader of a retry topic counts as stuck only after the delay in the topic's name, or after a longer time if the
    name has none. Ticks are 5 s.
    """
    found = alone(lambda _: 100, ticks, topic)
    assert bool(found) is is_stuck


@pytest.mark.parametrize("is_deployment", [True, False])
def test_no_record_is_skipped_after_a_deployment_over_a_paused_partition(*, is_deployment: bool) -> None:
    """If partition 0 does not advance while all members of a group are replaced one after the other, as in a
    deployment, no step skips its record; if only its own member is replaced again and again, a step does.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        release = tick // 5
        names = [f"m{n}-{max(0, (release + 2 - n) // 3)}" for n in range(3)] if is_deployment else ["m0", "m1", "m2"]
        first = names[0] if is_deployment else f"m0-{release}"
        owners = [first, *names[1:]]
        state = "PreparingRebalance" if tick % 5 == 4 else "Stable"
        rows = [("orders", n, 100 if n == 0 else 100 + 10 * tick, 100 + 50 * tick, owners[n]) for n in range(3)]
        return with_rows(snapshot, {"billing": (state, rows)}, {})

    causes = [each.claim for each in diagnose(watched(change, 25, before=change(healthy(), 0))).causes]
    skips = [step for claim in causes for step in claim.next if step.command.startswith("skip ")]
    assert bool(skips) is not is_deployment


@pytest.mark.parametrize(
    ("commits", "leaves", "certainty", "title"),
    [
        pytest.param(False, True, (Severity.HIGH, Certainty.LIKELY), "commits nothing since", id="no commit between"),
        pytest.param(True, True, (Severity.HIGH, Certainty.LIKELY), "m2@h leaves and comes back", id="it commits"),
        pytest.param(False, False, (Severity.INFO, Certainty.POSSIBLE), "", id="members only come"),
    ],
)
def test_a_member_that_leaves_again_and_again_is_no_deployment(
    commits: bool, leaves: bool, certainty: tuple[Severity, Certainty], title: str
) -> None:
    """If a member leaves and joins with a new id at each sixth tick of 5 s, the rebalances are a likely cause, and the
    title says whether the group commits in between. If members only join, the rebalances are possible.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = "PreparingRebalance" if tick % 6 == 5 else "Stable"
        at = 100 + (tick if commits else 0)
        ids = ["m1", f"m2-{tick // 6}"] if leaves else ["m1", *(f"m2-{n}" for n in range(tick // 6))]
        members = tuple(
            cluster.GroupMember(each, each.partition("-")[0], "/h", (("orders", n),)) for n, each in enumerate(ids)
        )
        rows = tuple(
            cluster.PartitionLag("orders", n, at, 150 + 50 * tick, 150 + 50 * tick - at, ids[n])
            for n in range(2 if leaves else 1)
        )
        group = cluster.Group("g", state, "consumer", coordinator=1, members=members)
        return replace(snapshot, groups={"g": group}, lags={"g": cluster.GroupLag(rows)})

    causes = [each.claim for each in diagnose(watched(change, 20, before=change(healthy(), 0))).causes]
    (claim,) = [each for each in causes if each.cause == "group-rebalancing"]
    assert (claim.severity, claim.certainty) == certainty
    assert title in claim.title
    assert any("m2@h left 3 times" in each.fact for each in claim.evidence) is leaves
    assert ("max.poll.records" in claim.next[0].text) is (leaves and not commits)
    assert ("look at m2@h" in claim.next[0].text) is (leaves and commits)


@pytest.mark.parametrize(
    ("shown", "had", "names"),
    [
        pytest.param(1, 1, True, id="its members are unknown between"),
        pytest.param(3, 1, False, id="all three are deployed"),
        pytest.param(1, 20, False, id="its members are unknown for long"),
    ],
)
def test_members_are_compared_with_the_last_poll_that_showed_them(shown: int, had: int, *, names: bool) -> None:
    """A member leaves and joins with a new id at each sixth tick of 5 s, and some polls list the group without members.
    Its departures are counted, unless the members are unknown for longer than a minute, or all members leave in turn.

    Args:
        shown: the number of members that leave in turn.
        had: the number of ticks in six, or more, at which the group's members are unknown.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        turns = max(6, had + 1)
        is_known = tick % turns >= had
        releases = [(tick // turns + 2 - n) // 3 if shown == 3 else tick // turns * (n == 1) for n in range(3)]
        ids = [f"m{n}-{each}" for n, each in enumerate(releases)]
        members = tuple(
            cluster.GroupMember(each, each.partition("-")[0], "/h", (("orders", n),)) for n, each in enumerate(ids)
        )
        rows = tuple(
            cluster.PartitionLag("orders", n, 100 + tick, 150 + 50 * tick, 50 + 49 * tick, each)
            for n, each in enumerate(ids)
        )
        state = "Stable" if tick % turns else "PreparingRebalance"
        group = cluster.Group("g", state, "consumer", coordinator=1, members=members if is_known else None)
        return replace(snapshot, groups={"g": group}, lags={"g": cluster.GroupLag(rows)})

    observations = watched(change, 22 if had < 6 else 66, before=change(healthy(), had))
    causes = [each.claim for each in diagnose(observations).causes]
    texts = [each.title for each in causes if each.cause == "group-rebalancing"]
    assert any("m1@h leaves and comes back" in each for each in texts) is names


def one_host(ids: Sequence[str], end: int, is_calm: bool) -> Callable[[Snapshot], Snapshot]:
    """Return a function that returns the snapshot with a group without commits, whose members have these ids, and all
    the same client id and host. end: end offset. is_calm: whether the group is stable.
    """
    members = tuple(cluster.GroupMember(each, "billing", "/h", (("orders", n),)) for n, each in enumerate(ids))
    rows = tuple(cluster.PartitionLag("orders", n, 100, end, end - 100, each) for n, each in enumerate(ids))
    group = cluster.Group("g", "Stable" if is_calm else "PreparingRebalance", "classic", 1, members=members)
    return lambda snapshot: replace(snapshot, groups={"g": group}, lags={"g": cluster.GroupLag(rows)})


@pytest.mark.parametrize(
    ("ids", "ends"),
    [
        pytest.param(lambda step: [f"m{n}-{n < step}" for n in range(4)], lambda tick: 101, id="deployed at rest"),
        pytest.param(lambda step: [f"m{n}-{n < step}" for n in range(4)], lambda tick: 150 + tick, id="deployed"),
        pytest.param(lambda step: [f"m{n}" for n in range(step, 6)], lambda tick: 150 + tick, id="fewer members"),
    ],
)
def test_members_of_one_host_that_leave_once_are_no_loop(
    ids: Callable[[int], list[str]], ends: Callable[[int], int]
) -> None:
    """If four members on one host leave, one every 10 s, while nothing is committed, triage does not name repeated
    rebalances.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        step, calm = min(4, max(0, (tick - 4) // 2)), not (4 <= tick < 13 and tick % 2)
        return one_host(ids(step), ends(tick), calm)(snapshot)

    for ticks in (13, 22, 60):
        causes = diagnose(watched(change, ticks, before=change(healthy(), 0))).causes
        rows = [each.claim for each in causes if each.claim.cause == "group-rebalancing"]
        assert all(each.severity is Severity.INFO for each in rows), ticks


@pytest.mark.parametrize(("other", "is_stuck"), [(1, True), (4, False)])
def test_a_record_ends_its_readers_although_some_other_member_left(other: int, *, is_stuck: bool) -> None:
    """If the member of partition 0 ends every 25 s, triage names the record even if another member left a few times.
    other: how often the member of partition 1 leaves.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        release = tick // 5
        owners = [f"m0-{release}", f"m1-{min(release, other)}", "m2"]
        rows = [("orders", n, 100 if n == 0 else 100 + 10 * tick, 100 + 50 * tick, owners[n]) for n in range(3)]
        return with_rows(snapshot, {"billing": ("Stable" if tick % 5 < 4 else "PreparingRebalance", rows)}, {})

    causes = [each.claim for each in diagnose(watched(change, 22, before=change(healthy(), 0))).causes]
    assert ("consumer-stuck" in [each.cause for each in causes]) is is_stuck


def test_a_partition_that_stands_beside_others_is_told_with_its_member() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rows = [("orders", n, 100 if n == 1 else 100 + 50 * tick, 100 + 50 * tick, "m1") for n in range(3)]
        return with_rows(snapshot, {"g": ("Stable", rows)}, {})

    (claim,) = [each.claim for each in diagnose(watched(change, 14, before=change(healthy(), 0))).causes]
    assert (claim.cause, claim.subject) == ("consumer-stuck", Subject(group="g", topic="orders", partition=1))
    assert any(each.fact == "m1@h has it, with 2 other partitions: it is a member still" for each in claim.evidence)
    assert "may have paused this partition" in claim.next[-1].text
