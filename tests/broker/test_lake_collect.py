"""Tests of polls of real brokers for a lake: they find the changes that kac made, with the same entities, keys and
values as kac's journal.
"""

import asyncio
import gzip
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings
from console.collecting.collect import LastStates, State, collect
from console.contexts import Context
from console.lake.journals import journals_at, read_journal
from console.lake.lake import Lake
from console.model import changes, codes, config, quota, secret
from console.plan import edits as plan_edits
from console.plan.reconcile import ApplyOptions
from console.plan.risk_rules import NAMES
from console.session.session import Session
from tests.lake.landed_rows import landed_in
from tests.support import worlds
from tests.support.changing import apply_plan
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.broker, pytest.mark.slow]

PLANTED = "planted-password-8842"
NAME = "collect-orders"
PAIR = quota.QuotaEntity.of({"user": "collect,user", "client-id": None})
DAVE = changes.ScramUser("collect-dave", codes.ScramMechanism.parse("SCRAM-SHA-256"))
ACL = worlds.acl("User:collect-user", "READ", "TOPIC", "collect:", pattern="PREFIXED", permission="DENY")
CREATE = (plan_edits.CreateTopic(changes.NewTopic(NAME, 2, 1, configs={"retention.ms": "3600000"})),)
SETTING: tuple[plan_edits.Edit, ...] = (
    plan_edits.SetConfig(config.topic_resource(NAME), "retention.ms", "7200000"),
    plan_edits.AppendConfig(config.topic_resource(NAME), "cleanup.policy", "compact"),
    plan_edits.GrowTopic(NAME, 5),
    plan_edits.SetConfig(config.CLUSTER_DEFAULT, "log.cleaner.backoff.ms", "15001"),
    plan_edits.SetConfig(config.broker_resource(1), "log.cleaner.backoff.ms", "15002"),
    # Brokers accept keys that they do not know, and hide their values.
    plan_edits.SetConfig(config.broker_resource(1), "collect.plugin.token", secret.Secret(PLANTED)),
    plan_edits.SetQuota(PAIR, "producer_byte_rate", 1048576.0),
    plan_edits.SetQuota(PAIR, "request_percentage", 12.5),
    plan_edits.AddAcl(ACL),
    plan_edits.UpsertScram(DAVE, 8192, secret.Secret(PLANTED)),
)
UNSETTING: tuple[plan_edits.Edit, ...] = (
    plan_edits.UnsetConfig(config.CLUSTER_DEFAULT, "log.cleaner.backoff.ms"),
    plan_edits.UnsetConfig(config.broker_resource(1), "log.cleaner.backoff.ms"),
    plan_edits.UnsetConfig(config.broker_resource(1), "collect.plugin.token"),
    plan_edits.UnsetQuota(PAIR, "producer_byte_rate"),
    plan_edits.UnsetQuota(PAIR, "request_percentage"),
    plan_edits.RemoveAcl(ACL),
    plan_edits.DeleteScram(DAVE),
    plan_edits.DeleteTopic(NAME),
)


def change(context: Context, edits: Sequence[plan_edits.Edit]) -> None:
    """Apply all edits in one plan, in a context with a journal."""

    async def work(client: AdminClient) -> None:
        session = Session(client, context, "run")
        assert not session.stage(edits).refused
        report = await apply_plan(session, ApplyOptions(force=True, risks=frozenset({*NAMES, f"topic-deleted={NAME}"})))
        assert report.ok, report

    client = AdminClient(context.settings)
    with client:
        asyncio.run(work(client))


def found(lake: Lake, run_id: str) -> set[tuple[str, str, str, str | None]]:
    return {
        (row["entity_type"], row["entity_key"], row["attr"], row["value"])
        for row in landed_in(lake, run_id)
        if row["kind"] == "state"
    }


def without_endpoints(state: State) -> State:
    """Return a state without the brokers' endpoints, which depend on the listener that a client uses."""
    return {entity: tuple(v for v in values if v.attr != ":endpoints") for entity, values in state.items()}


@pytest.mark.parametrize("cluster_name", ["plain_cluster", "kafka39"])
def test_polls_find_what_the_journal_says(cluster_name: str, request: pytest.FixtureRequest, lake: Lake) -> None:
    kafka: KafkaCluster = request.getfixturevalue(cluster_name)
    context = Context("real", "a test", ConnectionSettings(kafka.addresses))
    first = collect(lake, [context])
    assert first.complete, first.message
    states = LastStates(lake)
    before = states.of(str(first.clusters[0].cluster_id))
    try:
        change(context, CREATE)
        change(context, SETTING)
        second = collect(lake, [context])
        assert second.complete, second.message
    finally:
        change(context, UNSETTING)
    third = collect(lake, [context])
    assert third.complete, third.message

    folder = Path(os.environ["HOME"], ".local", "state", "kac", "journal")
    edits = [row for path in journals_at([folder]) for row in read_journal(path, 0).to_pylist()]
    assert not [row for row in edits if row["quarantined"]]
    assert {row["cluster_id"] for row in edits} == {first.clusters[0].cluster_id}
    assert {row["status"] for row in edits} == {"applied"}
    assert {row["principal"] for row in edits} == {"User:ANONYMOUS"}
    assert all(timedelta() <= row["end_ts"] - row["intent_ts"] < timedelta(minutes=1) for row in edits)

    # The poll finds the last value of each edit as the journal has it; for an edit of a list it has all elements.
    wanted = {(row["entity_type"], row["entity_key"], row["attr"]): row for row in edits if row["op"] == "set"}
    seen = {entity: value for *entity_parts, value in found(lake, second.run_id) for entity in [tuple(entity_parts)]}
    for entity, row in wanted.items():
        assert entity in seen, entity
        if row["is_sensitive"]:
            assert row["value"] is None
        else:
            assert seen[entity] == row["value"], entity
    assert seen["scram", "collect-dave", "SCRAM-SHA-256"] == "iterations=8192"
    assert seen["broker", "1", "collect.plugin.token"] is None
    assert set(str(seen["topic", NAME, "cleanup.policy"]).split(",")) == {"delete", "compact"}
    assert seen["topic", NAME, ":partitions"] == "5"

    gone = {(row["entity_type"], row["entity_key"]) for row in landed_in(lake, third.run_id) if row["kind"] == "absent"}
    assert gone >= {("topic", NAME), ("quota", "user=collect%2Cuser,client-id=<default>"), ("scram", "collect-dave")}
    assert ("acl", "TOPIC:PREFIXED:collect%3A") in gone
    assert states.of(str(first.clusters[0].cluster_id)) == before, "as it was before the changes"
    for path in Path(lake.where).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert PLANTED.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data)
    assert PLANTED not in repr(edits)


def test_who_has_no_rights_on_real_brokers_makes_nothing_vanish(kafka39: KafkaCluster, lake: Lake) -> None:
    """If an ACL for another user hides a topic from alice, a poll by alice stores that brokers refused the read, and
    does not mark any entity as deleted.
    """
    admin = Context("real", "a test", ConnectionSettings(kafka39.addresses), cluster_id=kafka39.cluster_id)
    sasl = SaslSettings(mechanism="PLAIN", username="alice", password=secret.Secret(kafka39.users["alice"]))
    as_alice = ConnectionSettings(kafka39.login_addresses, "SASL_PLAINTEXT", sasl)
    alice = Context("alice", "a test", as_alice, cluster_id=kafka39.cluster_id)
    only_bob = ACL._replace(
        resource_name="collect-hidden",
        pattern_type=codes.PatternType.parse("LITERAL"),
        principal="User:bob",
        permission=codes.Permission.parse("ALLOW"),
    )
    change(admin, [plan_edits.CreateTopic(changes.NewTopic("collect-hidden", 1, 1)), plan_edits.AddAcl(only_bob)])
    try:
        whole = collect(lake, [admin])
        assert whole.complete, whole.message
        before = LastStates(lake).of(str(whole.clusters[0].cluster_id))
        denied = collect(lake, [alice])
    finally:
        change(admin, [plan_edits.DeleteTopic("collect-hidden"), plan_edits.RemoveAcl(only_bob)])
    assert denied.clusters[0].failure is None, denied.message
    told = landed_in(lake, denied.run_id)
    assert not [row for row in told if row["kind"] == "absent"]
    after = LastStates(lake).of(str(whole.clusters[0].cluster_id))
    assert without_endpoints(after) == without_endpoints(before)
    (hidden,) = [row for row in told if row["kind"] == "failed" and row["entity_key"] == "collect-hidden"]
    assert hidden["value"].startswith("TOPIC_AUTHORIZATION_FAILED")
