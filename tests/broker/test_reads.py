"""Every read against real brokers, 4.3 and 3.9: what it finds, and how it fails."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import acls, cluster, configs, groups, log_dirs, quotas, scram, topics
from console.admin.changes import send
from console.admin.errors import BrokerError
from console.admin.group_describe import find_coordinators
from console.admin.link import Link
from console.admin.retry import until_settled
from console.admin.routing import broker
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.model.acl import Acl, AclFilter
from console.model.changes import (
    AlterConfigs,
    AlterQuotas,
    AlterScram,
    ChangeRequest,
    ConfigOp,
    CreateAcls,
    CreateTopics,
    NewTopic,
    Outcome,
    ScramUser,
)
from console.model.cluster import PartitionLag, ScramCredential
from console.model.codes import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DEFAULT_CONFIG,
    DELETE,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    GROUP,
    SET,
    AclOperation,
    AclResourceType,
    PatternType,
    Permission,
    ResourceType,
    ScramMechanism,
)
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigListing,
    ConfigResource,
    broker_resource,
    topic_resource,
)
from console.model.quota import Match, QuotaEntity, QuotaFilter, QuotaMatch, filter_for_entity
from console.model.secret import Secret
from console.wire.schemas import for_version
from tests.support.kafka_cluster import KafkaCluster


@pytest.fixture(params=["plain_cluster", "kafka39"])
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    """Each of the two versions."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    return cluster


@pytest.fixture
async def link(kafka: KafkaCluster) -> AsyncIterator[Link]:
    made = Link(ConnectionSettings(bootstrap=kafka.addresses))
    yield made
    await made.close()


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"reads-{uuid.uuid4().hex[:8]}"


def is_4(kafka: KafkaCluster) -> bool:
    return kafka.version.startswith("4.")


async def done(link: Link, change: ChangeRequest) -> tuple[Outcome, ...]:
    outcomes = await send(link, change, validate_only=False)
    assert all(outcome.ok for outcome in outcomes), outcomes
    return outcomes


async def make_topic(link: Link, name: str, partitions: int = 1, **overrides: str) -> None:
    configs = {key.replace("_", "."): value for key, value in overrides.items()}
    await done(link, CreateTopics((NewTopic(name, partitions, 1, configs=configs),)))


# --- the cluster


async def test_the_cluster(kafka: KafkaCluster, link: Link) -> None:
    info = await cluster.describe_cluster(link)
    assert info.cluster_id == kafka.cluster_id
    assert info.controller_id in kafka.broker_ids
    assert [(broker.id, (broker.host, broker.port)) for broker in info.brokers] == list(
        zip(kafka.broker_ids, kafka.addresses, strict=True)
    )
    assert info.operations is not None
    assert {"ALTER_CONFIGS", "DESCRIBE", "CREATE"} <= info.operations
    from_metadata = cluster.cluster_from_metadata(await link.call("metadata", cluster._metadata_of_no_topic))
    assert (from_metadata.cluster_id, from_metadata.brokers) == (info.cluster_id, info.brokers)


async def test_versions(kafka: KafkaCluster, link: Link) -> None:
    versions = await cluster.describe_versions(link)
    assert {id_: version.release for id_, version in versions.items()} == dict.fromkeys(
        kafka.broker_ids, kafka.version.rpartition(".")[0]
    )
    version = versions[1]
    assert version.apis[18][1] == 4
    assert version.finalized_features["metadata.version"] == (30 if is_4(kafka) else 21)
    assert version.supported_features["metadata.version"][1] == version.finalized_features["metadata.version"]


async def test_the_quorum(kafka: KafkaCluster, link: Link) -> None:
    quorum = await cluster.describe_quorum(link)
    assert quorum.leader_id in kafka.broker_ids
    assert quorum.leader_epoch > 0
    assert tuple(voter.id for voter in quorum.voters) == kafka.broker_ids
    assert quorum.observers == ()
    (leader,) = (voter for voter in quorum.voters if voter.id == quorum.leader_id)
    assert leader.lag == 0
    assert all(voter.lag >= 0 and voter.last_fetch_ms > 1_600_000_000_000 for voter in quorum.voters)


# --- topics


async def test_topics(kafka: KafkaCluster, link: Link, name: str) -> None:
    replication = len(kafka.broker_ids)
    await done(link, CreateTopics((NewTopic(name, 3, replication),)))
    listing = await topics.describe_topics(link, [name, "no-such-topic", "bad name"])
    topic = listing.topics[name]
    assert [partition.number for partition in topic.partitions] == [0, 1, 2]
    assert topic.replication == replication
    assert (topic.under_replicated, topic.offline, topic.internal) == (0, 0, False)
    for partition in topic.partitions:
        assert partition.leader == partition.replicas[0]
        assert sorted(partition.replicas) == list(kafka.broker_ids)
        assert partition.leader_epoch >= 0
    assert topic.topic_id is not None
    assert re.fullmatch(r"[\w-]{22}", topic.topic_id)
    assert listing.failures["no-such-topic"].name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert listing.failures["bad name"].name == "INVALID_TOPIC_EXCEPTION"
    everything = await topics.describe_topics(link)
    assert everything.topics[name] == topic
    assert "no-such-topic" not in everything.topics
    assert (await topics.describe_topics(link, [])).topics == {}


async def test_waiting_for_leaders_ends_when_the_time_is_up(link: Link, name: str) -> None:
    told: list[tuple[int, int]] = []
    waited = await topics.wait_for_leaders(link, {name: 2}, 0.3, lambda done, total: told.append((done, total)))
    assert waited.missing == {name: 2}
    assert waited.ready == frozenset()
    assert told == [(0, 2)]


async def test_nothing_is_being_moved(link: Link) -> None:
    assert await topics.list_reassignments(link) == ()


# --- configs


async def test_topic_configs_are_what_kafka_configs_says(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name, retention_ms="1000", cleanup_policy="compact,delete")
    listing = await configs.describe_configs(link, [topic_resource(name)])
    (entries,) = listing.sets.values()
    output = await asyncio.to_thread(
        kafka.run_admin_tool, "kafka.admin.ConfigCommand", "--describe", "--all", "--topic", name
    )
    line = re.compile(r"^  ([\w.]+)=(.*) sensitive=(\w+) synonyms=\{(.*)\}$", re.MULTILINE)
    told = {key: (value, sensitive, synonyms) for key, value, sensitive, synonyms in line.findall(output)}
    assert told == {
        entry.name: (
            entry.value,
            str(entry.sensitive).lower(),
            ", ".join(f"{s.source.name}:{s.name}={s.value}" for s in entry.synonyms),
        )
        for entry in entries
    }
    assert {entry.name for entry in entries.overrides(topic_resource(name))} == {"retention.ms", "cleanup.policy"}
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)


async def test_types_and_documentation(link: Link, name: str) -> None:
    await make_topic(link, name)
    resource = topic_resource(name)
    plain = (await configs.describe_configs(link, [resource])).sets[resource]
    full = (await configs.describe_configs(link, [resource], documentation=True)).sets[resource]
    assert {entry.documentation for entry in plain} == {None}
    retention = full.get("retention.ms")
    assert retention is not None
    assert retention.type.name == "LONG"
    assert retention.documentation is not None
    assert "retain" in retention.documentation
    bare = (await configs.describe_configs(link, [resource], synonyms=False)).sets[resource]
    assert {entry.synonyms for entry in bare} == {()}
    some = await configs.describe_configs(link, [resource], keys=["retention.ms", "no.such.key"])
    assert [entry.name for entry in some.sets[resource]] == ["retention.ms"]


async def test_many_topics_come_in_chunks_and_equal_sets_are_one(link: Link, name: str) -> None:
    names = [f"{name}-{number}" for number in range(250)]
    await done(link, CreateTopics(tuple(NewTopic(one, 1, 1) for one in names), timeout_ms=60_000))
    resources = list(map(topic_resource, names))
    parts: list[ConfigListing] = []
    listing = await configs.describe_configs(link, resources, on_chunk=parts.append)
    assert [len(part.sets) for part in parts] == [100, 100, 50]
    assert {resource: s for part in parts for resource, s in part.sets.items()} == listing.sets
    assert {part.described_by for part in parts} == {listing.described_by}
    assert len({id(entries) for entries in listing.sets.values()}) == 1
    again = await configs.describe_configs(link, resources)
    assert again.described_by == listing.described_by
    assert all(again.sets[resource] is listing.sets[resource] for resource in resources)


async def test_each_failure_is_its_resources_own(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name)
    fine, gone = topic_resource(name), topic_resource("no-such-topic")
    nobody, unknown = broker_resource(99), ConfigResource(ResourceType(99), "x")
    word = ConfigResource(BROKER, "one")
    listing = await configs.describe_configs(link, [gone, nobody, unknown, word, fine, broker_resource(1)])
    assert listing.sets.keys() == {fine, broker_resource(1)}
    assert listing.failures[gone].name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert "99" in listing.failures[nobody].message
    assert listing.failures[word].name == "INVALID_REQUEST"
    assert listing.failures[unknown].name == "INVALID_REQUEST"
    assert all(failure.remedy for failure in listing.failures.values())


async def test_brokers_describe_themselves(kafka: KafkaCluster, link: Link) -> None:
    resources = [broker_resource(id_) for id_ in kafka.broker_ids]
    loggers = [ConfigResource(BROKER_LOGGER, str(id_)) for id_ in kafka.broker_ids]
    listing = await configs.describe_configs(link, [*resources, *loggers, CLUSTER_DEFAULT])
    assert not listing.failures
    for id_, resource in zip(kafka.broker_ids, resources, strict=True):
        node = listing.sets[resource].get("node.id")
        assert node is not None
        assert node.value == str(id_)
        assert node.read_only
    for logger in loggers:
        root = listing.sets[logger].get("root")
        assert root is not None
        assert (root.value, root.synonyms) == ("INFO", ())
    assert listing.described_by in kafka.broker_ids


async def test_where_a_topic_gets_a_value_from(kafka: KafkaCluster, link: Link, name: str) -> None:
    """The topic's own value, one broker's, the cluster's and the default, as a chain."""
    await make_topic(link, name, segment_ms="111000")
    resource, describer = topic_resource(name), (await configs.describe_configs(link, [CLUSTER_DEFAULT])).described_by
    assert describer is not None
    changes = {
        CLUSTER_DEFAULT: (ConfigOp("log.roll.ms", SET, "333000"),),
        broker_resource(describer): (ConfigOp("log.roll.ms", SET, "222000"),),
    }
    await done(link, AlterConfigs(changes, broker=describer))
    try:
        listing = await configs.describe_configs(link, [resource, CLUSTER_DEFAULT, broker_resource(describer)])
        entry = listing.sets[resource].get("segment.ms")
        assert entry is not None
        assert [(s.name, s.value, s.source) for s in entry.synonyms][:3] == [
            ("segment.ms", "111000", DYNAMIC_TOPIC_CONFIG),
            ("log.roll.ms", "222000", DYNAMIC_BROKER_CONFIG),
            ("log.roll.ms", "333000", DYNAMIC_DEFAULT_BROKER_CONFIG),
        ]
        assert entry.synonyms[-1].source == DEFAULT_CONFIG
        default = listing.sets[CLUSTER_DEFAULT].get("log.roll.ms")
        assert default is not None
        assert (default.value, default.source) == ("333000", DYNAMIC_DEFAULT_BROKER_CONFIG)
    finally:
        undo = {resource: (ConfigOp("log.roll.ms", DELETE),) for resource in changes}
        await done(link, AlterConfigs(undo, broker=describer))


async def test_a_hidden_value_is_none(link: Link) -> None:
    """A key that the broker does not know is taken for a secret."""
    resource = broker_resource(1)
    await done(link, AlterConfigs({resource: (ConfigOp("reads.own.key", SET, "x"),)}, broker=1))
    try:
        (entries,) = (await configs.describe_configs(link, [resource])).sets.values()
        entry = entries.get("reads.own.key")
        assert entry is not None
        assert entry.hidden
        assert entry.synonyms[0].value is None
        assert entries.get("reads.absent") is None
    finally:
        await done(link, AlterConfigs({resource: (ConfigOp("reads.own.key", DELETE),)}, broker=1))


async def test_client_metrics_and_groups_with_configs(kafka: KafkaCluster, link: Link, name: str) -> None:
    metrics, group = ConfigResource(CLIENT_METRICS, name), ConfigResource(GROUP, name)
    ops: dict[ConfigResource, tuple[ConfigOp, ...]] = {metrics: (ConfigOp("interval.ms", SET, "60000"),)}
    if is_4(kafka):
        ops[group] = (ConfigOp("consumer.session.timeout.ms", SET, "50000"),)
    await done(link, AlterConfigs(ops))
    listed = await configs.list_config_resources(link, [CLIENT_METRICS, GROUP])
    assert [resource for resource in listed if resource.name == name] == sorted(ops)
    listing = await configs.describe_configs(link, ops)
    entry = listing.sets[metrics].get("interval.ms")
    assert entry is not None
    assert (entry.value, entry.source.name) == ("60000", "DYNAMIC_CLIENT_METRICS_CONFIG")
    if is_4(kafka):
        entry = listing.sets[group].get("consumer.session.timeout.ms")
        assert entry is not None
        assert (entry.value, entry.source.name) == ("50000", "DYNAMIC_GROUP_CONFIG")
        assert topic_resource("x") not in await configs.list_config_resources(link, [BROKER])
    else:
        assert await configs.list_config_resources(link, [GROUP]) == ()


# --- quotas


async def test_quotas_and_their_filters(link: Link, name: str) -> None:
    rate = {"producer_byte_rate": 1024.0}
    alice, default_user = QuotaEntity.of({"user": f"{name} ü"}), QuotaEntity.of({"user": None})
    pair = QuotaEntity.of({"user": f"{name} ü", "client-id": "app"})
    half = QuotaEntity.of({"user": f"{name} ü", "client-id": None})
    ip = QuotaEntity.of({"ip": "10.1.2.3"})
    made = {
        alice: rate,
        default_user: {**rate, "request_percentage": 12.5},
        pair: rate,
        half: {"controller_mutation_rate": 0.5},
        ip: {"connection_creation_rate": 10.0},
    }
    await done(link, AlterQuotas(made))
    try:
        everything = await quotas.describe_quotas(link)
        assert {entity: everything[entity] for entity in made} == made
        for entity, values in made.items():
            assert await quotas.describe_quotas(link, filter_for_entity(entity)) == {entity: values}

        async def found(*components: QuotaMatch, strict: bool) -> set[QuotaEntity]:
            return set(await quotas.describe_quotas(link, QuotaFilter(components, strict)))

        exact = QuotaMatch("user", Match.EXACT, f"{name} ü")
        assert await found(exact, strict=False) == {alice, pair, half}
        assert await found(exact, strict=True) == {alice}
        assert await found(exact, QuotaMatch("client-id", Match.ANY_NAME), strict=True) == {pair, half}
        assert {alice, default_user} <= await found(QuotaMatch("user", Match.ANY_NAME), strict=True)
        assert await found(QuotaMatch("user", Match.DEFAULT), strict=True) == {default_user}
        assert await found(strict=True) == set()
        with pytest.raises(BrokerError, match="UNSUPPORTED_VERSION") as refused:
            await found(QuotaMatch("client-id-prefix", Match.ANY_NAME), strict=False)
        assert refused.value.failure.remedy
    finally:
        await done(link, AlterQuotas({entity: dict.fromkeys(values) for entity, values in made.items()}))
    assert not made.keys() & (await quotas.describe_quotas(link)).keys()


# --- ACLs and users


async def test_acls_and_their_filters(link: Link, name: str) -> None:
    topic, group = AclResourceType.parse("topic"), AclResourceType.parse("group")
    literal, prefixed = PatternType.parse("literal"), PatternType.parse("prefixed")
    read, allow, deny = AclOperation.parse("read"), Permission.parse("allow"), Permission.parse("deny")
    made = (
        Acl(topic, name, literal, f"User:{name}", "*", read, allow),
        Acl(topic, name, prefixed, f"User:{name}", "10.0.0.1", AclOperation.parse("all"), deny),
        Acl(group, name, literal, f"User:{name}", "*", read, allow),
    )
    await done(link, CreateAcls(made))
    assert set(made) <= set(await acls.describe_acls(link))
    assert await acls.describe_acls(link, AclFilter(principal=f"User:{name}")) == tuple(sorted(made))
    assert await acls.describe_acls(link, AclFilter(resource_type=group, resource_name=name)) == (made[2],)
    assert await acls.describe_acls(link, AclFilter(resource_name=name, permission=deny)) == (made[1],)
    match = AclFilter(topic, f"{name}-longer", PatternType.parse("match"), f"User:{name}")
    assert await acls.describe_acls(link, match) == (made[1],)


async def test_scram_users(link: Link, name: str) -> None:
    sha256, sha512 = ScramMechanism(1), ScramMechanism(2)
    upserts = {
        ScramUser(name, sha256): (4096, Secret("secret-1")),
        ScramUser(name, sha512): (8192, Secret("secret-2")),
    }
    await done(link, AlterScram(upserts))
    expected = (ScramCredential(sha256, 4096), ScramCredential(sha512, 8192))
    assert await scram.describe_scram(link, [name, "no-such-user"]) == {name: expected}
    assert (await scram.describe_scram(link))[name] == expected
    assert await scram.describe_scram(link, []) == {}


# --- disks


async def test_log_dirs(kafka: KafkaCluster, link: Link, name: str) -> None:
    await done(link, CreateTopics((NewTopic(name, 2, len(kafka.broker_ids)),)))
    listing = await log_dirs.describe_log_dirs(link)
    assert tuple(listing.dirs) == kafka.broker_ids
    assert not listing.failures
    for dirs in listing.dirs.values():
        (only,) = dirs
        assert only.failure is None
        assert 0 < only.usable_bytes < only.total_bytes
        mine = [replica for replica in only.replicas if replica.topic == name]
        assert [(replica.partition, replica.size, replica.is_future) for replica in mine] == [
            (0, 0, False),
            (1, 0, False),
        ]
    assert tuple((await log_dirs.describe_log_dirs(link, [1])).dirs) == (1,)
    assert "99" in (await log_dirs.describe_log_dirs(link, [99])).failures[99].message


# --- groups


@pytest.fixture
async def consumed(kafka: KafkaCluster, link: Link, name: str) -> AsyncIterator[str]:
    """A group of one live member: 3 of 5 records of partition 0 read, partition 1 assigned without a commit."""
    await make_topic(link, name, partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    await producer.start()
    for number in range(5):
        await producer.send_and_wait(name, str(number).encode(), partition=0)
    await producer.stop()
    consumer = AIOKafkaConsumer(
        name, bootstrap_servers=kafka.bootstrap, group_id=name, client_id="reader", enable_auto_commit=False
    )
    await consumer.start()
    (place,) = (place for place in consumer.assignment() if place.partition == 0)
    await consumer.commit({place: 3})
    yield name
    await consumer.stop()


async def test_groups(kafka: KafkaCluster, link: Link, consumed: str) -> None:
    listing = await groups.list_groups(link)
    listed = listing.groups[consumed]
    assert (listed.state, listed.type, listed.protocol, listed.members) == ("Stable", "classic", "consumer", None)
    assert not listing.failures
    assert consumed not in (await groups.list_groups(link, ["Empty"])).groups
    described = await groups.describe_groups(link, [consumed, "no-such-group"])
    group = described.groups[consumed]
    assert (group.state, group.coordinator) == ("Stable", listed.coordinator)
    assert group.members is not None
    (member,) = group.members
    assert (member.client_id, member.host) == ("reader", "/127.0.0.1")
    assert member.assignment == ((consumed, 0), (consumed, 1))
    assert described.failures["no-such-group"].name == "GROUP_ID_NOT_FOUND"
    lag = await groups.group_lag(link, consumed)
    assert lag.partitions == (
        PartitionLag(consumed, 0, committed=3, end=5, lag=2, member=member.member_id),
        PartitionLag(consumed, 1, committed=-1, end=0, lag=-1, member=member.member_id),
    )
    assert (lag.total, lag.failures) == (2, ())
    with pytest.raises(BrokerError, match="GROUP_ID_NOT_FOUND"):
        await groups.group_lag(link, "no-such-group")


def joining(protocol: str, group: str) -> Callable[[ModuleType], Any]:
    """The first heartbeat of a member of a group of one of the newer protocols, for the topic of the group's name."""
    member = {"group_id": group, "member_id": f"{group}-member", "member_epoch": 0, "client_id": "x"}

    def ask(kio: ModuleType) -> Any:
        if protocol == "share":
            return for_version(kio.ShareGroupHeartbeatRequest, **member, subscribed_topic_names=(group,))
        if protocol == "consumer":
            return for_version(
                kio.ConsumerGroupHeartbeatRequest,
                **member,
                rebalance_timeout=timedelta(seconds=60),
                subscribed_topic_names=(group,),
                topic_partitions=(),
            )
        part = kio.Subtopology(
            subtopology_id="0",
            source_topics=(group,),
            state_changelog_topics=(),
            repartition_source_topics=(),
            copartition_groups=(),
        )
        return for_version(
            kio.StreamsGroupHeartbeatRequest,
            **member,
            endpoint_information_epoch=0,
            rebalance_timeout=timedelta(seconds=60),
            topology=kio.Topology(epoch=1, subtopologies=(part,)),
            active_tasks=(),
            standby_tasks=(),
            warmup_tasks=(),
            process_id="p",
            client_tags=(),
            task_offsets=None,
            task_end_offsets=None,
        )

    return ask


@pytest.mark.parametrize("protocol", ["consumer", "share", "streams"])
async def test_groups_of_the_newer_protocols(plain_cluster: KafkaCluster, name: str, protocol: str) -> None:
    """KIP-848, KIP-932 and KIP-1071: brokers describe each kind by a call of its own."""
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    try:
        await make_topic(link, name, partitions=2)
        (coordinator,) = (await find_coordinators(link, [name]))[0].values()

        async def beat() -> Any:
            return await link.call(f"{protocol}_group_heartbeat", joining(protocol, name), to=broker(coordinator))

        response = await until_settled(beat, lambda answer: answer.error_code != 0, within=20)
        assert response.error_code == 0, response
        listed = (await groups.list_groups(link)).groups[name]
        assert listed.type == protocol
        described = await groups.describe_groups(link, [name])
        group = described.groups[name]
        assert (group.type, group.coordinator, described.failures) == (protocol, coordinator, {})
        assert group.members is not None
        (member,) = group.members
        assert (member.member_id, member.host) == (f"{name}-member", "/127.0.0.1")
        if protocol == "consumer":
            lag = await groups.group_lag(link, name)
            assert lag.failures == ()
            assert all(row.committed == -1 and row.lag == -1 for row in lag.partitions)
    finally:
        await link.close()


# --- without rights, without brokers


@pytest.fixture
async def alice(secure_cluster: KafkaCluster) -> AsyncIterator[Link]:
    """Connected as somebody who may do nothing."""
    made = Link(
        ConnectionSettings(
            bootstrap=secure_cluster.addresses,
            security_protocol="SASL_SSL",
            sasl=SaslSettings("SCRAM-SHA-256", "alice", Secret(secure_cluster.users["alice"])),
            tls=TlsSettings(trust=Store("PEM", path=secure_cluster.authority.pem)),
        )
    )
    yield made
    await made.close()


async def test_what_is_not_allowed_is_said_for_each(alice: Link) -> None:
    info = await cluster.describe_cluster(alice)
    assert len(info.brokers) == 3
    assert info.operations == frozenset()
    listing = await configs.describe_configs(alice, [topic_resource("t"), CLUSTER_DEFAULT, broker_resource(2)])
    assert {resource: failure.name for resource, failure in listing.failures.items()} == {
        topic_resource("t"): "TOPIC_AUTHORIZATION_FAILED",
        CLUSTER_DEFAULT: "CLUSTER_AUTHORIZATION_FAILED",
        broker_resource(2): "CLUSTER_AUTHORIZATION_FAILED",
    }
    assert all("ACL" in failure.remedy for failure in listing.failures.values())
    assert (await topics.describe_topics(alice)).topics == {}
    assert (await groups.list_groups(alice)).groups == {}
    reads: list[Callable[[Link], Awaitable[object]]] = [
        acls.describe_acls,
        quotas.describe_quotas,
        scram.describe_scram,
        cluster.describe_quorum,
        topics.list_reassignments,
    ]
    for read in reads:
        with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED") as refused:
            await read(alice)
        assert "ACL" in refused.value.failure.remedy
    disks = await log_dirs.describe_log_dirs(alice)
    assert {failure.name for failure in disks.failures.values()} == {"CLUSTER_AUTHORIZATION_FAILED"}
    assert (await groups.describe_groups(alice, ["g"])).failures["g"].name == "GROUP_AUTHORIZATION_FAILED"


async def test_a_dead_broker_is_a_failure_and_not_an_end(own_cluster: KafkaCluster, name: str) -> None:
    link = Link(ConnectionSettings(bootstrap=own_cluster.addresses))
    try:
        await done(link, CreateTopics((NewTopic(name, 1, assignments=((3, 1),)),)))
        group = "reads-group"
        resources = [topic_resource(name), *(broker_resource(id_) for id_ in own_cluster.broker_ids)]
        before = await configs.describe_configs(link, resources)
        assert not before.failures
        describer = before.described_by
        assert describer is not None
        await asyncio.to_thread(own_cluster.kill, describer)
        after = await configs.describe_configs(link, resources)
        assert after.described_by not in (None, describer)
        assert after.failures.keys() == {broker_resource(describer)}
        assert str(describer) in str(after.failures[broker_resource(describer)])
        assert after.sets.keys() == set(resources) - after.failures.keys()
        disks = await log_dirs.describe_log_dirs(link, own_cluster.broker_ids)
        assert disks.failures.keys() == {describer}
        assert disks.dirs.keys() == set(own_cluster.broker_ids) - {describer}
        listed = await groups.list_groups(link)
        assert group not in listed.groups
        versions = await cluster.describe_versions(link)
        assert versions.keys() <= set(own_cluster.broker_ids) - {describer}
        quorum = await cluster.describe_quorum(link)
        assert quorum.leader_id != describer
        (lost,) = (voter for voter in quorum.voters if voter.id == describer)
        assert lost.last_caught_up_ms < max(voter.last_caught_up_ms for voter in quorum.voters)
    finally:
        await link.close()
