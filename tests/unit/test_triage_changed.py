"""Changes that clients made: judged by the rules of plans, kept until they are taken back, and the cause of symptoms of
those that they affect."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.changes import ScramUser, TopicTarget
from console.model.cluster import ScramCredential
from console.model.codes import DYNAMIC_BROKER_CONFIG, DYNAMIC_TOPIC_CONFIG, ScramMechanism
from console.model.config import broker_resource, topic_resource
from console.model.observed_logs import LogOffsets
from console.model.quota import QuotaEntity
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan import edits
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.events import Difference, Kind, Place
from console.triage.facts import Author, ChangeKey, Facts
from console.triage.judged_changes import JudgedChange, changes_after, edit_of
from console.triage.symptoms import Poll, Subject
from tests.support import samples
from tests.unit import test_triage
from tests.unit.test_triage import START, TICK, Change, logs_seen, watched

WHEN, BACK = 5, 12
"""The polls that first see a change, and the former state again."""
ORDERS = topic_resource("orders")
EVERYBODY = QuotaEntity.of({"user": None})
ALICE = ScramUser("alice", ScramMechanism(1))


def healthy() -> Snapshot:
    """A cluster that is well, whose topic holds records."""
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


def as_it_was(snapshot: Snapshot, _tick: int) -> Snapshot:
    return snapshot


def seen(
    before: Change,
    then: Change,
    *,
    is_back: bool = False,
    stops: bool = False,
    ticks: int = 16,
    authors: Mapping[ChangeKey, Author] | None = None,
) -> list[Claim]:
    """The causes of a cluster that changes at a poll and maybe back at a later one, while a topic is written to: until
    the change, or all the time."""

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
        (as_it_was, as_it_was),
    ],
)
def test_a_change_that_harms_nobody_is_no_row(before: Change, then: Change) -> None:
    assert not seen(before, then)


@pytest.mark.parametrize(("before", "then"), [(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND), (quota(None), quota(0.05))])
def test_a_change_that_is_taken_back_ends_its_row_and_its_repair_is_none(before: Change, then: Change) -> None:
    assert seen(before, then, ticks=BACK - 1)
    assert not seen(before, then, is_back=True)


def test_a_lower_limit_that_restores_the_former_one_is_no_row() -> None:
    """A quota that somebody raised by mistake, and took back."""
    assert not seen(quota(0.05), quota(50.0), is_back=True)
    assert seen(quota(50.0), quota(0.05))


def test_a_change_that_was_made_here_is_no_row() -> None:
    key = (ORDERS, "retention.ms", "1000")
    assert not seen(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND, authors={key: Author("carol", 7, START)})
    assert seen(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND, authors={(ORDERS, "retention.ms", "5"): Author("carol", 7, START)})


@pytest.mark.parametrize(
    ("before", "then", "words"),
    [
        (
            topic_configs(cleanup_policy="delete"),
            topic_configs(cleanup_policy="compact"),
            "topic orders: cleanup.policy changed, and nothing is written to orders since",
        ),
        (
            topic_configs(max_message_bytes="1000000"),
            topic_configs(max_message_bytes="100"),
            "topic orders: max.message.bytes changed, and nothing is written to orders since",
        ),
        (
            credential(is_there=True),
            credential(is_there=False),
            "user alice: credential deleted, and nothing is written to orders since",
        ),
        (
            quota(None),
            quota(0.05),
            "quota of user <default>: request_percentage changed, and nothing is written to orders since",
        ),
    ],
)
def test_a_topic_that_falls_silent_at_a_change_has_it_as_its_cause(before: Change, then: Change, words: str) -> None:
    (claim,) = seen(before, then, stops=True)
    assert (claim.title, claim.severity, claim.certainty) == (words, Severity.HIGH, Certainty.LIKELY)


def test_a_new_credential_stops_no_producer() -> None:
    assert not seen(credential(is_there=False), credential(is_there=True), stops=True)


def test_a_topic_made_again_under_a_reader_is_named_with_the_group() -> None:
    (claim,) = seen(as_it_was, made_again)
    assert claim.title.startswith("topic orders: deleted and made again: ")
    assert "read by group billing (1 member)" in claim.title
    assert not claim.next, "no edit brings back the records"


def test_a_topic_that_was_seen_deleted_and_is_there_again_was_made_again() -> None:
    """The group is beyond the end of the new topic: one row has both partitions, and no step loses records."""

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


# -- laws --------------------------------------------------------------------------------------------------------------

_STATES: Mapping[str, Callable[[int], Change]] = {
    "retention": lambda n: topic_configs(retention_ms=str(1000 * (n + 1))),
    "quota": lambda n: quota(None if n == 0 else 0.01 * n),
    "credential": lambda n: credential(is_there=n == 0),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(_STATES)), st.integers(0, 3)), max_size=12))
def test_whatever_is_changed_and_taken_back_leaves_no_change(steps: list[tuple[str, int]]) -> None:
    """At each poll one value changes; at the end all are as at first."""
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
    ],
)
def test_the_edit_that_would_have_made_a_change(difference: Difference, edit: edits.Edit | None) -> None:
    assert edit_of(difference) == edit


def test_a_value_in_a_brokers_file_is_no_change_of_a_client() -> None:
    def one(value: str) -> Change:
        from console.model.codes import STATIC_BROKER_CONFIG

        entries = samples.config_set({"num.io.threads": value}, STATIC_BROKER_CONFIG)
        return lambda snapshot, _: replace(snapshot, configs={broker_resource(1): entries})

    assert not changes_between(one("8"), one("1"))

    def dynamic(value: str) -> Change:
        entries = samples.config_set({"num.io.threads": value}, DYNAMIC_BROKER_CONFIG)
        return lambda snapshot, _: replace(snapshot, configs={broker_resource(1): entries})

    assert changes_between(dynamic("8"), dynamic("1"))
