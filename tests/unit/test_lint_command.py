"""Tests of ``kac lint``: output formats, exit codes, files to compare with, and the findings that contexts and files
accept.
"""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from console.cli import main
from console.contexts import load
from console.contexts.context import BrokenContext
from console.embedded.brokers import run_in_thread
from console.embedded.faults import Fault, Meanwhile
from console.embedded.spec import RACKS, ClusterSpec
from console.lint.rules import RULES
from tests.support import worlds

cluster = worlds.cluster(
    ClusterSpec(brokers=3, racks=RACKS, static_configs={"min.insync.replicas": "2", "log.dirs": "/data"}),
    worlds.topic("orders", 6, 3),
    worlds.topic("lone", 2, 1),
)
kac = worlds.commands()


def test_text_says_what_mends_a_finding_and_a_rule_looks_alone_or_not(kac: worlds.Kac) -> None:
    ran = kac("lint")
    assert ran.code == 0
    assert "HIGH single-replica (likely)" in ran.out
    assert "replication topic lone 3" in ran.out
    assert "did not look: token-expiring (delegation tokens: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in ran.out
    one = json.loads(kac("lint", "--rule", "single-replica", "--output", "json").out)
    assert [(each["rule"], each["subject"]) for each in one["findings"]] == [("single-replica", "topic lone")]
    assert one["rules"] == ["single-replica"]
    assert one["findings"][0]["remedy"] == ["replication topic lone 3"]
    rest = json.loads(kac("lint", "--skip", "single-replica", "--output", "json").out)
    assert len(rest["rules"]) == len(RULES) - 1
    assert "single-replica" not in {each["rule"] for each in rest["findings"]}


def test_an_exit_code_for_what_is_found(kac: worlds.Kac) -> None:
    assert kac("lint", "--exit-code", "--rule", "single-replica").code == 3
    assert kac("lint", "--exit-code", "--rule", "one-rack").code == 0
    ran = kac("lint", "--rule", "singel-replica")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no rule singel-replica; did you mean single-replica?" in ran.complaints


def test_members_are_read_without_offsets(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []
    fetches = [
        Fault(Meanwhile(lambda _state, api=api: asked.append(api)), api=api)  # type: ignore[misc]
        for api in ("offset_fetch", "list_offsets", "consumer_group_describe")
    ]
    with run_in_thread(ClusterSpec(scenario="groups"), fetches) as found:
        words = ["lint", "-b", found.bootstrap, "--rule", "connections-below-members", "--rule", "group-half-moved"]
        assert main.run([*words, "--output", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["did_not_look"], report["not_read"]) == ([], [])
    assert set(asked) == {"consumer_group_describe"}


# -- JUnit: the elements and attributes of its common schemas ----------------------------------------------------------

_ATTRIBUTES = {
    "testsuites": set[str](),
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "skipped": {"message"},
    "system-out": set[str](),
}
_WITHIN = {
    "testsuites": ["testsuite"],
    "testsuite": ["testcase", "system-out"],
    "testcase": ["skipped", "failure", "system-out"],
}
"""JUnit element -> its possible children, in the required order."""


def test_junit_has_a_case_for_each_rule_and_a_failure_for_each_finding(kac: worlds.Kac) -> None:
    text = kac("lint", "--output", "junit").out
    root = ElementTree.fromstring(text)
    for each in root.iter():
        assert set(each.attrib) == _ATTRIBUTES[each.tag]
        order = [_WITHIN[each.tag].index(inner.tag) for inner in each] if len(each) else []
        assert order == sorted(order)
    (suite,) = root
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [rule.name for rule in RULES]
    found = json.loads(kac("lint", "--output", "json").out)
    counts = {name: len(list(suite.iter(tag))) for name, tag in (("failures", "failure"), ("skipped", "skipped"))}
    assert counts == {
        "failures": len(found["findings"]),
        "skipped": sum(len(e["rules"]) for e in found["did_not_look"]),
    }
    assert {name: int(suite.get(name, "")) for name in counts} == counts
    assert int(suite.get("tests", "")) == len(RULES)


WANTED = """\
version: 1
topics:
  pay:
    partitions: 3
    replication: 1
    configs:
      retention.ms: 1s
  orders:
    partitions: 6
    replication: 3
    configs:
      min.insync.replicas: 3
lint:
  - rule: retention-tiny
    subject: topic p*
    reason: emptied by design
  - rule: min-isr-one
    subject: topic orders
    reason: it was so once
"""


@pytest.fixture
def wanted(tmp_path: Path) -> Path:
    file = tmp_path / "wanted.yaml"
    file.write_text(WANTED)
    return file


def test_wanted_files_are_looked_at_before_they_are_applied(kac: worlds.Kac, wanted: Path) -> None:
    ran = kac("lint", "-f", str(wanted), "--output", "json", "--exit-code")
    found = json.loads(ran.out)
    assert ran.code == 3
    # There are no findings about a topic that the file does not list, or about the brokers' own files.
    assert [(e["rule"], e["subject"], e["place"], e["accepted"] is not None) for e in found["findings"]] == [
        ("single-replica", "topic pay", f"{wanted}:3", False),
        ("retention-tiny", "topic pay", f"{wanted}:7", True),
        ("min-isr-equals-factor", "topic orders", f"{wanted}:12", False),
    ]
    assert found["accepted_in_vain"] == [
        {"rule": "min-isr-one", "subject": "topic orders", "reason": "it was so once", "place": f"{wanted}:17"}
    ]
    assert f"topic pay ({wanted}:7)" in kac("lint", "-f", str(wanted)).out


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("lint:\n  - {rule: auto-create, subject: '*', reason: ' '}\n", "accepted without a reason"),
        ("lint:\n  - {rule: auto-create, subject: '*'}\n", "reason is missing"),
        ("lint:\n  - {rule: auto-create, subject: '*', reason: x, why: y}\n", "why"),
        ("lint: auto-create\n", "a list is expected"),
    ],
)
def test_an_acceptance_in_a_file_has_a_rule_a_subject_and_a_reason(
    kac: worlds.Kac, tmp_path: Path, section: str, said: str
) -> None:
    file = tmp_path / "wanted.yaml"
    file.write_text(f"version: 1\n{section}")
    ran = kac("lint", "-f", str(file))
    assert ran.code == 2
    assert said in ran.complaints
    assert f"{file}:" in ran.complaints


def test_files_are_judged_without_a_cluster(wanted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["lint", "--offline", "-f", str(wanted), "--output", "json", "--exit-code"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert code == 3
    assert [(each["rule"], each["subject"], each["accepted"] is not None) for each in found] == [
        ("single-replica", "topic pay", False),
        ("retention-tiny", "topic pay", True),
        ("min-isr-equals-factor", "topic orders", False),
    ]
    assert main.run(["lint", "--offline"]) == 2
    assert main.run(["lint", "--offline", "-f", str(wanted), "-b", "127.0.0.1:1"]) == 2


_STRIMZI = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata: {name: controllers, labels: {strimzi.io/cluster: NAME}}
spec: {replicas: 3, roles: [controller]}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata: {name: brokers, labels: {strimzi.io/cluster: NAME}}
spec: {replicas: BROKERS, roles: [broker]}
---
apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata: {name: NAME}
spec:
  kafka:
    version: 4.3.1
    listeners: [{name: plain, port: 9092, type: internal, tls: false}]
    config:
      auto.create.topics.enable: false
      replica.lag.time.max.ms: 1000
---
"""


def _strimzi(name: str, brokers: int) -> str:
    return _STRIMZI.replace("NAME", name).replace("BROKERS", str(brokers))


def _offline(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str, str]]:
    assert main.run(["lint", "--offline", *words, "--output", "json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)["findings"]
    return [(each["rule"], each["subject"], each["place"].rpartition(":")[2]) for each in found]


def test_brokers_that_strimzi_describes_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kafka.yaml"
    file.write_text(_strimzi("prod", 4))
    assert _offline(capsys, "-f", str(file)) == [
        ("single-replica-default", "broker <default>", "11"),
        *(("settings-contradict", f"broker {number}", "20") for number in range(1, 5)),
    ]
    file.write_text(_strimzi("prod", 1))
    assert _offline(capsys, "-f", str(file)) == [("settings-contradict", "broker 1", "20")]


def test_one_of_several_described_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kafka.yaml"
    file.write_text(_strimzi("one", 1) + _strimzi("two", 2))
    assert main.run(["lint", "--offline", "-f", str(file)]) == 2
    assert "the files describe clusters one, two; --context NAME says which" in capsys.readouterr().err
    found = _offline(capsys, "-c", "two", "-f", str(file))
    assert [subject for rule, subject, _ in found if rule == "settings-contradict"] == ["broker 1", "broker 2"]


def test_a_value_that_brokers_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kafka.yaml"
    file.write_text(_strimzi("prod", 3).replace(": 1000", ": soon"))
    assert main.run(["lint", "--offline", "-f", str(file)]) == 2
    assert f"{file}:20: replica.lag.time.max.ms: Invalid value soon" in capsys.readouterr().err


Configured = Callable[[str], None]


@pytest.fixture
def configured(cluster: worlds.ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configured:
    """Provide a function that writes a configuration file with the context `here` of the cluster, and additional
    lines.
    """

    def make(more: str) -> None:
        file = tmp_path / "config.toml"
        file.write_text(f'[contexts.here]\n"bootstrap.servers" = "{cluster.bootstrap}"\n{more}')
        monkeypatch.setenv("KAC_CONFIG", str(file))

    return make


def test_a_context_accepts_findings_with_a_reason(configured: Configured, capsys: pytest.CaptureFixture[str]) -> None:
    reason = '[[contexts.here.lint]]\nrule = "single-replica"\nsubject = "topic lo*"\nreason = "rebuilt every night"\n'
    configured(reason)
    code = main.run(["lint", "-c", "here", "--rule", "single-replica", "--exit-code"])
    shown = capsys.readouterr().out
    assert code == 0
    assert "no finding; 1 accepted" in shown
    assert "accepted: rebuilt every night" in shown


@pytest.mark.parametrize(
    "wrong",
    [
        '[[contexts.here.lint]]\nrule = "single-replica"\nsubject = "*"\n',
        '[[contexts.here.lint]]\nrule = "single-replica"\nsubject = "*"\nreason = " "\n',
        '[contexts.here.lint]\nrule = "single-replica"\nsubject = "*"\nreason = "x"\n',
        'lint = "single-replica"\n',
    ],
)
def test_an_acceptance_without_a_reason_makes_a_context_unusable(
    configured: Configured, wrong: str, tmp_path: Path
) -> None:
    configured(wrong)
    (broken,) = load({"KAC_CONFIG": str(tmp_path / "config.toml")}, tmp_path).broken
    assert isinstance(broken, BrokenContext)
    assert "[[contexts.here.lint]] has rule, subject, reason" in broken.problem


empty = worlds.cluster(ClusterSpec(brokers=3, racks=RACKS))
on_empty = worlds.commands("empty")
closed = worlds.cluster(ClusterSpec(brokers=1, super_users=frozenset()), worlds.topic("orders", 2, 1, [1]))
on_closed = worlds.commands("closed")


def test_files_for_a_cluster_without_topics_are_judged_by_what_its_brokers_say(
    on_empty: worlds.Kac, wanted: Path
) -> None:
    found = json.loads(on_empty("lint", "-f", str(wanted), "--output", "json").out)
    named = {(each["rule"], each["subject"]) for each in found["findings"]}
    assert ("retention-tiny", "topic pay") in named
    assert ("single-replica", "topic pay") in named


def test_without_rights_a_report_says_which_rules_did_not_look(on_closed: worlds.Kac) -> None:
    ran = on_closed("lint", "--output", "json", "--exit-code")
    found = json.loads(ran.out)
    why = {rule: each["why"] for each in found["did_not_look"] for rule in each["rules"]}
    assert "AUTHORIZATION_FAILED" in why["acl-for-everybody"]
    assert "AUTHORIZATION_FAILED" in why["auto-create"]
    assert "single-replica" in why
    # kac concludes nothing from parts that it could not read.
    assert (ran.code, found["findings"]) == (0, [])


tls = worlds.cluster(
    ClusterSpec(
        brokers=1,
        static_configs={"advertised.listeners": "SSL://127.0.0.1:1", "listener.security.protocol.map": "SSL:SSL"},
    )
)
on_tls = worlds.commands("tls")


def test_a_listener_that_shows_no_certificate_is_named(on_tls: worlds.Kac) -> None:
    (line,) = json.loads(on_tls("lint", "--rule", "certificate-expiring", "--output", "json").out)["not_read"]
    assert line.startswith("certificates of 127.0.0.1:1 could not be read: NO_CERTIFICATE")
