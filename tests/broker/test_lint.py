"""Lint on a real broker: what it finds on one as Kafka's quick start has it, and that its remedies end a finding."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from console.cli import main as cli
from tests.support.kafka_cluster import KafkaCluster
from tests.support.server_properties import properties_of, properties_text

BAD = {"retention.ms": "1000", "segment.bytes": "2097152", "retention.bytes": "1048576", "flush.messages": "1"}
FOUND = {"retention-tiny", "retention-below-segment", "flush-each-batch"}
QUICK_START = {"auto-create", "log-dir-in-tmp"}
"""What a quick start leaves open: any name makes a topic, and records are in a folder that hosts empty."""
FACTOR = "transaction.state.log.replication.factor"
COMPOSE = {
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.state.log.min.isr": "1",
    FACTOR: "1",
}
"""What the compose file of Confluent Platform's all-in-one for KRaft sets, besides its listeners and folders."""


async def kac(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str], command: str, *arguments: str) -> str:
    """What a command prints."""
    capsys.readouterr()
    code = await asyncio.to_thread(cli.run, [command, "-b", kafka.bootstrap, *arguments])
    out = capsys.readouterr().out
    assert code == 0, out
    return out


async def lint(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The findings."""
    found = json.loads(await kac(kafka, capsys, "lint", "--output", "json"))
    # Tokens are for connections with a login.
    assert [each["rules"] for each in found["did_not_look"]] == [["token-expiring"]]
    assert found["not_read"] == []
    return list(found["findings"])


async def test_a_quick_start_has_few_findings_and_remedies_end_those_of_a_topic(
    empty_cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {each["rule"] for each in await lint(empty_cluster, capsys)} <= QUICK_START
    settings = " ".join(f"{key}={value}" for key, value in BAD.items())
    create = f"create topic quick-start partitions=1 replication=1 {settings}; apply --yes"
    await kac(empty_cluster, capsys, "run", "-e", create)
    found = {each["rule"]: each for each in await lint(empty_cluster, capsys)}
    assert found.keys() - QUICK_START == FOUND
    assert {found[rule]["subject"] for rule in FOUND} == {"topic quick-start"}
    statements = dict.fromkeys(statement for rule in sorted(FOUND) for statement in found[rule]["remedy"])
    await kac(empty_cluster, capsys, "run", "-e", "; ".join((*statements, "apply --yes")))
    assert {each["rule"] for each in await lint(empty_cluster, capsys)} <= QUICK_START


@pytest.mark.takes(15)
async def test_a_published_compose_file_has_as_few_findings_until_it_asks_for_more_brokers_than_it_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    properties = {**COMPOSE, FACTOR: "2"}
    with KafkaCluster(brokers=1, quiet=False, properties=properties) as cluster:
        found = {each["rule"]: each for each in await lint(cluster, capsys)}
        assert found.keys() - QUICK_START == {"coordinator-unavailable"}
        (never,) = (each for each in found.values() if each["rule"] == "coordinator-unavailable")
        assert (never["subject"], never["severity"]) == ("topic __transaction_state", "warning")
        assert never["what"].startswith(f"it can't be made: {FACTOR} is 2, and 1 broker can take replicas")
        file = cluster.directory / "broker-1" / "server.properties"
        file.write_text(properties_text({**properties_of(file), FACTOR: COMPOSE[FACTOR]}))
        await asyncio.to_thread(cluster.stop, 1)
        await asyncio.to_thread(cluster.restart, 1)
        assert {each["rule"] for each in await lint(cluster, capsys)} <= QUICK_START
