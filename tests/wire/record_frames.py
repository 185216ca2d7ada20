"""Records the frames that tests/wire/test_recorded_frames.py replays, from real brokers.

``python -m tests.wire.record_frames`` starts a broker of each version, one after the other, and writes
``tests/wire/frames/VERSION.json.gz``. Every API that the product uses is there, with success and with errors. No
password is: the SCRAM credential is made of zero bytes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.wire.aiokafka_request import Exchange
from console.wire.schemas import for_version
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import jars, java, major
from tests.support.patience import PATIENCE
from tests.wire.recordings import VERSIONS, Recorded, Recording, write

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
LIMIT = timedelta(seconds=10)
CLASSIC_GROUP = "billing"
NEW_GROUP = "shipping"

Build = Callable[[ModuleType], Any]


class Recorder:
    """Sends the steps over a link and keeps what went over the wire under their names."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.kept: list[Recorded] = []
        self._step = ("", "")
        self.link = Link(ConnectionSettings(bootstrap=(address,)), record=self._record)

    def _record(self, exchange: Exchange) -> None:
        step, api = self._step
        self.kept.append(Recorded(step, api, exchange))

    async def ask(self, step: str, api: str, build: Build, until: Callable[[Any], bool] = lambda _: True) -> None:
        """Sends one request, under that name. until: ask again until this holds of the answer, and keep that exchange:
        in KRaft a broker takes a moment to see what the controller did."""
        self._step = (step, api)
        async with asyncio.timeout(PATIENCE):
            while not until(await self.link.call(api, build)):
                self.kept.pop()
                await asyncio.sleep(0.05)


# --- requests


def metadata(names: list[str] | None) -> Build:
    def build(kio: ModuleType) -> Any:
        topic = kio.MetadataRequestTopic
        topics = None if names is None else tuple(for_version(topic, name=name, topic_id=None) for name in names)
        return for_version(
            kio.MetadataRequest,
            topics=topics,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )

    return build


def create_topics(topics: dict[str, tuple[int, int, dict[str, str]]], *, validate_only: bool = False) -> Build:
    def build(kio: ModuleType) -> Any:
        wanted = tuple(
            kio.CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=replication,
                assignments=(),
                configs=tuple(kio.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()),
            )
            for name, (partitions, replication, configs) in topics.items()
        )
        return kio.CreateTopicsRequest(topics=wanted, timeout=LIMIT, validate_only=validate_only)

    return build


def describe_configs(*resources: tuple[int, str], documentation: bool = False) -> Build:
    def build(kio: ModuleType) -> Any:
        return kio.DescribeConfigsRequest(
            resources=tuple(
                kio.DescribeConfigsResource(resource_type=type_, resource_name=name, configuration_keys=None)
                for type_, name in resources
            ),
            include_synonyms=True,
            include_documentation=documentation,
        )

    return build


def incremental(
    changes: dict[tuple[int, str], list[tuple[str, int, str | None]]], *, validate_only: bool = False
) -> Build:
    def build(kio: ModuleType) -> Any:
        return kio.IncrementalAlterConfigsRequest(
            resources=tuple(
                kio.AlterConfigsResource(
                    resource_type=type_,
                    resource_name=name,
                    configs=tuple(
                        kio.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in ops
                    ),
                )
                for (type_, name), ops in changes.items()
            ),
            validate_only=validate_only,
        )

    return build


def legacy_alter(name: str, configs: dict[str, str]) -> Build:
    def build(kio: ModuleType) -> Any:
        alterable = tuple(kio.AlterableConfig(name=key, value=value) for key, value in configs.items())
        resource = kio.AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=alterable)
        return kio.AlterConfigsRequest(resources=(resource,), validate_only=False)

    return build


def alter_quotas(
    entries: list[tuple[dict[str, str | None], dict[str, float | None]]], *, validate_only: bool = False
) -> Build:
    def build(kio: ModuleType) -> Any:
        return kio.AlterClientQuotasRequest(
            entries=tuple(
                kio.EntryData(
                    entity=tuple(kio.EntityData(entity_type=type_, entity_name=name) for type_, name in entity.items()),
                    ops=tuple(
                        kio.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops.items()
                    ),
                )
                for entity, ops in entries
            ),
            validate_only=validate_only,
        )

    return build


def describe_quotas(*components: tuple[str, int, str | None], strict: bool = False) -> Build:
    def build(kio: ModuleType) -> Any:
        return kio.DescribeClientQuotasRequest(
            components=tuple(
                kio.ComponentData(entity_type=type_, match_type=match_type, match=match)
                for type_, match_type, match in components
            ),
            strict=strict,
        )

    return build


AclTuple = tuple[int, str, int, str, str, int, int]
ALICE_READS: AclTuple = (TOPIC, "orders", 3, "User:alice", "*", 3, 3)
BOB_IS_DENIED: AclTuple = (TOPIC, "ord", 4, "User:bob", "10.0.0.9", 4, 2)
NO_SUCH_CLUSTER: AclTuple = (4, "not-the-cluster", 3, "User:alice", "*", 8, 3)


def create_acls(*acls: AclTuple) -> Build:
    def build(kio: ModuleType) -> Any:
        return kio.CreateAclsRequest(
            creations=tuple(
                kio.AclCreation(
                    resource_type=type_,
                    resource_name=name,
                    resource_pattern_type=pattern,
                    principal=principal,
                    host=host,
                    operation=operation,
                    permission_type=permission,
                )
                for type_, name, pattern, principal, host, operation, permission in acls
            )
        )

    return build


def describe_acls(kio: ModuleType) -> Any:
    return kio.DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def delete_acls(kio: ModuleType) -> Any:
    bob = kio.DeleteAclsFilter(
        resource_type_filter=TOPIC,
        resource_name_filter="ord",
        pattern_type_filter=4,
        principal_filter="User:bob",
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    return kio.DeleteAclsRequest(filters=(bob,))


def describe_scram(*users: str) -> Build:
    def build(kio: ModuleType) -> Any:
        return kio.DescribeUserScramCredentialsRequest(users=tuple(kio.UserName(name=user) for user in users) or None)

    return build


def alter_scram(kio: ModuleType) -> Any:
    def upsertion(user: str, iterations: int) -> Any:
        return kio.ScramCredentialUpsertion(
            name=user, mechanism=1, iterations=iterations, salt=bytes(16), salted_password=bytes(32)
        )

    return kio.AlterUserScramCredentialsRequest(
        deletions=(kio.ScramCredentialDeletion(name="nobody", mechanism=2),),
        upsertions=(upsertion("alice", 4096), upsertion("bob", 1)),
    )


def partitions_of(kio: ModuleType) -> Any:
    orders = kio.CreatePartitionsTopic(name="orders", count=1, assignments=None)
    audit = kio.CreatePartitionsTopic(name="audit.log", count=4, assignments=None)
    return kio.CreatePartitionsRequest(topics=(audit, orders), timeout=LIMIT, validate_only=False)


def delete_topics(kio: ModuleType) -> Any:
    if hasattr(kio, "DeleteTopicState"):
        topics = tuple(kio.DeleteTopicState(name=name, topic_id=None) for name in ("audit.log", "missing"))
        return kio.DeleteTopicsRequest(topics=topics, timeout=LIMIT)
    return kio.DeleteTopicsRequest(topic_names=("audit.log", "missing"), timeout=LIMIT)


def cancel_reassignment(kio: ModuleType) -> Any:
    partition = kio.ReassignablePartition(partition_index=0, replicas=None)
    topic = kio.ReassignableTopic(name="orders", partitions=(partition,))
    return for_version(kio.AlterPartitionReassignmentsRequest, topics=(topic,), timeout=LIMIT)


def elect(kio: ModuleType) -> Any:
    orders = kio.TopicPartitions(topic="orders", partitions=(0, 9))
    return kio.ElectLeadersRequest(election_type=0, topic_partitions=(orders,), timeout=LIMIT)


def offsets_of(group: str) -> Build:
    def build(kio: ModuleType) -> Any:
        asked = for_version(kio.OffsetFetchRequestGroup, group_id=group, topics=None, member_id=None, member_epoch=-1)
        return kio.OffsetFetchRequest(groups=(asked,), require_stable=True)

    return build


def latest_offsets(kio: ModuleType) -> Any:
    partitions = tuple(
        for_version(kio.ListOffsetsPartition, partition_index=index, current_leader_epoch=-1, timestamp=-1)
        for index in (0, 9)
    )
    topic = kio.ListOffsetsTopic(name="orders", partitions=partitions)
    return for_version(kio.ListOffsetsRequest, replica_id=-1, isolation_level=0, topics=(topic,), timeout=LIMIT)


# --- what is recorded


async def record(cluster: KafkaCluster) -> Recording:
    """All steps, in order: each finds what those before it made."""
    address = cluster.addresses[0]
    recorder = Recorder(address)
    ask = recorder.ask
    try:
        await _the_cluster(ask)
        await _topics(ask)
        await _configs(ask)
        await _quotas_acls_scram(ask)
        await _groups(ask, cluster)
        if major(cluster.version) >= 4:
            await _group_of_the_new_protocol(ask, cluster)
        await _transactions(ask, cluster)
        await _moves_and_deletions(ask)
    finally:
        await recorder.link.close()
    return Recording(cluster.version, cluster.cluster_id, address[1], tuple(recorder.kept))


Ask = Callable[..., Awaitable[None]]


async def _the_cluster(ask: Ask) -> None:
    await ask(
        "versions",
        "api_versions",
        lambda kio: kio.ApiVersionsRequest(client_software_name="kac", client_software_version="1"),
    )
    await ask(
        "cluster",
        "describe_cluster",
        lambda kio: for_version(
            kio.DescribeClusterRequest, include_cluster_authorized_operations=True, include_fenced_brokers=True
        ),
    )
    log = "__cluster_metadata"
    await ask(
        "quorum",
        "describe_quorum",
        lambda kio: kio.DescribeQuorumRequest(
            topics=(kio.TopicData(topic_name=log, partitions=(kio.PartitionData(partition_index=0),)),)
        ),
    )


async def _topics(ask: Ask) -> None:
    orders = {"orders": (3, 1, {"retention.ms": "86400000", "cleanup.policy": "compact,delete"})}
    await ask("topics checked", "create_topics", create_topics({"orders": (3, 9, {})}, validate_only=True))
    await ask(
        "topics made", "create_topics", create_topics(orders | {"audit.log": (1, 1, {}), "bad name!": (1, 1, {})})
    )
    await ask("topic there already", "create_topics", create_topics(orders))
    await ask("partitions", "create_partitions", partitions_of)
    await ask(
        "all topics",
        "metadata",
        metadata(None),
        until=lambda answer: sum(len(t.partitions) for t in answer.topics) == 7,
    )
    await ask("named topics", "metadata", metadata(["orders", "missing"]))


async def _configs(ask: Ask) -> None:
    changes = {
        (TOPIC, "orders"): [("min.insync.replicas", SET, "1"), ("cleanup.policy", SUBTRACT, "compact")],
        (TOPIC, "missing"): [("retention.ms", SET, "1")],
        (BROKER, ""): [("log.cleaner.threads", SET, "2")],
        (BROKER, "1"): [("log.retention.ms", SET, "5000000")],
        (METRICS, "fleet"): [("interval.ms", SET, "60000")],
    }
    await ask("configs altered", "incremental_alter_configs", incremental(changes))
    wrong = {
        (TOPIC, "orders"): [("no.such.key", SET, "1")],
        (TOPIC, "audit.log"): [("retention.ms", SET, "soon")],
        (BROKER, "1"): [("log.dirs", SET, "/elsewhere")],
    }
    await ask("configs refused", "incremental_alter_configs", incremental(wrong, validate_only=True))
    await ask("configs replaced", "alter_configs", legacy_alter("audit.log", {"retention.bytes": "1000"}))
    await ask(
        "topic configs",
        "describe_configs",
        describe_configs((TOPIC, "orders"), (TOPIC, "audit.log"), (TOPIC, "missing")),
        until=lambda answer: (
            has_override(answer, 0, "min.insync.replicas") and has_override(answer, 1, "retention.bytes")
        ),
    )
    await ask(
        "broker configs",
        "describe_configs",
        describe_configs((BROKER, "1"), documentation=True),
        until=lambda answer: has_override(answer, 0, "log.retention.ms"),
    )
    await ask(
        "cluster default",
        "describe_configs",
        describe_configs((BROKER, "")),
        until=lambda answer: has_override(answer, 0, "log.cleaner.threads"),
    )
    await ask("wrong broker", "describe_configs", describe_configs((BROKER, "2")))
    await ask("loggers", "describe_configs", describe_configs((LOGGER, "1")))
    await ask(
        "client metrics",
        "describe_configs",
        describe_configs((METRICS, "fleet")),
        until=lambda answer: has_override(answer, 0, "interval.ms"),
    )
    await ask("group configs", "describe_configs", describe_configs((GROUP, "somebody")))
    await ask("config resources", "list_config_resources", lambda kio: kio.ListConfigResourcesRequest())


async def _quotas_acls_scram(ask: Ask) -> None:
    quotas: list[tuple[dict[str, str | None], dict[str, float | None]]] = [
        ({"user": "alice"}, {"producer_byte_rate": 1048576.0, "request_percentage": 12.5}),
        ({"user": "alice", "client-id": None}, {"consumer_byte_rate": 2048.0}),
        ({"user": None}, {"controller_mutation_rate": 0.5}),
        ({"client-id": "ü"}, {"producer_byte_rate": 1.0}),
        ({"ip": "10.1.2.3"}, {"connection_creation_rate": 7.0}),
        ({"user": "carol"}, {"no_such_key": 1.0}),
        ({"ip": "10.1.2.3", "user": "carol"}, {"producer_byte_rate": 1.0}),
    ]
    await ask("quotas checked", "alter_client_quotas", alter_quotas(quotas[-2:], validate_only=True))
    await ask("quotas altered", "alter_client_quotas", alter_quotas(quotas))
    await ask("all quotas", "describe_client_quotas", describe_quotas(), until=lambda answer: len(answer.entries) == 5)
    await ask("quotas of alice alone", "describe_client_quotas", describe_quotas(("user", 0, "alice"), strict=True))
    await ask("quotas of no type", "describe_client_quotas", describe_quotas(("planet", 2, None)))
    await ask("acls made", "create_acls", create_acls(ALICE_READS, BOB_IS_DENIED, NO_SUCH_CLUSTER))
    await ask("all acls", "describe_acls", describe_acls, until=lambda answer: len(answer.resources) == 2)
    await ask("acls deleted", "delete_acls", delete_acls)
    await ask("scram altered", "alter_user_scram_credentials", alter_scram)
    await ask("all scram", "describe_user_scram_credentials", describe_scram(), until=lambda answer: answer.results)
    await ask("scram of two", "describe_user_scram_credentials", describe_scram("alice", "nobody"))
    await ask(
        "log dirs",
        "describe_log_dirs",
        lambda kio: kio.DescribeLogDirsRequest(topics=None),
        until=lambda answer: sum(len(t.partitions) for t in answer.results[0].topics) == 7,
    )


async def _groups(ask: Ask, cluster: KafkaCluster) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap)
    await producer.start()
    for index in range(5):
        await producer.send_and_wait("orders", b"order", partition=0 if index else 1)
    await producer.stop()
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=cluster.bootstrap, group_id=CLASSIC_GROUP, client_id="biller",
        auto_offset_reset="earliest", enable_auto_commit=False,
    )  # fmt: skip
    await consumer.start()
    for _ in range(5):
        await consumer.getone()
    await consumer.commit()
    try:
        await ask(
            "coordinator",
            "find_coordinator",
            lambda kio: kio.FindCoordinatorRequest(key_type=0, coordinator_keys=(CLASSIC_GROUP,)),
        )
        await ask("groups", "list_groups", lambda kio: for_version(kio.ListGroupsRequest, states_filter=()))
        await ask(
            "group members",
            "describe_groups",
            lambda kio: kio.DescribeGroupsRequest(
                groups=(CLASSIC_GROUP, "missing"), include_authorized_operations=False
            ),
        )
        await ask(
            "not a new group",
            "consumer_group_describe",
            lambda kio: kio.ConsumerGroupDescribeRequest(
                group_ids=(CLASSIC_GROUP,), include_authorized_operations=False
            ),
        )
        await ask("committed", "offset_fetch", offsets_of(CLASSIC_GROUP))
        await ask("latest", "list_offsets", latest_offsets)
    finally:
        await consumer.stop()


async def _group_of_the_new_protocol(ask: Ask, cluster: KafkaCluster) -> None:
    """KIP-848: Java's console consumer is the one at hand that speaks it."""
    consumer = await asyncio.create_subprocess_exec(
        java(), "-cp", f"{jars(cluster.version)}/*", "org.apache.kafka.tools.consumer.ConsoleConsumer",
        "--bootstrap-server", cluster.bootstrap, "--topic", "orders", "--group", NEW_GROUP,
        "--consumer-property", "group.protocol=consumer", "--consumer-property", "client.id=shipper",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await ask(
            "new group",
            "consumer_group_describe",
            lambda kio: kio.ConsumerGroupDescribeRequest(group_ids=(NEW_GROUP,), include_authorized_operations=False),
            until=lambda answer: answer.groups[0].group_state == "Stable" and assigned(answer.groups[0]) == 3,
        )
    finally:
        consumer.kill()
        await consumer.wait()


async def _transactions(ask: Ask, cluster: KafkaCluster) -> None:
    """One that runs, a transactional id without one, and a marker for a producer that is not there."""
    running = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="till-1")
    idle = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="till-2")
    await running.start()
    await idle.start()
    try:
        await running.begin_transaction()
        await running.send_and_wait("orders", b"paid", partition=0)
        await ask(
            "producers",
            "describe_producers",
            lambda kio: kio.DescribeProducersRequest(
                topics=tuple(kio.TopicRequest(name=name, partition_indexes=(0, 7)) for name in ("orders", "missing"))
            ),
        )
        await ask("transactions", "list_transactions", lambda kio: kio.ListTransactionsRequest())
        await ask(
            "transactions by id",
            "describe_transactions",
            lambda kio: kio.DescribeTransactionsRequest(transactional_ids=("till-1", "till-2", "missing")),
        )
        await running.abort_transaction()
    finally:
        await running.stop()
        await idle.stop()
    await ask("markers", "write_txn_markers", abort_markers)


def abort_markers(kio: ModuleType) -> Any:
    topics = tuple(kio.WritableTxnMarkerTopic(name=name, partition_indexes=(0,)) for name in ("orders", "missing"))
    marker = for_version(
        kio.WritableTxnMarker,
        producer_id=999_999,
        producer_epoch=0,
        transaction_result=False,
        topics=topics,
        coordinator_epoch=0,
        transaction_version=0,
    )
    return kio.WriteTxnMarkersRequest(markers=(marker,))


def has_override(answer: Any, index: int, key: str) -> bool:
    """Whether the key of that resource comes from a dynamic config."""
    return any(config.name == key and config.config_source in (1, 2, 3, 7) for config in answer.results[index].configs)


def assigned(group: Any) -> int:
    """How many partitions the group's members have."""
    return sum(len(topic.partitions) for member in group.members for topic in member.assignment.topic_partitions)


async def _moves_and_deletions(ask: Ask) -> None:
    await ask(
        "reassignments",
        "list_partition_reassignments",
        lambda kio: kio.ListPartitionReassignmentsRequest(topics=None, timeout=LIMIT),
    )
    await ask("nothing to cancel", "alter_partition_reassignments", cancel_reassignment)
    await ask("elections", "elect_leaders", elect)
    await ask("topics deleted", "delete_topics", delete_topics)


def main() -> int:
    """Records every version."""
    for version in VERSIONS:
        with KafkaCluster(version, brokers=1) as cluster:
            recording = asyncio.run(record(cluster))
        path = write(recording)
        print(f"{path}: {len(recording.exchanges)} exchanges, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
