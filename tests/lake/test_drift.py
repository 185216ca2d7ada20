"""What is different from its peers: a table of cases, and random brokers held to a plain count."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from console.lake.entities import POLL_SOURCES
from console.lake.policy_files import Wanted, read_baseline
from console.lake.schema import DRIFT, HISTORY, arrow_schema
from console.lake.transforms.drift import drift_between, drift_within
from tests.lake.gold_rows import at, gone, held, in_file, snapshot_table

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
    # Broker 3 has more threads than the others since minute 5; all else is each one's own.
    *(held("one", f"broker:{number}", "num.io.threads", "8") for number in (1, 2)),
    held("one", "broker:3", "num.io.threads", "16", 5),
    *(held("one", f"broker:{number}", "log.dirs", f"/data/{number}") for number in (1, 2, 3)),
    *(held("one", f"broker:{number}", ":rack", f"r{number}") for number in (1, 2, 3)),
    # What all inherit is not compared with itself, what one has of its own is.
    held("one", "broker:<default>", "log.retention.ms", "1000"),
    held("one", "broker:2", "log.retention.ms", "2000", 7),
    held("one", "broker:1", "background.threads", "9", 3, 8),
    gone("one", "broker:1", "background.threads", 8),
    held("one", "broker:2", "background.threads", "9", 3),
    held("one", "broker:3", "background.threads", "9", 3),
    # A file's value does not count while the cluster's default holds.
    held("one", "broker:<default>", "log.cleaner.threads", "4", 2),
    held("one", "broker:1", "log.cleaner.threads", "1", source="snapshot"),
    # Hidden on two, nothing on the third.
    held("one", "broker:1", "listener.name.x.sasl.jaas.config", None),
    held("one", "broker:2", "listener.name.x.sasl.jaas.config", None),
    # The order of a list that brokers take for a set is no difference; what is in it is.
    held("one", "broker:1", "log.cleanup.policy", "compact,delete"),
    held("one", "broker:2", "log.cleanup.policy", "delete, compact"),
    held("one", "broker:3", "log.cleanup.policy", "delete,compact"),
    # Two brokers: nothing of one's own wins a tie, two values are a tie.
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
    # Where a move goes is no drift, nor is what is left of it.
    held("c", "topic:orders", "leader.replication.throttled.replicas", "0:1,0:2", 4),
    held("c", "broker:<default>", "follower.replication.throttled.rate", "1000", 4),
    held("a", "topic:only-here", "retention.ms", "5"),
    held("a", "quota:user=<default>", "producer_byte_rate", "10"),
    *(
        held(name, "quota:user=alice", "producer_byte_rate", value)
        for name, value in (("a", "1"), ("b", "1"), ("c", "2"))
    ),
    held("a", "quota:user=bob", "producer_byte_rate", "10"),
    # Of two clusters none is the odd one, whether the other has another value or none.
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
EXPECTED = {
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
    # The brokers' defaults are the brokers' own: one broker and <default> are two.
}


def found(history: Iterable[dict[str, Any]], baseline: Sequence[Wanted] = ()) -> set[tuple[Any, ...]]:
    """Of each cluster by itself, and of each entity of several: as the application groups the rows."""
    rows = list(history)
    first: dict[str, datetime] = {}
    for row in rows:
        if row["source"] in POLL_SOURCES:
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
    """What drift says of the cases and of random brokers, in one go; and what a plain count says of the random ones."""
    chosen = random.Random(5)
    worlds = [random_brokers(chosen, f"r{number}") for number in range(150)]
    rows = [row for rows in worlds for row in rows]
    chosen.shuffle(rows)
    cases = [*BROKERS, *CLUSTERS, *BASE]
    everything = found([*cases, *rows], baseline=read_baseline(BASELINE))
    return everything, {odd for world in worlds for odd in odd_by_hand(world)}


def test_each_scope_marks_the_odd_ones(drifted: tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]) -> None:
    clusters = 7 + 150
    expected = {(*row[:6], clusters, *row[7:]) if row[6] == 7 else row for row in EXPECTED}
    assert {row for row in drifted[0] if not row[0].startswith("r") and row[2] != "broker:<default>"} == expected


def test_random_brokers_are_as_a_plain_count_has_them(
    drifted: tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]],
) -> None:
    everything, by_hand = drifted
    ours = {(cluster, *rest[1:7]) for cluster, *rest in everything if rest[0] == "broker" and cluster.startswith("r")}
    assert ours == by_hand
    assert len(by_hand) > 50
