"""The requests of record_frames.py: each is a function that makes it from kio's module of a version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

from console.wire.fields import for_version
from tests.support.acl_filters import EVERY_ACL

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
LIMIT = timedelta(seconds=10)

Build = Callable[[ModuleType], Any]


def api_versions(kio: ModuleType) -> Any:
    return kio.ApiVersionsRequest(client_software_name="kac", client_software_version="1")


def describe_cluster(kio: ModuleType) -> Any:
    return for_version(
        kio.DescribeClusterRequest, include_cluster_authorized_operations=True, include_fenced_brokers=True
    )


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
    return kio.DescribeAclsRequest(**EVERY_ACL)


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


def create_token(kio: ModuleType) -> Any:
    """CreateDelegationToken, on a listener without a login."""
    return for_version(
        kio.CreateDelegationTokenRequest,
        owner_principal_type=None,
        owner_principal_name=None,
        renewers=(),
        max_lifetime=timedelta(hours=1),
    )


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


def alter_dirs(*paths: str) -> Build:
    """A partition for each directory."""

    def build(kio: ModuleType) -> Any:
        return kio.AlterReplicaLogDirsRequest(
            dirs=tuple(
                kio.AlterReplicaLogDir(
                    path=path, topics=(kio.AlterReplicaLogDirTopic(name="orders", partitions=(number,)),)
                )
                for number, path in enumerate(paths)
            )
        )

    return build


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


def topic_partitions(*topics: str, limit: int, cursor: tuple[str, int] | None = None) -> Build:
    """limit: most partitions of a page. cursor: where the page begins."""

    def build(kio: ModuleType) -> Any:
        return kio.DescribeTopicPartitionsRequest(
            topics=tuple(kio.TopicRequest(name=name) for name in topics),
            response_partition_limit=limit,
            cursor=None if cursor is None else kio.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
        )

    return build


def fetch(topic: str, topic_id: UUID, offsets: Mapping[int, int]) -> Build:
    """What is committed of these partitions from these offsets on, at once."""

    def build(kio: ModuleType) -> Any:
        partitions = tuple(
            for_version(kio.FetchPartition, partition=number, fetch_offset=offset, partition_max_bytes=1 << 16)
            for number, offset in offsets.items()
        )
        return for_version(
            kio.FetchRequest,
            replica_id=-1,
            max_wait=timedelta(0),
            min_bytes=0,
            max_bytes=1 << 16,
            isolation_level=1,
            topics=(for_version(kio.FetchTopic, topic=topic, topic_id=topic_id, partitions=partitions),),
            forgotten_topics_data=(),
        )

    return build


def delete_records(before: Mapping[str, Mapping[int, int]]) -> Build:
    """before: topic -> partition -> offset, -1 for all records."""

    def build(kio: ModuleType) -> Any:
        return kio.DeleteRecordsRequest(
            topics=tuple(
                kio.DeleteRecordsTopic(
                    name=topic,
                    partitions=tuple(
                        kio.DeleteRecordsPartition(partition_index=number, offset=offset)
                        for number, offset in offsets.items()
                    ),
                )
                for topic, offsets in before.items()
            ),
            timeout=LIMIT,
        )

    return build


def check_features(*wanted: tuple[str, int, int]) -> Build:
    """Validate-only. wanted: feature, level, and 1 for an upgrade, 2 for a safe downgrade."""

    def build(kio: ModuleType) -> Any:
        return kio.UpdateFeaturesRequest(
            feature_updates=tuple(
                kio.FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
                for feature, level, kind in wanted
            ),
            timeout=LIMIT,
            validate_only=True,
        )

    return build


def register_broker(broker_id: int, cluster_id: str, features: Sequence[Any]) -> Build:
    """As a broker asks the controller when it starts. features: as ApiVersions describes those that are supported."""

    def build(kio: ModuleType) -> Any:
        return kio.BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=cluster_id,
            incarnation_id=UUID(int=broker_id),
            listeners=(kio.Listener(name="PLAINTEXT", host="127.0.0.1", port=9, security_protocol=0),),
            features=tuple(
                kio.Feature(
                    name=each.name, min_supported_version=each.min_version, max_supported_version=each.max_version
                )
                for each in features
            ),
            rack="rack-2",
            log_dirs=(UUID(int=1000 + broker_id),),
        )

    return build


def unregister_broker(broker_id: int) -> Build:
    def build(kio: ModuleType) -> Any:
        return kio.UnregisterBrokerRequest(broker_id=broker_id)

    return build
