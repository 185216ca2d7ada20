"""Tests of lint's findings as causes: each is a row, unless it is part of work in progress, declared as intended, or
accepted.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from console.lint.acceptance import Acceptance
from console.lint.rule import AFTER_ITS_CHANGE, AT_WORK, SETTLED
from console.lint.rules import BY_NAME
from console.model import cluster
from console.model.certificates import Certificate, Listener
from console.model.changes import MoveTarget, TopicTarget
from console.model.codes import ConfigSource
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigEntry,
    ConfigPlace,
    ConfigSet,
    Synonym,
    broker_resource,
    topic_resource,
)
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.plan.edits import RemoveAcl, SetFeature, UnsetConfig
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Author, ChangeKey, Facts
from console.triage.observations import after, begin
from console.triage.standing import _LOOKS, ARISING, STANDING
from console.triage.symptoms import Poll, Subject
from console.tui.panes.now import evidence_of
from tests.support import lint_cases, samples
from tests.unit.test_triage import START, healthy, named

TICK = timedelta(seconds=30)
NAMES = {rule.name for rule in STANDING}
OLD, NOW = 26, 30
"""Levels of metadata.version: 4.1-IV1, and 4.3-IV0."""


def versions(snapshot: Snapshot, most: Sequence[int], level: int, **others: int) -> Snapshot:
    """Return the snapshot with these finalized feature levels. most: the highest metadata.version that brokers 1, 2 and
    so on support. level: the finalized one. others: further features.
    """
    finalized = {"metadata.version": level, **{name.replace("_", "."): value for name, value in others.items()}}
    found = {
        id_: cluster.BrokerVersion("", {}, {"metadata.version": (7, each), "group.version": (0, 1)}, finalized)
        for id_, each in enumerate(most, 1)
    }
    return replace(snapshot, versions=found, read_at={**snapshot.read_at, Part.VERSIONS: START})


def holding(snapshot: Snapshot, *brokers: int, partitions: int = 30) -> Snapshot:
    """Return the snapshot with a topic that has its replicas on these brokers."""
    turned = [(*brokers[n % len(brokers) :], *brokers[: n % len(brokers)]) for n in range(partitions)]
    made = tuple(cluster.Partition(n, each[0], each, each) for n, each in enumerate(turned))
    return replace(snapshot, topics={"orders": cluster.Topic("orders", made, topic_id="id")})


def seen(
    *snapshots: Snapshot,
    accepted: Iterable[Acceptance] = (),
    times: int = 1,
    shown: Iterable[Certificate] = (),
    silent: Iterable[int] = (),
    meant: Iterable[ConfigPlace] = (),
    authors: Mapping[ChangeKey, Author] = MappingProxyType({}),
) -> Verdict:
    """Return the verdict after polls of these snapshots.

    Args:
        accepted: findings that a file accepts.
        times: how often the last snapshot is polled.
        shown: certificates of listeners.
        silent: brokers that do not answer.
        meant: configs that the context declares as intended.
        authors: the known authors of changes.
    """
    facts, away, own = Facts(certificates=tuple(shown), authors=authors), frozenset(silent), frozenset(meant)
    polls = [
        Poll(START + number * TICK, each, away, facts=facts, accepted=tuple(accepted), own_throttles=own)
        for number, each in enumerate([*snapshots, *snapshots[-1:] * (times - 1)])
    ]
    observations = begin(polls[0])
    for each in polls[1:]:
        observations = after(observations, each)
    return diagnose(observations)


def standing(verdict: Verdict) -> set[tuple[str, Subject]]:
    return {each for each in named(verdict) if each[0] in NAMES}


LONG = 1 + SETTLED // TICK
METADATA = Subject(entity="feature metadata.version")


def test_an_upgrade_whose_level_was_never_raised_and_a_feature_that_was_left_out_are_causes() -> None:
    verdict = seen(versions(healthy(), [NOW] * 3, OLD, group_version=1))
    assert standing(verdict) == {("metadata-version-behind", METADATA)}
    claim = verdict.causes[0].claim
    assert claim.severity.value == "warning"
    assert "all brokers support 30" in claim.title
    assert claim.next[0].edits == (SetFeature("metadata.version", NOW),)
    assert [each.source for each in claim.evidence][1] == "upgrade"
    assert not verdict.is_calm
    verdict = seen(versions(healthy(), [NOW] * 3, NOW))
    assert standing(verdict) == {("feature-behind", Subject(entity="feature group.version"))}
    place, row = evidence_of("feature-behind", verdict.causes[0].claim.subject)
    assert (place.view, row) == ("features", "group.version")
    # An accepted finding is no cause.
    accepted = [Acceptance("metadata-version-behind", "feature *", "the old brokers may come back")]
    assert standing(seen(versions(healthy(), [NOW] * 3, OLD, group_version=1), accepted=accepted)) == set()


def test_levels_are_judged_neither_during_an_upgrade_nor_while_versions_are_unknown() -> None:
    before, half = versions(healthy(), [OLD] * 3, OLD, group_version=1), versions(healthy(), [NOW, OLD, OLD], OLD)
    after_it = versions(healthy(), [NOW] * 3, OLD, group_version=1)
    assert standing(seen(half)) == set()
    assert standing(seen(before, half, after_it)) == set()
    assert standing(seen(before, half, after_it, times=LONG)) == {("metadata-version-behind", METADATA)}
    assert standing(seen(versions(healthy(), [NOW] * 2, OLD))) == set()
    assert standing(seen(healthy())) == set()
    known = versions(healthy(), [NOW] * 3, OLD, group_version=1)
    without = versions(healthy(), [NOW] * 2, OLD, group_version=1)
    assert standing(seen(known, without)) == {("metadata-version-behind", METADATA)}


def test_a_broker_that_got_nothing_is_a_cause_but_not_one_that_is_new_drained_closed_or_of_few() -> None:
    empty, full = holding(healthy(), 1, 2), holding(healthy(), 1, 2, 3)
    row = {("broker-empty", Subject(broker=3))}
    assert standing(seen(empty)) == row
    assert standing(seen(full)) == set()
    assert standing(seen(full, empty, times=LONG)) == set()  # a client moved the replicas away
    two = replace(empty, cluster=replace(empty.cluster, brokers=empty.cluster.brokers[:2]))
    assert standing(seen(two, empty)) == set()
    assert standing(seen(two, empty, times=LONG)) == row
    full, empty = holding(healthy(), 1, 2, 3), holding(healthy(), 1, 2)
    moves = tuple(cluster.Reassignment("orders", n, (1, 2, 3), (), (3,)) for n in range(30))
    assert standing(seen(replace(full, reassignments=moves))) == set()
    closed = cluster.LogDir("/data", cluster.ReplicaSizes(), 1_000, 900, cordoned=True)
    assert standing(seen(replace(empty, log_dirs={**empty.log_dirs, 3: (closed,)}))) == set()
    assert standing(seen(holding(healthy(), 1, 2, partitions=9))) == set()


def test_topics_that_a_mirror_copies_into_themselves_are_one_cause() -> None:
    topics = holding(healthy(), 1, 2, 3).topics
    names = ["news", "eu.news", "eu.eu.news", "eu.eu.eu.news", "eu.orders", "eu.eu.orders"]
    made = {name: replace(topics["orders"], name=name) for name in names}
    verdict = seen(replace(healthy(), topics={**topics, **made}))
    assert standing(verdict) == {("mirror-loop", Subject(topic="news"))}
    assert "1 topic more" in verdict.causes[0].claim.title
    # Equal names without equal numbers of partitions are coincidence.
    other = replace(made["eu.news"], partitions=made["eu.news"].partitions[:1])
    assert standing(seen(replace(healthy(), topics={**topics, "news": made["news"], "eu.news": other}))) == set()


def test_another_cause_on_the_same_topic_hides_it() -> None:
    topics = holding(healthy(), 1, 2, 3).topics
    made = {name: replace(topics["orders"], name=name) for name in ("news", "eu.news", "eu.eu.news")}
    gone = made["news"].partitions[0]._replace(leader=-1, isr=())
    made["news"] = replace(made["news"], partitions=(gone, *made["news"].partitions[1:]))
    verdict = seen(replace(healthy(), topics={**topics, **made}))
    assert standing(verdict) == set()
    assert any(each.claim.subject.topic == "news" for each in verdict.causes)


RATE, LIST = "follower.replication.throttled.rate", "follower.replication.throttled.replicas"
ORDERS = topic_resource("orders")


def configured() -> Snapshot:
    """Return the snapshot with empty configs of brokers and topics."""
    resources = [ORDERS, *map(broker_resource, (1, 2, 3))]
    return replace(healthy(), configs={each: samples.config_set({}, ConfigSource(5)) for each in resources})


def throttled(topics: Iterable[str] = ("orders",)) -> Snapshot:
    """Return the snapshot with a replication throttle on all brokers and for these topics."""
    known = configured()
    rates = {each: samples.config_set({RATE: "1024"}, ConfigSource(2)) for each in map(broker_resource, (1, 2, 3))}
    lists = {topic_resource(each): samples.config_set({LIST: "0:1"}, ConfigSource(1)) for each in topics}
    return replace(known, configs={**known.configs, **rates, **lists})


def only(verdict: Verdict) -> Claim:
    (found,) = verdict.causes
    return found.claim


def test_throttles_that_no_move_uses_are_one_row_of_their_topic_whose_step_removes_all() -> None:
    claim = only(seen(throttled()))
    assert (claim.cause, claim.subject) == ("replication-throttled", Subject(topic="orders", key=LIST))
    assert (claim.severity, claim.certainty.value, claim.since) == (Severity.WARNING, "certain", None)
    assert claim.title.startswith("topic orders and 3 more: a throttle is left over, as no partition ")
    assert set(claim.next[0].edits) == {
        UnsetConfig(ORDERS, LIST),
        *(UnsetConfig(broker_resource(each), RATE) for each in (1, 2, 3)),
    }
    assert [each.fact.partition(":")[0] for each in claim.evidence[:4]] == [
        "topic orders",
        *(f"broker {each}" for each in (1, 2, 3)),
    ]


def test_throttles_that_are_new_used_declared_or_accepted_are_no_cause() -> None:
    polls = -(-AT_WORK // TICK)
    assert seen(configured(), *[throttled()] * polls).is_calm
    assert only(seen(configured(), *[throttled()] * (polls + 1))).since == START + TICK
    assert seen(configured(), throttled(), configured()).is_calm
    move = cluster.Reassignment("orders", 0, (1, 2, 3), (), (3,))
    assert standing(seen(replace(throttled(), reassignments=(move,)))) == set()
    places = {(ORDERS, LIST), *((broker_resource(each), RATE) for each in (1, 2, 3))}
    assert seen(throttled(), meant=places).is_calm
    assert only(seen(throttled(), meant={(ORDERS, LIST)})).subject == Subject(broker=1, key=RATE)
    accepted = [Acceptance("replication-throttled", subject, "at all times") for subject in ("topic *", "broker *")]
    assert seen(throttled(), accepted=accepted).is_calm
    known = configured()
    rate = {CLUSTER_DEFAULT: samples.config_set({RATE: "1024"}, ConfigSource(3))}
    limited = replace(known, configs={**known.configs, **rate})
    assert seen(limited).is_calm  # a rate limits only the replicas of topics' lists
    one = {ORDERS: samples.config_set({LIST: "0:1"}, ConfigSource(1))}
    listed = replace(limited, configs={**limited.configs, **one})
    assert only(seen(listed, meant={(ORDERS, LIST)})).title.startswith("broker <default>: a throttle is left over, as ")
    unread = replace(limited, configs={each: found for each, found in limited.configs.items() if each != ORDERS})
    assert only(seen(unread)).title.startswith("broker <default>: a throttle is left over, as ")
    accepted = [Acceptance("replication-throttled", "broker <default>", "at all times")]
    assert seen(listed, accepted=accepted, meant={(ORDERS, LIST)}).is_calm


def test_acls_without_a_type_are_one_row_whose_step_removes_them() -> None:
    wrong = [*map(samples.acl, ("alice", "bob"))]
    known = replace(healthy(), acls=(*wrong, *map(samples.acl, ("User:bob", ":c"))))
    known = replace(known, read_at={**known.read_at, Part.ACLS: START})
    claim = only(seen(known))
    assert (claim.cause, claim.severity, claim.certainty.value) == ("acl-without-type", Severity.HIGH, "certain")
    assert claim.subject.entity is not None
    assert claim.subject.entity.startswith("allow alice ")
    assert "super users aside" in claim.title
    assert set(claim.next[0].edits) == {*map(RemoveAcl, wrong)}
    assert any("bob" in each.fact for each in claim.evidence)
    many = replace(known, acls=tuple(samples.acl(f"u{number}") for number in range(1_000)))
    assert " and 999 more: " in only(seen(many)).title
    assert len(only(seen(many)).next[0].edits) == 1_000


def certificate(
    left: timedelta, lasts: timedelta = timedelta(days=365), broker: int = 1, port: int = 9001
) -> Certificate:
    listener = Listener(broker, "127.0.0.1", port, "TLS")
    return Certificate(listener, "CN=b", "CN=ca", START + left - lasts, START + left)


@pytest.mark.parametrize(
    ("left", "lasts", "severity"),
    [
        (timedelta(days=20), timedelta(days=365), Severity.WARNING),
        (timedelta(days=5), timedelta(days=365), Severity.HIGH),
        (timedelta(hours=4), timedelta(days=1), Severity.WARNING),  # usually replaced by a program
        (timedelta(hours=1), timedelta(days=1), Severity.HIGH),
        (timedelta(minutes=-5), timedelta(days=365), Severity.CRITICAL),
    ],
)
def test_a_certificate_is_worse_the_nearer_its_end_is(left: timedelta, lasts: timedelta, severity: Severity) -> None:
    claim = only(seen(configured(), shown=[certificate(left, lasts)]))
    assert (claim.cause, claim.severity, claim.certainty.value) == ("certificate-expiring", severity, "certain")
    assert (claim.subject.broker, "127.0.0.1:9001 shows CN=b, of CN=ca" in claim.title) == (1, True)
    assert claim.since == (START + left if severity is Severity.CRITICAL else None)


def test_a_certificate_that_lasts_is_no_cause_and_those_of_all_listeners_are_one_row() -> None:
    week = timedelta(days=7)
    assert seen(
        configured(), shown=[certificate(40 * week), certificate(timedelta(hours=16), timedelta(days=1))]
    ).is_calm
    ending = [certificate(week / 2, broker=broker, port=port) for broker in (1, 2) for port in (9001, 9002)]
    claim = only(seen(configured(), shown=ending))
    assert claim.title.startswith("broker 1 and 3 more: the certificate of its listener TLS ends in 3 days: ")
    assert sum("127.0.0.1:9002 shows CN=b" in each.fact for each in claim.evidence) == 2


def test_a_broker_behind_a_certificate_that_has_ended_is_silent_by_it() -> None:
    verdict = seen(configured(), shown=[certificate(timedelta(hours=-1))], silent=[1])
    assert {each[0] for each in named(verdict)} == {"certificate-expiring"}
    ending = seen(configured(), shown=[certificate(timedelta(hours=1))], silent=[1])
    assert {each[0] for each in named(ending)} == {"certificate-expiring", "broker-unresponsive"}


def test_enter_goes_to_the_key_the_acls_and_the_tokens() -> None:
    place, row = evidence_of("replication-throttled", Subject(topic="orders", key=LIST))
    assert (place.view, place.about, row) == ("configs", ORDERS, LIST)
    assert evidence_of("acl-without-type", Subject(entity="allow alice READ on topic orders"))[0].view == "acls"
    assert evidence_of("token-expiring", Subject(entity="User:alice"))[0].view == "tokens"


# -- settings that were wrong before the console opened ---------------------------------------------------------------

ENTITIES = {"default": {"client-id": None}, "of one user": {"user": "alice"}}


def quota_of(which: str) -> lint_cases.Make:
    """Return a change that adds a quota of nearly nothing, of all clients or of one user."""
    entity = QuotaEntity.of(ENTITIES[which])
    return lambda seen: lint_cases.with_parts(seen, quotas={entity: {"producer_byte_rate": 1.0}})


KEPT_SHORT = lint_cases.topic("retention.ms", "20000")
DROPS = lint_cases.CASES["sink-drops-records"]
SCRAM_USERS = lint_cases.both(
    lint_cases._scram(4096), lint_cases.brokers("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256")
)
STOOD = {
    **{
        name: lint_cases.CASES[name]
        for name in (
            "acl-matches-nothing",
            "advertised-port-odd",
            "compaction-after-retention",
            "compaction-never",
            "connector-without-tasks",
            "coordinator-single-replica",
            "cordons-refuse-topics",
            "limit-below-usual",
            "remote-without-storage",
            "retention-in-seconds",
            "retention-without-delete",
            "settings-contradict",
            "system-topic-policy",
            "topic-default-differs",
        )
    },
    "quota-near-zero": lint_cases.Case(quota_of("default"), quota_of("of one user"), ""),
    "retention-tiny": lint_cases.Case(
        KEPT_SHORT, lint_cases.both(KEPT_SHORT, lint_cases.brokers("log.retention.check.interval.ms", "4000")), ""
    ),
    "scram-mechanism-off": lint_cases.Case(
        lint_cases.both(SCRAM_USERS, lint_cases.brokers("sasl.enabled.mechanisms", "PLAIN", 2)),
        lint_cases.CASES["scram-mechanism-off"].bad,
        "",
    ),
    "sink-drops-records": lint_cases.Case(
        DROPS.bad, lint_cases.sink(errors_deadletterqueue_topic_name="", errors_log_enable="true"), ""
    ),
}
"""Rule -> a cluster with a finding that is a cause, and a similar one without one."""


def at_start(*makes: lint_cases.Make) -> Snapshot:
    """Return the healthy cluster after these changes, with all parts read at the start."""
    found = lint_cases.made(makes).snapshot
    return replace(found, read_at=dict.fromkeys(found.read_at, START))


@pytest.mark.parametrize("name", STOOD)
def test_what_was_wrong_before_the_console_opened_is_possible_trouble(name: str) -> None:
    case = STOOD[name]
    (claim,) = [each.claim for each in seen(at_start(case.bad)).causes if each.claim.cause == name]
    assert (claim.severity, claim.certainty) == ("warning", "possible"), "clusters live with it for years"
    assert name not in {cause for cause, _ in standing(seen(at_start(case.good)))}


def test_what_became_wrong_while_kac_watched_is_likely_trouble() -> None:
    verdict = seen(at_start(), at_start(KEPT_SHORT), times=2 + AFTER_ITS_CHANGE // TICK)
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause == "retention-tiny"]
    assert (claim.severity, claim.certainty) == ("high", "likely")


def test_configs_that_are_read_late_did_not_become_wrong() -> None:
    known = at_start(KEPT_SHORT)
    unread = replace(known, configs={each: found for each, found in known.configs.items() if each != ORDERS})
    (claim,) = [each.claim for each in seen(unread, known).causes if each.claim.cause == "retention-tiny"]
    assert (claim.severity, claim.certainty, claim.since) == ("warning", "possible", None)


@pytest.mark.parametrize("name", sorted(NAMES & lint_cases.CASES.keys()))
def test_now_finds_what_lint_finds(name: str) -> None:
    found = lint_cases.made((lint_cases.CASES[name].bad,))
    assert list(_LOOKS[name](found)) == list(BY_NAME[name].find(found))


def test_now_names_the_broker_that_gives_topics_a_value() -> None:
    """If topics get a bad value from one broker's own config, the cause names this broker. A default of the cluster
    would not replace that value, but would change the other brokers.
    """
    own = lint_cases.with_config(
        lint_cases.with_parts(lint_cases.healthy(), configs_from=1),
        ORDERS,
        "retention.ms",
        "1000",
        ConfigSource.parse("DYNAMIC_BROKER_CONFIG"),
    )
    (found,) = _LOOKS["retention-tiny"](own)
    assert found.subject == broker_resource(1)


def keeps_nothing(*, logged: bool) -> Snapshot:
    """Return the cluster with a sink that drops records, which do no harm while the worker's log has them."""
    return at_start(lint_cases.sink(errors_deadletterqueue_topic_name="", errors_log_enable=str(logged).lower()))


def test_a_finding_counts_from_the_poll_on_since_which_it_does_harm() -> None:
    logged, harmful = keeps_nothing(logged=True), keeps_nothing(logged=False)
    assert begin(Poll(START, logged, facts=Facts())).standing.findings == {}
    assert standing(seen(logged, *[logged] * 2 * LONG, harmful)) == set()
    assert {name for name, _ in standing(seen(logged, harmful, times=1 + LONG))} == {"sink-drops-records"}


@pytest.mark.parametrize(
    "quotas",
    [
        {
            "client-id": ({"client-id": None}, "producer_byte_rate", 1.0),
            "user": ({"user": None}, "producer_byte_rate", 1e8),
        },
        {"all": ({"user": None}, "producer_byte_rate", 1.0), "one": ({"user": "alice"}, "producer_byte_rate", 1e8)},
        {"all": ({"user": None}, "controller_mutation_rate", 0.01)},
    ],
    ids=["a stronger default", "a denial by default", "a policy"],
)
def test_a_quota_near_zero_that_shuts_nobody_out_is_no_cause(
    quotas: Mapping[str, tuple[Mapping[str, str | None], str, float]],
) -> None:
    known = {QuotaEntity.of(entity): {key: value} for entity, key, value in quotas.values()}
    assert standing(seen(at_start(lambda seen: lint_cases.with_parts(seen, quotas=known)))) == set()


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("quota-near-zero", "DescribeClientQuotas"),
        ("connector-without-tasks", "GET /connectors"),
        ("sink-drops-records", "GET /connectors"),
    ],
)
def test_evidence_names_the_request_that_was_read(name: str, request_: str) -> None:
    verdict = seen(at_start(STOOD[name].bad))
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause == name]
    assert claim.evidence[0].source == request_


def test_a_change_of_another_client_is_a_row_itself_before_its_finding_is() -> None:
    wrong = KEPT_SHORT(lint_cases.healthy()).snapshot
    assert standing(seen(lint_cases.healthy().snapshot, wrong, times=LONG)) == set()
    assert ("retention-tiny", Subject(topic="orders", key="retention.ms")) in standing(
        seen(lint_cases.healthy().snapshot, wrong, times=2 + AFTER_ITS_CHANGE // TICK)
    )


# -- findings that came while kac watched ----------------------------------------------------------------------------


def with_topic(snapshot: Snapshot, *replicas: int) -> Snapshot:
    """Return the snapshot with a further topic whose only partition has these replicas."""
    topic = cluster.Topic("auto", (cluster.Partition(0, replicas[0], replicas, replicas),), topic_id="auto")
    return replace(snapshot, topics={**snapshot.topics, "auto": topic})


def arisen(verdict: Verdict) -> list[tuple[str, Subject]]:
    names = {rule.name for rule in ARISING}
    found = [each.claim for each in verdict.causes if each.claim.cause in names]
    assert all((each.severity, each.certainty) == ("warning", "possible") for each in found)
    return [(each.cause, each.subject) for each in found]


def spread(*of_racks: str) -> Snapshot:
    """Return a snapshot of brokers in these racks, with a topic that has a replica on each of them."""
    base = healthy(brokers=len(of_racks))
    brokers = (replace(each, rack=rack) for each, rack in zip(base.cluster.brokers, of_racks, strict=True))
    return replace(base, cluster=replace(base.cluster, brokers=tuple(brokers)))


LASTING = 4
"""Number of polls after which a new finding is a row: it has to last for some time, and the rules are not run at
every poll.
"""


@pytest.mark.parametrize(("replicas", "cause"), [((1,), "single-replica"), ((1, 2), "one-rack"), ((1, 3), "")])
def test_a_finding_that_came_while_kac_watched_is_possible_trouble(replicas: tuple[int, ...], cause: str) -> None:
    base = spread("a", "a", "b")
    expected = [(cause, Subject(topic="auto"))] if cause else []
    assert arisen(seen(base, base, with_topic(base, *replicas), times=LASTING)) == expected
    assert arisen(seen(base, base, with_topic(base, *replicas), times=2)) == [], "an operator may be at work"
    before = expected if cause == "one-rack" else []  # by contrast to the other topics
    assert arisen(seen(with_topic(base, *replicas), times=LASTING + 2)) == before, "it was so before"
    gone = [with_topic(base, *replicas)] * LASTING
    assert arisen(seen(base, *gone, base, times=2)) == []


def test_a_topic_that_stood_in_one_rack_is_possible_trouble_only_as_an_exception() -> None:
    """Brokers spread the replicas of a topic over racks: only a tool places all of them in one, by accident if nearly
    all other topics are spread, on purpose if several are not.
    """
    base = spread("a", "a", "b")
    made = with_topic(base, 1, 2)
    row = [("one-rack", Subject(topic="auto"))]
    assert arisen(seen(made)) == row
    accepted = [Acceptance("one-rack", "topic auto", "a test")]
    assert arisen(seen(made, accepted=accepted)) == []
    pinned = {name: replace(made.topics["auto"], name=name, topic_id=name) for name in ("p1", "p2", "p3")}
    assert arisen(seen(replace(made, topics={**made.topics, **pinned}))) == [], "a layout on purpose"
    internal = {name: replace(topic, internal=True) for name, topic in base.topics.items()}
    assert arisen(seen(replace(made, topics={**internal, "auto": made.topics["auto"]}))) == [], (
        "no topic to compare with"
    )
    partitions = (*made.topics["auto"].partitions, cluster.Partition(1, 1, (1, 3), (1, 3)))
    half = replace(made.topics["auto"], partitions=partitions)
    assert arisen(seen(replace(made, topics={**base.topics, "auto": half}))) == [], "a part of a topic"
    assert arisen(seen(with_topic(base, 1))) == [], "one replica is no placement"


def test_a_topic_that_stood_in_one_rack_is_named_again_after_a_broker_restarted() -> None:
    made = with_topic(spread("a", "a", "b"), 1, 2)
    left = tuple(each for each in made.cluster.brokers if each.id != 2)
    away = replace(made, cluster=replace(made.cluster, brokers=left))
    row = [("one-rack", Subject(topic="auto"))]
    assert arisen(seen(made, *[away] * 2 * LASTING, made, times=2 * LASTING)) == row


def test_nothing_is_said_of_what_other_brokers_or_a_running_move_make() -> None:
    two, three = spread("a", "b"), spread("a", "b", "c")
    assert arisen(seen(two, with_topic(three, 1), times=LASTING)) == [], "a broker came"
    move = cluster.Reassignment("auto", 0, (1, 2), (2,), ())
    moving = replace(with_topic(three, 1), reassignments=(move,))
    assert arisen(seen(three, three, moving, times=LASTING)) == []
    accepted = [Acceptance("single-replica", "topic auto", "a test")]
    assert arisen(seen(three, three, with_topic(three, 1), times=LASTING, accepted=accepted)) == []


@pytest.mark.parametrize(
    ("about", "is_own"),
    [(MoveTarget("auto", 0), True), (TopicTarget("auto"), True), (TopicTarget("other"), False)],
    ids=["moved", "created", "another topic"],
)
def test_replicas_that_were_placed_here_are_no_trouble(about: MoveTarget | TopicTarget, *, is_own: bool) -> None:
    base = spread("a", "a", "b")
    verdict = seen(
        base, base, with_topic(base, 1), times=LASTING, authors={(about, "", "1"): Author("alice on host", 4, START)}
    )
    assert bool(arisen(verdict)) is not is_own


def test_leaders_that_an_election_spreads_again_are_no_trouble() -> None:
    base = holding(healthy(), 1, 2, 3, partitions=90)

    def led(partition: cluster.Partition, *, moved: bool) -> cluster.Partition:
        replicas = (1, *(each for each in partition.replicas if each != 1)) if moved else partition.replicas
        return partition._replace(leader=1, replicas=replicas)

    def led_by_one(*, moved: bool) -> Snapshot:
        topic = base.topics["orders"]
        parts = tuple(led(each, moved=moved) for each in topic.partitions)
        return replace(base, topics={"orders": replace(topic, partitions=parts)})

    found = arisen(seen(base, base, led_by_one(moved=True), times=LASTING))
    assert found == [("leaders-uneven", Subject(broker=1))]
    assert arisen(seen(base, base, led_by_one(moved=False), times=LASTING)) == []


@pytest.mark.parametrize("first", ["before", "away"])
@pytest.mark.parametrize("fenced", [True, False])
def test_leaders_that_were_uneven_before_a_restart_are_no_news_after_it(first: str, *, fenced: bool) -> None:
    """If broker 1 is the preferred leader of most partitions, its many leaders are not named as new after its restart,
    during which others led them, even if kac was opened only then.
    """
    base = holding(healthy(), 1, 2, 3, partitions=90)
    topic = base.topics["orders"]

    def state(*, leads: bool, listed: bool = True) -> Snapshot:
        parts = (each._replace(replicas=(1, 2, 3) if each.number % 10 < 6 else (2, 3, 1)) for each in topic.partitions)
        led = tuple(
            each._replace(leader=each.replicas[0] if leads or each.replicas[0] != 1 else 2 + each.number % 2)
            for each in parts
        )
        brokers = (replace(each, fenced=not listed and each.id == 1) for each in base.cluster.brokers)
        there = tuple(each for each in brokers if fenced or not each.fenced)
        return replace(
            base, topics={"orders": replace(topic, partitions=led)}, cluster=replace(base.cluster, brokers=there)
        )

    before, away, back = state(leads=True), state(leads=False, listed=False), state(leads=False)
    polls = [before, before, away, away, back, back, before]
    assert arisen(seen(*polls[2 * (first == "away") :], times=LASTING)) == []


@pytest.mark.parametrize("leads", [True, False], ids=["at once", "after an election"])
def test_a_preferred_leader_of_most_partitions_that_came_while_kac_watched_is_trouble(*, leads: bool) -> None:
    base = holding(healthy(), 1, 2, 3, partitions=90)
    topic = base.topics["orders"]
    parts = (each._replace(replicas=(1, *(n for n in each.replicas if n != 1))) for each in topic.partitions)
    moved = replace(topic, partitions=tuple(parts))
    led = replace(topic, partitions=tuple(each._replace(leader=1) for each in moved.partitions))
    polls = [base, base, *([] if leads else [replace(base, topics={"orders": moved})] * 3)]
    assert arisen(seen(*polls, replace(base, topics={"orders": led}), times=LASTING)) == [
        ("leaders-uneven", Subject(broker=1))
    ]


@pytest.mark.parametrize(("replicas", "cause"), [((1,), "single-replica"), ((1, 2), "one-rack")])
def test_a_layout_that_stays_for_an_hour_was_chosen(replicas: tuple[int, ...], cause: str) -> None:
    base = spread("a", "a", "b")
    hour = timedelta(hours=1) // TICK
    made = with_topic(base, *replicas)
    assert arisen(seen(base, base, made, times=hour - 1)) == [(cause, Subject(topic="auto"))]
    assert arisen(seen(base, base, made, times=hour + 2)) == []


def test_a_voter_that_is_not_replaced_is_possible_trouble() -> None:
    base = healthy()
    assert base.quorum is not None
    fewer = replace(base, quorum=replace(base.quorum, voters=base.quorum.voters[:2]))
    assert [name for name, _ in arisen(seen(base, base, fewer, times=LASTING))] == ["voters-few"]
    assert arisen(seen(base, base, fewer, base, times=LASTING)) == []


def test_a_broker_that_comes_back_without_its_rack_is_possible_trouble() -> None:
    """A broker that comes back without its rack is named as a possible trouble; clusters in which some brokers never
    had a rack get no row.
    """
    racks, lost = spread("a", "b", "c"), spread("a", "b", "c")
    brokers = (*lost.cluster.brokers[:2], replace(lost.cluster.brokers[2], rack=None))
    lost = replace(lost, cluster=replace(lost.cluster, brokers=brokers))
    assert arisen(seen(racks, racks, lost, times=LASTING)) == [("rack-missing", Subject(broker=3, key="broker.rack"))]
    assert arisen(seen(racks, racks, lost, racks, times=LASTING)) == []
    assert arisen(seen(lost, times=LASTING)) == []


@pytest.mark.parametrize(
    ("key", "usual", "value", "cause"),
    [
        ("segment.ms", "604800000", "1000", "segments-tiny"),
        ("segment.ms", "604800000", "86400000", ""),
    ],
)
def test_what_a_recipe_for_compaction_left_behind_is_possible_trouble(
    key: str, usual: str, value: str, cause: str
) -> None:
    def with_value(value: str) -> Snapshot:
        entries = (
            ConfigEntry(name, each, ConfigSource(1), synonyms=(Synonym(name, each, ConfigSource(1)),))
            for name, each in ((key, value), ("cleanup.policy", "compact"))
        )
        return replace(healthy(), configs={topic_resource("orders"): ConfigSet(tuple(entries))})

    before, now = with_value(usual), with_value(value)
    assert [name for name, _ in arisen(seen(before, before, now, times=LASTING))] == ([cause] if cause else [])
    assert arisen(seen(now, times=LASTING)) == []


def segmented(snapshot: Snapshot, **values: str) -> Snapshot:
    """Return the snapshot with a compacted topic for each name, with this segment.ms."""
    topics = {name: replace(snapshot.topics["orders"], name=name, topic_id=name) for name in values}
    configs = {
        topic_resource(name): ConfigSet(
            tuple(
                ConfigEntry(key, each, ConfigSource(1), synonyms=(Synonym(key, each, ConfigSource(1)),))
                for key, each in (("segment.ms", value), ("cleanup.policy", "compact"))
            )
        )
        for name, value in values.items()
    }
    return replace(snapshot, topics=topics, configs=configs)


WEEK = "604800000"


def test_a_config_that_is_read_late_or_of_a_new_topic_did_not_arise() -> None:
    base = segmented(healthy(), orders=WEEK, other="1000")
    part = replace(base, configs={topic_resource("orders"): base.configs[topic_resource("orders")]})
    assert arisen(seen(part, part, base, times=LASTING)) == []
    alone = segmented(healthy(), orders=WEEK)
    assert arisen(seen(alone, alone, base, times=LASTING)) == [], "a topic that was made with it"
    late = segmented(healthy(), orders=WEEK, other=WEEK)
    assert [name for name, _ in arisen(seen(late, late, base, times=LASTING))] == ["segments-tiny"]
    hour = timedelta(hours=1) // TICK
    assert arisen(seen(late, late, base, times=hour + 2)) == [], "it was chosen"


# -- brokers that went back to an older release ------------------------------------------------------------------------


def releases(*of_each: str) -> Snapshot:
    """Return a healthy snapshot with these releases of brokers 1, 2 and so on; ``""`` for an unknown one."""
    levels = {"4.1": OLD, "4.3": NOW}
    found = {
        id_: cluster.BrokerVersion(each, {}, {"metadata.version": (7, levels.get(each, 0))}, {"metadata.version": OLD})
        for id_, each in enumerate(of_each, 1)
    }
    return replace(healthy(), versions=found, read_at={**healthy().read_at, Part.VERSIONS: START})


def gone_back(verdict: Verdict) -> list[Claim]:
    return [each.claim for each in verdict.causes if each.claim.cause == "older-release"]


def test_a_broker_that_comes_back_with_an_older_release_is_named_while_it_runs_it() -> None:
    new, mixed = releases(*["4.3"] * 3), releases("4.3", "4.3", "4.1")
    (claim,) = gone_back(seen(new, mixed))
    assert claim.subject == Subject(broker=3)
    assert claim.title == "broker 3 came back with the older release 4.1, and others run 4.3"
    assert "supports only 26, the others 30" in claim.evidence[1].fact
    assert not any(step.edits or step.command for step in claim.next)
    assert gone_back(seen(new, mixed, times=200))


@pytest.mark.parametrize(
    "polls",
    [
        [["4.1"] * 3, ["4.3", "4.1", "4.1"], ["4.3"] * 3],  # an upgrade, one broker after the other
        [["4.3", "4.3", "4.1"]],  # it was so before
        [["4.3"] * 3, ["4.3", "4.3", "4.1"], ["4.1"] * 3],  # all went back
        [["4.3"] * 3, ["4.3", "4.3", "4.1"], ["4.3"] * 3],  # mended
        [["4.3"] * 3, ["4.3", "4.3", ""]],
    ],
)
def test_an_upgrade_and_a_whole_way_back_are_no_older_release(polls: list[list[str]]) -> None:
    assert not gone_back(seen(*(releases(*each) for each in polls)))


@pytest.mark.parametrize("away", [("4.3", "4.3"), ("4.3", "4.3", "")], ids=["not answered", "unknown"])
def test_the_release_of_a_broker_is_remembered_while_it_restarts(away: tuple[str, ...]) -> None:
    assert gone_back(seen(releases(*["4.3"] * 3), releases(*away), releases("4.3", "4.3", "4.1")))


def test_neither_a_removed_broker_nor_a_rollback_of_several_has_a_row() -> None:
    new, mixed = releases(*["4.3"] * 3), releases("4.3", "4.3", "4.1")
    assert not gone_back(seen(new, mixed, releases("4.3", "4.3"), times=20))
    assert not gone_back(seen(new, releases("4.3", "4.1", "4.1")))
