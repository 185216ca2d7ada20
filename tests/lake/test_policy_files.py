"""Files of policies and baselines: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake import policy_files
from console.lake.entities import acl_attr
from console.model.yaml_places import FileProblem

HEAD = "version: 1\npolicies:\n"
GOOD = """\
  - id: isr
    severity: high
    what: two
    why: one is none
    topic: "*"
    except: [__*]
    attr: min.insync.replicas
    inherits: min.insync.replicas
    default: 1
    expect: {at_least: 2}
"""


def test_a_policy_means_what_it_says() -> None:
    assert policy_files.read_policies(HEAD + GOOD) == (
        policy_files.Policy(
            id="isr",
            severity="high",
            what="two",
            why="one is none",
            entity_type="topic",
            names=policy_files.Names(("*",), ("__*",)),
            attrs=policy_files.Names(("min.insync.replicas",)),
            expected=policy_files.Expected(at_least=2.0),
            inherits="min.insync.replicas",
            default="1",
        ),
    )
    assert policy_files.read_policies("") == policy_files.read_policies("version: 1\npolicies:\n") == ()


def test_those_that_come_with_kac_can_be_read_and_told_apart() -> None:
    policies = policy_files.default_policies()
    assert len({policy.id for policy in policies}) == len(policies) > 15
    assert all(policy.expected_words or policy.expected.words for policy in policies)
    public = next(policy for policy in policies if policy.id == "public-write")
    assert re.search(public.acl or "", acl_attr("ALLOW", "WRITE", "User:*", "10.0.0.1"))
    assert not re.search(public.acl or "", acl_attr("ALLOW", "WRITE", "User:a", "*"))
    assert not re.search(public.acl or "", acl_attr("DENY", "WRITE", "User:*", "*"))
    secret = next(policy for policy in policies if policy.id == "secret-in-client-metrics").expected.matches_not or ""
    examples = ("sasl.password=x", "org.x.PlainLoginModule required", "https://me:pass@host/", "client_id=api-key: 7")
    assert all(re.search(secret, each) for each in examples)
    assert not any(re.search(secret, each) for each in ("delete,compact", "producer", "https://host:80/x", "tokens"))


def test_the_page_of_docs_has_them_all() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "lake-policies.md").read_text()
    rows = [
        tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in page.splitlines() if line.startswith("| `")
    ]
    told = {row[0].strip("`"): row[1] for row in rows if len(row) == 4}
    assert told == {policy.id: policy.severity for policy in policy_files.default_policies()}
    (example,) = [block for block in page.split("```") if "policies:" in block]
    (policy,) = policy_files.read_policies(example.removeprefix("yaml"))
    assert policy.expected == next(each for each in policy_files.default_policies() if each.id == policy.id).expected
    (example,) = [block for block in page.split("```") if "baseline:" in block]
    assert len(policy_files.read_baseline(example.removeprefix("yaml"))) == 2


def test_a_baseline_means_what_it_says() -> None:
    text = """
version: 1
baseline:
  - broker: <default>
    values: {log.cleaner.threads: 2, unclean.leader.election.enable: no, compression.type: ~, a: [a, b]}
"""
    about = ("broker", policy_files.Names(("<default>",)))
    assert policy_files.read_baseline(text) == (
        policy_files.Wanted(*about, "log.cleaner.threads", "2"),
        policy_files.Wanted(*about, "unclean.leader.election.enable", "false"),
        policy_files.Wanted(*about, "compression.type", None),
        policy_files.Wanted(*about, "a", "a,b"),
    )


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("high", "urgent"), 4, "urgent is not one of high, medium, low"),
        (("attr:", "atr:"), 9, "unknown key 'atr'; did you mean attr?"),
        (("    what: two\n", ""), 3, "what is missing; add it"),
        (("at_least: 2", "at_least: two"), 12, "'two' is not a number"),
        (("{at_least: 2}", "{}"), 12, "`expect` needs a condition; for example `at_least: 2`"),
        (("{at_least: 2}", "{matches: '('}"), 12, "invalid regular expression"),
        (('topic: "*"', 'topic: "*"\n    broker: "*"'), 3, "the entity is missing; write one of topic, broker"),
        (("attr: min.insync.replicas", 'attr: "*"'), 3, "needs one attr without"),
        (("version: 1", "version: 2"), 1, "unknown version"),
        (("    default: 1", "    default: [1"), 12, "invalid YAML"),
        (("    why: one is none\n", "    why: a\n    why: b\n"), 7, "duplicate key 'why'"),
        (("attr: min.insync.replicas", "grants: {operations: ALL}"), 9, "only a policy of acl has grants"),
        (("inherits: min.insync.replicas\n", "inherits: ~\n"), 10, "inherits must be a text or a number"),
        (("  - id", "  - &a\n    <<: *b\n    id"), 3, "anchors and aliases"),
    ],
)
def test_what_is_wrong_is_said_by_line(change: tuple[str, str], line: int, says: str) -> None:
    wrong = (HEAD + GOOD).replace(*change, 1)
    assert wrong != HEAD + GOOD
    with pytest.raises(FileProblem, match=re.escape(says)) as raised:
        policy_files.read_policies(wrong, "mine.yaml")
    assert str(raised.value).startswith(f"mine.yaml:{line}: ")


def test_an_id_is_there_once() -> None:
    with pytest.raises(FileProblem, match="yaml:2: policies must be a list"):
        policy_files.read_policies("version: 1\npolicies: 3\n")
    with pytest.raises(FileProblem, match="yaml:13: duplicate id isr"):
        policy_files.read_policies(HEAD + GOOD + GOOD)


@given(glob=st.text("a.*?_\n", min_size=1, max_size=6), name=st.text("a.b_\n*", max_size=6))
def test_globs_are_of_whole_names(glob: str, name: str) -> None:
    def fits(glob: str, name: str) -> bool:
        if not glob:
            return not name
        if glob[0] == "*":
            return fits(glob[1:], name) or (bool(name) and fits(glob, name[1:]))
        return bool(name) and glob[0] in ("?", name[0]) and fits(glob[1:], name[1:])

    # `$` of Python and Java stands before a last line break too; no name of Kafka's ends with one.
    name = name.rstrip("\n")
    assert bool(re.search(policy_files.Names((glob,)).pattern, name)) == fits(glob, name)
    assert not re.search(policy_files.Names(("*",), (glob,)).pattern, name) or not fits(glob, name)
