"""Tests of lint's rules: each has a finding on a bad cluster, and no finding on a similar good one."""

import pytest
from msgspec.structs import replace

from console.flight.pseudonyms import Pseudonyms
from console.lint.report import can_look, lint, unread
from console.lint.rule import Found, Rule, Seen
from console.lint.rules import BY_NAME, RULES
from console.model.acl import Acl
from console.model.cluster import ScramCredential
from console.model.codes import (
    BROKER,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    STATIC_BROKER_CONFIG,
    TOPIC,
    ConfigSource,
    ScramMechanism,
)
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.snapshot import ReadFailure
from console.plan.compile import predict
from console.plan.edits import SetConfig
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Staged
from console.present.names import target
from tests.support import connectors, lint_cases
from tests.support.lint_cases import (
    CASES,
    Make,
    acls,
    brokers,
    healthy,
    made,
    placed,
    topic,
    topics,
    with_config,
    with_parts,
)
from tests.support.samples import acl


def subjects(rule: Rule, seen: Seen) -> list[str]:
    return [target(each.subject) for each in rule.find(seen)]


def test_each_rule_has_a_case_and_looks_at_a_cluster_in_good_order() -> None:
    assert CASES.keys() == BY_NAME.keys()
    assert len(BY_NAME) == len(RULES) >= 40
    report = lint(healthy(), target)
    assert [(each.rule.name, target(each.found.subject), each.found.what) for each in report.findings] == []
    assert report.blind == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_finds_what_it_is_for_and_a_remedy_of_edits_ends_it(rule: Rule) -> None:
    case = CASES[rule.name]
    bad, good = made([case.bad]), made([case.good])
    assert (unread(bad, rule), unread(good, rule)) == ("", "")
    assert case.subject in subjects(rule, bad)
    assert subjects(rule, good) == []
    seen = made([CASES[rule.name].bad])
    for found in rule.find(seen):
        if not found.edits:
            assert found.command or found.advice
            continue
        plan = Plan(tuple(Staged(edit, UNREAD) for edit in found.edits))
        after = replace(seen, snapshot=predict(seen.snapshot, plan))
        left = [(each.subject, each.key) for each in rule.find(after)]
        if rule.name != "token-expiring":  # the brokers limit the renewal of a token
            assert (found.subject, found.key) not in left


@pytest.mark.parametrize(
    ("replicas", "release", "is_offered"),
    [
        ((1, 2, 3), "3.6", True),
        ((1, 2), "4.3", False),
        ((1,), "4.3", True),
        ((1,), "3.6", False),
    ],
)
def test_a_default_of_two_in_sync_is_offered_only_if_it_stops_no_topic(
    replicas: tuple[int, ...], release: str, *, is_offered: bool
) -> None:
    """Lint proposes the default min.insync.replicas=2 only if no topic would then refuse writes: all topics inherit 1,
    and brokers before 3.7 refuse writes with acks=all to a topic of one replica.
    """
    seen = made([placed(replicas, name="small")])
    for name in ("orders", "carts", "small"):
        seen = with_config(seen, topic_resource(name), "min.insync.replicas", "1", STATIC_BROKER_CONFIG)
    versions = {each: replace(known, release=release) for each, known in seen.snapshot.versions.items()}
    seen = replace(seen, snapshot=replace(seen.snapshot, versions=versions))
    found = [*BY_NAME["min-isr-one"].find(seen)]
    assert [bool(each.edits) for each in found if target(each.subject) == "broker <default>"] == [is_offered]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_does_not_look_at_what_was_not_read(rule: Rule) -> None:
    seen = made([CASES[rule.name].bad])
    for part in rule.reads:
        failed = ReadFailure(part, "", Failure("CLUSTER_AUTHORIZATION_FAILED", "denied"))
        report = lint(replace(seen, snapshot=replace(seen.snapshot, failures=(failed,))), target, [rule])
        assert report.findings == ()
        assert rule.name in report.blind[0].rules
        assert "CLUSTER_AUTHORIZATION_FAILED" in report.blind[0].why
    for type_ in rule.configs_of:
        left = {each: configs for each, configs in seen.snapshot.configs.items() if each.type != type_}
        if type_ in (BROKER, TOPIC):
            assert unread(replace(seen, snapshot=replace(seen.snapshot, configs=left)), rule)
    if Part.CERTIFICATES in rule.reads:
        assert unread(replace(seen, certificates=None), rule)


@pytest.mark.parametrize(
    ("name", "pattern", "is_found"),
    [("pay.", "LITERAL", True), ("pay.", "PREFIXED", False), ("pay", "LITERAL", False), ("other.", "LITERAL", False)],
)
def test_a_literal_acl_whose_name_only_begins_topics_is_found_without_an_edit(
    name: str, pattern: str, *, is_found: bool
) -> None:
    seen = made([topics("pay.eu"), acls(acl(name=name, pattern=pattern))])
    found = [*BY_NAME["acl-matches-nothing"].find(seen)]
    assert [each.what for each in found] == [
        f"no known topic is called {name}, and others begin so: for those the ACL has to be prefixed"
    ] * is_found
    assert not any(each.edits for each in found)


@pytest.mark.parametrize("key", ["sasl.mechanism.controller.protocol", "sasl.mechanism.inter.broker.protocol"])
def test_a_login_of_brokers_themselves_is_taken(key: str) -> None:
    case = CASES["scram-mechanism-off"]
    rule = BY_NAME["scram-mechanism-off"]
    assert [*rule.find(made([case.bad]))]
    assert not [*rule.find(made([case.bad, brokers(key, "SCRAM-SHA-256")]))]


@pytest.mark.parametrize(
    ("makes", "subjects"),
    [
        ([brokers("sasl.enabled.mechanisms", "PLAIN", 2)], [2]),
        ([brokers("sasl.enabled.mechanisms", "PLAIN", 1, 2)], []),  # which are the exception?
        ([brokers("sasl.enabled.mechanisms", "SCRAM-SHA-256", 2)], []),
        (
            [
                brokers("sasl.enabled.mechanisms", "PLAIN", 2),
                brokers("listener.name.client.sasl.enabled.mechanisms", "SCRAM-SHA-256", 2),
            ],
            [],
        ),
    ],
)
def test_one_broker_that_takes_no_mechanism_of_users_is_found(makes: list[Make], subjects: list[int]) -> None:
    scram = lint_cases._scram(4096)
    everywhere = brokers("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256")
    found = found_by("scram-mechanism-off", scram, everywhere, *makes)
    assert [each.subject for each in found] == [broker_resource(each) for each in subjects]
    assert all(each.hurts for each in found)


def test_users_with_several_sets_of_mechanisms_are_one_finding_of_a_broker() -> None:
    def of_two(seen: Seen) -> Seen:
        weak, strong = (ScramCredential(ScramMechanism.parse(f"SCRAM_SHA_{bits}"), 4096) for bits in (256, 512))
        return with_parts(seen, scram={"ann": (weak,), "bob": (strong,)})

    everywhere = brokers("sasl.enabled.mechanisms", "SCRAM-SHA-256,SCRAM-SHA-512")
    (found,) = found_by("scram-mechanism-off", of_two, everywhere, brokers("sasl.enabled.mechanisms", "PLAIN", 2))
    assert found.what.startswith("ann, bob can't log in there")
    assert "SCRAM-SHA-256, SCRAM-SHA-512" in found.advice


def test_an_advertised_port_that_kac_reaches_is_no_finding() -> None:
    seen = CASES["advertised-port-odd"].bad(healthy())
    known = seen.snapshot.cluster
    there = tuple(replace(each, host="kafka.example", port=9095) for each in known.brokers)
    seen = with_parts(seen, cluster=replace(known, brokers=there))
    assert list(BY_NAME["advertised-port-odd"].find(seen)) == []


@pytest.mark.parametrize(("few", "wanted"), [((1, 2, 3, 4), "3"), ((1, 2), "3"), ((1,), "3")])
def test_the_number_of_replicas_that_most_partitions_have_is_wanted(few: tuple[int, ...], wanted: str) -> None:
    make = placed((1, 2, 3), (2, 3, 1), few)
    (found,) = BY_NAME["replicas-unequal"].find(make(healthy()))
    assert found.command == ("replication", "topic", "orders", wanted)


@pytest.mark.parametrize("name", ["single-replica", "coordinator-single-replica"])
def test_partitions_with_one_replica_are_counted(name: str) -> None:
    """The first partition of a topic does not decide: a stopped tool may have changed any of them."""
    on = "orders" if name == "single-replica" else "__consumer_offsets"
    (found,) = found_by(name, placed((1, 2, 3), (2,), (1,), name=on))
    assert found.what.startswith("2 of its 3 partitions have one replica")
    (found,) = found_by(name, placed((1, 2, 3), (2,), name=on))
    assert found.what.startswith("1 of its 2 partitions has one replica")
    assert found_by(name, placed((1, 2), (2, 3), name=on)) == []
    (found,) = found_by(name, placed((1, 2, 3, 4), (1, 2, 3, 4), (1,), name=on))
    assert found.command[-1] == "4", "the other partitions keep their replicas"


# -- states that are no defect, and steps that do no harm --------------------------------------------------------------

MB = 1 << 20
REMOTE = "__remote_log_metadata"
HISTORY = "schemahistory.inventory"
JOINS = ("shop-KSTREAM-JOINTHIS-0000000004-store-changelog", "shop-orders-this-join-store-changelog")
REPARTITION = "shop-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition"
HIDDEN = Pseudonyms(b"k" * 32)


def found_by(name: str, *makes: Make) -> list[Found]:
    return list(BY_NAME[name].find(made(makes)))


def join(name: str) -> Make:
    """Return a change that adds the changelog of a join, as Kafka Streams sets it up."""
    return lint_cases.both(placed((1, 2, 3), name=name), topic("cleanup.policy", "delete", name))


def remote(kept_ms: str) -> Make:
    """Return a change that adds the topic with the metadata of remote storage, and makes topic orders a tiered topic
    with a retention of a week. kept_ms: retention.ms of the topic with the metadata.
    """
    return lint_cases.both(
        placed((1, 2, 3), name=REMOTE),
        topic("cleanup.policy", "delete", REMOTE),
        topic("retention.ms", kept_ms, REMOTE),
        topic("retention.bytes", "-1", REMOTE),
        topic("remote.storage.enable", "true"),
        topic("retention.ms", "604800000"),
    )


def segmented(name: str, batch: int, segment: int) -> Make:
    """Return a change that sets configs of a topic. batch, segment: its max.message.bytes and its segment.bytes."""
    return lint_cases.both(
        placed((1, 2, 3), name=name),
        topic("max.message.bytes", str(batch), name),
        topic("segment.bytes", str(segment), name),
    )


def sink_in(state: str) -> Make:
    """Return a change that adds a sink without tasks in a state."""
    return lint_cases.connect_cluster(connectors.cluster(replace(connectors.connector(), state=state, tasks=())))


FINE: dict[str, tuple[str, Make]] = {
    **{f"a join: {name}": ("system-topic-policy", join(name)) for name in JOINS},
    **{
        f"a schema history {which}": (
            "system-topic-policy",
            lint_cases.both(
                placed(*[(1, 2, 3)] * partitions, name=HISTORY),
                topic("retention.ms", kept, HISTORY),
                topic("retention.bytes", "-1", HISTORY),
            ),
        )
        for which, partitions, kept in (("that keeps all", 1, "-1"), ("of several partitions", 3, "604800000"))
    },
    "remote storage that keeps longer": ("system-topic-policy", remote("691200000")),
    "a coordinator's segments": ("settings-contradict", segmented("__consumer_offsets", 110_000_000, 104_857_600)),
    "a repartition's segments": ("settings-contradict", segmented(REPARTITION, 104_857_600, 52_428_800)),
    **{
        f"the alias {name}": (
            "connector-without-tasks",
            lint_cases.connect_cluster(lint_cases._IDLE, connector_class=name),
        )
        for name in ("MirrorSourceConnector", "MirrorSource", "MirrorCheckpointConnector")
    },
    "a mirror in an anonymous record": (
        "connector-without-tasks",
        lint_cases.connect_cluster(
            lint_cases._IDLE,
            connector_class=HIDDEN.config_value("connector.class", f"{lint_cases._MIRROR}SourceConnector", 2) or "",
        ),
    ),
    "a host in an anonymous record": (
        "acl-matches-nothing",
        lint_cases.acls(acl(HIDDEN.name("User:alice"), HIDDEN.name("orders"), host=HIDDEN.name("10.0.0.5"))),
    ),
    **{
        f"limits of {host}": (
            "connections-below-members",
            lint_cases.both(
                CASES["connections-below-members"].bad,
                brokers("max.connections.per.ip.overrides", f"10.0.0.9:7,{host}:1000"),
            ),
        )
        for host in ("10.0.0.5", "proxy.example")
    },
    **{f"a {state} sink": ("dead-letter-topic-missing", sink_in(state)) for state in ("STOPPED", "PAUSED", "RUNNING")},
    "a topic that kac may not describe": (
        "dead-letter-topic-missing",
        lint_cases.both(lint_cases.sink(), lint_cases.log_dirs(lint_cases.log_dir("/data", ("dlq", 1000)))),
    ),
    "equal limits in two units": (
        "topic-default-differs",
        lint_cases.both(brokers("log.retention.hours", "168"), brokers("log.retention.ms", "604800000", 3)),
    ),
}


@pytest.mark.parametrize("which", FINE)
def test_what_is_no_defect_is_no_finding(which: str) -> None:
    name, make = FINE[which]
    assert [each.what for each in found_by(name, make)] == []


def test_a_schema_history_that_forgets_is_a_finding() -> None:
    makes = (
        placed((1, 2, 3), name=HISTORY),
        topic("cleanup.policy", "delete", HISTORY),
        topic("retention.ms", "604800000", HISTORY),
        topic("retention.bytes", "-1", HISTORY),
    )
    (found,) = found_by("system-topic-policy", lint_cases.both(*makes))
    assert "belongs to Debezium" in found.what
    assert found.edits == (SetConfig(topic_resource(HISTORY), "retention.ms", "-1"),)


def test_remote_storage_that_forgets_segments_of_a_tiered_topic_is_a_finding() -> None:
    (found,) = found_by("system-topic-policy", remote("86400000"))
    assert found.edits == (SetConfig(topic_resource(REMOTE), "retention.ms", "-1"),)


def test_the_step_for_a_segment_is_the_least_that_takes_the_batches() -> None:
    """Lint proposes the smallest segment that takes the topic's batches, because a larger segment could exceed the
    topic's retention by size.
    """
    makes = (segmented("orders", 100 * MB, 50 * MB), topic("retention.bytes", str(200 * MB)))
    (found,) = found_by("settings-contradict", *makes)
    assert found.edits == (SetConfig(topic_resource("orders"), "segment.bytes", str(100 * MB)),)
    assert found_by("retention-below-segment", *makes, topic("segment.bytes", str(100 * MB))) == []


def test_no_step_makes_segments_smaller_than_batches() -> None:
    makes = (segmented("orders", 20 * MB, 1024 * MB), topic("retention.bytes", str(5 * MB)))
    (found,) = found_by("retention-below-segment", *makes)
    assert found.edits == ()


def contradicting(source: int, *ids: int) -> Make:
    """Return a change by which brokers accept batches that are larger than their segments. source: where both values
    are set, the code of a `ConfigSource`. ids: the brokers' ids.
    """

    def make(seen: Seen) -> Seen:
        for broker in ids:
            for key, size in (("message.max.bytes", 20 * MB), ("log.segment.bytes", 10 * MB)):
                seen = with_config(seen, broker_resource(broker), key, str(size), ConfigSource(source))
        return seen

    return make


@pytest.mark.parametrize(
    ("source", "ids", "places"),
    [
        (DYNAMIC_DEFAULT_BROKER_CONFIG, (1, 2, 3), {CLUSTER_DEFAULT}),
        (DYNAMIC_BROKER_CONFIG, (2,), {broker_resource(2)}),
        (STATIC_BROKER_CONFIG, (1, 2, 3), {CLUSTER_DEFAULT}),
        (STATIC_BROKER_CONFIG, (2,), set()),  # a default would change the other brokers, too
    ],
)
def test_a_contradiction_is_mended_where_the_value_is_set(
    source: int, ids: tuple[int, ...], places: set[ConfigResource]
) -> None:
    (found,) = found_by("settings-contradict", contradicting(source, *ids))
    assert {edit.resource for edit in found.edits if isinstance(edit, SetConfig)} == places
    assert bool(found.advice) is not bool(places)


def test_brokers_are_judged_without_the_configs_of_topics() -> None:
    seen = made([CASES["settings-contradict"].bad])
    own = {key: each for key, each in seen.snapshot.configs.items() if key.type != TOPIC}
    seen = with_parts(seen, configs=own)
    rule = BY_NAME["settings-contradict"]
    assert can_look(seen, rule)
    assert subjects(rule, seen) == ["broker 1"]


@pytest.mark.parametrize(
    ("others", "is_offered"),
    [((), False), ((acl("User:bob", "orders"),), True), ((acl("User:bob", "orders", host="b.example"),), False)],
    ids=["the only one", "next to another", "next to one that also matches nothing"],
)
def test_no_step_removes_the_last_acl_of_a_resource(others: tuple[Acl, ...], *, is_offered: bool) -> None:
    """Lint proposes no step that removes the last ACL of a resource, because a resource without an ACL may be open
    to everybody.
    """
    found = found_by("acl-matches-nothing", lint_cases.acls(acl("User:alice", "orders", host="app.example"), *others))
    assert [bool(each.edits) for each in found] == [is_offered] * len(found) != []
