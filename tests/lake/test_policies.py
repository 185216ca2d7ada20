"""Tests of policies, of their violations, and of drift: values that differ from those of peers, such as other
brokers.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake import entities, policy_files
from console.lake.policy_files import Policy, Wanted, default_policies, read_baseline, read_policies
from console.lake.schema import DRIFT, HISTORY, POLICY_VIOLATION, arrow_schema
from console.lake.transforms.drift import drift_between, drift_within
from console.lake.transforms.policy_violation import policy_violation
from console.lint.rule import Seen
from console.lint.rules import BY_NAME
from console.model import cluster, codes, snapshot, yaml_places
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigEntry,
    ConfigResource,
    ConfigSet,
    broker_resource,
    topic_resource,
)
from tests.lake.gold_rows import at, gone, held, history_table, in_file, snapshot_table

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
    assert re.search(public.acl or "", entities.acl_attr("ALLOW", "WRITE", "User:*", "10.0.0.1"))
    assert not re.search(public.acl or "", entities.acl_attr("ALLOW", "WRITE", "User:a", "*"))
    assert not re.search(public.acl or "", entities.acl_attr("DENY", "WRITE", "User:*", "*"))
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
    with pytest.raises(yaml_places.FileProblem, match=re.escape(says)) as raised:
        policy_files.read_policies(wrong, "mine.yaml")
    assert str(raised.value).startswith(f"mine.yaml:{line}: ")


def test_an_id_is_there_once() -> None:
    with pytest.raises(yaml_places.FileProblem, match="yaml:2: policies must be a list"):
        policy_files.read_policies("version: 1\npolicies: 3\n")
    with pytest.raises(yaml_places.FileProblem, match="yaml:13: duplicate id isr"):
        policy_files.read_policies(HEAD + GOOD + GOOD)


@given(glob=st.text("a.*?_\n", min_size=1, max_size=6), name=st.text("a.b_\n*", max_size=6))
def test_globs_are_of_whole_names(glob: str, name: str) -> None:
    def fits(glob: str, name: str) -> bool:
        if not glob:
            return not name
        if glob[0] == "*":
            return fits(glob[1:], name) or (bool(name) and fits(glob, name[1:]))
        return bool(name) and glob[0] in ("?", name[0]) and fits(glob[1:], name[1:])

    # In Python and Java `$` also matches before a final line break; no name in Kafka ends with one.
    name = name.rstrip("\n")
    assert bool(re.search(policy_files.Names((glob,)).pattern, name)) == fits(glob, name)
    assert not re.search(policy_files.Names(("*",), (glob,)).pattern, name) or not fits(glob, name)


# -- policies that name a rule of `kac lint` judge the same values as that rule, in a cluster with the same configs ----

ISR, UNCLEAN, AUTO_CREATE = "min.insync.replicas", "unclean.leader.election.enable", "auto.create.topics.enable"
KAFKAS = {ISR: "1", UNCLEAN: "false", AUTO_CREATE: "true"}
"""Key -> Kafka's own default."""
VALUES = {ISR: ["1", "2", "3", "4"], UNCLEAN: ["true", "false"], AUTO_CREATE: ["true", "false"]}
OF_TOPICS = (ISR, UNCLEAN)
REPLICAS = (1, 2, 3)
NAMING = [policy for policy in default_policies() if policy.rules]

Levels = Mapping[str, str | None]
"""Key -> its value at one level, such as the topic; None if the key is not set there."""


def levels(*keys: str) -> st.SearchStrategy[Levels]:
    return st.fixed_dictionaries({key: st.none() | st.sampled_from(VALUES[key]) for key in keys})


def _in_file(broker: int, key: str, value: str) -> dict[str, Any]:
    """Return a poll's row for a value that a broker has in its properties file."""
    return held("c", f"broker:{broker}", key, value, source="snapshot")


def rows(own: Levels, common: Levels, file: Levels) -> list[dict[str, Any]]:
    """Return the lake's rows of a topic with three replicas. own: the topic's configs. common: the brokers' common
    default. file: the brokers' properties files.
    """
    found = [held("c", "topic:orders", ":replication", str(len(REPLICAS))), _in_file(1, "log.dirs", "/data")]
    found += [held("c", "topic:orders", key, value) for key, value in own.items() if value is not None]
    found += [held("c", "broker:<default>", key, value) for key, value in common.items() if value is not None]
    found += [_in_file(each, key, value) for each in REPLICAS for key, value in file.items() if value is not None]
    return found


def seen(own: Levels, common: Levels, file: Levels) -> Seen:
    """Return these values in the form in which brokers describe them, each with its source."""
    sources = codes.DYNAMIC_TOPIC_CONFIG, codes.DYNAMIC_DEFAULT_BROKER_CONFIG, codes.STATIC_BROKER_CONFIG

    def entry(key: str, *values: str | None) -> ConfigEntry:
        by_source = zip(values, sources[-len(values) :], strict=True)
        value, source = next(
            ((value, source) for value, source in by_source if value is not None), (KAFKAS[key], codes.DEFAULT_CONFIG)
        )
        return ConfigEntry(key, value, codes.ConfigSource(source))

    topic = ConfigSet(tuple(entry(key, own[key], common[key], file[key]) for key in OF_TOPICS))
    broker = ConfigSet(tuple(entry(key, common.get(key), file[key]) for key in sorted(KAFKAS)))
    configs: dict[ConfigResource, ConfigSet] = {topic_resource("orders"): topic, CLUSTER_DEFAULT: ConfigSet(())}
    configs |= {broker_resource(each): broker for each in REPLICAS}
    partition = cluster.Partition(0, 1, REPLICAS, REPLICAS)
    info = cluster.ClusterInfo("c", 1, tuple(cluster.Broker(each, "h", 9092) for each in REPLICAS))
    topics = {"orders": cluster.Topic("orders", (partition,))}
    return Seen(snapshot.Snapshot(cluster=info, topics=topics, configs=configs), datetime(2026, 11, 20, tzinfo=UTC))


def test_each_name_is_that_of_a_rule() -> None:
    assert {policy.id for policy in NAMING} == {
        "min-insync-replicas",
        "min-insync-below-replication",
        "unclean-leader-election",
        "auto-create-topics",
    }
    assert all(name in BY_NAME for policy in NAMING for name in policy.rules)


@pytest.mark.parametrize("policy", NAMING, ids=lambda policy: policy.id)
@given(own=levels(*OF_TOPICS), common=levels(*OF_TOPICS), file=levels(*KAFKAS))
def test_policy_and_rules_judge_the_same(policy: Policy, own: Levels, common: Levels, file: Levels) -> None:
    against = [row for row in violations(rows(own, common, file), [policy]) if row["last_seen"] is None]
    found = [each for name in policy.rules for each in BY_NAME[name].find(seen(own, common, file))]
    assert bool(against) == bool(found), (against, found)


# -- violations and their beginning: a table of cases, and random worlds judged minute by minute -----------------------

MINUTES = 30
Row = dict[str, Any]
Violation = tuple[str, str, str, str, int, int | None]
"""A violation: cluster id, policy, entity, attribute, its first minute and its last one (None if it has not ended)."""

POLICIES = """
version: 1
policies:
  - {id: isr, severity: high, what: w, why: w, topic: "*", except: [__*], attr: min.insync.replicas,
     inherits: min.insync.replicas, default: 1, expect: {at_least: 2}}
  - {id: room, severity: high, what: w, why: w, topic: "*", attr: min.insync.replicas, expect: {below: ":replication"}}
  - {id: limits, severity: low, what: w, why: w, quota: [user=<default>, client-id=<default>],
     attr: producer_byte_rate, expect: {set_on_one: true}}
  - {id: named, severity: low, what: w, why: w, broker: <default>, attr: background.threads, expect: {set: true}}
  - {id: cleanup, severity: low, what: w, why: w, topic: "*", attr: "cleanup.*", expect: {one_of: [delete]}}
"""
REAL = [
    held("real", "topic:orders", ":replication", "1", 0, 4),
    held("real", "topic:orders", ":replication", "3", 4),
    held("real", "topic:orders", "min.insync.replicas", "2", 0, 9),
    held("real", "topic:orders", "min.insync.replicas", "3", 9, 11),
    gone("real", "topic:orders", "min.insync.replicas", 11),
    held("real", "topic:orders", "retention.ms", "-1", 2, 6),
    held("real", "topic:orders", "retention.ms", "60000", 6),
    held("real", "acl:TOPIC:LITERAL:orders", "ALLOW WRITE User:* from *", "set", 3, 8),
    gone("real", "acl:TOPIC:LITERAL:orders", "ALLOW WRITE User:* from *", 8),
    held("real", "acl:TOPIC:LITERAL:orders", "ALLOW WRITE User:alice from *", "set", 3),
    held("real", "client-metrics:m", "match", "client_id=x,password=hunter2", 5),
    held("real", "broker:1", "listener.name.x.ssl.keystore.password", None, 7),
    held("real", "broker:1", "log.retention.ms", "-1", 1, source="snapshot"),
    held("real", "quota:user=<default>,client-id=<default>", "producer_byte_rate", "1000", 3),
    held("real", "quota:user=big", "consumer_byte_rate", "1e12", 3),
    held("real", "cluster:real", ":unobserved", None, 3, 4),
]
EXPECTED = {
    ("replication-factor", "topic:orders", ":replication", "1", "high", 0, 4),
    # Kafka's default only counts once a poll has shown the brokers' files. This cluster was polled.
    ("min-insync-replicas", "topic:orders", "min.insync.replicas", None, "high", 11, None),
    ("min-insync-below-replication", "topic:orders", "min.insync.replicas", "2", "high", 0, 4),
    ("min-insync-below-replication", "topic:orders", "min.insync.replicas", "3", "high", 9, 11),
    ("retention-without-end", "topic:orders", "retention.ms", "-1", "low", 2, 6),
    ("retention-too-short", "topic:orders", "retention.ms", "60000", "medium", 6, None),
    ("public-write", "acl:TOPIC:LITERAL:orders", "ALLOW WRITE User:* from *", "set", "high", 3, 8),
    ("secret-in-client-metrics", "client-metrics:m", "match", None, "high", 5, None),
    ("password-at-broker", "broker:1", "listener.name.x.ssl.keystore.password", None, "low", 7, None),
    ("default-retention-without-end", "broker:1", "log.retention.ms", "-1", "medium", 1, None),
    ("default-producer-quota", "quota:user=<default>", "producer_byte_rate", None, "medium", 0, 3),
    ("default-consumer-quota", "quota:user=<default>", "consumer_byte_rate", None, "medium", 0, None),
    ("quota-in-name-only", "quota:user=big", "consumer_byte_rate", "1e12", "low", 3, None),
    ("auto-create-topics", "broker:1", "auto.create.topics.enable", None, "medium", 1, None),
    ("default-replication-factor", "broker:1", "default.replication.factor", None, "medium", 1, None),
}


def violations(rows: list[Row], policies: Any) -> list[Row]:
    made = policy_violation(history_table(rows), policies)
    assert made.schema == arrow_schema(POLICY_VIOLATION)
    minutes: dict[Any, int | None] = {at(minute): minute for minute in range(1000)} | {None: None}
    found: list[Row] = made.to_pylist()
    return [row | {name: minutes[row[name]] for name in ("first_seen", "last_seen")} for row in found]


def test_the_policies_that_come_with_kac() -> None:
    rows = violations(REAL, default_policies())
    names = ("policy_id", "entity_key", "attr", "actual", "severity", "first_seen", "last_seen")
    assert {tuple(row[name] for name in names) for row in rows} == EXPECTED
    assert len(rows) == len(EXPECTED)
    assert "hunter2" not in str(rows)
    assert {row["expected"] for row in rows if row["policy_id"] == "retention-too-short"} == {"at least an hour"}


def test_a_list_that_brokers_take_for_a_set_is_judged_by_its_items() -> None:
    wanted = 'one_of: ["compact,delete"]', 'none_of: ["compact,delete"]'
    for expected, against in zip(wanted, ({"topic:other"}, {"topic:same", "topic:turned"}), strict=True):
        policies = read_policies(
            "version: 1\npolicies:\n  - {id: cleanup, severity: low, what: w, why: w, topic: '*', "
            f"attr: cleanup.policy, expect: {{{expected}}}}}\n",
        )
        values = {"same": "compact,delete", "turned": "delete, compact", "other": "delete"}
        rows = [held("one", f"topic:{name}", "cleanup.policy", value) for name, value in values.items()]
        assert {row["entity_key"] for row in violations(rows, policies)} == against


def random_world(chosen: random.Random, cluster: str) -> list[Row]:
    """Return rows of the table `history` for a few attributes that are set, changed and deleted at random."""
    choices = {
        ("topic:a", "min.insync.replicas"): ["1", "2", "3", None],
        ("topic:a", ":replication"): ["2", "3"],
        ("topic:__b", "min.insync.replicas"): ["1", "3"],
        ("topic:__b", "cleanup.policy"): ["delete", "compact"],
        ("broker:<default>", "min.insync.replicas"): ["1", "2"],
        ("broker:1", "min.insync.replicas"): ["1", "2"],
        ("broker:2", "min.insync.replicas"): ["1", "2"],
        ("broker:<default>", "background.threads"): ["1", None],
        ("quota:user=<default>", "producer_byte_rate"): ["5", "6"],
        ("quota:client-id=<default>", "producer_byte_rate"): ["5"],
    }
    rows: list[Row] = []
    saw_files = chosen.random() < 0.5
    for (entity, attr), values in choices.items():
        if chosen.random() < 0.3:
            continue
        source = "snapshot" if saw_files and entity.startswith("broker") else "kraft_log"
        times = sorted(chosen.sample(range(MINUTES), chosen.randint(1, 5)))
        for number, (since, until) in enumerate(zip(times, [*times[1:], None], strict=True)):
            if number and chosen.random() < 0.4:
                rows.append(gone(cluster, entity, attr, since, until) | {"source": source})
            else:
                rows.append(held(cluster, entity, attr, chosen.choice(values), since, until, source=source))
    return rows


def by_hand(rows: list[Row]) -> set[Violation]:
    """Return the violations in these rows of `history`, computed by applying the policies at every minute."""
    if not rows:
        return set()
    cluster = rows[0]["cluster_id"]
    first = min(row["valid_from"] for row in rows)
    saw_files = any(row["source"] == "snapshot" and row["entity_type"] == "broker" for row in rows)
    broken: dict[tuple[str, str, str], list[bool]] = {}
    with_isr = {
        row["entity_key"] for row in rows if row["entity_type"] == "broker" and row["attr"] == "min.insync.replicas"
    }
    first_broker = min(with_isr - {"<default>"}, default="")
    for minute in range(MINUTES + 1):
        now = {
            (f"{row['entity_type']}:{row['entity_key']}", row["attr"]): row["new_value"]
            for row in rows
            if not row["is_deleted"]
            and row["valid_from"] <= at(minute)
            and (row["valid_to"] is None or at(minute) < row["valid_to"])
        }
        there = {entity for entity, _ in now}
        isr = "min.insync.replicas"

        def told(id_: str, entity: str, attr: str, is_broken: bool, minute: int = minute) -> None:
            broken.setdefault((id_, entity, attr), [False] * (MINUTES + 1))[minute] = is_broken

        if "topic:a" in there:
            inherited = now.get(("broker:<default>", isr)) or now.get((f"broker:{first_broker}", isr))
            value = now.get(("topic:a", isr), inherited or ("1" if saw_files else None))
            told("isr", "topic:a", isr, value is not None and int(value) < 2)
        for topic in ("topic:a", "topic:__b"):
            value, replicas = now.get((topic, isr)), now.get((topic, ":replication"))
            told("room", topic, isr, value is not None and replicas is not None and int(value) >= int(replicas))
            policy = now.get((topic, "cleanup.policy"))
            told("cleanup", topic, "cleanup.policy", policy not in (None, "delete"))
        if at(minute) >= first:
            limited = {"quota:user=<default>", "quota:client-id=<default>"} & there
            told("limits", "quota:user=<default>", "producer_byte_rate", not limited)
            named = ("broker:<default>", "background.threads")
            told("named", *named, named not in now)
    found: set[Violation] = set()
    for (id_, entity, attr), minutes in broken.items():
        begins = [minute for minute, is_so in enumerate(minutes) if is_so and not (minute and minutes[minute - 1])]
        for begin in begins:
            end = next((minute for minute in range(begin, MINUTES + 1) if not minutes[minute]), None)
            found.add((cluster, id_, entity, attr, begin, end))
    return found


def test_random_worlds_are_as_judged_minute_by_minute() -> None:
    chosen = random.Random(3)
    worlds = [random_world(chosen, f"w{number}") for number in range(200)]
    rows = [row for world in worlds for row in world]
    chosen.shuffle(rows)
    names = ("cluster_id", "policy_id", "entity_key", "attr", "first_seen", "last_seen")
    ours = [tuple(row[name] for name in names) for row in violations(rows, read_policies(POLICIES))]
    expected = {violation for world in worlds for violation in by_hand(world)}
    assert set(ours) == expected
    assert len(ours) == len(expected)
    assert {violation[1] for violation in expected} == {"isr", "room", "limits", "named", "cleanup"}


def test_without_policies_there_is_nothing() -> None:
    assert violations(REAL, ()) == []


# -- drift: a table of cases, and random brokers compared with a plain count -------------------------------------------

BASELINE = """
version: 1
baseline:
  - topic: "*"
    except: ["__*"]
    clusters: ["base*"]
    values:
      min.insync.replicas: 2
      compression.type: ~
      cleanup.policy: compact,delete
  - topic: small
    severity: low
    values: {min.insync.replicas: 1}
  - quota: user=<default>
    clusters: [base]
    values: {producer_byte_rate: 1000000}
  - broker: "*"
    clusters: [base]
    values: {log.cleaner.threads: 2}
"""

BROKERS = [
    # Broker 3 has had more threads than the others since minute 5; all other values are specific to each broker.
    *(held("one", f"broker:{number}", "num.io.threads", "8") for number in (1, 2)),
    held("one", "broker:3", "num.io.threads", "16", 5),
    *(held("one", f"broker:{number}", "log.dirs", f"/data/{number}") for number in (1, 2, 3)),
    *(held("one", f"broker:{number}", ":rack", f"r{number}") for number in (1, 2, 3)),
    # A default that all brokers inherit is not drift; a broker's own value is.
    held("one", "broker:<default>", "log.retention.ms", "1000"),
    held("one", "broker:2", "log.retention.ms", "2000", 7),
    held("one", "broker:1", "background.threads", "9", 3, 8),
    gone("one", "broker:1", "background.threads", 8),
    held("one", "broker:2", "background.threads", "9", 3),
    held("one", "broker:3", "background.threads", "9", 3),
    # The value in a file does not count while the cluster has a default.
    held("one", "broker:<default>", "log.cleaner.threads", "4", 2),
    held("one", "broker:1", "log.cleaner.threads", "1", source="snapshot"),
    # Two brokers have a hidden value, the third has none.
    held("one", "broker:1", "listener.name.x.sasl.jaas.config", None),
    held("one", "broker:2", "listener.name.x.sasl.jaas.config", None),
    # Another order of a list that brokers treat as a set is no difference; other elements are.
    held("one", "broker:1", "log.cleanup.policy", "compact,delete"),
    held("one", "broker:2", "log.cleanup.policy", "delete, compact"),
    held("one", "broker:3", "log.cleanup.policy", "delete,compact"),
    # With two brokers, a value that only one of them has is drift; two different values are not, as none is usual.
    held("two", "broker:1", ":endpoints", "h:1"),
    held("two", "broker:2", "num.io.threads", "9", 4),
    held("two", "broker:1", "num.network.threads", "3"),
    held("two", "broker:2", "num.network.threads", "4"),
]
CLUSTERS = [
    *(held(name, "topic:orders", ":partitions", "6") for name in ("a", "b")),
    held("c", "topic:orders", ":partitions", "12", 3),
    *(held(name, "topic:orders", "min.insync.replicas", "2", 2) for name in ("a", "c")),
    held("b", "topic:orders", "min.insync.replicas", "2", 1, 6),
    gone("b", "topic:orders", "min.insync.replicas", 6),
    *(held(name, "topic:orders", ":topic_id", name) for name in ("a", "b", "c")),
    *(held(name, "topic:orders", "cleanup.policy", "compact,delete") for name in ("a", "b")),
    held("c", "topic:orders", "cleanup.policy", "delete,compact", 4),
    # The throttles of a move are no drift, also if they are left over.
    held("c", "topic:orders", "leader.replication.throttled.replicas", "0:1,0:2", 4),
    held("c", "broker:<default>", "follower.replication.throttled.rate", "1000", 4),
    held("a", "topic:only-here", "retention.ms", "5"),
    held("a", "quota:user=<default>", "producer_byte_rate", "10"),
    *(
        held(name, "quota:user=alice", "producer_byte_rate", value)
        for name, value in (("a", "1"), ("b", "1"), ("c", "2"))
    ),
    held("a", "quota:user=bob", "producer_byte_rate", "10"),
    # If only two clusters have a topic, neither deviates from the other, whether their values differ or one has none.
    held("a", "topic:pair", ":partitions", "6"),
    held("b", "topic:pair", ":partitions", "12"),
    held("a", "topic:pair", "retention.ms", "5"),
]
BASE = [
    held("base", "topic:basic", ":partitions", "1"),
    held("base", "topic:basic", "compression.type", "gzip", 9),
    held("base", "topic:small", "min.insync.replicas", "2", 1),
    held("base", "topic:fine", "min.insync.replicas", "2", 1),
    held("base", "topic:basic", "cleanup.policy", "delete,compact", 2),
    held("base", "topic:small", "cleanup.policy", "compact,delete", 2),
    held("base", "topic:fine", "cleanup.policy", "delete", 2),
    held("base", "topic:__offsets", ":partitions", "50"),
    held("base", "broker:<default>", "log.cleaner.threads", "2"),
    held("base", "broker:1", ":endpoints", "h:1"),
    held("elsewhere", "topic:large", ":partitions", "50"),
]
EXPECTED_DRIFT = {
    ("one", "broker", "broker:3", "num.io.threads", "8", "16", 3, 1, 5, "low"),
    ("one", "broker", "broker:2", "log.retention.ms", None, "2000", 3, 1, 7, "medium"),
    ("one", "broker", "broker:1", "background.threads", "9", None, 3, 1, 8, "low"),
    ("one", "broker", "broker:3", "listener.name.x.sasl.jaas.config", "[hidden]", None, 3, 1, 0, "high"),
    ("two", "broker", "broker:2", "num.io.threads", None, "9", 2, 1, 4, "low"),
    ("c", "cluster", "topic:orders", ":partitions", "6", "12", 3, 1, 3, "medium"),
    ("b", "cluster", "topic:orders", "min.insync.replicas", "2", None, 3, 1, 6, "high"),
    ("a", "cluster", "quota:user=<default>", "producer_byte_rate", None, "10", 7, 1, 0, "medium"),
    ("c", "cluster", "quota:user=alice", "producer_byte_rate", "1", "2", 3, 1, 0, "medium"),
    ("base", "baseline", "topic:basic", "compression.type", None, "gzip", 3, 1, 9, "medium"),
    ("base", "baseline", "topic:basic", "min.insync.replicas", "2", None, 2, 1, None, "high"),
    ("base", "baseline", "topic:fine", "cleanup.policy", "compact,delete", "delete", 3, 1, 2, "medium"),
    ("base", "baseline", "topic:small", "min.insync.replicas", "1", "2", 1, 1, 1, "low"),
    ("base", "baseline", "quota:user=<default>", "producer_byte_rate", "1000000", None, 1, 1, None, "medium"),
    # Broker 1 inherits the brokers' default, so it does not differ from the baseline.
}


def found(history: Iterable[dict[str, Any]], baseline: Sequence[Wanted] = ()) -> set[tuple[Any, ...]]:
    """Return the drift within each cluster and, for each entity, between clusters. The rows are grouped as the
    application groups them.
    """
    rows = list(history)
    first: dict[str, datetime] = {}
    for row in rows:
        if row["source"] in entities.POLL_SOURCES:
            first[row["cluster_id"]] = min(row["valid_from"], first.get(row["cluster_id"], row["valid_from"]))
    current = [{**row, "first_poll": first.get(row["cluster_id"])} for row in rows if row["is_current"]]
    clusters = {row["cluster_id"] for row in current}
    seen = [in_file("one", 1, "log.cleaner.threads", "1")]
    made = [
        drift_within(now_table(of), snapshot_table([row for row in seen if row["cluster_id"] == cluster]), baseline)
        for (cluster,), of in grouped(current, "cluster_id")
    ]
    among = [row for row in current if row["entity_type"] in ("topic", "quota", "broker")]
    made += [drift_between(now_table(of), clusters) for _, of in grouped(among, "entity_type", "entity_key")]
    assert {each.schema for each in made} == {arrow_schema(DRIFT)}
    minutes = {at(minute): minute for minute in range(100)}
    told = [
        tuple(minutes.get(value, value) if name == "since" else value for name, value in row.items())
        for each in made
        for row in each.to_pylist()
    ]
    assert len(set(told)) == len(told)
    return set(told)


def now_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    schema = arrow_schema(HISTORY)
    return pa.Table.from_pylist(list(rows), schema=schema.append(schema.field("valid_from").with_name("first_poll")))


def grouped(rows: Iterable[dict[str, Any]], *names: str) -> Iterable[tuple[tuple[Any, ...], list[dict[str, Any]]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups.items()


def random_brokers(chosen: random.Random, cluster: str) -> list[dict[str, Any]]:
    brokers = [f"broker:{number}" for number in range(chosen.randint(1, 6))]
    rows = [held(cluster, broker, ":endpoints", "h:1") for broker in brokers]
    for attr in ("num.io.threads", "num.network.threads"):
        for broker in [*brokers, "broker:<default>"]:
            value = chosen.choice([None, None, "1", "2"])
            if value is not None:
                rows.append(held(cluster, broker, attr, value, chosen.randrange(9)))
    return rows


def odd_by_hand(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    cluster = rows[0]["cluster_id"]
    own = {(row["entity_key"], row["attr"]): row["new_value"] for row in rows}
    brokers = sorted({key for key, _ in own} - {"<default>"})
    odd = set()
    for attr in ("num.io.threads", "num.network.threads"):
        inherited = own.get(("<default>", attr))
        holds = {broker: own.get((broker, attr), inherited) for broker in brokers}
        inherits = {holds[broker] for broker in brokers if (broker, attr) not in own}
        counts = Counter(holds.values())
        best = [value for value, count in counts.items() if count == max(counts.values())]
        winners = [value for value in best if value in inherits] or best
        if len(winners) != 1:
            continue
        shown = None if winners[0] in inherits else winners[0]
        differ = [broker for broker in brokers if holds[broker] != winners[0]]
        odd |= {
            (cluster, f"broker:{broker}", attr, shown, own.get((broker, attr)), len(brokers), len(differ))
            for broker in differ
        }
    return odd


@pytest.fixture(scope="module")
def drifted() -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """Provide the drift that kac finds for the cases and for random brokers together, and the drift of the random
    brokers by a plain count.
    """
    chosen = random.Random(5)
    worlds = [random_brokers(chosen, f"r{number}") for number in range(150)]
    rows = [row for rows in worlds for row in rows]
    chosen.shuffle(rows)
    cases = [*BROKERS, *CLUSTERS, *BASE]
    everything = found([*cases, *rows], baseline=read_baseline(BASELINE))
    return everything, {odd for world in worlds for odd in odd_by_hand(world)}


def test_each_scope_marks_the_odd_ones(drifted: tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]) -> None:
    clusters = 7 + 150
    expected = {(*row[:6], clusters, *row[7:]) if row[6] == 7 else row for row in EXPECTED_DRIFT}
    assert {row for row in drifted[0] if not row[0].startswith("r") and row[2] != "broker:<default>"} == expected


def test_random_brokers_are_as_a_plain_count_has_them(
    drifted: tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]],
) -> None:
    everything, by_hand = drifted
    ours = {(cluster, *rest[1:7]) for cluster, *rest in everything if rest[0] == "broker" and cluster.startswith("r")}
    assert ours == by_hand
    assert len(by_hand) > 50
