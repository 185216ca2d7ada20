"""Replicas that are outside of the ISR by design, on a server that has them: no front end calls them missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec, Profile
from console.model.observers import PLACEMENT_KEYS

(KEY,) = PLACEMENT_KEYS
RULE = {"version": 2, "replicas": [{"count": 2, "constraints": {}}], "observers": [{"count": 1, "constraints": {}}]}
PLACED = {"stretched": json.dumps(RULE), "also": json.dumps(RULE | {"observers": [{"count": 2, "constraints": {}}]})}
"""The config's value by topic; all other topics have it empty."""


def with_placements(answer: Any) -> Any:
    """Topics have one more config."""
    return replace(answer, results=tuple(_placed(each) for each in answer.results))


def _placed(result: Any) -> Any:
    if result.resource_type != 2 or not result.configs:
        return result
    entry = replace(
        result.configs[0], name=KEY, value=PLACED.get(result.resource_name, ""), config_source=1, synonyms=()
    )
    return replace(result, configs=(*result.configs, entry))


@pytest.fixture
def server() -> Iterator[ThreadedCluster]:
    """Four brokers. Broker 4 copies two topics and is in neither's ISR; of a third it is a replica that is missing."""
    profile = Profile(release="3.9", answers={"describe_configs": with_placements})
    with run_in_thread(ClusterSpec(brokers=4, profile=profile)) as running:
        running.call(seed)
        yield running


def seed(cluster: EmbeddedCluster) -> None:
    ids = sorted(cluster.state.brokers)
    for name, replicas, isr in (
        ("stretched", (1, 2, 4), (1, 2)),
        ("also", (2, 3, 4), (2,)),
        ("short", (3, 1, 4), (3, 1)),
        ("whole", (1, 2, 3), (1, 2, 3)),
    ):
        topic = new_topic(name, [replicas] * 2, ids)
        partitions = tuple(each._replace(isr=isr, leader=isr[0]) for each in topic.partitions)
        cluster.state.put_topic(replace(topic, partitions=partitions))


async def kac(capsys: pytest.CaptureFixture[str], server: ThreadedCluster, *words: str) -> Any:
    code = await asyncio.to_thread(cli.run, [words[0], "-b", server.bootstrap, *words[1:], "--output", "json"])
    written = capsys.readouterr()
    assert code in (0, 4, 5), written
    return json.loads(written.out)


async def test_lists_count_what_should_be_in_sync(server: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    listed = await kac(capsys, server, "topics", "--list", "--under-replicated-partitions")
    assert {each["name"]: each["under_replicated"] for each in listed["topics"]} == {"short": 2}
    brokers = await kac(capsys, server, "brokers", "--list")
    assert {each["id"]: each["out_of_sync"] for each in brokers["brokers"] if each["id"] is not None} == {
        1: 0,
        2: 0,
        3: 0,
        4: 2,
    }


async def test_a_verdict_names_what_is_missing_and_no_observer(
    server: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = await kac(capsys, server, "triage", "--for", "3s")
    assert {each["cause"] for each in verdict["causes"] if each["severity"] not in ("info", "warning")} == {
        "replication-broken"
    }
    assert "short" in json.dumps(verdict)
    assert not [name for name in ("stretched", "also") if name in json.dumps(verdict["causes"])]


async def test_a_server_without_placements_is_asked_for_one_topic(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=4)) as running:
        running.call(seed)
        running.call(lambda cluster: cluster.counters.reset())
        await kac(capsys, running, "topics", "--list")
        assert running.call(lambda cluster: cluster.counters.by_api())["describe_configs"] == 1


def _refused(answer: Any) -> Any:
    """Configs of topics that the user may not see."""
    return replace(answer, results=tuple(replace(each, error_code=29, configs=()) for each in answer.results))


async def test_where_configs_may_not_be_seen_one_topic_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    profile = Profile(release="3.9", answers={"describe_configs": _refused})
    with run_in_thread(ClusterSpec(brokers=4, profile=profile)) as running:
        running.call(seed)
        running.call(lambda cluster: cluster.counters.reset())
        listed = await kac(capsys, running, "topics", "--list", "--under-replicated-partitions")
        assert {each["name"] for each in listed["topics"]} == {"stretched", "also", "short"}
        assert running.call(lambda cluster: cluster.counters.by_api())["describe_configs"] == 1
