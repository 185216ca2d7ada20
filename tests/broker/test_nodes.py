"""Tests of the nodes of real clusters: feature levels that are raised and lowered, and brokers that are
unregistered.
"""

import asyncio
import time
from collections.abc import Iterator

import pytest

from console.admin import changes, cluster, features, topics
from console.admin.link import Link
from console.model import changes as model_changes
from console.model import codes, config, parts
from console.model.cluster import Broker, NodeFeatures
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.plan.reversal import reversal
from console.plan.risks import effects, risks
from console.present.features import feature_rows
from console.present.quorum import quorum_rows
from console.session.applying import check_plan
from console.session.journal_changes import stage_revert
from console.session.plan_facts import read_for_risks
from console.session.session import Session
from tests.support import changing, kafka_commands, patience, real_clusters, worlds
from tests.support.free_ports import free_ports
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.staging import staged

METADATA = "metadata.version"
FORMATTED = {KAFKA_4_3: "4.0-IV3", KAFKA_3_9: "3.8-IV0"}
LEVEL = {KAFKA_4_3: 25, KAFKA_3_9: 20}


@pytest.fixture(scope="module", params=[KAFKA_4_3, pytest.param(KAFKA_3_9, marks=pytest.mark.long)])
def nodes(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide a cluster of four brokers whose storage was formatted with the feature levels of an earlier release."""
    options = ("--release-version", FORMATTED[request.param])
    yield from real_clusters.running(lambda: KafkaCluster(request.param, brokers=4, format_options=options))


session = worlds.session("nodes")


async def applied(session: Session, *accepted: str) -> ApplyReport:
    report = await changing.apply_plan(session, ApplyOptions(risks=frozenset(accepted)))
    assert report.ok, report
    return report


async def by_kafka(session: Session, nodes: KafkaCluster) -> None:
    """Run the only command of the plan's runbook with Kafka's own tool, and discard the plan. Raises AssertionError
    if the tool fails.
    """
    (command,) = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", nodes.bootstrap))
    main = {"kafka-features": kafka_commands.FEATURES, "kafka-cluster": kafka_commands.CLUSTER}[command.words[0]]
    with kafka_commands.KafkaCommands(nodes.version) as kafka:
        done = await asyncio.to_thread(kafka.run, main, command.words[1:])
    assert done.code == 0, (command, done)
    session.discard()


async def level(session: Session, name: str) -> int:
    return (await session.client.run(features.describe_features)).finalized.get(name, 0)


async def test_features_are_raised_and_lowered(session: Session, nodes: KafkaCluster) -> None:
    began = LEVEL[nodes.version]
    raised = {KAFKA_4_3: 29, KAFKA_3_9: 21}[nodes.version]
    await session.read_whole(parts.Part.FEATURES)
    assert session.snapshot.features is not None
    assert [(node.id, node.failure) for node in session.snapshot.features.nodes] == [(n, None) for n in (1, 2, 3, 4)]
    (row,) = (row for row in feature_rows(session.snapshot) if row.name == METADATA)
    assert (row.level, row.differs) == (began, False)

    report = await staged(session, f"feature set {METADATA}={raised}")
    (edit,) = report.added
    assert edit.was == began
    assert risks(session.plan.staged, session.snapshot, await read_for_risks(session, session.plan.staged)) == ()
    assert (await check_plan(session)).results[0].outcomes[0].status is model_changes.Status.VALID
    assert await level(session, METADATA) == began
    await applied(session)
    assert await level(session, METADATA) == raised

    back = reversal(edit)
    assert session.stage(back.edits).added
    await by_kafka(session, nodes)
    assert await level(session, METADATA) == began

    (beyond,) = (await staged(session, f"feature set {METADATA}=9999")).refused
    assert "not supported by node 1" in beyond.reason
    (missing,) = (await staged(session, "feature set no.such=1")).refused
    assert "no node has a feature no.such" in missing.reason
    below = {KAFKA_4_3: 22, KAFKA_3_9: 16}[nodes.version]
    (lowered,) = (await staged(session, f"feature set {METADATA}={below}")).refused
    assert "changed the format of the metadata log" in lowered.reason
    request = model_changes.UpdateFeatures({METADATA: below}, frozenset({METADATA}))
    (outcome,) = await session.client.run(changes.send, request, validate_only=False)
    assert outcome.target == model_changes.FeatureTarget(METADATA)
    assert outcome.failure is not None
    assert outcome.failure.name == "INVALID_UPDATE_VERSION"


async def test_a_level_without_a_way_back_has_to_be_typed(session: Session, nodes: KafkaCluster) -> None:
    if nodes.version != KAFKA_4_3:
        return
    elr = "eligible.leader.replicas.version"
    await staged(session, f"feature set {METADATA}=30 {elr}=1 transaction.version=1")
    found = risks(session.plan.staged, session.snapshot, await read_for_risks(session, session.plan.staged))
    assert [risk.accepted_as for risk in found] == [f"feature-irreversible={METADATA}"]
    report = await applied(session, f"feature-irreversible={METADATA}")
    assert len(report.results) == 1, "one request for all of them"
    assert [await level(session, each) for each in (METADATA, elr, "transaction.version")] == [30, 1, 1]

    report_ = await staged(session, f"feature set {METADATA}=29")
    assert "4.3-IV0" in report_.refused[0].reason
    await staged(session, f"feature set {elr}=0")
    await applied(session)
    assert await level(session, elr) == 0
    await staged(session, "feature set transaction.version=0 group.version=0")
    await applied(session)
    assert await level(session, "transaction.version") == 0


async def test_the_quorum_of_all_nodes(session: Session, nodes: KafkaCluster) -> None:
    await session.read_quorum()
    rows = quorum_rows(session.snapshot)
    assert sorted(row.replica.id for row in rows) == [1, 2, 3, 4]
    assert [row.role for row in rows] == ["leader", "voter", "voter", "voter"]
    for row in rows:
        assert row.endpoint.startswith("CONTROLLER 127.0.0.1:")
        assert row.replica.lag >= 0
        assert abs(row.replica.last_caught_up_ms / 1000 - time.time()) < patience.PATIENCE

    # A controller's own listener returns its supported features. A port on which no controller listens gives an error
    # in time.
    assert session.snapshot.quorum is not None
    first = session.snapshot.quorum.endpoints[0]

    async def at(link: Link, port: int) -> NodeFeatures:
        return (await features.of_controller(link, first._replace(port=port)))[0]

    reached = await session.client.run(at, first.port)
    assert reached.failure is None
    assert reached.supported[METADATA][1] >= LEVEL[nodes.version]
    (closed,) = free_ports(1)
    lost = await session.client.run(at, closed)
    assert (lost.supported, lost.controller) == ({}, True)
    assert lost.failure is not None
    assert lost.failure.name == "UNREACHABLE"


async def test_a_broker_that_is_down_is_unregistered(session: Session, nodes: KafkaCluster) -> None:
    made = model_changes.NewTopic("on-four", assignments=((4, 1), (1, 2), (3, 4)))
    await session.client.run(changes.send, model_changes.CreateTopics((made,)), validate_only=False)
    (alive,) = (await staged(session, "unregister broker 4")).refused
    assert "is alive" in alive.reason

    nodes.stop(4)

    async def is_down() -> bool:
        await session.read_cluster()
        found = [broker for broker in session.snapshot.cluster.brokers if broker.id == 4]
        return not found or found[0].fenced

    await patience.shortly(is_down)
    assert len((await staged(session, "unregister broker 4")).added) == 1
    (risk,) = risks(session.plan.staged, session.snapshot, await read_for_risks(session, session.plan.staged))
    assert (risk.name, risk.subject) == ("replicas-remain", "")
    assert risk.text.startswith("2 partitions have a replica on broker 4 (on-four/0, on-four/2) and stay")

    await asyncio.to_thread(nodes.restart, 4)
    conflict = await changing.apply_plan(session, ApplyOptions(risks=frozenset({"replicas-remain"})))
    assert [each.staged.edit.target for each in conflict.conflicts] == [model_changes.BrokerTarget(4)]
    assert not conflict.sent

    nodes.stop(4)
    await patience.shortly(is_down)
    if nodes.version == KAFKA_3_9:
        await by_kafka(session, nodes)
    else:
        await applied(session, "replicas-remain")
    described = await session.client.run(cluster.describe_cluster)
    assert 4 not in {broker.id for broker in described.brokers}
    (gone,) = await session.client.run(changes.send, model_changes.UnregisterBroker(4), validate_only=False)
    assert gone.failure is not None
    assert gone.failure.name == "BROKER_ID_NOT_REGISTERED"
    kept = (await session.client.run(topics.describe_topics, ["on-four"])).topics["on-four"]
    assert [partition.replicas for partition in kept.partitions] == [(4, 1), (1, 2), (3, 4)]
    assert [partition.isr for partition in kept.partitions] == [(1,), (1, 2), (3,)]

    await asyncio.to_thread(nodes.restart, 4)  # the broker registers again
    await session.read_cluster()
    (back,) = (broker for broker in session.snapshot.cluster.brokers if broker.id == 4)
    assert isinstance(back, Broker)
    assert not back.fenced


async def test_a_level_that_takes_settings_away_gives_them_back(session: Session, nodes: KafkaCluster) -> None:
    if nodes.version != KAFKA_4_3:
        return
    elr, min_isr = "eligible.leader.replicas.version", "min.insync.replicas"

    async def own() -> dict[str, str]:
        resources = [config.CLUSTER_DEFAULT, *map(config.broker_resource, (1, 2, 3, 4))]
        await session.read_configs(resources)
        entries = {each.name: session.snapshot.configs[each].get(min_isr) for each in resources}
        sources = (codes.DYNAMIC_BROKER_CONFIG, codes.DYNAMIC_DEFAULT_BROKER_CONFIG)
        return {
            name: entry.value or ""
            for name, entry in entries.items()
            if entry is not None and entry.source == sources[not name]
        }

    await staged(session, f"feature set {METADATA}=30 {elr}=0")
    await applied(session, f"feature-irreversible={METADATA}")
    if "" in await own():
        await staged(session, f"unset broker <default> {min_isr}")
        await applied(session)
    await staged(session, f"set broker 2 {min_isr}=2; set broker 4 {min_isr}=3")
    await applied(session, "isr-above-replication")
    before = await own()
    assert before == {"2": "2", "4": "3"}
    await staged(session, f"feature set {elr}=1")
    (lines,) = effects(session.plan.staged, session.snapshot).values()
    assert any("(broker 2: 2, broker 4: 3)" in line for line in lines)
    done = await applied(session)

    async def is_of_default() -> bool:
        """Return whether the key is set in the brokers' default and on no broker."""
        return list(await own()) == [""]

    await patience.shortly(is_of_default)
    for text in (f"set broker 2 {min_isr}=2", f"unset broker <default> {min_isr}"):
        assert (await staged(session, text)).refused
    assert done.change is not None
    assert not (await stage_revert(session, done.change)).staging.refused
    await applied(session, "isr-above-replication")

    async def is_as_before() -> bool:
        return await own() == before

    await patience.shortly(is_as_before)
