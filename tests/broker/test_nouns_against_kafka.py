"""Tests that `kac acls` and `kac topics` accept the arguments of kafka-acls and kafka-topics, with the same effects."""

import asyncio
import shlex
from argparse import Namespace
from io import StringIO
from typing import Any

import pytest

from console.admin import acls, configs, topics
from console.cli.main import BY_NAME, command_parser
from console.cli.noun_command import NounCommand
from console.cli.opening import client_of, context_of
from console.model.config import topic_resource
from console.plan.risk_rules import NAMES as RISKS
from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import ACLS, TOPICS, KafkaCommands

pytestmark = pytest.mark.slow

ACL_LINES = (
    "--add --allow-principal User:{who} --operation Read --operation Describe --topic {who}",
    "--add --allow-principal User:{who} --deny-principal User:{who} --deny-host 10.0.0.1 --topic {who}"
    " --operation Write --operation DescribeConfigs",
    "--add --allow-principal User:{who} --topic {who}. --resource-pattern-type prefixed",
    "--add --allow-principal User:{who} --producer --topic {who} --transactional-id {who} --idempotent",
    "--add --allow-principal User:{who} --consumer --topic {who} --group {who}",
    "--add --allow-principal User:{who} --operation AlterConfigs --cluster",
    "--remove --allow-principal User:{who} --operation Read --topic {who} --force",
    "--remove --allow-principal User:{who} --consumer --topic {who} --group {who} --force",
)
TOPIC_LINES = (
    "--create --topic {who} --partitions 2 --replication-factor 2 --config retention.ms=1000 --config segment.ms=2000",
    "--create --topic {who} --if-not-exists",
    "--create --topic {who}-assigned --replica-assignment 1:2,2:3",
    "--alter --topic {who} --partitions 4",
    "--create --topic {who}-plain",
    "--delete --topic {who}-plain",
    "--delete --topic {who}-plain --if-exists",
)

kafka_commands = worlds.running(KafkaCommands, scope="module")


def ask(kafka: KafkaCluster, operation: Any, *arguments: Any) -> Any:
    async def asked() -> Any:
        async with worlds.linked(worlds.settings(kafka)) as link:
            return await operation(link, *arguments)

    return asyncio.run(asked())


def kac(kafka: KafkaCluster, name: str, words: list[str]) -> int:
    command = BY_NAME[name]
    options = command_parser(command).parse_args([*words, "--yes", "--accept", ",".join(RISKS)])
    options.bootstrap_server = kafka.bootstrap
    out, err = StringIO(), StringIO()
    return NounCommand(BY_NAME[name].noun(), options, out=out, err=err).run(
        lambda: context_of(Namespace(**vars(options))), client_of
    )


def both(kafka: KafkaCluster, commands: KafkaCommands, name: str, main_class: str, line: str) -> None:
    """Run a command line with Kafka's own tool for the entities `theirs` and with kac for the entities `ours`. Raises
    AssertionError if one of them fails.
    """
    theirs = shlex.split(line.format(who="theirs"))
    done = commands.run(main_class, ["--bootstrap-server", kafka.bootstrap, *theirs])
    assert done.code == 0, done
    assert kac(kafka, name, shlex.split(line.format(who="ours"))) == 0


def bindings(kafka: KafkaCluster, who: str) -> list[str]:
    return sorted(
        repr(acl).replace(who, "X") for acl in ask(kafka, acls.describe_acls) if acl.principal == f"User:{who}"
    )


def test_acls(plain_cluster: KafkaCluster, kafka_commands: KafkaCommands) -> None:
    for line in ACL_LINES:
        both(plain_cluster, kafka_commands, "acls", ACLS, line)
        found = bindings(plain_cluster, "theirs")
        assert found
        assert bindings(plain_cluster, "ours") == found, line
    for who in ("theirs", "ours"):
        for line in ACL_LINES[:6]:
            line = line.replace("--add", "--remove").format(who=who)
            assert kac(plain_cluster, "acls", shlex.split(line)) == 0
        assert bindings(plain_cluster, who) == []


def shapes(kafka: KafkaCluster, who: str) -> dict[str, Any]:
    """Return topic -> (the number of replicas of each partition, or the replicas if they were assigned; the topic's own
    configs), for the topics of one side. In the names X replaces `who`.
    """
    found = ask(kafka, topics.describe_topics).topics
    mine = sorted(name for name in found if name.startswith(who))
    listing = ask(kafka, configs.describe_configs, [topic_resource(name) for name in mine])
    shape: dict[str, Any] = {}
    for name in mine:
        resource = topic_resource(name)
        partitions = found[name].partitions
        replicas = [p.replicas if "assigned" in name else len(p.replicas) for p in partitions]
        own = {entry.name: entry.value for entry in listing.sets[resource].overrides(resource)}
        shape[name.replace(who, "X")] = (replicas, own)
    return shape


def test_topics(plain_cluster: KafkaCluster, kafka_commands: KafkaCommands) -> None:
    for line in TOPIC_LINES:
        both(plain_cluster, kafka_commands, "topics", TOPICS, line)
        found = shapes(plain_cluster, "theirs")
        assert found
        assert shapes(plain_cluster, "ours") == found, line
    for who in ("theirs", "ours"):
        for name in (who, f"{who}-assigned"):
            assert kac(plain_cluster, "topics", ["--delete", "--topic", name]) == 0
