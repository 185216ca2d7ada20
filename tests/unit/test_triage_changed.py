"""Tests of changes by clients: kac judges them by the rules of plans, keeps them until another change takes them back,
and names them as the cause of later symptoms of the entities that they affect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.changes import FeatureTarget, GroupOffsetTarget, ScramUser, TopicTarget, VoterTarget
from console.model.cluster import GroupLag, Partition, PartitionLag, ScramCredential, Topic
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
    ConfigSource,
    ScramMechanism,
)
from console.model.config import broker_resource, topic_resource
from console.model.coordinators import OFFSETS
from console.model.observed_logs import LogOffsets
from console.model.quota import QuotaEntity
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan import edits
from console.plan.kinds.voters import LeaveQuorum
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.events import Difference, Kind, Place
from console.triage.facts import Author, ChangeKey, Facts
from console.triage.judged_changes import JudgedChange, changes_after, edit_of
from console.triage.observations import after, begin
from console.triage.symptoms import Poll, Subject
from tests.support import samples
from tests.unit import test_triage
from tests.unit.test_triage import START, TICK, Change, logs_seen, watched

WHEN, BACK = 5, 12
"""The ticks of the first polls that see a change, and the former state again."""
ORDERS = topic_resource("orders")
EVERYBODY = QuotaEntity.of({"user": None})
ALICE = ScramUser("alice", ScramMechanism(1))


def healthy() -> Snapshot:
    """Return a healthy cluster whose topic holds records."""
    dirs = {broker: (samples.held(("orders", 0, 1_000_000)),) for broker in (1, 2, 3)}
    return replace(test_triage.healthy(), log_dirs=dirs)


def topic_configs(**values: str) -> Change:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        found = {key.replace("_", "."): value for key, value in values.items()}
        return replace(snapshot, configs={**snapshot.configs, ORDERS: samples.config_set(found, DYNAMIC_TOPIC_CONFIG)})

    return change


def quota(value: float | None) -> Change:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return replace(snapshot, quotas={EVERYBODY: {"request_percentage": value}} if value is not None else {})

    return change


def credential(*, is_there: bool) -> Change:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return replace(snapshot, scram={"alice": (ScramCredential(ALICE.mechanism, 4096),)} if is_there else {})

    return change


def made_again(snapshot: Snapshot, _tick: int) -> Snapshot:
    topic = snapshot.topics["orders"]
    return replace(snapshot, topics={**snapshot.topics, "orders": replace(topic, topic_id="another")})


def seen(
    before: Change,
    then: Change,
    *,
    is_back: bool = False,
    stops: bool = False,
    ticks: int = 16,
    authors: Mapping[ChangeKey, Author] | None = None,
) -> list[Claim]:
    """Return the claims of `changed-lately` on a cluster that changes at the tick `WHEN`, while producers write to a
    topic.

    Args:
        is_back: whether the cluster returns to its former state at `BACK`.
        stops: whether the writes stop with the change.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        is_changed = WHEN <= tick < (BACK if is_back else ticks + 1)
        at = START + tick * TICK
        read = dict.fromkeys(("quotas", "scram", "topics", "configs"), at)
        return replace((then if is_changed else before)(snapshot, tick), read_at={**snapshot.read_at, **read})

    def facts(tick: int) -> Facts:
        def at(each: int) -> Mapping[tuple[str, int], LogOffsets]:
            end = 100 + 10 * (min(each, WHEN) if stops else each)
            return {("orders", 0): LogOffsets(0, end, end)}

        return Facts(logs_seen(tick, at), authors=authors or {})

    observations = watched(change, ticks, before=before(healthy(), 0), facts=facts)
    return [each.claim for each in diagnose(observations).causes if each.claim.cause == "changed-lately"]


KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND = topic_configs(retention_ms="86400000"), topic_configs(retention_ms="1000")


@pytest.mark.parametrize(
    ("before", "then", "subject", "words", "back"),
    [
        (
            KEPT_FOR_A_DAY,
            KEPT_FOR_A_SECOND,
            Subject(topic="orders", key="retention.ms"),
            "topic orders: retention.ms changed: only 1,000 ms are kept",
            (edits.SetConfig(ORDERS, "retention.ms", "86400000"),),
        ),
        (
            topic_configs(message_timestamp_before_max_ms="3600000"),
            topic_configs(message_timestamp_before_max_ms="3600"),
            Subject(topic="orders", key="message.timestamp.before.max.ms"),
            "topic orders: message.timestamp.before.max.ms changed: records whose time is more than 3.6 s before",
            (edits.SetConfig(ORDERS, "message.timestamp.before.max.ms", "3600000"),),
        ),
        (
            quota(None),
            quota(0.05),
            Subject(entity="user <default>", key="request_percentage"),
            "quota of user <default>: request_percentage changed: 0.05 is next to nothing",
            (edits.UnsetQuota(EVERYBODY, "request_percentage"),),
        ),
    ],
)
def test_a_change_with_a_risk_is_a_row_before_anybody_suffers(
    before: Change, then: Change, subject: Subject, words: str, back: tuple[edits.Edit, ...]
) -> None:
    (claim,) = seen(before, then)
    assert (claim.subject, claim.severity, claim.certainty) == (subject, Severity.WARNING, Certainty.CERTAIN)
    assert claim.title.startswith(words)
    assert [each.edits for each in claim.next] == [back]
    assert claim.since == START + WHEN * TICK


@pytest.mark.parametrize(
    ("before", "then"),
    [
        (KEPT_FOR_A_SECOND, KEPT_FOR_A_DAY),
        (quota(10.0), quota(200.0)),
        (quota(None), quota(200.0)),
        (quota(10.0), quota(None)),
        (topic_configs(cleanup_policy="delete"), topic_configs(cleanup_policy="compact")),
        (topic_configs(max_message_bytes="1000000"), topic_configs(max_message_bytes="500000")),
        (credential(is_there=True), credential(is_there=False)),
        (credential(is_there=False), credential(is_there=True)),
        (test_triage.as_it_was, test_triage.as_it_was),
    ],
)
def test_a_change_that_harms_nobody_is_no_row(before: Change, then: Change) -> None:
    assert not seen(before, then)


@pytest.mark.parametrize(("before", "then"), [(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND), (quota(None), quota(0.05))])
def test_a_change_that_is_taken_back_ends_its_row_and_its_repair_is_none(before: Change, then: Change) -> None:
    assert seen(before, then, ticks=BACK - 1)
    assert not seen(before, then, is_back=True)


def test_a_lower_limit_that_restores_the_former_one_a_change_made_here_and_a_new_credential_are_no_rows() -> None:
    """These changes are no causes: the return of a quota to its former limit after a raise, a change from this console,
    and a new credential.
    """
    assert not seen(quota(0.05), quota(50.0), is_back=True)
    assert seen(quota(50.0), quota(0.05))
    key = (ORDERS, "retention.ms", "1000")
    assert not seen(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND, authors={key: Author("carol", 7, START)})
    assert seen(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND, authors={(ORDERS, "retention.ms", "5"): Author("carol", 7, START)})
    assert not seen(credential(is_there=False), credential(is_there=True), stops=True)


def key(name: str, was: str, now: str) -> tuple[Change, Change]:
    """Return the changes that set a key of orders to its former and to its new value."""
    return topic_configs(**{name: was}), topic_configs(**{name: now})


@pytest.mark.parametrize(
    ("before", "then", "what"),
    [
        (*key("cleanup_policy", "delete", "compact"), "topic orders: cleanup.policy changed"),
        (*key("max_message_bytes", "1000000", "100"), "topic orders: max.message.bytes changed"),
        (
            KEPT_FOR_A_DAY,
            topic_configs(retention_ms="86400000", message_timestamp_before_max_ms="7200000"),
            "topic orders: message.timestamp.before.max.ms changed",
        ),
        (*key("message_timestamp_type", "LogAppendTime", "CreateTime"), "topic orders: message.timestamp.type changed"),
        (credential(is_there=True), credential(is_there=False), "user alice: credential deleted"),
        (quota(None), quota(0.05), "quota of user <default>: request_percentage changed"),
    ],
)
def test_a_topic_that_falls_silent_at_a_change_has_it_as_its_cause(before: Change, then: Change, what: str) -> None:
    (claim,) = seen(before, then, stops=True)
    words = f"{what}, and nothing is written to orders since"
    assert (claim.title, claim.severity, claim.certainty) == (words, Severity.HIGH, Certainty.LIKELY)


REFUSED = "brokers refuse records whose time is more than 3.6 s {} the broker's (InvalidTimestampException)"


@pytest.mark.parametrize(
    ("before", "then", "why"),
    [
        (
            *key("cleanup_policy", "delete", "compact"),
            "a compacted topic refuses records without a key (InvalidRecordException)",
        ),
        (
            *key("max_message_bytes", "1000000", "100"),
            "brokers refuse batches that are larger than it (RecordTooLargeException)",
        ),
        (*key("message_timestamp_before_max_ms", "3600000", "3600"), REFUSED.format("before")),
        (*key("message_timestamp_after_max_ms", "3600000", "3600"), REFUSED.format("after")),
        (*key("message_timestamp_difference_max_ms", "3600000", "3600"), REFUSED.format("before or after")),
        (
            *key("message_timestamp_type", "LogAppendTime", "CreateTime"),
            "brokers take the producers' times, and refuse those outside of the limits (InvalidTimestampException)",
        ),
    ],
)
def test_the_cause_of_a_silence_says_what_brokers_refuse(before: Change, then: Change, why: str) -> None:
    (claim,) = seen(before, then, stops=True)
    assert why in [each.fact for each in claim.evidence]
    assert why not in [each.fact for claim in seen(before, then) for each in claim.evidence]


@pytest.mark.parametrize(
    ("before", "then"),
    [
        key("cleanup_policy", "compact", "delete"),
        key("cleanup_policy", "compact", "compact,delete"),
        key("max_message_bytes", "100", "1000000"),
        key("message_timestamp_before_max_ms", "3600000", "7200000"),
        key("message_timestamp_type", "CreateTime", "LogAppendTime"),
        key("segment_ms", "1000", "2000"),
    ],
)
def test_a_change_by_which_brokers_take_more_does_not_make_a_topic_silent(before: Change, then: Change) -> None:
    assert not seen(before, then, stops=True)


def of_brokers(*values: str, key: str = "message.max.bytes", source: ConfigSource = DYNAMIC_BROKER_CONFIG) -> Change:
    """Return a change that sets these values on brokers 1, 2, and so on; dynamic by default."""

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        found = {
            broker_resource(number): samples.config_set({key: each}, source) for number, each in enumerate(values, 1)
        }
        return replace(snapshot, configs={**snapshot.configs, **found})

    return change


@pytest.mark.parametrize(
    ("then", "is_alone"), [(("900", "1000", "1000"), True), (("900", "900", "1000"), False), (("900",) * 3, False)]
)
def test_a_broker_that_differs_from_all_others_is_told_so(then: tuple[str, ...], *, is_alone: bool) -> None:
    claims = seen(of_brokers("1000", "1000", "1000"), of_brokers(*then), stops=True)
    alone = "it differs from all other brokers, which have 1000"
    assert [alone in [each.fact for each in claim.evidence] for claim in claims] == [is_alone] * len(claims)
    assert claims


@pytest.mark.parametrize(
    ("was", "now", "is_named"), [("PLAIN", "PLAIN,GSSAPI", False), ("PLAIN,GSSAPI", "GSSAPI", True)]
)
def test_logins_that_brokers_take_in_addition_stop_nobody(was: str, now: str, *, is_named: bool) -> None:
    before, then = (of_brokers(each, key="sasl.enabled.mechanisms", source=STATIC_BROKER_CONFIG) for each in (was, now))
    assert bool(seen(before, then, stops=True)) is is_named


KEYSTORE = "listener.name.external.ssl.keystore.location"
OLD, NEW = of_brokers("old.pem", key=KEYSTORE), of_brokers("new.pem", key=KEYSTORE)


def test_new_certificates_are_named_next_to_producers_that_did_not_come_back() -> None:
    (claim,) = seen(OLD, NEW, stops=True)
    assert claim.title == f"broker 1: {KEYSTORE} changed, and nothing is written to orders since"
    assert any("when it connects again" in each.fact for each in claim.evidence)
    assert seen(OLD, NEW) == [], "who is connected goes on"


@pytest.mark.parametrize("members", [True, False])
def test_new_certificates_are_named_next_to_a_group_whose_members_did_not_come_back(*, members: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lags = committed({0: min(500 * tick, 500 * WHEN)}, 500 * tick, members=members or tick < WHEN)
        return (NEW if tick >= WHEN else OLD)(lags(snapshot, tick), tick)

    titles = [claim.title for claim in verdict_of(change, 20)]
    named = f"broker 1: {KEYSTORE} changed right before group billing fell behind"
    assert (named in titles) is not members


@pytest.mark.parametrize(("auto", "count"), [("true", "1"), ("false", "1"), ("true", "12")])
def test_a_topic_that_comes_back_by_itself_is_a_row_even_if_it_was_empty(auto: str, count: str) -> None:
    def brokers(snapshot: Snapshot) -> Snapshot:
        keys = {"auto.create.topics.enable": auto, "num.partitions": count}
        found = {broker_resource(n): samples.config_set(keys, STATIC_BROKER_CONFIG) for n in (1, 2, 3)}
        return replace(snapshot, configs={**snapshot.configs, **found}, log_dirs={}, lags={}, groups={})

    def with_one_partition(snapshot: Snapshot, tick: int) -> Snapshot:
        again = made_again(snapshot, tick)
        topic = again.topics["orders"]
        return brokers(replace(again, topics={"orders": replace(topic, partitions=topic.partitions[:1])}))

    claims = seen(lambda snapshot, _tick: brokers(snapshot), with_one_partition)
    is_by_request = (auto, count) == ("true", "1")
    assert [claim.title for claim in claims if "a client that asks for it seems to make it" in claim.title] == (
        ["topic orders: deleted and made again: a client that asks for it seems to make it"] if is_by_request else []
    )
    if is_by_request:
        assert "auto.create.topics.enable=false" in claims[0].next[0].text
        assert not claims[0].next[0].edits, "it is no dynamic config"


def test_a_topic_made_again_under_a_reader_is_named_with_the_group() -> None:
    (claim,) = seen(test_triage.as_it_was, made_again)
    assert claim.title.startswith("topic orders: deleted and made again: ")
    assert "read by group billing (1 member)" in claim.title
    assert not claim.next, "no edit brings back the records"


def test_a_topic_that_was_seen_deleted_and_is_there_again_was_made_again() -> None:
    """The group is beyond the end of the new topic: triage names the change as the only cause, and its step loses no
    records.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < WHEN:
            return snapshot
        if tick == WHEN:
            return replace(snapshot, topics={})
        shorter = test_triage.moved(made_again(snapshot, tick), {0: (100, 7), 1: (5, 2)})
        return replace(shorter, topics=made_again(snapshot, tick).topics)

    causes = [each.claim for each in diagnose(watched(change, 14, before=healthy())).causes]
    (claim,) = [each for each in causes if each.cause == "changed-lately"]
    assert claim.title == "topic orders: deleted and made again right before group billing fell behind"
    assert [each.command for each in claim.next] == ["reset group billing topic orders to earliest"]
    assert "offsets-out-of-range" not in {each.cause for each in causes}


def test_a_way_back_that_a_rule_warns_of_is_not_offered() -> None:
    (risky,) = changes_between(topic_configs(retention_ms="1000"), topic_configs(retention_ms="2000"))
    assert (risky.risks, risky.back) == ((), ()), "back to a retention below what brokers look at"
    (fine,) = changes_between(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND)
    assert [each.name for each in fine.risks] == ["retention-tiny"]
    assert fine.back


def changes_between(before: Change, then: Change) -> tuple[JudgedChange, ...]:
    old, new = (each(healthy(), 0) for each in (before, then))
    return changes_after((), Poll(START, old), Poll(START + TICK, replace(new, read_at=old.read_at)))


# -- offsets that a group did not reach by reading -------------------------------------------------------------------


def committed(at: Mapping[int, int], end: int = 8_000, *, members: bool = True) -> Change:
    """Return a change that gives the group billing these offsets of partitions of orders."""

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        rows = tuple(PartitionLag("orders", n, at_, end, end - at_, "m1" if members else "") for n, at_ in at.items())
        group = snapshot.groups["billing"]
        known = group if members else replace(group, state="Empty", members=())
        return replace(snapshot, lags={"billing": GroupLag(rows)}, groups={"billing": known})

    return change


def verdict_of(change: Change, ticks: int = 8) -> list[Claim]:
    def with_times(snapshot: Snapshot, tick: int) -> Snapshot:
        read = {**snapshot.read_at, **dict.fromkeys(test_triage.PARTS, START + tick * TICK)}
        return replace(change(snapshot, tick), read_at=read)

    return [each.claim for each in diagnose(watched(with_times, ticks, before=change(healthy(), 0))).causes]


def rereading(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot of a group that read everything, is set back at `WHEN`, and reads partition 0 again."""
    if tick < WHEN:
        return committed({0: 8_000, 1: 8_000})(snapshot, tick)
    return committed({0: min(8_000, 100 * (tick - WHEN)), 1: 0})(snapshot, tick)


def test_a_group_that_was_set_back_is_not_stuck_and_no_row_once_it_caught_up() -> None:
    for ticks in (WHEN + 2, WHEN + 8, WHEN + 30):
        claims = verdict_of(rereading, ticks)
        (claim,) = [each for each in claims if each.subject.group == "billing"]
        assert claim.cause == "changed-lately"
        assert claim.certainty is Certainty.CERTAIN
        assert claim.title.startswith("group billing: offsets set back by ")
        assert "records in 2 partitions, which it reads again" in claim.title
        assert [each.command for each in claim.next] == [""], "nothing is staged while it has members"

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return committed({0: 8_000 if tick < WHEN or tick > WHEN + 3 else 2_000 * (tick - WHEN)})(snapshot, tick)

    assert [each.cause for each in verdict_of(change, WHEN + 2)] == ["changed-lately"]
    assert not verdict_of(change, WHEN + 12)


def test_offsets_of_a_group_without_members_can_be_set_as_they_were() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return committed({0: 8_000 if tick < WHEN else 0}, members=False)(snapshot, tick)

    def steps(ticks: int) -> list[edits.Edit]:
        claims = [each for each in verdict_of(change, ticks) if each.cause == "changed-lately"]
        return [edit for each in claims for step in each.next for edit in step.edits]

    assert steps(WHEN + 2) == [], "its consumers may be about to start"
    assert steps(WHEN + 8) == [edits.CommitOffset("billing", "orders", 0, 8_000, restored=True)]


LEFT, AHEAD = 12, 24
"""The ticks at which the members of `set_ahead` leave, and at which their group's offsets are further ahead."""


def set_ahead(
    to: int = 7_900,
    *,
    back_at: int = 999,
    comes: int = 999,
    left: int = LEFT,
    held: bool = True,
    described: bool = True,
    kind: str = "classic",
    topics: tuple[str, ...] = (),
) -> Change:
    """Return a change: a group commits every ten seconds, loses its members, and is ahead a minute later.

    Args:
        to: the offset at `AHEAD`; the group continues from it after members came.
        back_at: the tick at which a client sets the group back to its former offset.
        comes: the tick at which members come.
        left: the tick at which its members leave.
        held: whether members ever had its partitions.
        described: whether kac has asked the group's coordinator for its members.
        kind: the type of the group.
        topics: other topics of the cluster.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        reads = tick < left or tick >= comes
        at = 1_000 + 50 * (min(tick, LEFT - 1) // 2)
        at = at if tick < AHEAD or tick >= back_at else to + 50 * max(0, tick - comes)
        changed = committed({0: at, 1: at}, members=reads and held)(snapshot, tick)
        group = changed.groups["billing"]
        group = replace(group, type=kind, members=group.members if reads or described else None)
        more = {name: replace(snapshot.topics["orders"], name=name) for name in topics}
        return replace(changed, groups={"billing": group}, topics={**changed.topics, **more})

    return change


@pytest.mark.parametrize("comes", [999, AHEAD], ids=["no member yet", "members come at once"])
def test_offsets_that_were_set_ahead_of_what_nobody_read_are_named(comes: int) -> None:
    claims = verdict_of(set_ahead(comes=comes), AHEAD + 2)
    (claim,) = [each for each in claims if each.cause == "changed-lately"]
    assert claim.title == "group billing: offsets set ahead by 13,300 records in 2 partitions, which it never reads"
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.LIKELY)
    assert "reset group billing to its former offsets (orders/0 to 1,250, orders/1 to 1,250)" in claim.next[0].text
    assert not any(each.edits or each.command for each in claim.next), "its consumers may be about to start"


def test_offsets_that_were_set_ahead_can_be_set_as_they_were_while_nobody_reads() -> None:
    (claim,) = [each for each in verdict_of(set_ahead(), AHEAD + 8) if each.cause == "changed-lately"]
    assert claim.next[0].edits == tuple(
        edits.CommitOffset("billing", "orders", number, 1_250, restored=True) for number in (0, 1)
    )


NOT_SET = {
    "taken back": (set_ahead(back_at=AHEAD + 4), AHEAD + 8),
    "read by members": (set_ahead(comes=AHEAD - 2), AHEAD + 4),
    "a few records": (set_ahead(to=1_350, comes=AHEAD), AHEAD + 4),
    "the last commit of members that leave": (set_ahead(left=AHEAD - 1, described=False), AHEAD + 4),
    "of no member": (set_ahead(held=False), AHEAD + 4),
    "members not asked for": (set_ahead(described=False), AHEAD + 4),
    "a share group": (set_ahead(kind="share"), AHEAD + 4),
    "copied by a mirror": (set_ahead(topics=("eu.checkpoints.internal",)), AHEAD + 4),
}


@pytest.mark.parametrize(("change", "ticks"), NOT_SET.values(), ids=NOT_SET)
def test_offsets_that_readers_or_mirrors_commit_are_not_called_set(change: Change, ticks: int) -> None:
    assert "changed-lately" not in {each.cause for each in verdict_of(change, ticks)}


def test_offsets_that_were_restored_or_arrive_late_are_no_change() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = 1_000 + 50 * (min(tick, LEFT - 1) // 2)
        at = 0 if AHEAD <= tick < AHEAD + 12 else at
        return committed({0: at}, members=tick < LEFT)(snapshot, tick)

    assert "changed-lately" in {each.cause for each in verdict_of(change, AHEAD + 2)}
    assert "changed-lately" not in {each.cause for each in verdict_of(change, AHEAD + 14)}

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return committed({0: 1_000 + 100 * tick - (150 if tick == WHEN else 0)})(snapshot, tick)

    observations = watched(change, 8, before=change(healthy(), 0))
    assert not observations.past.judged


def test_offsets_go_with_their_topic() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < WHEN:
            return committed({0: 8_000})(snapshot, tick)
        return made_again(committed({0: 10}, end=20)(snapshot, tick), tick)

    kinds = {each.place.kind for each in watched(change, 8, before=change(healthy(), 0)).past.judged}
    assert kinds == {Kind.TOPIC}


def test_groups_that_lost_their_commits_after_the_offsets_topic_grew() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        count = 3 if tick < WHEN else 12
        parts = tuple(Partition(n, 1, (1, 2, 3), (1, 2, 3)) for n in range(count))
        topics = {**snapshot.topics, OFFSETS: Topic(OFFSETS, parts, internal=True, topic_id="of")}
        groups = {name: replace(snapshot.groups["billing"], name=name) for name in ("billing", "shipping", "fraud")}
        held = -1 if tick > WHEN + 2 else 100
        kept = GroupLag((PartitionLag("orders", 0, 100, 100, 0, "m1"),))
        lost = GroupLag((PartitionLag("orders", 0, held, 100, -1 if held < 0 else 0, "m1"),))
        lags = {"billing": kept, "shipping": lost, "fraud": lost}
        return replace(snapshot, topics=topics, groups=groups, lags=lags)

    (before,) = verdict_of(change, WHEN + 2)
    assert "2 of 3 groups, fraud, shipping" in before.title
    assert before.severity is Severity.WARNING
    (after,) = verdict_of(change, WHEN + 5)
    words = "topic __consumer_offsets: grown from 3 to 12 partitions, and group fraud, group shipping lost what was"
    assert after.title.startswith(words)
    assert (after.severity, after.certainty) == (Severity.HIGH, Certainty.CERTAIN)


def test_partitions_that_were_read_again_wait_for_the_others() -> None:
    """A member reads its partitions one after the other: the partition that has passed its former offset and rests is
    no other cause.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < WHEN:
            return committed({0: 8_000, 1: 8_000})(snapshot, tick)
        ahead = min(8_100, 4_000 * (tick - WHEN))
        rows = (
            PartitionLag("orders", 0, ahead, 8_000 + 100 * tick, 8_000 + 100 * tick - ahead, "m1"),
            PartitionLag("orders", 1, 100 * (tick - WHEN), 8_000, 8_000 - 100 * (tick - WHEN), "m1"),
        )
        return replace(snapshot, lags={"billing": GroupLag(rows)})

    causes = verdict_of(change, WHEN + 40)
    assert {each.cause for each in causes if each.subject.group == "billing"} == {"changed-lately"}


def test_a_risk_that_stands_keeps_its_text_when_something_begins_near_it() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        parts = tuple(Partition(n, 1, (1, 2, 3), (1, 2, 3)) for n in range(3 if tick < WHEN else 12))
        topics = {**snapshot.topics, OFFSETS: Topic(OFFSETS, parts, internal=True, topic_id="of")}
        behind = 1_000 * max(0, tick - WHEN)
        row = PartitionLag("orders", 0, 100 + 10 * tick, 100 + 10 * tick + behind, behind, "m1")
        return replace(snapshot, topics=topics, lags={"billing": GroupLag((row,))})

    found = {each.cause: each for each in verdict_of(change, WHEN + 6)}
    assert "it belongs to Kafka's group coordinators" in found["changed-lately"].title
    assert found["consumer-slow"].subject.group == "billing"


def test_a_change_that_only_stands_near_is_not_named_next_to_a_cause() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        values = {"segment.ms": "1000" if tick < WHEN else "2000"}
        configs = {**snapshot.configs, ORDERS: samples.config_set(values, DYNAMIC_TOPIC_CONFIG)}
        behind = 1_000 * max(0, tick - WHEN)
        row = PartitionLag("orders", 0, 100 + 10 * tick, 100 + 10 * tick + behind, behind, "m1")
        return replace(snapshot, configs=configs, lags={"billing": GroupLag((row,))})

    assert [each.cause for each in verdict_of(change, WHEN + 6)] == ["consumer-slow"]


# -- properties of a broker --------------------------------------------------------------------------------------------


def back_as(**said: object) -> Change:
    """Return a change: broker 2 goes at `WHEN`, and comes back with these fields."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        brokers = [each for each in snapshot.cluster.brokers if each.id != 2]
        if tick < WHEN:
            return snapshot
        if tick > WHEN + 1:
            brokers.append(replace(snapshot.cluster.brokers[1], **said))  # type: ignore[arg-type]
        return replace(snapshot, cluster=replace(snapshot.cluster, brokers=tuple(brokers)))

    return change


def test_a_broker_that_came_back_at_another_address_is_a_row_if_it_does_not_answer() -> None:
    def silent_since(change: Change) -> list[Claim]:
        base = healthy()
        observations = begin(Poll(START, base))
        for tick in range(1, 12):
            at = START + tick * TICK
            snapshot = replace(change(base, tick), read_at=dict.fromkeys(base.read_at, at))
            silent = frozenset({2} if tick > WHEN + 1 else ())
            observations = after(observations, Poll(at, snapshot, silent, silent))
        return [each.claim for each in diagnose(observations).causes]

    (claim,) = silent_since(back_as(port=9999))
    assert claim.cause == "changed-lately"
    words = "address changed from 127.0.0.1:9002 to 127.0.0.1:9999 right before it stopped to answer"
    assert claim.title == f"broker 2: {words}"
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert "advertised.listeners of broker 2" in claim.next[0].text
    assert [each.cause for each in silent_since(back_as())] != ["changed-lately"]
    assert not verdict_of(back_as(port=9999), 12)


def test_a_broker_that_came_back_in_the_rack_of_the_others() -> None:
    def in_two(snapshot: Snapshot, tick: int) -> Snapshot:
        racks = {1: "a", 2: "b", 3: "c"}
        brokers = tuple(replace(each, rack=racks[each.id]) for each in snapshot.cluster.brokers)
        parts = tuple(Partition(n, 1, (1, 2), (1, 2)) for n in range(3))
        topics = {"orders": replace(snapshot.topics["orders"], partitions=parts)}
        snapshot = replace(snapshot, cluster=replace(snapshot.cluster, brokers=brokers), topics=topics)
        return back_as(rack="a")(snapshot, tick)

    (claim,) = [each for each in verdict_of(in_two, 12) if each.cause == "changed-lately"]
    assert claim.title == (
        "broker 2: rack changed from b to a: 3 partitions have their replicas in one rack since: orders/0, orders/1, "
        "orders/2"
    )


# -- laws --------------------------------------------------------------------------------------------------------------

_STATES: Mapping[str, Callable[[int], Change]] = {
    "retention": lambda n: topic_configs(retention_ms=str(1000 * (n + 1))),
    "quota": lambda n: quota(None if n == 0 else 0.01 * n),
    "credential": lambda n: credential(is_there=n == 0),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(_STATES)), st.integers(0, 3)), max_size=12))
def test_whatever_is_changed_and_taken_back_leaves_no_change(steps: list[tuple[str, int]]) -> None:
    """At each poll one value changes; at the end all values are the first ones again."""
    values = dict.fromkeys(_STATES, 0)
    known: tuple[JudgedChange, ...] = ()
    last = Poll(START, _of(values))
    for tick, (name, value) in enumerate([*steps, *((name, 0) for name in _STATES)], 1):
        values[name] = value
        poll = Poll(START + tick * TICK, _of(values))
        known = changes_after(known, last, poll)
        places = [each.place for each in known]
        assert len(places) == len(set(places)), "a place has one change, the last"
        last = poll
    assert not known


def _of(values: Mapping[str, int]) -> Snapshot:
    snapshot = healthy()
    for name, value in values.items():
        snapshot = _STATES[name](value)(snapshot, 0)
    return snapshot


@pytest.mark.parametrize(
    ("difference", "edit"),
    [
        (Difference(Place(Kind.CONFIG, ORDERS, "k"), "1", None), edits.UnsetConfig(ORDERS, "k")),
        (Difference(Place(Kind.CONFIG, ORDERS, "k"), None, "1"), edits.SetConfig(ORDERS, "k", "1")),
        (Difference(Place(Kind.QUOTA, EVERYBODY, "k"), "1.0", "2.0"), edits.SetQuota(EVERYBODY, "k", 2.0)),
        (Difference(Place(Kind.SCRAM, ALICE), "4096", None), edits.DeleteScram(ALICE)),
        (Difference(Place(Kind.SCRAM, ALICE), "4096", "8192"), None),
        (Difference(Place(Kind.TOPIC, TopicTarget("t"), "partitions"), "3", "6"), edits.GrowTopic("t", 6)),
        (Difference(Place(Kind.TOPIC, TopicTarget("t"), "partitions"), "3", None), edits.DeleteTopic("t")),
        (Difference(Place(Kind.CONFIG, broker_resource(1), "k"), "\0hidden", "1"), None),
        (Difference(Place(Kind.FEATURE, FeatureTarget("f")), "1", "2"), edits.SetFeature("f", 2)),
        (Difference(Place(Kind.FEATURE, FeatureTarget("f")), "1", None), edits.SetFeature("f", 0)),
        (Difference(Place(Kind.VOTER, VoterTarget(3, "d")), "votes", None), LeaveQuorum(3, "d")),
        (Difference(Place(Kind.VOTER, VoterTarget(3, "d")), None, "votes"), None),
        (Difference(Place(Kind.OFFSET, GroupOffsetTarget("g", "t", 0)), "9", "2"), edits.CommitOffset("g", "t", 0, 2)),
        (Difference(Place(Kind.OFFSET, GroupOffsetTarget("g", "t", 0)), "9", None), edits.DeleteOffset("g", "t", 0)),
    ],
)
def test_the_edit_that_would_have_made_a_change(difference: Difference, edit: edits.Edit | None) -> None:
    assert edit_of(difference) == edit


@pytest.mark.parametrize(
    ("source", "from_file", "has_way_back"),
    [(DYNAMIC_BROKER_CONFIG, False, True), (STATIC_BROKER_CONFIG, True, False)],
)
def test_no_request_takes_a_line_of_a_brokers_file_back(
    source: ConfigSource, *, from_file: bool, has_way_back: bool
) -> None:
    before, then = (of_brokers(each, key="num.io.threads", source=source) for each in ("8", "1"))
    (change,) = changes_between(before, then)
    assert (change.from_file, bool(change.back)) == (from_file, has_way_back)


def test_a_default_that_another_release_has_is_no_change() -> None:
    before, then = (of_brokers(each, key="num.io.threads", source=DEFAULT_CONFIG) for each in ("8", "1"))
    assert not changes_between(before, then)


LONGEST = "transaction.max.timeout.ms"


def of_files(value: str) -> Change:
    return of_brokers(value, value, value, key=LONGEST, source=STATIC_BROKER_CONFIG)


def test_a_producer_that_does_not_come_back_after_a_restart_has_the_brokers_file_as_its_cause() -> None:
    claims = seen(of_files("3600000"), of_files("900000"), stops=True)
    assert [each.title for each in claims] == [
        f"brokers 1, 2, 3: {LONGEST} changed, and nothing is written to orders since"
    ]
    (step,) = claims[0].next
    assert step.text.startswith(f"put back {LONGEST}=3600000 in the files of brokers 1, 2, 3 and restart them in turn")
    assert not step.edits
    assert seen(of_files("3600000"), of_files("900000")) == [], "the producer goes on"
    assert not seen(of_files("900000"), of_files("3600000"), stops=True), "brokers take more"


# -- groups that are deleted with their offsets ----------------------------------------------------------------------


def gone(*, had_members: bool = True, back_at: int = 1_000, begins: int = -1) -> Change:
    """Return a change: a group without members is gone from `WHEN` on. begins: the offset with which it comes back."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = frozenset({"billing"} if had_members else ())
        if WHEN <= tick < back_at:
            return replace(snapshot, groups={}, lags={}, had_members=known)
        at = begins if tick >= back_at else 100
        return replace(committed({0: at}, end=900, members=tick >= back_at)(snapshot, tick), had_members=known)

    return change


def test_a_group_that_went_with_its_offsets_is_named_and_what_it_missed_is_counted() -> None:
    (claim,) = verdict_of(gone(), WHEN + 8)
    assert claim.title == "group billing: gone, with its offsets in 1 partition, while 800 records waited for it"
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.CERTAIN)
    assert "orders/0 to 100" in claim.next[0].text
    claims = verdict_of(gone(back_at=WHEN + 8, begins=850), WHEN + 12)
    (claim,) = [each for each in claims if each.cause == "changed-lately"]
    assert claim.title == "group billing: began 750 records after its former offsets, which were gone"


@pytest.mark.parametrize(
    "change",
    [gone(had_members=False), gone(back_at=WHEN + 8, begins=100), gone(back_at=WHEN + 8, begins=0)],
    ids=["never had a member", "has them back", "reads all again"],
)
def test_a_group_that_missed_nothing_is_no_row(change: Change) -> None:
    assert "changed-lately" not in {each.cause for each in verdict_of(change, WHEN + 12)}


@pytest.mark.parametrize(("others", "is_joined"), [(6, True), (3, False), (12, False)])
def test_a_group_that_may_join_a_grown_topic_with_another_one_falls_behind(others: int, *, is_joined: bool) -> None:
    """orders grows from 6 to 12 partitions, and the group also reads users. others: the partitions of users."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        orders = snapshot.topics["orders"]
        part = orders.partitions[0]
        users = replace(orders, topic_id="u", partitions=tuple(part._replace(number=n) for n in range(others)))
        grown = (*orders.partitions, *(part._replace(number=n) for n in range(6, 12)))
        now = replace(orders, partitions=grown) if tick >= WHEN else orders
        lags = test_triage.moved(snapshot, {0: (100 + 100 * min(tick, WHEN), 100 + 100 * tick)})
        row = PartitionLag("users", 0, 50 + tick, 50 + tick, 0, "m1")
        both = {"billing": GroupLag((*lags.lags["billing"].partitions, row))}
        read = {**snapshot.read_at, "topics": START + tick * TICK}
        return replace(lags, lags=both, topics={**snapshot.topics, "orders": now, "users": users}, read_at=read)

    causes = [each.claim for each in diagnose(watched(change, 14, before=change(healthy(), 0))).causes]
    found = [each for each in causes if "grown from 6 to 12 partitions right before group billing" in each.title]
    assert [any("a join needs equal numbers" in each.fact for each in claim.evidence) for claim in found] == [
        True
    ] * len(found)
    assert bool(found) is is_joined
    assert all("Give users 12 partitions" in claim.next[0].text for claim in found)
