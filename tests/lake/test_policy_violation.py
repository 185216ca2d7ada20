"""What is against a policy and since when: a table of cases, and random worlds judged minute by minute."""

from __future__ import annotations

import random
from typing import Any

from console.lake.policy_files import default_policies, read_policies
from console.lake.schema import POLICY_VIOLATION, arrow_schema
from console.lake.transforms.policy_violation import policy_violation
from tests.lake.gold_rows import at, gone, held, history_table

MINUTES = 30
Row = dict[str, Any]
Violation = tuple[str, str, str, str, int, int | None]
"""Cluster, policy, entity, attribute, first and last minute."""

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
    # Until a poll shows the brokers' files Kafka's default is not assumed; this cluster was polled.
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
    """Values of a few attributes that come, change and go."""
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
    """What is broken, judged at every minute."""
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
