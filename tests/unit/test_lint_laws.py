"""Tests of properties of lint: a finding's remedy ends the finding, whatever else is set; texts from brokers are
escaped for the terminal, JSON and JUnit's XML.
"""

import json
from collections.abc import Mapping
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers.lint import junit_text, report_data, report_detail
from console.answers.results import render
from console.lint.acceptance import Acceptance
from console.lint.report import lint
from console.lint.rule import Seen
from console.lint.rules import BY_NAME
from console.model.codes import BROKER, STATIC_BROKER_CONFIG
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.numbers import json_text
from console.plan.compile import predict
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Staged
from console.present.names import target
from tests.support.hostile_text import HOSTILE, SENT, acted_upon
from tests.support.lint_cases import acls, both, groups, healthy, log_dir, log_dirs, placed, topic, with_config
from tests.support.samples import acl

_VALUES: Mapping[str, tuple[str, ...]] = {
    "retention.ms": ("-1", "0", "1000", "3600000", "604800000"),
    "retention.bytes": ("-1", "0", "100", "2097152", "5000000000"),
    "segment.ms": ("1000", "3600000", "604800000"),
    "segment.bytes": ("14", "1048576", "1073741824"),
    "cleanup.policy": ("delete", "compact", "compact,delete", ""),
    "min.insync.replicas": ("1", "2", "3", "4"),
    "unclean.leader.election.enable": ("true", "false"),
    "min.cleanable.dirty.ratio": ("0.5", "1.0"),
    "min.compaction.lag.ms": ("0", "3600000", "9223372036854775807"),
    "max.message.bytes": ("1048588", "209715200"),
    "flush.messages": ("1", "9223372036854775807"),
}
_OF_BROKERS = {
    "retention.ms": "log.retention.ms",
    "retention.bytes": "log.retention.bytes",
    "segment.ms": "log.roll.ms",
    "segment.bytes": "log.segment.bytes",
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}
_TOPICS = ("orders", "carts", "__consumer_offsets")


@st.composite
def clusters(draw: st.DrawFn) -> Seen:
    """Draw a variant of the healthy cluster: with other values of topics, other defaults of brokers and other numbers
    of replicas.
    """
    seen = healthy()
    for name in _TOPICS:
        replicas = draw(st.sampled_from([(1,), (1, 2), (1, 2, 3)]))
        seen = placed(*[replicas] * 3, name=name)(seen)
        for key in draw(st.sets(st.sampled_from(sorted(_VALUES)), max_size=4)):
            seen = with_config(seen, topic_resource(name), key, draw(st.sampled_from(_VALUES[key])))
    defaults = {
        key: draw(st.sampled_from(_VALUES[key]))
        for key in draw(st.sets(st.sampled_from(sorted(_OF_BROKERS)), max_size=3))
    }
    return log_dirs(log_dir("/data", ("orders", 10**6), ("carts", 10**7)))(_with_defaults(seen, defaults))


def _with_defaults(seen: Seen, values: Mapping[str, str]) -> Seen:
    """Return the cluster with these broker defaults, as descriptions of brokers and topics then show them."""
    from console.plan.edits import SetConfig

    edits = [SetConfig(CLUSTER_DEFAULT, _OF_BROKERS[key], value) for key, value in values.items()]
    plan = Plan(tuple(Staged(edit, UNREAD) for edit in edits))
    return replace(seen, snapshot=predict(seen.snapshot, plan))


@given(clusters())
@example(_with_defaults(topic("min.insync.replicas", "3")(healthy()), {"min.insync.replicas": "1"}))
def test_a_remedy_ends_its_finding(seen: Seen) -> None:
    for each in lint(seen, target).findings:
        if each.found.edits:
            plan = Plan(tuple(Staged(edit, UNREAD) for edit in each.found.edits))
            after = replace(seen, snapshot=predict(seen.snapshot, plan))
            left = {(found.subject, found.key) for found in each.rule.find(after)}
            assert (each.found.subject, each.found.key) not in left, (each.rule.name, each.found)


def _hostile(name: str) -> Seen:
    with_names = both(placed((1,), name=f"{name}.a"), placed((1,), name=f"{name}_a"), acls(acl(name, name)))
    seen = with_names(healthy())
    seen = with_config(seen, topic_resource(f"{name}.a"), "retention.ms", "1")
    return with_config(seen, ConfigResource(BROKER, "2"), "num.replica.fetchers", name, STATIC_BROKER_CONFIG)


@pytest.mark.parametrize("name", [*HOSTILE, SENT], ids=ascii)
@pytest.mark.parametrize("form", ["text", "json", "junit"])
def test_hostile_names_are_shown_harmless(name: str, form: str) -> None:
    report = lint(_hostile(name), target)
    assert "single-replica" in {each.rule.name for each in report.findings}
    if form == "text":
        assert acted_upon(render(report_detail(report, [], lambda _: "", whole=True), 100)) == ""
    elif form == "json":
        assert acted_upon(json_text(report_data(report, [], lambda _: ""))) == ""
        json.loads(json_text(report_data(report, [], lambda _: "")))
    else:
        text = junit_text(report, [name], lambda _: "", name)
        assert acted_upon(text) == ""
        assert ElementTree.fromstring(text).tag == "testsuites"


def test_a_secret_is_not_shown() -> None:
    seen = with_config(healthy(), broker_resource(1), "ssl.key.password", "hunter2", sensitive=True)
    seen = with_config(seen, topic_resource("orders"), "retention.ms", "1")
    report = lint(seen, target)
    assert report.findings
    assert "hunter2" not in json_text(report_data(report, [], lambda _: ""))


def test_an_acceptance_counts_by_rule_and_subject_and_says_when_it_fits_nothing() -> None:
    seen = both(topic("retention.ms", "1"), topic("retention.ms", "1", "carts"))(healthy())
    accepted = (
        Acceptance("retention-tiny", "topic ord*", "emptied by design", "f:1"),
        Acceptance("retention-tiny", "topic gone", "was emptied", "f:2"),
        Acceptance("min-isr-one", "*", "is not so here", "f:3"),
        Acceptance("no-such-rule", "*", "a slip", "f:4"),
    )
    report = lint(replace(seen, accepted=accepted), target, [BY_NAME["retention-tiny"]])
    assert [(target(each.found.subject), each.accepted) for each in report.findings] == [
        ("topic orders", accepted[0]),
        ("topic carts", None),
    ]
    # The rule of the third acceptance did not run.
    assert report.unused == (accepted[1], accepted[3])
    shown = render(report_detail(report, [], lambda _: "", whole=True))
    assert "1 finding: 1 high; 1 accepted" in shown
    assert "accepted: emptied by design" in shown
    assert "nothing is found there any more; it stood because: was emptied" in shown
    assert "there is no such rule" in shown
    junit = junit_text(report, [], lambda _: "", "c")
    assert 'failures="1"' in junit
    assert "accepted: topic orders: emptied by design" in junit


def test_many_findings_of_a_rule_are_folded_and_counted() -> None:
    seen = healthy()
    for number in range(30):
        seen = placed((1,), name=f"t{number}")(seen)
    report = lint(groups()(seen), target)
    assert "and 20 more: --rule single-replica lists them all" in render(
        report_detail(report, [], lambda _: "", whole=False)
    )
    assert len([each for each in report.findings if each.rule.name == "single-replica"]) == 30
