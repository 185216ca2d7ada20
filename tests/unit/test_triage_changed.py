"""Tests of changes by clients: kac judges them by the rules of plans, keeps them until another change reverts them, and
names them as the cause of later symptoms of the entities that they affect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model import codes
from console.model.changes import FeatureTarget, GroupOffsetTarget, MoveTarget, ScramUser, TopicTarget, VoterTarget
from console.model.cluster import (
    BrokerVersion,
    Group,
    GroupLag,
    GroupMember,
    Partition,
    PartitionLag,
    QuorumReplica,
    Reassignment,
    ScramCredential,
    Topic,
)
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
    ConfigSource,
    ScramMechanism,
)
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, broker_resource, own_source, topic_resource
from console.model.coordinators import OFFSETS
from console.model.observed_logs import LogOffsets
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.rates import Rates, with_dirs
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, trends_after
from console.model.tokens import DelegationToken, TokenTarget
from console.plan import edits
from console.plan.kinds.voters import LeaveQuorum
from console.triage.begun_moves import begun_moves
from console.triage.cause import Claim
from console.triage.causes import changed
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
    """Return the snapshot of a healthy cluster whose topic orders has records."""
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


def credential(*, is_there: bool, of: ScramMechanism = ALICE.mechanism) -> Change:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return replace(snapshot, scram={"alice": (ScramCredential(of, 4096),)} if is_there else {})

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
    """Return the claims of `changed-lately` on a cluster to which producers write. `before` makes its snapshot until
    the tick `WHEN`, and `then` from that tick on.

    Args:
        is_back: whether `before` makes the snapshot again from the tick `BACK` on.
        stops: whether the writes stop at `WHEN`.
        ticks: number of polls.
        authors: the authors of changes; None if no author is known.
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
            topic_configs(retention_ms="604800000"),
            topic_configs(retention_ms="604800"),
            Subject(topic="orders", key="retention.ms"),
            "topic orders: retention.ms changed: the retention seems to be in seconds: 604,800 ms are 10.08 min, and "
            "604,800 s are 7 days",
            (edits.SetConfig(ORDERS, "retention.ms", "604800000"),),
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
        (KEPT_FOR_A_DAY, topic_configs(retention_ms="600000")),
        (topic_configs(retention_ms="3600"), topic_configs(retention_ms="604800")),
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
    """Three changes give no row: a quota that returns to its former limit after a raise, a change from this console,
    and a new credential.
    """
    assert not seen(quota(0.05), quota(50.0), is_back=True)
    assert seen(quota(50.0), quota(0.05))
    key = (ORDERS, "retention.ms", "1000")
    assert not seen(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND, authors={key: Author("carol", 7, START)})
    assert seen(KEPT_FOR_A_DAY, KEPT_FOR_A_SECOND, authors={(ORDERS, "retention.ms", "5"): Author("carol", 7, START)})
    assert not seen(credential(is_there=False), credential(is_there=True), stops=True)


def key(name: str, was: str, now: str) -> tuple[Change, Change]:
    """Return two changes: one gives a config of topic orders its former value, the other its new value."""
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
    """Return a change that sets a config to these values on brokers 1, 2, and so on; as a dynamic value by default."""

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


@pytest.mark.parametrize(
    ("broker", "now", "stops", "is_named"),
    [
        pytest.param(2, "A://h:1,B://pod.internal:2", True, True, id="another host"),
        pytest.param(2, "A://h:1,B://h:2,C://h:3", True, False, id="a listener in addition"),
        pytest.param(3, "A://h:1,B://pod.internal:2", True, False, id="of another broker"),
        pytest.param(2, "A://h:1,B://pod.internal:2", False, False, id="producers go on"),
    ],
)
def test_a_new_address_is_named_if_nothing_is_written_to_what_its_broker_leads(
    broker: int, now: str, *, stops: bool, is_named: bool
) -> None:
    """The partitions that broker 2 leads get no record from `WHEN` on, and the others go on."""
    led = {each.number: each.leader for each in healthy().topics["orders"].partitions}

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        values = ["A://h:1,B://h:2"] * 3
        values[broker - 1] = now if tick >= WHEN else values[broker - 1]
        return of_brokers(*values, key=ADVERTISED, source=STATIC_BROKER_CONFIG)(snapshot, tick)

    def end(number: int, tick: int) -> int:
        return 100 + 50 * (min(tick, WHEN) if led[number] == 2 and stops else tick)

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {("orders", n): LogOffsets(0, end(n, at), end(n, at)) for n in led}))

    found = diagnose(watched(change, WHEN + 14, before=change(healthy(), 0), facts=facts)).causes
    claims = [each.claim for each in found if each.claim.cause == "changed-lately"]
    assert any("nothing is written to orders/" in each.title for each in claims) is is_named
    assert any("resolve the new host" in each.fact for claim in claims for each in claim.evidence) is is_named
    assert len(claims) == is_named


@pytest.mark.parametrize(
    ("ends", "renewed", "newer", "members", "is_named"),
    [
        (WHEN - 1, False, False, False, True),  # it passed its end, and is listed still
        (40, False, False, False, False),  # it lasts
        (WHEN - 1, True, False, False, False),
        (WHEN - 1, False, True, False, False),  # its owner has another one
        (WHEN - 1, False, False, True, False),  # who is connected goes on
    ],
)
@pytest.mark.parametrize("is_purged", [True, False])
def test_a_token_that_ended_is_named_with_groups_that_lost_their_members(
    ends: int, *, renewed: bool, newer: bool, members: bool, is_named: bool, is_purged: bool
) -> None:
    def token(id_: str, made: int, until: int) -> DelegationToken:
        times = test_triage.now_ms(made), test_triage.now_ms(until), test_triage.now_ms(1_000)
        return DelegationToken(id_, "User:alice", "User:alice", *times)

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lagging = committed({0: min(500 * tick, 500 * WHEN)}, 500 * tick, members=members or tick < WHEN)
        tokens = [token("t", -100, 60 if renewed and tick >= 2 else ends)]
        if is_purged and not renewed and tick > ends:
            tokens = []
        tokens += [token("u", 1, 60)] if newer else []
        known = replace(lagging(snapshot, tick), tokens={each.id: each for each in tokens})
        return replace(known, read_at={**known.read_at, "tokens": START + tick * TICK})

    def with_times(snapshot: Snapshot, tick: int) -> Snapshot:
        known = change(snapshot, tick)
        return replace(known, read_at={**known.read_at, **dict.fromkeys(test_triage.PARTS, START + tick * TICK)})

    causes = diagnose(watched(with_times, 20, before=with_times(healthy(), 0))).causes
    claims = [each.claim for each in causes if each.claim.cause == "changed-lately"]
    at = "2026-03-01T03:00:20+00:00"
    title = f"token of User:alice: ended at {at}"
    assert [each.title.startswith(title) for each in claims] == [True] * is_named, [each.title for each in claims]
    for each in claims:
        assert each.title.endswith("before group billing fell behind")
        assert each.certainty is Certainty.POSSIBLE
        assert "`token create` makes another one" in each.next[0].text
        assert [one.source for one in each.evidence][:1] == ["DescribeDelegationToken, two looks"]


@pytest.mark.parametrize(
    ("expires", "other", "ended"),
    [(1_000, None, 1), (2**63 - 1, None, 1), (0.5, None, 0.5), (1_000, 500, None), (1_000, 0.5, 1)],
    ids=["expired by a request", "that never ended", "at its end", "another one is valid", "another one ended, too"],
)
def test_a_token_that_is_gone_ended_at_its_end_or_before(
    expires: float, other: float | None, ended: float | None
) -> None:
    """A delegation token that disappears gives a change with the time of its end only if it was deleted before it
    expired. Times are in polls; very large ones are ms since 1970.
    """
    start = round(START.timestamp() * 1000)
    tick = round(TICK.total_seconds() * 1000)

    def token(id_: str, end: float, issued: int) -> DelegationToken:
        until = round(start + end * tick) if end < 2**62 else round(end)
        return DelegationToken(id_, "User:alice", "User:alice", start - issued, until, until)

    def change(*tokens: DelegationToken) -> Change:
        known = {each.id: each for each in tokens}
        return lambda snapshot, _: replace(snapshot, tokens=known, read_at={**snapshot.read_at, "tokens": START})

    older = (token("u", other, 1_000),) if other is not None else ()
    found = changes_between(change(token("t", expires, 500), *older), change(*older))
    times = [int(each.was or 0) for each in found if each.place.about == TokenTarget("t")]
    assert times == ([] if ended is None else [round(start + ended * tick)])


@pytest.mark.parametrize(
    ("was", "limit", "then", "is_named"),
    [
        (None, 100_000.0, 100_000, True),
        (5e6, 100_000.0, 110_000, True),
        (None, 100_000.0, 900_000, False),  # another client writes
        (None, 100_000.0, 30_000, False),  # the load fell by itself
        (None, 5e6, 100_000, False),  # far above use
        (50_000.0, 100_000.0, 100_000, False),  # it was raised
        (None, None, 100_000, False),
    ],
)
def test_a_lower_quota_at_which_a_topic_is_written_to_since(
    was: float | None, limit: float | None, then: int, *, is_named: bool
) -> None:
    """Triage names a lowered quota if a topic is written to more slowly since, at the rate that the quota allows.
    orders/0 is written to with 1 MB per second before, and with the rate `then` (bytes/s) after it.
    """

    def load(poll: int) -> int:
        return 1_000_000 if poll < WHEN else then

    assert not slowed_down(load, was, limit, WHEN + 20)
    claims = slowed_down(load, was, limit, WHEN + 23)
    assert [each.title for each in claims] == [
        "quota of user <default>: producer_byte_rate changed, and orders is written to more slowly since, as it lets"
    ] * is_named
    for each in claims:
        assert (each.certainty, each.severity) == (Certainty.LIKELY, Severity.HIGH)
        assert any("977 KiB/s were written to orders before" in one.fact for one in each.evidence), each.evidence
        ask, back = each.next
        assert "ask who set quota of user <default>" in ask.text
        assert back.edits


def slowed_down(
    load: Callable[[int], int], was: float | None, limit: float | None, ticks: int, entity: QuotaEntity = EVERYBODY
) -> list[Claim]:
    """Return the claims after a producers' quota changed from `was` to `limit` (bytes/s, None for no quota) at `WHEN`.
    load: poll -> the bytes per second written until it.
    """
    rates, size = [Rates()], 0
    for poll in range(ticks + 2):
        size += 5 * load(poll - 1)
        dirs = {broker: (samples.held(("orders", 0, size)),) for broker in (1, 2, 3)}
        rates.append(with_dirs(rates[-1], healthy().topics, dirs, START + poll * TICK))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        quota_ = limit if tick >= WHEN else was
        quotas = {entity: {"producer_byte_rate": quota_}} if quota_ is not None else {}
        at = {**snapshot.read_at, "quotas": START + tick * TICK}
        return replace(snapshot, rates=rates[tick + 1], quotas=quotas, read_at=at)

    causes = diagnose(watched(change, ticks, before=change(healthy(), 0))).causes
    return [each.claim for each in causes if each.claim.cause == "changed-lately"]


@pytest.mark.parametrize(
    ("load", "ticks", "is_named"),
    [
        (lambda poll: 1_000_000 if poll < WHEN else 100_000, 40, True),
        (lambda poll: 1_000_000 if poll < WHEN else 100_000 if poll < 40 else 20_000, 60, True),
        (lambda poll: 1_000_000 if poll < WHEN else 100_000 if poll < 40 else 900_000, 60, False),
        (lambda poll: 1_000_000 if not WHEN <= poll < WHEN + 14 else 100_000, 60, False),
        (lambda poll: 1_000_000 if poll < 60 else 100_000, 100, False),
    ],
    ids=["at the limit", "below it later", "as before later", "for less than a minute", "minutes after the change"],
)
def test_a_quota_of_one_client_is_possible_if_a_topic_stays_at_it_from_the_change_on(
    load: Callable[[int], int], ticks: int, *, is_named: bool
) -> None:
    claims = slowed_down(load, None, 100_000.0, ticks, QuotaEntity.of({"client-id": "batch"}))
    assert [(each.certainty, each.severity) for each in claims] == [(Certainty.POSSIBLE, Severity.WARNING)] * is_named


def test_many_lower_quotas_share_the_load_before_them() -> None:
    rates = Rates()
    for poll in range(6):
        dirs = {broker: (samples.held(("orders", 0, 5_000_000 * poll)),) for broker in (1, 2, 3)}
        rates = with_dirs(rates, healthy().topics, dirs, START + poll * TICK)

    def change(value: float) -> Change:
        quotas = {QuotaEntity.of({"client-id": f"c{number}"}): {"producer_byte_rate": value} for number in range(30)}
        read = {"quotas": START}
        return lambda snapshot, _: replace(snapshot, quotas=quotas, rates=rates, read_at={**snapshot.read_at, **read})

    made = changes_between(change(5e6), change(1e5))
    assert len(made) == 30
    first, *others = (each.limits for each in made)
    assert first is not None
    assert first.leaders == {1}
    assert all(each is not None and each.written is first.written for each in others)


def placed(*replicas: int, isr: tuple[int, ...] | None = None) -> Change:
    """Return a change that gives each partition of orders these replicas; the first leads. isr: None for all
    replicas.
    """

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return test_triage.each_of_orders(
            snapshot, lambda p: p._replace(replicas=replicas, isr=replicas if isr is None else isr, leader=replicas[0])
        )

    return change


ADDING = (Reassignment("orders", 0, (1, 2, 3, 4), (3, 4), (1, 2)),)


@pytest.mark.parametrize(
    ("before", "then", "min_isr", "moves", "words", "command"),
    [
        (placed(1, 2, 3), placed(1, 2), "2", (), "it has 2 replicas; no client can", "replication topic orders 3"),
        (placed(1, 2, 3), placed(1, 2), "1", (), "", ""),  # one may be away
        (placed(1, 2, 3), placed(1, 2, 4), "2", (), "", ""),
        (placed(1, 2, 3, isr=(1, 2)), placed(1, 2), "2", (), "", ""),  # a dead one was taken out
        (placed(1, 2, 3, 4, isr=(1, 2)), placed(3, 4), "2", (), "", ""),  # both places while it moved
        (placed(1, 2, 3, 4, isr=(1, 2)), placed(3, 4), "2", ADDING, "", ""),
        (placed(1, 2, 3), placed(1, 3, 5), "2", (), "are in one rack: without it they are gone", ""),
        (placed(1), placed(1, 3), "1", (), "are in one rack: without it they are gone", ""),
        (placed(1, 3, 5), placed(3, 1), "1", (), "", ""),  # it was in one before
        (placed(1, 2, 3), placed(2), "1", (), "left with one replica, on broker 2", "replication topic orders 3"),
        (placed(1), placed(2), "1", (), "", ""),
    ],
)
def test_replicas_that_were_moved_to_too_few_brokers_or_one_rack(
    before: Change, then: Change, min_isr: str, moves: tuple[Reassignment, ...], words: str, command: str
) -> None:
    """Triage names a reassignment that leaves one replica, too few for min ISR, or all in one rack, and proposes the
    way back. Brokers 1, 3 and 5 are in one rack, 2, 4 and 6 in the other.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = topic_configs(min_insync_replicas=min_isr)(snapshot, tick)
        known = replace(known, reassignments=moves if tick < WHEN else ())
        return (then if tick >= WHEN else before)(known, tick)

    base = replace(test_triage.healthy(brokers=6, racks=2), log_dirs={})
    observations = watched(change, 12, before=change(base, 0))
    claims = [each.claim for each in diagnose(observations).causes if each.claim.cause == "changed-lately"]
    assert [words in each.title for each in claims] == [True] * bool(words), [each.title for each in claims]
    assert [each.next[0].command for each in claims] == [command] * bool(words)
    back = watched(lambda s, t: before(s, t) if t > 10 else change(s, t), 12, before=change(base, 0))
    assert not [each for each in diagnose(back).causes if each.claim.cause == "changed-lately"]


@pytest.mark.parametrize(
    ("stages", "is_named"),
    [
        (((1, 2), (1, 2, 3), (3, 2)), False),
        (((1, 2, 3), (1, 2, 3, 4), (3, 4)), True),
        (((1,), (1, 2), (2,)), False),
    ],
    ids=["as many as before", "fewer", "one as before"],
)
def test_a_move_that_no_list_showed_takes_away_what_it_added(
    stages: tuple[tuple[int, ...], ...], *, is_named: bool
) -> None:
    """A reassignment that no poll saw in the list is recognised by polls in which the old and the new replicas are
    all there. Triage names it only if fewer replicas than before are left at the end.
    """
    first, both, last = stages

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = topic_configs(min_insync_replicas="2")(snapshot, tick)
        return placed(*(first if tick < WHEN else both if tick < WHEN + 2 else last))(known, tick)

    base = replace(test_triage.healthy(brokers=6, racks=2), log_dirs={})
    observations = watched(change, WHEN + 8, before=change(base, 0))
    found = [each.claim for each in diagnose(observations).causes if each.claim.cause == "changed-lately"]
    assert bool(found) is is_named


@pytest.mark.parametrize(
    ("away", "is_rescue"),
    [(range(WHEN + 4), True), (range(0), False), (range(WHEN + 10, WHEN + 15), False)],
    ids=["before", "never", "only after it"],
)
def test_an_unclean_election_that_is_allowed_for_a_topic_without_a_leader_is_a_rescue(
    away: range, *, is_rescue: bool
) -> None:
    def set_to(value: str) -> Change:
        def change(snapshot: Snapshot, tick: int) -> Snapshot:
            known = topic_configs(unclean_leader_election_enable=value)(snapshot, tick)
            return test_triage.first_of_orders(known, leader=-1 if tick in away else 1)

        return change

    (claim,) = seen(set_to("false"), set_to("true"), ticks=40)
    assert (claim.severity is Severity.INFO) is is_rescue
    assert any(step.edits for step in claim.next) is not is_rescue
    assert any("is over: orders/0 had no leader" in step.text for step in claim.next) is is_rescue


@pytest.mark.parametrize(("was", "is_told"), [(1, True), (3, False)])
def test_a_state_topic_of_one_partition_that_grew_is_copied_to_another(was: int, *, is_told: bool) -> None:
    def grown(count: int) -> Change:
        def change(snapshot: Snapshot, _tick: int) -> Snapshot:
            state = Topic("connect-configs", tuple(Partition(n, 1, (1,), (1,)) for n in range(count)), topic_id="c")
            return replace(snapshot, topics={**snapshot.topics, state.name: state})

        return change

    (claim,) = seen(grown(was), grown(6))
    assert any("copy the records of connect-configs to a new topic" in step.text for step in claim.next) is is_told


EXTERNAL = "listener.name.external.max.connections"


@pytest.mark.parametrize(
    ("key", "was", "now", "members", "is_named"),
    [
        (EXTERNAL, "2147483647", "20", False, True),
        (EXTERNAL, "2147483647", "20", True, False),  # who is connected stays
        (EXTERNAL, "20", "2147483647", False, False),
        ("max.connections", "2147483647", "20", False, True),
        ("listener.name.external.num.network.threads", "3", "20", False, False),
    ],
)
def test_a_limit_of_connections_holds_back_members_that_come_back(
    key: str, was: str, now: str, *, members: bool, is_named: bool
) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lags = committed({0: min(500 * tick, 500 * WHEN)}, 500 * tick, members=members or tick < WHEN)
        return of_brokers(now if tick >= WHEN else was, key=key)(lags(snapshot, tick), tick)

    titles = [claim.title for claim in verdict_of(change, 20)]
    assert (f"broker 1: {key} changed right before group billing fell behind" in titles) is is_named


@pytest.mark.parametrize(
    ("key", "was", "now", "is_named"),
    [
        ("num.io.threads", "8", "1", True),
        ("num.io.threads", "8", "6", False),
        ("num.io.threads", "1", "8", False),
        ("num.network.threads", "3", "1", True),
        ("listener.name.external.num.network.threads", "6", "2", True),
    ],
)
def test_few_threads_of_a_broker_hold_back_readers(key: str, was: str, now: str, *, is_named: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lags = committed({0: min(500 * tick, 500 * WHEN)}, 500 * tick)
        return of_brokers(now if tick >= WHEN else was, key=key)(lags(snapshot, tick), tick)

    titles = [claim.title for claim in verdict_of(change, 20)]
    assert any(f"broker 1: {key} changed right before" in each for each in titles) is is_named, titles


@pytest.mark.parametrize(
    ("feature", "was", "now", "type_", "is_named"),
    [
        ("group.version", "1", "0", "consumer", True),
        ("group.version", "1", "0", "classic", False),
        ("group.version", "0", "1", "consumer", False),
        ("streams.version", "1", "0", "consumer", False),
    ],
)
def test_a_lower_level_of_a_feature_stops_groups_that_need_it(
    feature: str, was: str, now: str, type_: str, *, is_named: bool
) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lagging = committed({0: min(500 * tick, 500 * WHEN)}, 500 * tick, members=tick < WHEN)(snapshot, tick)
        groups = {name: replace(each, type=type_) for name, each in lagging.groups.items()}
        late = 3  # broker 1 learns of the change later, and answers with its former epoch until then
        versions = {
            n: BrokerVersion("4.3", {}, {}, {feature: int(now if is_new else was)}, 20 + is_new)
            for n, is_new in ((1, tick >= WHEN + late), (2, tick >= WHEN))
        }
        at = START + tick * TICK
        return replace(lagging, groups=groups, versions=versions, read_at={**lagging.read_at, Part.VERSIONS: at})

    def with_times(snapshot: Snapshot, tick: int) -> Snapshot:
        known = change(snapshot, tick)
        return replace(known, read_at={**known.read_at, **dict.fromkeys(test_triage.PARTS, START + tick * TICK)})

    observations = watched(with_times, 20, before=with_times(healthy(), 0))
    titles = [each.claim.title for each in diagnose(observations).causes if each.claim.cause == "changed-lately"]
    assert any("group billing fell behind" in each for each in titles) is is_named, titles


def levels_seen(*polls: Mapping[int, tuple[int, Mapping[str, int]]]) -> Sequence[JudgedChange]:
    """Return the changes of feature levels that these polls give. polls: each is node -> the epoch and the levels that
    it answers.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = polls[min(tick, len(polls) - 1)]
        versions = {node: BrokerVersion("4.3", {}, {}, levels, epoch) for node, (epoch, levels) in known.items()}
        read_at = {**snapshot.read_at, Part.VERSIONS: START + tick * TICK}
        return replace(snapshot, versions=versions, read_at=read_at)

    made = watched(change, len(polls) + 2, before=change(healthy(), 0)).past.judged
    return [each for each in made if isinstance(each.place.about, FeatureTarget)]


OLD_LEVELS, NEW_LEVELS = {"metadata.version": 25, "group.version": 1}, {"metadata.version": 25}


@pytest.mark.parametrize(
    ("between", "after"),
    [
        ({1: (-1, {})}, {1: (20, OLD_LEVELS), 2: (20, OLD_LEVELS)}),  # a node that starts
        ({2: (10, NEW_LEVELS)}, {1: (20, OLD_LEVELS), 2: (10, NEW_LEVELS)}),  # one that lags answers alone
    ],
)
def test_levels_that_the_newest_nodes_did_not_answer_are_no_change(
    between: Mapping[int, tuple[int, Mapping[str, int]]], after: Mapping[int, tuple[int, Mapping[str, int]]]
) -> None:
    assert not levels_seen(after, between)
    assert not levels_seen(after, between, after)


@pytest.mark.parametrize(("is_lowered", "back"), [(True, (edits.SetFeature("group.version", 1),)), (False, ())])
def test_a_level_that_was_lowered_is_offered_again(is_lowered: bool, back: tuple[edits.SetFeature, ...]) -> None:
    """The step for a lowered feature level raises it again; for a raised one there is no such step, because clients may
    need it by now.
    """
    was, now = (OLD_LEVELS, NEW_LEVELS) if is_lowered else (NEW_LEVELS, OLD_LEVELS)
    (found,) = levels_seen({1: (20, was), 2: (20, was)}, {1: (20, was), 2: (21, now)}, {1: (21, now), 2: (21, now)})
    assert found.back == back


@pytest.mark.parametrize(("left", "comes", "is_named"), [(3, None, True), (3, 9, False), (5, None, False)])
def test_a_removed_voter_is_a_row_if_no_other_may_fail(left: int, comes: int | None, *, is_named: bool) -> None:
    """A removed voter is a row if the quorum then can't lose another voter: of three voters one leaves and, perhaps in
    time, another one comes; of five one leaves.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        ids = [*range(1, left + 1)]
        if tick >= WHEN:
            ids = ids[:-1] + ([9] if comes is not None and tick >= comes else [])
        now = test_triage.now_ms(tick)
        voters = tuple(QuorumReplica(n, 100, 0, now, now, f"of-{n}") for n in ids)
        return test_triage.with_quorum(snapshot, voters=voters)

    titles = {ticks: [claim.title for claim in verdict_of(change, ticks)] for ticks in (12, 20)}
    assert not titles[12]  # it may be replaced
    assert any("no voter may fail any more" in each for each in titles[20]) is is_named, titles


@pytest.mark.parametrize(("value", "is_said"), [(0.5, True), (50.0, False)])
def test_a_low_quota_for_changes_is_said_among_what_no_api_shows(value: float, *, is_said: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = {**snapshot.read_at, "quotas": START + tick * TICK}
        quotas = {EVERYBODY: {"controller_mutation_rate": value}} if tick >= WHEN else {}
        return replace(snapshot, quotas=quotas, read_at=at)

    observations = watched(change, 10, before=change(healthy(), 0))
    said = [each.what for each in diagnose(observations).unknowable]
    assert any("controller_mutation_rate=0.5" in each for each in said) is is_said


@pytest.mark.parametrize(
    ("was", "is_own", "count"), [(1.0, False, 0), (None, False, 3), (5.0, False, 3), (5.0, True, 0)]
)
def test_few_low_quotas_are_said_of_many_that_other_clients_lowered(
    was: float | None, count: int, *, is_own: bool
) -> None:
    entities = [QuotaEntity.of({"user": f"u{number}"}) for number in range(20)]
    author = Author("alice on host", 4, START)
    authors = {(each, "controller_mutation_rate", "4.0"): author for each in entities} if is_own else {}

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = {**snapshot.read_at, "quotas": START + tick * TICK}
        value = 4.0 if tick >= WHEN else was
        quotas = {each: {"controller_mutation_rate": value} for each in entities} if value is not None else {}
        return replace(snapshot, quotas=quotas, read_at=at)

    observations = watched(change, 10, before=change(healthy(), 0), facts=lambda _: Facts(authors=authors))
    said = [each.what for each in diagnose(observations).unknowable if "controller_mutation_rate" in each.what]
    assert len(said) == count


AUTHORIZER, LAG_TIME, ADVERTISED = "authorizer.class.name", "replica.lag.time.max.ms", "advertised.listeners"
SIZE = "group.max.size"


def rolled(was: str | None, now: str | None, key: str, *, first: int = 4) -> Change:
    """Return a change in which brokers 1, 2 and 3 are restarted in turn, each for a poll, with another value of a key
    in their files. was, now: the values; None if the file lacks the key. first: the tick of the first restart.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        restarted = {broker for broker in (1, 2, 3) if tick > first + 2 * (broker - 1)}
        away = [broker for broker in (1, 2, 3) if tick == first + 2 * (broker - 1)]
        found = {
            broker_resource(broker): samples.config_set({key: value} if value is not None else {}, STATIC_BROKER_CONFIG)
            for broker in (1, 2, 3)
            for value in (now if broker in restarted else was,)
        }
        known = replace(snapshot, configs={**snapshot.configs, **found})
        return test_triage.without_broker(known, away) if away else known

    return change


@pytest.mark.parametrize(
    ("key", "was", "now", "is_named"),
    [
        (AUTHORIZER, None, "org.apache.kafka.metadata.authorizer.StandardAuthorizer", True),
        (AUTHORIZER, "org.apache.kafka.metadata.authorizer.StandardAuthorizer", None, False),  # all may do all
        ("ssl.principal.mapping.rules", "DEFAULT", "RULE:^CN=(.*?),.*$/$1/", True),
        ("sasl.enabled.mechanisms", "SCRAM-SHA-256,SCRAM-SHA-512", "SCRAM-SHA-512", True),
        ("sasl.enabled.mechanisms", "SCRAM-SHA-512", "SCRAM-SHA-256,SCRAM-SHA-512", False),
        ("listener.security.protocol.map", "A:PLAINTEXT", "A:PLAINTEXT,B:SSL", False),
        (ADVERTISED, "A://h:1,B://h:2", "A://h:1,B://pod.internal:2", False),  # only what its broker leads counts
        ("super.users", None, "User:admin", False),
        ("super.users", "User:admin", None, True),
        (SIZE, "500", "2", True),
        (SIZE, "2", "500", False),
        ("num.io.threads", "8", "16", False),
        ("listener.name.external.max.connections", None, "20", True),
        ("max.connections", "20", None, False),
    ],
)
@pytest.mark.parametrize("ticks", [14, 30])
def test_a_line_of_brokers_files_that_clients_meet_after_the_restart(
    key: str, was: str | None, now: str | None, ticks: int, *, is_named: bool
) -> None:
    """If members leave during a rolling restart and do not come back, triage names the changed line of the brokers'
    files half a minute after the last restart.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lags = committed({0: min(500 * tick, 500 * 6)}, 500 * tick, members=tick < 6)
        return rolled(was, now, key)(lags(snapshot, tick), tick)

    mine = verdict_of(change, ticks)
    found = [each for each in mine if each.cause == "changed-lately"]
    assert bool(found) is (is_named and ticks == 30), [each.title for each in mine]
    for each in found:
        assert each.title == f"brokers 1, 2, 3: {key} changed before group billing fell behind"
        assert each.certainty is (Certainty.LIKELY if key == AUTHORIZER else Certainty.POSSIBLE)
        assert each.severity is Severity.WARNING
        assert "files of brokers 1, 2, 3" in each.next[0].text


def test_members_that_are_there_did_not_meet_the_line() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lags = committed({0: min(500 * tick, 500 * 6)}, 500 * tick, members=True)
        return rolled(None, "a.Class", AUTHORIZER)(lags(snapshot, tick), tick)

    assert "changed-lately" not in {each.cause for each in verdict_of(change, 30)}


@pytest.mark.parametrize(("now", "out_from", "is_named"), [("500", 20, True), ("500", 5, False), ("60000", 20, False)])
def test_replicas_that_leave_an_isr_long_after_the_restart_may_have_less_time(
    now: str, out_from: int, *, is_named: bool
) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = rolled("30000", now, LAG_TIME)(snapshot, tick)
        if tick < out_from:
            return known
        return test_triage.first_of_orders(known, isr=tuple(b for b in (1, 2, 3) if b != 3), leader=1)

    titles = [each.title for each in verdict_of(change, 30) if each.cause == "changed-lately"]
    assert titles == ([f"brokers 1, 2, 3: {LAG_TIME} changed right before"] if is_named else [])


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
    """If a topic is deleted and created again and a group's offset is beyond the end of the new topic, triage names the
    change as the only cause, and its step loses no records.
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
    return changes_after((), Poll(START, old), Poll(START + TICK, replace(new, read_at=old.read_at))).judged


# -- offsets that a group did not reach by reading -------------------------------------------------------------------


def committed(at: Mapping[int, int], end: int = 8_000, *, members: bool = True) -> Change:
    """Return a change that gives the group billing these committed offsets in topic orders. at: partition -> offset.
    members: whether it has members.
    """

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


def rereading(snapshot: Snapshot, tick: int, *, by_member: bool = False) -> Snapshot:
    """Return the snapshot at a tick of a group that has read everything, whose offsets are set back at `WHEN`, and
    which reads partition 0 again. by_member: whether the same member has the partitions before and after.
    """
    if tick < WHEN:
        return committed({0: 8_000, 1: 8_000})(snapshot, tick)
    now = committed({0: min(8_000, 100 * (tick - WHEN)), 1: 0})(snapshot, tick)
    return now if by_member else with_another_member(now)


def with_another_member(snapshot: Snapshot) -> Snapshot:
    (lag,) = snapshot.lags.values()
    rows = tuple(each._replace(member="m2") for each in lag.partitions)
    return replace(snapshot, lags={"billing": GroupLag(rows)})


@pytest.mark.parametrize("start", [0, 50])
def test_a_group_whose_own_client_set_it_back_is_told_so(start: int) -> None:
    """If a group's offset is set back while its member stays, the row says that its own client did it: as certain if it
    began again at the log's first record, else as possible. An older commit that only arrived late gives no row.
    start: the first offset of the log.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return rereading(snapshot, tick, by_member=True)

    def facts(tick: int) -> Facts:
        logs = {("orders", n): LogOffsets(0 if not start else -1_000, 8_000, 8_000) for n in (0, 1)}
        return Facts(test_triage.logs_seen(tick, lambda _: logs))

    def late(snapshot: Snapshot, tick: int) -> Snapshot:
        at = 7_000 if tick == WHEN else 8_000 + 10 * tick
        return committed({0: at, 1: 8_000}, end=9_000)(snapshot, tick)

    found = diagnose(watched(change, WHEN + 6, before=change(healthy(), 0), facts=facts)).causes
    (claim,) = [each.claim for each in found if each.claim.cause == "changed-lately"]
    assert ("its own client began again at the first record of 2 partitions" in claim.title) is (start == 0)
    assert ("set back by its own client" in claim.title) is (start > 0)
    assert claim.certainty is (Certainty.POSSIBLE if start else Certainty.CERTAIN)
    assert "stop its members" in claim.next[0].text
    for ticks in range(WHEN, WHEN + 6):
        causes = diagnose(watched(late, ticks, before=late(healthy(), 0), facts=facts)).causes
        assert not [each for each in causes if each.claim.cause == "changed-lately"]


@pytest.mark.parametrize("end", [3_000, 7_999, 8_000])
def test_a_group_that_begins_again_because_its_log_became_shorter_is_an_effect(end: int) -> None:
    """If a log loses the records up to a group's offset, the row of the log names the group, and the group has no row
    of its own. If the log keeps them, the group's client set it back. end: the end of the log from `WHEN` on.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return committed({0: 8_000 if tick < WHEN else 100 * (tick - WHEN), 1: 8_000})(snapshot, tick)

    def facts(tick: int) -> Facts:
        def logs(each: int) -> Mapping[tuple[str, int], LogOffsets]:
            ends = {0: end if each >= WHEN else 8_000, 1: 8_000}
            return {("orders", n): LogOffsets(0, at, at) for n, at in ends.items()}

        return Facts(test_triage.logs_seen(tick, logs))

    causes = diagnose(watched(change, WHEN + 6, before=change(healthy(), 0), facts=facts)).causes
    claims = {each.claim.cause: each.claim for each in causes}
    assert ("log-shortened" in claims) is ("changed-lately" not in claims) is (end < 8_000)
    if end < 8_000:
        facts_of = [each.fact for each in claims["log-shortened"].evidence]
        assert "group billing began again at 0: its offset 8,000 was beyond the new end" in facts_of


def test_a_late_commit_in_a_log_of_few_records_is_no_new_begin() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return committed({0: 15 if tick < WHEN else 12, 1: 15}, end=15)(snapshot, tick)

    def facts(tick: int) -> Facts:
        return Facts(test_triage.logs_seen(tick, lambda _: {("orders", n): LogOffsets(0, 15, 15) for n in (0, 1)}))

    found = diagnose(watched(change, WHEN + 8, before=change(healthy(), 0), facts=facts)).causes
    assert all(each.claim.certainty is not Certainty.CERTAIN for each in found)
    assert not any("began again" in each.claim.title for each in found)


def test_offsets_that_a_tool_set_back_are_not_the_clients_after_its_own_late_commit() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < WHEN:
            return committed({0: 8_000, 1: 8_000})(snapshot, tick)
        at = 3_000 + 20 * (tick - WHEN)
        now = committed({0: at - (300 if tick >= WHEN + 8 else 0), 1: at})(snapshot, tick)
        return with_another_member(now)

    (claim,) = [
        each.claim
        for each in diagnose(watched(change, WHEN + 14, before=change(healthy(), 0))).causes
        if each.claim.cause == "changed-lately"
    ]
    assert "its own client" not in claim.title
    assert claim.certainty is Certainty.CERTAIN


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
        at = 8_000 if tick < WHEN or tick > WHEN + 3 else 2_000 * (tick - WHEN)
        now = committed({0: at})(snapshot, tick)
        return now if tick < WHEN else with_another_member(now)

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
    """Return a change: a group commits every ten seconds, loses its members, and a minute later its committed offset is
    ahead of what it read.

    Args:
        to: the offset at the tick `AHEAD`; the group continues from it once it has members.
        back_at: the tick at which a client sets the group back to its former offset.
        comes: the tick at which members join.
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
    """After a set-back, a member reads its partitions one after the other: a partition that has passed its former
    offset and does not advance meanwhile is no further cause.
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
    """Return a change: broker 2 stops at `WHEN`, and comes back two polls later with these fields."""

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
    words = "address changed from 127.0.0.1:9002 to 127.0.0.1:9999 right before it stopped answering"
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
    """If one value changes at each poll, and at the end all values are the first ones again, no change is left."""
    values = dict.fromkeys(_STATES, 0)
    known: tuple[JudgedChange, ...] = ()
    last = Poll(START, _of(values))
    for tick, (name, value) in enumerate([*steps, *((name, 0) for name in _STATES)], 1):
        values[name] = value
        poll = Poll(START + tick * TICK, _of(values))
        known = changes_after(known, last, poll).judged
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


def gone(*, had_members: bool = True, back_at: int = 1_000, begins: int = -1, minutes: str = "1") -> Change:
    """Return a change: a group with offsets and without members does not exist from the tick `WHEN` until `back_at`.

    Args:
        had_members: whether kac saw members of it before.
        back_at: the tick at which it exists again, with members; 1,000 stands for never.
        begins: its committed offset then; -1 for none.
        minutes: offsets.retention.minutes of the brokers.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = frozenset({"billing"} if had_members else ())
        snapshot = of_brokers(*(minutes,) * 3, key="offsets.retention.minutes", source=STATIC_BROKER_CONFIG)(
            snapshot, tick
        )
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


def test_a_group_that_a_client_deleted_may_be_one_that_nobody_needs() -> None:
    (claim,) = verdict_of(gone(minutes="10080"), WHEN + 8)
    assert claim.title.startswith("group billing: gone, with its offsets")
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.POSSIBLE)
    claims = verdict_of(gone(back_at=WHEN + 8, begins=850, minutes="10080"), WHEN + 12)
    (claim,) = [each for each in claims if each.cause == "changed-lately"]
    assert claim.certainty is Certainty.CERTAIN, "it is needed"


@pytest.mark.parametrize(
    "change",
    [gone(had_members=False), gone(back_at=WHEN + 8, begins=100), gone(back_at=WHEN + 8, begins=0)],
    ids=["never had a member", "has them back", "reads all again"],
)
def test_a_group_that_missed_nothing_is_no_row(change: Change) -> None:
    assert "changed-lately" not in {each.cause for each in verdict_of(change, WHEN + 12)}


@pytest.mark.parametrize(("others", "is_joined"), [(6, True), (3, False), (12, False)])
def test_a_group_that_may_join_a_grown_topic_with_another_one_falls_behind(others: int, *, is_joined: bool) -> None:
    """If orders grows from 6 to 12 partitions and a group that also reads users falls behind, triage names the growth
    if users has 6 partitions, because a join needs equal numbers. others: the number of partitions of users.
    """

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


@pytest.mark.parametrize(
    ("name", "count", "is_named"),
    [("billing-store-changelog", 6, True), ("billing-store-changelog", 12, False), ("other-store-changelog", 6, False)],
    ids=["of the former number", "of the new number", "of another application"],
)
def test_an_input_of_a_streams_application_that_grew_is_named_with_its_own_topic(
    name: str, count: int, *, is_named: bool
) -> None:
    """If orders grows from 6 to 12 partitions and a streams application that reads it ends, triage names the growth if
    the application has an internal topic with 6 partitions.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        orders = snapshot.topics["orders"]
        part = orders.partitions[0]
        own = replace(orders, name=name, topic_id="s", partitions=tuple(part._replace(number=n) for n in range(count)))
        grown = (*orders.partitions, *(part._replace(number=n) for n in range(6, 12)))
        now = replace(orders, partitions=grown) if tick >= WHEN else orders
        runs = tick < WHEN + 1
        rows = {0: (100 + 100 * min(tick, WHEN), 100 + 100 * tick)}
        moved = test_triage.moved(snapshot, rows, *(() if runs else ("Empty", "")))
        read = {**snapshot.read_at, "topics": START + tick * TICK}
        return replace(moved, topics={"orders": now, name: own}, read_at=read)

    causes = [each.claim for each in diagnose(watched(change, 20, before=change(healthy(), 0))).causes]
    found = [each for each in causes if "grown from 6 to 12 partitions right before group billing" in each.title]
    assert bool(found) is is_named
    for claim in found:
        assert any("is of the Kafka Streams application billing, and has 6" in each.fact for each in claim.evidence)
        assert "kafka-streams-application-reset" in claim.next[0].text


def test_replicas_that_were_moved_here_are_no_row() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = topic_configs(min_insync_replicas="2")(snapshot, tick)
        known = replace(known, read_at={**known.read_at, "reassignments": START + tick * TICK})
        return placed(1, 2, 3)(known, tick) if tick < WHEN else placed(1, 2)(known, tick)

    def claims(facts: Facts) -> list[Claim]:
        observations = watched(change, 12, before=change(healthy(), 0), facts=lambda _: facts)
        return [each.claim for each in diagnose(observations).causes if each.claim.cause == "changed-lately"]

    mine: dict[ChangeKey, Author] = {
        (MoveTarget("orders", number), "", "1,2"): Author("alice on host", 4, START) for number in range(6)
    }
    assert claims(Facts())
    assert not claims(Facts(authors=mine))


def test_a_move_has_its_author_from_its_beginning_to_its_end() -> None:
    """A reassignment gives one change when it begins, for which its author is looked up, and no further change when it
    ends.
    """
    read = {"topics": START, "reassignments": START}
    moving = (Reassignment("orders", 0, (1, 2, 3, 4), (4,), (3,)),)

    def state(*replicas: int, moves: tuple[Reassignment, ...] = ()) -> Snapshot:
        topic = Topic("orders", (Partition(0, 1, replicas, (1, 2, 3)),), topic_id="o")
        return replace(healthy(), topics={"orders": topic}, reassignments=moves, read_at=read)

    steps = [state(1, 2, 3), state(1, 2, 3, 4, moves=moving), state(1, 2, 4, moves=moving), state(1, 2, 4)]
    found = [list(begun_moves(old, new)) for old, new in pairwise(steps)]
    begun = Difference(Place(Kind.REPLICAS, MoveTarget("orders", 0)), "1,2,3", "1,2,4")
    assert found == [[begun], [], []]
    assert list(begun_moves(steps[0], steps[3])) == [begun], "a move that is done at once"
    assert not list(begun_moves(steps[0], steps[0]))


# -- changes that are not to blame, or are made on purpose ------------------------------------------------------------


def of_two_changes(*, size: bool = True, user: bool = True, members: bool = True) -> list[Claim]:
    """Return the claims on a cluster in which, at one poll, the limit of the topic's records rises (`size`) and a user
    is deleted (`user`), and since then the group reads nothing. members: whether the group keeps its members.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        is_changed = tick >= WHEN
        known = credential(is_there=not (is_changed and user))(snapshot, tick)
        known = topic_configs(max_message_bytes="9000000" if is_changed and size else "1000000")(known, tick)
        lags = {0: (100 + 100 * min(tick, WHEN), 100 + 100 * tick)}
        is_there = members or not is_changed
        moved = test_triage.moved(known, lags, *(() if is_there else ("Empty", "")))
        read = dict.fromkeys((*test_triage.PARTS, "scram"), START + tick * TICK)
        return replace(moved, read_at={**snapshot.read_at, **read})

    observations = watched(change, 40, before=change(healthy(), 0))
    return [each.claim for each in diagnose(observations).causes]


def test_two_changes_of_the_same_time_are_both_named_and_neither_is_taken_back() -> None:
    found = [each for each in of_two_changes() if each.cause == "changed-lately"]
    titles = {each.title: each for each in found}
    assert titles.keys() == {
        "topic orders: max.message.bytes changed right before group billing fell behind",
        "user alice: credential deleted right before group billing fell behind",
    }
    assert {each.certainty for each in found} == {Certainty.POSSIBLE}
    assert not any(step.edits for claim in found for step in claim.next)
    (step,) = titles["topic orders: max.message.bytes changed right before group billing fell behind"].next
    assert "user alice changed at about the same time (credential deleted)" in step.text
    (alone,) = (each for each in of_two_changes(size=False) if each.cause == "changed-lately")
    assert alone.next[0].text.startswith("set a password for alice again")


def test_a_user_whose_credential_is_of_another_mechanism_is_told_which() -> None:
    (claim,) = seen(credential(is_there=True), credential(is_there=True, of=ScramMechanism(2)), stops=True)
    assert claim.title == "user alice: credential deleted, and nothing is written to orders since"
    assert claim.next[0].text.startswith(
        "alice still has a password for SCRAM-SHA-512, which clients that log in with "
    )


def test_a_rival_for_one_group_takes_no_step_from_the_others() -> None:
    """If a lowered quota may delay five groups, and one of them also reads a topic whose codec changed, the quota keeps
    its step for the other groups.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        is_changed, at = tick >= WHEN, START + tick * TICK
        part = Partition(0, 1, (1, 2, 3), (1, 2, 3))
        lags, groups, behind = {}, {}, 100 * max(0, tick - WHEN)
        for number in range(5):
            topic, end = ("extra" if number == 0 else "orders"), 100 + 100 * tick
            lags[f"g{number}"] = GroupLag((PartitionLag(topic, 0, end - behind, end, behind, "m1"),))
            member = GroupMember("m1", "c", "/h", ((topic, 0),))
            groups[f"g{number}"] = Group(f"g{number}", "Stable", "consumer", coordinator=1, members=(member,))
        codec = samples.config_set({"compression.type": "zstd" if is_changed else "lz4"}, DYNAMIC_TOPIC_CONFIG)
        return replace(
            snapshot,
            topics={**snapshot.topics, "extra": Topic("extra", (part,), topic_id="x")},
            lags=lags,
            groups=groups,
            configs={topic_resource("extra"): codec},
            quotas={QuotaEntity.of({"client-id": "c"}): {"consumer_byte_rate": 5e5 if is_changed else 1e6}},
            read_at={**snapshot.read_at, **dict.fromkeys((*test_triage.PARTS, "quotas"), at)},
        )

    causes = diagnose(watched(change, 40, before=change(healthy(), 0))).causes
    (claim,) = [each.claim for each in causes if each.claim.title.startswith("quota of client-id c")]
    back, rival = claim.next
    assert back.edits
    assert rival.text.startswith("find out which change it was for g0: topic extra changed at about the same time")


@pytest.mark.parametrize(
    ("key_", "was", "became", "is_named"),
    [
        ("consumer_byte_rate", repr(1e6), repr(5e5), True),
        ("consumer_byte_rate", repr(1e6), repr(1e16), False),
        ("consumer_byte_rate", repr(1e6), None, False),
        ("max.connections.per.ip", "100", "50", True),
        ("max.connections.per.ip.overrides", "10.0.0.1:100", "10.0.0.1:200", False),
        ("max.connections.per.ip.overrides", "10.0.0.1:100,::1:20", "10.0.0.1:100", False),
        ("max.connections.per.ip.overrides", "10.0.0.1:100", "10.0.0.1:50", True),
        ("max.connections.per.ip.overrides", "10.0.0.1:100", "10.0.0.1:100,10.0.0.2:5", True),
        ("max.connections.per.ip.overrides", "10.0.0.1:100", "unreadable", True),
        ("leader.replication.throttled.replicas", "0:1,1:2", "0:1", True),
    ],
)
def test_a_limit_that_was_raised_holds_nobody_back(key_: str, was: str, became: str | None, *, is_named: bool) -> None:
    is_quota = "." not in key_
    place = Place(Kind.QUOTA, EVERYBODY, key_) if is_quota else Place(Kind.CONFIG, broker_resource(1), key_)
    change = JudgedChange(place, was, became, (), (), START, START + TICK)
    assert changed._lets_go(change) is not is_named


def test_a_group_whose_members_left_has_the_deleted_user_as_its_cause() -> None:
    (claim,) = (each for each in of_two_changes(members=False) if each.cause == "changed-lately")
    assert claim.subject == Subject(entity="user alice")


def test_no_record_is_skipped_while_a_change_may_be_why_a_group_stands_still() -> None:
    def skips(**known: bool) -> list[bool]:
        claims = [each for each in of_two_changes(**known) if each.cause == "consumer-stuck"]
        return [any("skip it" in step.text for step in claim.next) for claim in claims]

    assert skips(size=False, user=False) == [True]
    assert skips() == skips(user=False) == [False]


@pytest.mark.parametrize(
    ("entity", "certainty", "is_offered"),
    [({"user": "carol"}, Certainty.POSSIBLE, False), ({"user": None}, Certainty.CERTAIN, True)],
)
def test_a_single_client_may_be_blocked_on_purpose(
    entity: Mapping[str, str | None], certainty: Certainty, *, is_offered: bool
) -> None:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return replace(snapshot, quotas={QuotaEntity.of(entity): {"producer_byte_rate": 1.0}})

    (claim,) = seen(quota(None), change)
    assert (claim.certainty, bool(claim.next[0].edits)) == (certainty, is_offered)
    (claim,) = seen(quota(None), change, stops=True)
    assert claim.next[0].edits == (edits.UnsetQuota(QuotaEntity.of(entity), "producer_byte_rate"),)


def of_a_deletion(
    *, topic: str = "old", written: bool = False, member: bool = False, records: int = 100
) -> list[Claim]:
    """Return the claims after a topic with records is deleted. written: whether a client writes to it. member: whether
    a group's member reads it. records: number of its records.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        part = Partition(0, 1, (1, 2, 3), (1, 2, 3))
        there = {topic: Topic(topic, (part,), topic_id="o")} if tick < WHEN else {}
        dirs = {broker: (samples.held(("orders", 0, 1_000_000), (topic, 0, 50_000)),) for broker in (1, 2, 3)}
        who = snapshot.groups["billing"]
        if member:
            held = tuple(replace(each, assignment=((topic, 0),)) for each in who.members or ())
            who = replace(who, members=held)
        return replace(
            snapshot,
            topics={"orders": snapshot.topics["orders"], **there},
            log_dirs=dirs,
            groups={"billing": who, "app": replace(who, name="app", state="Empty", members=())},
            read_at={**snapshot.read_at, "topics": START + tick * TICK},
        )

    def facts(tick: int) -> Facts:
        def at(each: int) -> Mapping[tuple[str, int], LogOffsets]:
            end = records + (10 * each if written else 0)
            return {(topic, 0): LogOffsets(0, end, end)} if each < WHEN else {}

        return Facts(logs_seen(tick, at))

    claims = [each.claim for each in diagnose(watched(change, 9, before=change(healthy(), 0), facts=facts)).causes]
    return [each for each in claims if each.cause == "changed-lately"]


@pytest.mark.parametrize(
    ("known", "severity", "certainty"),
    [
        ({}, Severity.WARNING, Certainty.POSSIBLE),
        ({"written": True}, Severity.WARNING, Certainty.CERTAIN),
        ({"member": True}, Severity.WARNING, Certainty.CERTAIN),
        ({"topic": "app-store-changelog"}, Severity.INFO, Certainty.POSSIBLE),
        ({"topic": "app-store-changelog", "written": True}, Severity.WARNING, Certainty.CERTAIN),
    ],
    ids=["unused", "written", "read", "of an application that is reset", "of an application at work"],
)
def test_a_topic_that_nobody_used_is_only_possibly_missed(
    known: dict[str, bool], severity: Severity, certainty: Certainty
) -> None:
    (claim,) = of_a_deletion(**known)  # type: ignore[arg-type]
    assert (claim.severity, claim.certainty) == (severity, certainty)
    assert ": deleted" in claim.title


def test_a_topic_made_again_on_purpose_is_no_row_once_its_readers_read_it() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < WHEN:
            return committed({0: 8_000}, members=False)(snapshot, tick)
        again = made_again(snapshot, tick)
        at = 10 * max(0, tick - WHEN - 4)
        return committed({0: at}, end=at, members=tick > WHEN + 4)(again, tick)

    assert [each.cause for each in verdict_of(change, WHEN + 3)] == ["changed-lately"]
    assert not verdict_of(change, WHEN + 8)


@pytest.mark.parametrize(
    ("members", "was_read", "certainty"),
    [
        (False, True, Certainty.LIKELY),
        (False, False, Certainty.POSSIBLE),
        (True, True, Certainty.LIKELY),
        (True, False, None),
    ],
    ids=["a group that stopped", "a group that nobody used", "under its members", "of a topic that members left"],
)
def test_offsets_that_are_deleted_from_a_group_that_stays_are_named(
    certainty: Certainty | None, *, members: bool, was_read: bool
) -> None:
    """If the offsets of a topic are deleted from a group that keeps its offsets of another topic, triage names the
    deletion. How certain it is depends on whether the group has members, and on whether a member read the topic.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        had_member = was_read and tick < (WHEN if members else WHEN - 1)
        end = 8_000
        at = end if tick < WHEN else -1
        rows = (
            PartitionLag("orders", 0, at, end, end - at if at >= 0 else -1, "m1" if had_member else ""),
            PartitionLag("users", 0, 40, 40, 0, "m1" if members else ""),
        )
        known = replace(snapshot, lags={"billing": GroupLag(rows)})
        group = known.groups["billing"]
        group = group if members or had_member else replace(group, state="Empty", members=())
        return replace(known, groups={"billing": group})

    found = [each for each in verdict_of(change, WHEN + 8) if each.cause == "changed-lately"]
    assert [each.certainty for each in found] == ([certainty] if certainty is not None else [])
    for claim in found:
        assert claim.title.startswith("group billing: offsets gone in 1 partition")
        back = (edits.CommitOffset("billing", "orders", 0, 8_000, restored=True),)
        assert claim.next[0].edits == (() if members else back)
        assert members is ("orders/0 to 8,000" in claim.next[0].text)


@pytest.mark.parametrize(
    ("member", "hours", "was_used"),
    [("", 168, False), ("m1", 168, True), ("", 0, True)],
    ids=["left a week ago", "read still", "left lately"],
)
def test_offsets_that_expire_in_a_group_with_members_are_those_that_it_read_no_more(
    member: str, hours: int, *, was_used: bool
) -> None:
    """If offsets of a topic disappear from a group with members, triage tells expired offsets from deleted ones:
    brokers expire them a week after the group's last commit there.
    """

    def state(tick: int) -> GroupLag:
        at = 100 + 100 * min(tick, 3)
        holder = "m1" if tick < 3 else member
        old = (PartitionLag("orders", 0, at, 400, 400 - at, holder),) if tick < 5 else ()
        return GroupLag((*old, PartitionLag("users", 0, 40, 40, 0, "m1")))

    polls, trends = [], trends_after({}, {"billing": state(0)}, START)
    for tick in range(1, 6):
        at = START + tick * TICK + timedelta(hours=hours if tick > 3 else 0)
        trends = trends_after(trends, {"billing": state(tick)}, at)
        read = dict.fromkeys(test_triage.PARTS, at)
        polls.append(
            Poll(
                at, replace(healthy(), lags={"billing": state(tick)}, lag_trends=trends, read_at={**read, "topics": at})
            )
        )
    (change,) = changes_after((), *polls[-2:]).judged
    assert change.is_lost
    assert change.was_used is was_used


def test_offsets_that_a_group_commits_again_are_no_row() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return committed({0: 8_000 if tick < WHEN or tick > WHEN + 3 else -1})(snapshot, tick)

    assert [each.cause for each in verdict_of(change, WHEN + 2)] == ["changed-lately"]
    assert not verdict_of(change, WHEN + 8)


@pytest.mark.parametrize(
    ("name", "was", "now", "is_named"),
    [
        ("max_message_bytes", "1000000", "9000000", True),
        ("max_message_bytes", "9000000", "1000000", False),
        ("compression_type", "producer", "zstd", True),
        ("compression_type", "zstd", "producer", False),
        ("compression_type", "producer", "lz4", False),
    ],
)
def test_only_a_change_for_the_worse_is_named_with_a_reader_that_stands_still(
    name: str, was: str, now: str, *, is_named: bool
) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = topic_configs(**{name: was if tick < WHEN else now})(snapshot, tick)
        moved = test_triage.moved(known, {0: (100 + 100 * min(tick, WHEN), 100 + 100 * tick)})
        return replace(moved, read_at={**snapshot.read_at, **dict.fromkeys(test_triage.PARTS, START + tick * TICK)})

    causes = [each.claim for each in diagnose(watched(change, 40, before=change(healthy(), 0))).causes]
    found = [each for each in causes if each.cause == "changed-lately"]
    assert bool(found) is is_named
    assert {each.certainty for each in found} <= {Certainty.POSSIBLE}
    (stuck,) = [each for each in causes if each.cause == "consumer-stuck"]
    assert not any("skip" in step.command for step in stuck.next), "it changed right before"


# -- damage that outlives its change ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("stops", "is_named"), [(True, True), (False, False)], ids=["ended", "goes on"])
def test_a_producer_that_ended_at_a_limit_that_was_put_back_has_it_as_its_cause(*, stops: bool, is_named: bool) -> None:
    before, then = key("max_message_bytes", "1000000", "100")
    claims = seen(before, then, is_back=True, stops=stops, ticks=BACK + 30)
    assert bool(claims) is is_named
    for claim in claims:
        words = (
            "topic orders: max.message.bytes changed, and was put back at 03:01:00; nothing is written to orders since"
        )
        assert (claim.title, claim.severity, claim.certainty) == (words, Severity.HIGH, Certainty.LIKELY)
        assert "start them again" in claim.next[0].text
        assert not claim.next[0].edits
    before, then = key("segment_ms", "1000", "2000")
    assert not seen(before, then, is_back=True, stops=True, ticks=BACK + 30), "no producer is refused by it"


def after_a_change_taken_back(
    before: Change, then: Change, *, stop: int, back: int, others: Callable[[Snapshot], Snapshot] | None = None
) -> list[Claim]:
    """Return the claims after a topic got its last record at the tick `stop`, while a change is in force from `WHEN` to
    `back`.

    Args:
        before, then: make the snapshot without and with the change.
        others: returns the snapshot with further changes, at each tick after `WHEN`; None for no further changes.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = (then if WHEN <= tick < back else before)(snapshot, tick)
        known = others(known) if others is not None and tick > WHEN else known
        read = dict.fromkeys(("quotas", "scram", "topics", "configs"), START + tick * TICK)
        return replace(known, read_at={**snapshot.read_at, **read})

    def facts(tick: int) -> Facts:
        def at(each: int) -> Mapping[tuple[str, int], LogOffsets]:
            end = 100 + 10 * min(each, stop)
            return {("orders", 0): LogOffsets(0, end, end)}

        return Facts(logs_seen(tick, at))

    observations = watched(change, min(back, stop) + 40, before=before(healthy(), 0), facts=facts)
    return [each.claim for each in diagnose(observations).causes if each.claim.cause == "changed-lately"]


def bytes_of(client: str, value: float | None) -> Change:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        entity = QuotaEntity.of({"client-id": client})
        return replace(snapshot, quotas={entity: {"producer_byte_rate": value}} if value is not None else {})

    return change


@pytest.mark.parametrize("stop", [WHEN, 30], ids=["at the change", "minutes later"])
@pytest.mark.parametrize(
    ("before", "then", "words"),
    [
        (bytes_of("app", None), bytes_of("app", 1e6), "was put back at"),
        (credential(is_there=True), credential(is_there=False), "was set again at"),
    ],
    ids=["a quota", "a user"],
)
def test_a_change_taken_back_is_only_possibly_why_a_topic_ended_right_after_it(
    before: Change, then: Change, words: str, stop: int
) -> None:
    claims = after_a_change_taken_back(before, then, stop=stop, back=stop + 5)
    assert [words in each.title for each in claims] == [True] * (stop == WHEN), [each.title for each in claims]
    assert all((each.severity, each.certainty) == (Severity.WARNING, Certainty.POSSIBLE) for each in claims)


@pytest.mark.parametrize(("stop", "is_named"), [(WHEN + 24, True), (WHEN + 72, False)])
def test_a_limit_of_a_topic_may_refuse_a_record_minutes_later(stop: int, *, is_named: bool) -> None:
    before, then = key("max_message_bytes", "1000000", "100")
    claims = after_a_change_taken_back(before, then, stop=stop, back=stop + 2)
    assert [each.certainty for each in claims if "put back" in each.title] == [Certainty.LIKELY] * is_named


def test_a_change_that_newer_ones_push_out_was_not_taken_back() -> None:
    def many(snapshot: Snapshot) -> Snapshot:
        quotas = {QuotaEntity.of({"client-id": f"c{number}"}): {"consumer_byte_rate": 5e6} for number in range(300)}
        return replace(snapshot, quotas=quotas)

    before, then = key("max_message_bytes", "1000000", "100")
    claims = after_a_change_taken_back(before, then, stop=WHEN, back=1_000, others=many)
    assert not any("put back" in each.title for each in claims), [each.title for each in claims]


STOPS = 40


@pytest.mark.parametrize(
    ("restarted", "deleted", "is_named"),
    [(STOPS, True, True), (None, True, False), (STOPS, False, False), (STOPS - 30, True, False)],
    ids=["at a restart", "without one", "without a change", "long after one"],
)
def test_a_producer_that_does_not_come_back_from_a_restart_has_a_deleted_user_as_its_cause(
    restarted: int | None, *, deleted: bool, is_named: bool
) -> None:
    """If a user is deleted minutes before its producers have to log in again, and they do not come back after a
    broker's restart, triage names the deletion.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = credential(is_there=not deleted or tick < WHEN)(snapshot, tick)
        if restarted is not None and restarted <= tick < restarted + 3:
            known = test_triage.without_broker(known, [2])
        read = dict.fromkeys((*test_triage.PARTS, "scram"), START + tick * TICK)
        return replace(known, read_at={**snapshot.read_at, **read})

    def facts(tick: int) -> Facts:
        def at(each: int) -> Mapping[tuple[str, int], LogOffsets]:
            end = 100 + 10 * min(each, STOPS)
            return {("orders", 0): LogOffsets(0, end, end)}

        return Facts(logs_seen(tick, at))

    observations = watched(change, STOPS + 40, before=change(healthy(), 0), facts=facts)
    titles = [each.claim.title for each in diagnose(observations).causes if each.claim.cause == "changed-lately"]
    assert titles == ["user alice: credential deleted, and nothing is written to orders since"] * is_named


@pytest.mark.parametrize(
    ("values", "is_named"),
    [
        ("ABABABA", True),
        ("CABABAB", True),
        ("ABABA", False),
        ("ABABAA", False),
        ("ABCABAB", False),
        ("ABCBABC", False),
    ],
    ids=["to and fro", "from another value", "twice by hand", "taken back", "three values", "of many values"],
)
def test_a_config_that_two_tools_set_is_named(values: str, *, is_named: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        value = str(3_600_000 + ord(values[min(tick // 2, len(values) - 1)]))
        return topic_configs(segment_ms=value)(snapshot, tick)

    claims = verdict_of(change, 16)
    found = [each for each in claims if each.cause == "config-contested"]
    assert bool(found) is is_named
    assert all(each.subject == Subject(topic="orders", key="segment.ms") for each in found)
    assert all(each.certainty is Certainty.LIKELY for each in found)
    assert not any(step.edits for each in found for step in each.next)


def contested(resource: ConfigResource, key: str, *values: str, ticks: int = 16, own: str | None = None) -> list[Claim]:
    """Return the rows about a config that has these values in turn for twelve polls. own: the value that kac sets in
    between; None for no such change.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        entry = ConfigEntry(key, values[min(tick, 12) % len(values)], own_source(resource))
        return replace(snapshot, configs={**snapshot.configs, resource: ConfigSet((entry,))})

    facts = Facts(authors={(resource, key, own): Author("alice", 1, START)} if own is not None else {})
    observations = watched(change, ticks, before=change(healthy(), 0), facts=lambda _: facts)
    return [each.claim for each in diagnose(observations).causes if each.claim.cause == "config-contested"]


@pytest.mark.parametrize(
    ("resource", "request_", "place"),
    [
        (topic_resource("orders"), "DescribeConfigs", "brokers' request logs have IncrementalAlterConfigs"),
        (ConfigResource(codes.CONNECTOR, "sink"), "GET /connectors", "Connect's workers have PUT /connectors"),
        (ConfigResource(codes.SCHEMA, "orders-value"), "GET /config", "the registry have PUT /config"),
    ],
)
def test_who_sets_a_contested_config_is_in_the_logs_of_its_service(
    resource: ConfigResource, request_: str, place: str
) -> None:
    (claim,) = contested(resource, "x", "", "y" * 500)
    assert f"between '' and '{'y' * 57}…': " in claim.title
    assert claim.evidence[0].source.startswith(request_)
    assert place in claim.next[0].text


def test_a_config_that_kac_sets_to_and_fro_or_that_settled_is_not_contested() -> None:
    resource = topic_resource("orders")
    assert contested(resource, "segment.ms", "5", "6", own="7")
    assert not contested(resource, "segment.ms", "5", "6", own="6"), "kac is one of the two"
    assert contested(resource, "segment.ms", "5", "6", ticks=12 + 600 // 5)
    assert not contested(resource, "segment.ms", "5", "6", ticks=13 + 600 // 5)


def test_a_move_to_one_replica_is_over_once_its_partition_has_two() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        replicas = (1, 2) if tick < 4 else (3,) if tick < 12 else (3, 1)
        partitions = Partition(0, replicas[0], replicas, replicas), Partition(1, 2, (2,), (2,))
        return replace(
            snapshot, topics={**snapshot.topics, "orders": replace(snapshot.topics["orders"], partitions=partitions)}
        )

    def titles(ticks: int) -> list[str]:
        found = diagnose(watched(change, ticks, before=change(healthy(), 0)))
        return [each.claim.title for each in found.causes if "left with one replica" in each.claim.title]

    assert titles(11)
    assert not titles(40)
