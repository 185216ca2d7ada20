"""Tests of kac on a real Kafka 2.8 with ZooKeeper, where changes have to be sent to the broker that is the
controller.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from console.admin import cluster, errors
from console.admin.changes import send
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.model import changes, codes, parts, quota, secret
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.plan import edits as plan_edits
from console.plan.reconcile import ApplyOptions
from console.plan.risk_rules import NAMES
from console.session.applying import check_plan
from console.session.session import Session
from console.wire import connection
from console.wire.schemas import version_range
from tests.support import patience, worlds
from tests.support.changing import apply_plan, overrides, statuses
from tests.support.zookeeper_cluster import ZooKeeperCluster

USER = codes.ScramMechanism(1)


@pytest.fixture(params=[1, 2])
async def session(request: pytest.FixtureRequest, kafka28: ZooKeeperCluster) -> AsyncIterator[Session]:
    """Provide a session whose bootstrap address is only one broker: once the controller, once the other broker."""
    with worlds.session_on(
        ConnectionSettings(bootstrap=(kafka28.addresses[request.param - 1],)), "console", journal=False
    ) as made:
        await read(made)
        yield made


link = worlds.link("kafka28")


async def read(session: Session) -> None:
    """Read all data of the cluster that a plan needs."""
    await session.read_cluster()
    await session.read_topics()
    await session.read_configs([broker_resource(1), broker_resource(2), CLUSTER_DEFAULT])
    await session.read_configs([topic_resource(name) for name in session.snapshot.topics])
    await session.read_quotas()
    await session.read_acls()
    await session.read_whole(parts.Part.SCRAM)


async def apply(session: Session, *edits: plan_edits.Edit) -> None:
    """Stage edits and apply them. Raises AssertionError if one is refused or fails."""
    staged = session.stage(edits)
    assert not staged.refused, staged
    report = await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))
    assert report.ok, [str(result) for result in report.results]
    await read(session)


def value(session: Session, resource: ConfigResource, key: str) -> str | None:
    entry = session.snapshot.configs[resource].get(key)
    return entry.value if entry else None


async def test_everything_is_read(session: Session, kafka28: ZooKeeperCluster) -> None:
    await session.read_whole(parts.Part.VERSIONS)
    await session.read_quorum()
    await session.read_groups()
    await session.read_log_dirs()
    await session.read_whole(parts.Part.REASSIGNMENTS)
    info = session.snapshot.cluster
    assert info is not None
    assert (info.cluster_id, [broker.id for broker in info.brokers]) == (kafka28.cluster_id, [1, 2])
    assert session.snapshot.quorum is None


async def test_a_life_of_changes(session: Session, name: str) -> None:
    """kac changes topics, configs, quotas, ACLs and SCRAM credentials, and sends each change to the broker that can
    make it.
    """
    topic, user = topic_resource(name), quota.QuotaEntity.of({"user": name})
    acl = worlds.acl(f"User:{name}", "READ", "TOPIC", name, pattern="PREFIXED", permission="DENY")
    await apply(session, plan_edits.CreateTopic(changes.NewTopic(name, 2, 2, configs={"retention.ms": "86400000"})))
    assert len(session.snapshot.topics[name].partitions) == 2
    await apply(
        session,
        plan_edits.SetConfig(topic, "retention.ms", "172800000"),
        plan_edits.AppendConfig(topic, "cleanup.policy", "compact"),
        plan_edits.SetConfig(broker_resource(1), "log.cleaner.backoff.ms", "20000"),
        plan_edits.SetConfig(broker_resource(2), "log.cleaner.backoff.ms", "21000"),
        plan_edits.SetConfig(CLUSTER_DEFAULT, "log.cleaner.backoff.ms", "22000"),
        plan_edits.SetQuota(user, "producer_byte_rate", 1048576.0),
        plan_edits.AddAcl(acl),
        plan_edits.UpsertScram(changes.ScramUser(name, USER), 4096, secret.Secret("a password")),
        plan_edits.GrowTopic(name, 3),
    )
    assert value(session, topic, "retention.ms") == "172800000"
    assert value(session, topic, "cleanup.policy") == "delete,compact"
    assert value(session, broker_resource(1), "log.cleaner.backoff.ms") == "20000"
    assert value(session, broker_resource(2), "log.cleaner.backoff.ms") == "21000"
    assert value(session, CLUSTER_DEFAULT, "log.cleaner.backoff.ms") == "22000"
    assert session.snapshot.quotas[user] == {"producer_byte_rate": 1048576.0}
    assert acl in session.snapshot.acls
    assert name in session.snapshot.scram
    assert len(session.snapshot.topics[name].partitions) == 3
    await apply(
        session,
        *(
            plan_edits.UnsetConfig(resource, "log.cleaner.backoff.ms")
            for resource in (broker_resource(1), broker_resource(2), CLUSTER_DEFAULT)
        ),
        plan_edits.UnsetQuota(user, "producer_byte_rate"),
        plan_edits.RemoveAcl(acl),
        plan_edits.DeleteScram(changes.ScramUser(name, USER)),
        plan_edits.DeleteTopic(name),
    )
    assert user not in session.snapshot.quotas
    assert acl not in session.snapshot.acls
    assert name not in session.snapshot.topics


async def test_what_brokers_refuse_is_told_in_their_words(session: Session, name: str) -> None:
    await apply(session, plan_edits.CreateTopic(changes.NewTopic(name, 1, 1)))
    topic = topic_resource(name)
    session.stage(
        [
            plan_edits.SetConfig(topic, "min.insync.replicas", "0"),
            plan_edits.SetConfig(broker_resource(1), "log.dirs", "x"),
        ]
    )
    report = await check_plan(session)
    assert not report.ok
    said = " ".join(str(outcome.failure) for result in report.results for outcome in result.outcomes)
    assert "Value must be at least 1" in said
    session.discard()
    await apply(session, plan_edits.DeleteTopic(name))


@pytest.fixture
def no_incremental(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the API incremental_alter_configs, which brokers before 2.3 lack, invisible to the client."""

    def old_range(api: str) -> tuple[int, int]:
        low, high = version_range(api)
        return low, -1 if api == "incremental_alter_configs" else high

    monkeypatch.setattr(connection, "version_range", old_range)


@pytest.mark.usefixtures("no_incremental")
async def test_configs_are_replaced_where_there_is_no_incremental_call(
    link: Link, kafka28: ZooKeeperCluster, name: str
) -> None:
    """If brokers lack IncrementalAlterConfigs, kac sends AlterConfigs, which replaces all configs of a resource, and
    repeats in it the configs that the plan does not change.
    """
    topic = topic_resource(name)
    prior = {"retention.ms": "1000", "segment.ms": "9000"}
    assert await statuses(link, changes.CreateTopics((changes.NewTopic(name, 1, 1, configs=prior),))) == {
        changes.TopicTarget(name): changes.Status.APPLIED
    }
    ops = {
        topic: (
            changes.ConfigOp("retention.ms", codes.SET, "2000"),
            changes.ConfigOp("cleanup.policy", codes.APPEND, "compact"),
        )
    }
    mark = kafka28.request_log.mark()
    assert await statuses(link, changes.AlterConfigs(ops, prior={topic: prior}), check=True) == {
        topic: changes.Status.VALID
    }
    assert await statuses(link, changes.AlterConfigs(ops, prior={topic: prior})) == {topic: changes.Status.APPLIED}
    assert len(kafka28.request_log.wait_for(2, "ALTER_CONFIGS", since=mark)) == 2
    assert await overrides(link, topic) == {
        "retention.ms": "2000",
        "segment.ms": "9000",
        "cleanup.policy": "delete,compact",
    }
    assert await statuses(link, changes.DeleteTopics((name,))) == {changes.TopicTarget(name): changes.Status.APPLIED}


async def test_the_controller_moves(link: Link, kafka28: ZooKeeperCluster, name: str) -> None:
    """If the former controller answers NOT_CONTROLLER, the client reads the id of the controller again, and sends the
    change to it.
    """

    async def controller() -> int | None:
        async with worlds.linked(link.settings) as stranger:
            return (await cluster.describe_cluster(stranger)).controller_id

    async def applied(change: changes.ChangeRequest) -> None:
        (outcome,) = await send(link, change, validate_only=False)
        assert outcome.status is changes.Status.APPLIED, outcome

    await applied(changes.CreateTopics((changes.NewTopic(name, 1, 2),)))
    before = await controller()
    async with asyncio.timeout(patience.PATIENCE):
        while await controller() in (before, None, -1):
            await asyncio.to_thread(kafka28.forget_controller)
    mark = kafka28.request_log.mark()
    place = changes.PartitionTarget(name, 0)
    for change in (
        changes.ElectLeaders((place,)),
        changes.AlterReassignments({changes.MoveTarget(name, 0): (2, 1)}),
        changes.DeleteTopics((name,)),
    ):
        await applied(change)
    asked = kafka28.request_log.wait_for(2, "ELECT_LEADERS", since=mark)
    assert {entry.broker for entry in asked} == {before, await controller()}


async def test_there_is_no_quorum(link: Link) -> None:
    with pytest.raises(errors.Unsupported, match="KRaft"):
        await cluster.describe_quorum(link)
