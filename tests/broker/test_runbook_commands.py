"""Tests of the commands for Kafka's own tools in a runbook: they have the same effect as the apply of the plan."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from console.admin import acls, configs, quotas, scram, topics
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs_of_script
from console.language.secret_values import resolve_secrets
from console.language.statements import SecretSlot
from console.model import codes, config
from console.model.secret import Secret
from console.plan import kafka_tools, reconcile, risk_rules
from console.plan.compile import runbook
from console.plan.diff import diff
from console.session.reading import read_needs
from console.session.session import Session
from tests.support.changing import apply_plan
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import ACLS, CONFIGS, TOPICS, KafkaCommands
from tests.support.patience import PATIENCE

MAIN = {"kafka-topics": TOPICS, "kafka-configs": CONFIGS, "kafka-acls": ACLS}
PASSWORD = "a,b=c[d]"

MADE = """
create topic {p}.counted partitions=3 replication=2 cleanup.policy=compact,delete flush.ms=7
create topic {p}.placed assign=1:2,2:3
create topic {p}.kept partitions=1 replication=1 retention.ms=1d
create topic {p}xkept partitions=1 replication=1
set topic {p}.kept leader.replication.throttled.replicas=0:1,0:2
set broker 2 'listener.name.{p}.ssl.keystore.password'=?
set group {p} consumer.session.timeout.ms=50s
set client-metrics {p} match='client_software_name=[a-z]+,client_id=.*' interval.ms=30s
set user {p} producer_byte_rate=1MiB request_percentage=12.5
set user {p} client <default> consumer_byte_rate=2MiB
set user {p} client -odd controller_mutation_rate=3
set client '{p} with spaces' producer_byte_rate=1e3
allow User:{p} READ,DESCRIBE_CONFIGS on topic {p} prefixed from 10.0.0.1
deny User:{p} READ on group '*'
allow User:{p} IDEMPOTENT_WRITE on cluster
allow User:{p} DESCRIBE on transactional-id {p}
allow User:{p} CREATE_TOKENS on user User:{p}
scram set {p} SCRAM-SHA-256 iterations=4096 password=?
scram set {p} SCRAM-SHA-512 iterations=5000 password=?
"""
SHARED = """
set ip 127.0.0.9 connection_creation_rate=20
set broker <default> log.cleaner.backoff.ms=20s
set broker 2 log.cleanup.policy=compact,delete
"""
"""Statements about entities of which the cluster has only one, so the test lets kac and Kafka's tools change them
one after the other.
"""
SHARED_BACK = """
unset ip 127.0.0.9 connection_creation_rate
unset broker <default> log.cleaner.backoff.ms
unset broker 2 log.cleanup.policy
"""
TAKEN_BACK = """
grow topic {p}.kept partitions=4
unset topic {p}.counted flush.ms
append topic {p}xkept cleanup.policy=compact
subtract topic {p}.counted cleanup.policy=delete
delete topic {p}.placed
unset broker 2 'listener.name.{p}.ssl.keystore.password'
unset group {p} consumer.session.timeout.ms
unset user {p} request_percentage
revoke allow User:{p} READ on topic {p} prefixed from 10.0.0.1
revoke deny User:{p} READ on group '*'
scram delete {p} SCRAM-SHA-512
"""


def settings(cluster: KafkaCluster) -> ConnectionSettings:
    return ConnectionSettings(cluster.addresses)


async def given_password(_: SecretSlot) -> Secret:
    return Secret(PASSWORD)


async def planned(client: AdminClient, script: str) -> Session:
    """Return a session in which the script's edits are staged. Raises AssertionError if one is refused, or changes
    nothing.
    """
    session = Session(client, Context("test", "test", client.settings, journal=False))
    statements = parse(script)
    await read_needs(session, needs_of_script(statements))
    for statement in statements:
        secrets = await resolve_secrets(statement, given_password)
        report = session.stage(to_edits(statement, session.snapshot, plan=session.plan, secrets=secrets))
        assert not report.refused
        assert not report.dropped
    return session


async def state(client: AdminClient, prefix: str) -> Any:
    """Return the configs, quotas, ACLs and so on of all entities whose names begin with a prefix, without this prefix
    in the names.
    """
    listing = await client.run(topics.describe_topics)
    names = [name for name in listing.topics if name.startswith(prefix)]
    resources = [
        *map(config.topic_resource, names),
        config.CLUSTER_DEFAULT,
        config.broker_resource(2),
        config.ConfigResource(codes.GROUP, prefix),
        config.ConfigResource(codes.CLIENT_METRICS, prefix),
    ]
    described = await client.run(configs.describe_configs, resources)
    found = {
        "topics": [(name, [p.replicas for p in listing.topics[name].partitions]) for name in names if "placed" in name],
        "counts": {name: len(listing.topics[name].partitions) for name in names},
        "configs": [
            (str(resource), entry.name, entry.value, entry.source.name)
            for resource, entries in described.sets.items()
            for entry in entries
            if entry.source.name.startswith("DYNAMIC") and (resource.name in (*names, prefix) or prefix in entry.name)
        ],
        "quotas": await client.run(quotas.describe_quotas),
        "acls": await client.run(acls.describe_acls),
        "scram": (await client.run(scram.describe_scram)).users,
    }
    own = {"quotas": ("127.0.0.9",), "acls": (), "scram": ()}
    for part, also in own.items():
        shown = found[part].items() if isinstance(found[part], dict) else found[part]
        found[part] = [repr(one) for one in shown if prefix in repr(one) or any(word in repr(one) for word in also)]
    return {part: sorted(repr(each).replace(prefix, "…") for each in some) for part, some in found.items()}


def run(kafka: KafkaCommands, command: kafka_tools.Command, folder: Path) -> None:
    """Run a command of a runbook with Kafka's tool. Its input files and its standard input are files in the folder.
    Raises AssertionError if it fails.
    """
    assert command.words, command.note
    stdin, secret = folder / "stdin", folder / "secret"
    stdin.write_text(command.stdin)
    if command.note:
        stated = command.note.partition("has to hold: ")[2]
        secret.write_text("\n".join(stated.replace("…", PASSWORD).split("; ")))
    files = {kafka_tools.STDIN: str(stdin), kafka_tools.SECRETS: str(secret)}
    done = kafka.run(MAIN[command.words[0]], [files.get(word, word) for word in command.words[1:]])
    assert done.code == 0, (command.words, done.out, done.err)


@pytest.mark.untidy
async def test_the_commands_leave_what_the_plan_leaves(plain_cluster: KafkaCluster, tmp_path: Path) -> None:
    mine, theirs = "rb-mine", "rb-comm"
    connection = ("--bootstrap-server", plain_cluster.bootstrap)
    with AdminClient(settings(plain_cluster)) as client, KafkaCommands() as kafka:
        for own, shared, opposite in ((MADE, SHARED, SHARED_BACK), (TAKEN_BACK, SHARED_BACK, SHARED)):
            await applied(client, own.format(p=mine) + shared)
            wanted = await state(client, mine)
            await applied(client, opposite)
            session = await planned(client, own.format(p=theirs) + shared)
            for command in runbook(diff(session.plan, session.snapshot), connection):
                await asyncio.to_thread(run, kafka, command, tmp_path)
            deadline = time.monotonic() + PATIENCE
            # Kafka's commands end when the controller has made the change; the broker that answers reads learns of it
            # later.
            while (found := await state(client, theirs)) != wanted and time.monotonic() < deadline:
                pass
            assert found == wanted


async def applied(client: AdminClient, script: str) -> None:
    report = await apply_plan(await planned(client, script), reconcile.ApplyOptions(risks=frozenset(risk_rules.NAMES)))
    assert report.ok, [outcome for result in report.results for outcome in result.failed]
