"""Policies that name a rule of `kac lint` judge the same values as it does, in a cluster of the same configs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.policy_files import Policy, default_policies
from console.lint.rule import Seen
from console.lint.rules import BY_NAME
from console.model import cluster, codes
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigEntry,
    ConfigResource,
    ConfigSet,
    broker_resource,
    topic_resource,
)
from console.model.snapshot import Snapshot
from tests.lake.gold_rows import held
from tests.lake.test_policy_violation import violations

ISR, UNCLEAN, AUTO_CREATE = "min.insync.replicas", "unclean.leader.election.enable", "auto.create.topics.enable"
KAFKAS = {ISR: "1", UNCLEAN: "false", AUTO_CREATE: "true"}
"""Kafka's own defaults."""
VALUES = {ISR: ["1", "2", "3", "4"], UNCLEAN: ["true", "false"], AUTO_CREATE: ["true", "false"]}
OF_TOPICS = (ISR, UNCLEAN)
REPLICAS = (1, 2, 3)
NAMING = [policy for policy in default_policies() if policy.rules]

Levels = Mapping[str, str | None]
"""Key -> a value, or None if it is not set there."""


def levels(*keys: str) -> st.SearchStrategy[Levels]:
    return st.fixed_dictionaries({key: st.none() | st.sampled_from(VALUES[key]) for key in keys})


def _in_file(broker: int, key: str, value: str) -> dict[str, Any]:
    """A poll showed a broker's value in its file."""
    return held("c", f"broker:{broker}", key, value, source="snapshot")


def rows(own: Levels, common: Levels, file: Levels) -> list[dict[str, Any]]:
    """What the lake has of a topic with three replicas, and of the brokers: their common default and their files."""
    found = [held("c", "topic:orders", ":replication", str(len(REPLICAS))), _in_file(1, "log.dirs", "/data")]
    found += [held("c", "topic:orders", key, value) for key, value in own.items() if value is not None]
    found += [held("c", "broker:<default>", key, value) for key, value in common.items() if value is not None]
    found += [_in_file(each, key, value) for each in REPLICAS for key, value in file.items() if value is not None]
    return found


def seen(own: Levels, common: Levels, file: Levels) -> Seen:
    """The same as brokers describe it: each value with its source."""
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
    return Seen(Snapshot(cluster=info, topics=topics, configs=configs), datetime(2026, 11, 20, tzinfo=UTC))


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
