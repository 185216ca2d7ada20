"""Tests of lint's rules: each has a finding on a bad cluster, and no finding on a similar good one."""

import pytest
from msgspec.structs import replace

from console.lint.report import lint, unread
from console.lint.rule import Rule, Seen
from console.lint.rules import BY_NAME, RULES
from console.model.codes import BROKER, STATIC_BROKER_CONFIG, TOPIC
from console.model.config import topic_resource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.snapshot import ReadFailure
from console.plan.compile import predict
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Staged
from console.present.names import target
from tests.support.lint_cases import CASES, acls, brokers, healthy, made, placed, topics, with_config
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
