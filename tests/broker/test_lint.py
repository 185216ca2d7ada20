"""Lint on a real broker: what it finds on one as Kafka's quick start has it, and that its remedies end a finding."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from console.cli import main as cli
from tests.support.kafka_cluster import KafkaCluster

BAD = {"retention.ms": "1000", "segment.bytes": "2097152", "retention.bytes": "1048576", "flush.messages": "1"}
FOUND = {"retention-tiny", "retention-below-segment", "flush-each-batch"}
QUICK_START = {"auto-create", "log-dir-in-tmp"}
"""What a quick start leaves open: any name makes a topic, and records are in a folder that hosts empty."""


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
