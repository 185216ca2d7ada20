"""What a broker of Kafka 4.4 says to somebody who may do nothing: a request of each API, and every error in its answer.

The topic SECRET is there, with one partition. The answers were read off a real broker, which a test asks again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta
from types import ModuleType
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from tests.support.acl_filters import EVERY_ACL

SECRET = "secret-topic"
GROUP = "secret-group"
NO_PLACE = "-"
"""Stands for the message where the answer has no place for one."""
SECOND = timedelta(seconds=1)
TOPIC, BROKER, LOGGER, METRICS, GROUP_CONFIG = 2, 4, 8, 16, 32
NONE, NO_TOPIC, NO_GROUP, NO_CLUSTER, NO_TRANSACTION = 0, 29, 30, 31, 53
NO_TOKENS = 61
"""The brokers have no key for tokens."""
TOPIC_REFUSED, GROUP_REFUSED, CLUSTER_REFUSED = (
    f"{what} authorization failed." for what in ("Topic", "Group", "Cluster")
)

Error = tuple[str, int, str | None]
"""Where in the answer (``topics.partitions``), which code, which message."""


class Build(Protocol):
    """Makes a request."""

    def __call__(self, m: ModuleType, /, topic_id: UUID) -> Any:
        """Of the module with its class, and SECRET's id."""
        ...


class Case(NamedTuple):
    """One request, and what it is answered with."""

    api: str
    version: int
    build: Build
    errors: Sequence[Error]


def errors_of(answer: Any, path: str = "") -> Iterator[Error]:
    """Every error in an answer, with the codes that say that there is none, sorted at each place."""
    names = {field.name for field in fields(answer)}
    if "error_code" in names:
        yield path, int(answer.error_code), _without_objects(getattr(answer, "error_message", NO_PLACE))
    if "partition_error_code" in names:
        yield path, int(answer.partition_error_code), NO_PLACE
    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, tuple):
            inner = (errors_of(item, f"{path}.{field.name}".lstrip(".")) for item in value if is_dataclass(item))
            yield from sorted((error for found in inner for error in found), key=str)


def _without_objects(message: str | None) -> str | None:
    """A message without the Java objects that brokers print into it."""
    return message and re.sub(r"^Request Request\(.*\) (?=needs)", "it ", message, flags=re.DOTALL)


def _needs(operation: str) -> str:
    return f"it needs {operation} permission."


def _each(path: str, code: int, message: str | None, times: int) -> list[Error]:
    return [(path, code, message)] * times


def _configs(m: ModuleType, resource: str, *types: tuple[int, str], **more: Any) -> tuple[Any, ...]:
    return tuple(getattr(m, resource)(resource_type=type_, resource_name=name, **more) for type_, name in types)


def _new_topics(m: ModuleType, *names: str) -> tuple[Any, ...]:
    return tuple(
        m.CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
        for name in names
    )


_ALTERABLE = ((TOPIC, SECRET), (TOPIC, "nope"), (BROKER, "1"), (BROKER, ""), (METRICS, "x"), (GROUP_CONFIG, GROUP))
_DESCRIBABLE = (*_ALTERABLE, (LOGGER, "1"))


def _config_errors(path: str, clusters: int = 3, without_message: int = 0) -> list[Error]:
    """Errors of configs: of two topics, a group, and as many of the cluster's; those that a broker refuses itself have
    no message."""
    return [
        *_each(path, NO_TOPIC, TOPIC_REFUSED, 2),
        (path, NO_GROUP, GROUP_REFUSED),
        *_each(path, NO_CLUSTER, CLUSTER_REFUSED, clusters),
        *_each(path, NO_CLUSTER, None, without_message),
    ]


def _offsets_partition(m: ModuleType) -> Any:
    return m.ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=-1)


def _share_offsets(m: ModuleType, topic_id: UUID) -> Any:
    """Of one group for a partition, of another for all."""
    topics = (m.DescribeShareGroupOffsetsRequestTopic(topic_name=SECRET, partitions=(0,)),)
    return m.DescribeShareGroupOffsetsRequest(
        groups=(
            m.DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=topics),
            m.DescribeShareGroupOffsetsRequestGroup(group_id="another", topics=None),
        )
    )


def _fetch_partition(m: ModuleType) -> Any:
    return m.FetchPartition(
        partition=0,
        current_leader_epoch=-1,
        fetch_offset=0,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1000,
    )


_FETCH: dict[str, Any] = {
    "max_wait": SECOND,
    "min_bytes": 1,
    "max_bytes": 1000,
    "isolation_level": 0,
    "session_id": 0,
    "session_epoch": -1,
    "forgotten_topics_data": (),
    "rack_id": "",
}


def _produce(m: ModuleType, transactional_id: str | None) -> Any:
    partitions = (m.PartitionProduceData(index=0, records=None),)
    return m.ProduceRequest(
        transactional_id=transactional_id,
        acks=1,
        timeout=SECOND,
        topic_data=(m.TopicProduceData(name=SECRET, partition_data=partitions),),
    )


def _metadata(m: ModuleType, *names: str) -> Any:
    return m.MetadataRequest(
        topics=tuple(m.MetadataRequestTopic(name=name, topic_id=None) for name in names) or None,
        allow_auto_topic_creation=True,
        include_topic_authorized_operations=True,
    )


CASES: Sequence[Case] = (
    Case(
        "api_versions",
        4,
        lambda m, topic_id: m.ApiVersionsRequest(client_software_name="x", client_software_version="1"),
        [("", NONE, NO_PLACE)],
    ),
    Case(
        "metadata",
        12,
        lambda m, topic_id: _metadata(m, SECRET, "nope", "bad name"),
        _each("topics", NO_TOPIC, NO_PLACE, 3),
    ),
    Case("metadata", 12, lambda m, topic_id: _metadata(m), []),
    Case(
        "describe_cluster",
        2,
        lambda m, topic_id: m.DescribeClusterRequest(
            include_cluster_authorized_operations=True, include_fenced_brokers=False
        ),
        [("", NONE, None)],
    ),
    Case(
        "describe_quorum",
        2,
        lambda m, topic_id: m.DescribeQuorumRequest(
            topics=(m.TopicData(topic_name="__cluster_metadata", partitions=(m.PartitionData(partition_index=0),)),)
        ),
        [("", NO_CLUSTER, CLUSTER_REFUSED)],
    ),
    Case(
        "create_topics",
        7,
        lambda m, topic_id: m.CreateTopicsRequest(
            topics=_new_topics(m, "new", SECRET, "bad name", "twice", "twice"), timeout=SECOND, validate_only=True
        ),
        [*_each("topics", NO_TOPIC, "Authorization failed.", 3), ("topics", 42, "Duplicate topic name.")],
    ),
    Case(
        "delete_topics",
        6,
        lambda m, topic_id: m.DeleteTopicsRequest(
            topics=(
                m.DeleteTopicState(name=SECRET, topic_id=None),
                m.DeleteTopicState(name="nope", topic_id=None),
                m.DeleteTopicState(name=None, topic_id=UUID(int=7)),
                m.DeleteTopicState(name=None, topic_id=topic_id),
            ),
            timeout=SECOND,
        ),
        [
            ("responses", 100, "This server does not host this topic ID."),
            *_each("responses", NO_TOPIC, TOPIC_REFUSED, 3),
        ],
    ),
    Case(
        "create_partitions",
        3,
        lambda m, topic_id: m.CreatePartitionsRequest(
            topics=tuple(m.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in (SECRET, "nope")),
            timeout=SECOND,
            validate_only=False,
        ),
        _each("results", NO_TOPIC, None, 2),
    ),
    Case(
        "describe_configs",
        4,
        lambda m, topic_id: m.DescribeConfigsRequest(
            resources=_configs(m, "DescribeConfigsResource", *_DESCRIBABLE, configuration_keys=None),
            include_synonyms=False,
            include_documentation=False,
        ),
        _config_errors("results", 4),
    ),
    Case(
        "alter_configs",
        2,
        lambda m, topic_id: m.AlterConfigsRequest(
            resources=_configs(m, "AlterConfigsResource", *_ALTERABLE, configs=()), validate_only=True
        ),
        _config_errors("responses", clusters=1, without_message=2),
    ),
    Case(
        "incremental_alter_configs",
        1,
        lambda m, topic_id: m.IncrementalAlterConfigsRequest(
            resources=_configs(m, "AlterConfigsResource", *_DESCRIBABLE, configs=()), validate_only=True
        ),
        _config_errors("responses", clusters=1, without_message=3),
    ),
    Case(
        "describe_client_quotas",
        1,
        lambda m, topic_id: m.DescribeClientQuotasRequest(components=(), strict=False),
        [("", NO_CLUSTER, None)],
    ),
    Case(
        "alter_client_quotas",
        1,
        lambda m, topic_id: m.AlterClientQuotasRequest(
            entries=tuple(
                m.EntryData(
                    entity=(m.EntityData(entity_type=type_, entity_name="a"),),
                    ops=(m.OpData(key="producer_byte_rate", value=1.0, remove=False),),
                )
                for type_ in ("user", "nonsense")
            ),
            validate_only=True,
        ),
        _each("entries", NO_CLUSTER, CLUSTER_REFUSED, 2),
    ),
    Case(
        "describe_acls",
        3,
        lambda m, topic_id: m.DescribeAclsRequest(**EVERY_ACL),
        [("", NO_CLUSTER, _needs("DESCRIBE"))],
    ),
    Case(
        "create_acls",
        3,
        lambda m, topic_id: m.CreateAclsRequest(
            creations=tuple(
                m.AclCreation(
                    resource_type=TOPIC,
                    resource_name=name,
                    resource_pattern_type=3,
                    principal="User:x",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
                for name in ("x", "")
            )
        ),
        _each("results", NO_CLUSTER, _needs("ALTER"), 2),
    ),
    Case(
        "delete_acls",
        3,
        lambda m, topic_id: m.DeleteAclsRequest(
            filters=(
                m.DeleteAclsFilter(
                    resource_type_filter=TOPIC,
                    resource_name_filter="x",
                    pattern_type_filter=3,
                    principal_filter=None,
                    host_filter=None,
                    operation=3,
                    permission_type=3,
                ),
            )
        ),
        [("filter_results", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "describe_user_scram_credentials",
        0,
        lambda m, topic_id: m.DescribeUserScramCredentialsRequest(users=(m.UserName(name="a"), m.UserName(name="b"))),
        [("", NO_CLUSTER, None), *_each("results", NO_CLUSTER, None, 2)],
    ),
    Case(
        "alter_user_scram_credentials",
        0,
        lambda m, topic_id: m.AlterUserScramCredentialsRequest(
            deletions=(m.ScramCredentialDeletion(name="a", mechanism=1),), upsertions=()
        ),
        [("results", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "describe_log_dirs", 4, lambda m, topic_id: m.DescribeLogDirsRequest(topics=None), [("", NO_CLUSTER, NO_PLACE)]
    ),
    Case(
        "list_config_resources",
        1,
        lambda m, topic_id: m.ListConfigResourcesRequest(resource_types=()),
        [("", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "alter_partition_reassignments",
        0,
        lambda m, topic_id: m.AlterPartitionReassignmentsRequest(
            timeout=SECOND,
            topics=(
                m.ReassignableTopic(
                    name=SECRET, partitions=(m.ReassignablePartition(partition_index=0, replicas=None),)
                ),
            ),
        ),
        [("", NO_CLUSTER, _needs("ALTER")), ("responses.partitions", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "list_partition_reassignments",
        0,
        lambda m, topic_id: m.ListPartitionReassignmentsRequest(timeout=SECOND, topics=None),
        [("", NO_CLUSTER, _needs("DESCRIBE"))],
    ),
    Case(
        "elect_leaders",
        2,
        lambda m, topic_id: m.ElectLeadersRequest(
            election_type=0, topic_partitions=(m.TopicPartitions(topic=SECRET, partitions=(0,)),), timeout=SECOND
        ),
        [("", NO_CLUSTER, NO_PLACE), ("replica_election_results.partition_result", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "elect_leaders",
        2,
        lambda m, topic_id: m.ElectLeadersRequest(election_type=0, topic_partitions=None, timeout=SECOND),
        [("", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "alter_replica_log_dirs",
        2,
        lambda m, topic_id: m.AlterReplicaLogDirsRequest(
            dirs=(
                m.AlterReplicaLogDir(
                    path="/nowhere", topics=(m.AlterReplicaLogDirTopic(name=SECRET, partitions=(0,)),)
                ),
            )
        ),
        [("results.partitions", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "create_delegation_token",
        3,
        lambda m, topic_id: m.CreateDelegationTokenRequest(
            owner_principal_type=None, owner_principal_name=None, renewers=(), max_lifetime=SECOND
        ),
        [("", NO_TOKENS, NO_PLACE)],
    ),
    Case(
        "renew_delegation_token",
        2,
        lambda m, topic_id: m.RenewDelegationTokenRequest(hmac=b"secret", renew_period=SECOND),
        [("", NO_TOKENS, NO_PLACE)],
    ),
    Case(
        "expire_delegation_token",
        2,
        lambda m, topic_id: m.ExpireDelegationTokenRequest(hmac=b"secret", expiry_time_period=SECOND),
        [("", NO_TOKENS, NO_PLACE)],
    ),
    Case(
        "describe_delegation_token",
        3,
        lambda m, topic_id: m.DescribeDelegationTokenRequest(owners=None),
        [("", NO_TOKENS, NO_PLACE)],
    ),
    Case(
        "add_raft_voter",
        1,
        lambda m, topic_id: m.AddRaftVoterRequest(
            cluster_id=None,
            timeout=SECOND,
            voter_id=77,
            voter_directory_id=topic_id,
            listeners=(m.Listener(name="CONTROLLER", host="localhost", port=9093),),
            ack_when_committed=True,
        ),
        [("", NO_CLUSTER, CLUSTER_REFUSED)],
    ),
    Case(
        "remove_raft_voter",
        0,
        lambda m, topic_id: m.RemoveRaftVoterRequest(cluster_id=None, voter_id=77, voter_directory_id=topic_id),
        [("", NO_CLUSTER, CLUSTER_REFUSED)],
    ),
    Case(
        "unregister_broker",
        0,
        lambda m, topic_id: m.UnregisterBrokerRequest(broker_id=77),
        [("", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "update_features",
        1,
        lambda m, topic_id: m.UpdateFeaturesRequest(feature_updates=(), validate_only=True),
        [("", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "describe_topic_partitions",
        0,
        lambda m, topic_id: m.DescribeTopicPartitionsRequest(
            topics=(m.TopicRequest(name=SECRET), m.TopicRequest(name="nope")),
            response_partition_limit=2000,
            cursor=None,
        ),
        _each("topics", NO_TOPIC, NO_PLACE, 2),
    ),
    Case(
        "describe_topic_partitions",
        0,
        lambda m, topic_id: m.DescribeTopicPartitionsRequest(topics=(), response_partition_limit=2000, cursor=None),
        [],
    ),
    Case(
        "find_coordinator",
        6,
        lambda m, topic_id: m.FindCoordinatorRequest(key_type=0, coordinator_keys=(GROUP,)),
        [("coordinators", NO_GROUP, "")],
    ),
    Case(
        "find_coordinator",
        6,
        lambda m, topic_id: m.FindCoordinatorRequest(key_type=1, coordinator_keys=("tx",)),
        [("coordinators", NO_TRANSACTION, "")],
    ),
    Case(
        "find_coordinator",
        3,
        lambda m, topic_id: m.FindCoordinatorRequest(key_type=0, key=GROUP),
        [("", NO_GROUP, GROUP_REFUSED)],
    ),
    Case(
        "list_groups",
        5,
        lambda m, topic_id: m.ListGroupsRequest(states_filter=(), types_filter=()),
        [("", NONE, NO_PLACE)],
    ),
    Case(
        "describe_groups",
        5,
        lambda m, topic_id: m.DescribeGroupsRequest(groups=(GROUP,), include_authorized_operations=True),
        [("groups", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "describe_groups",
        6,
        lambda m, topic_id: m.DescribeGroupsRequest(groups=(GROUP,), include_authorized_operations=True),
        [("groups", NO_GROUP, None)],
    ),
    Case(
        "consumer_group_describe",
        1,
        lambda m, topic_id: m.ConsumerGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=True),
        [("groups", NO_GROUP, None)],
    ),
    Case(
        "share_group_describe",
        1,
        lambda m, topic_id: m.ShareGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=True),
        [("groups", NO_GROUP, None)],
    ),
    Case(
        "streams_group_describe",
        0,
        lambda m, topic_id: m.StreamsGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=True),
        [("groups", NO_GROUP, None)],
    ),
    *(
        Case("describe_share_group_offsets", version, _share_offsets, _each("groups", NO_GROUP, None, 2))
        for version in (0, 1)
    ),
    Case(
        "alter_share_group_offsets",
        0,
        lambda m, topic_id: m.AlterShareGroupOffsetsRequest(
            group_id=GROUP,
            topics=(
                m.AlterShareGroupOffsetsRequestTopic(
                    topic_name=SECRET,
                    partitions=(m.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0),),
                ),
            ),
        ),
        [("", NO_GROUP, GROUP_REFUSED)],
    ),
    Case(
        "delete_share_group_offsets",
        0,
        lambda m, topic_id: m.DeleteShareGroupOffsetsRequest(
            group_id=GROUP, topics=(m.DeleteShareGroupOffsetsRequestTopic(topic_name=SECRET),)
        ),
        [("", NO_GROUP, GROUP_REFUSED)],
    ),
    Case(
        "delete_groups",
        2,
        lambda m, topic_id: m.DeleteGroupsRequest(groups_names=(GROUP,)),
        [("results", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "offset_fetch",
        8,
        lambda m, topic_id: m.OffsetFetchRequest(
            groups=(
                m.OffsetFetchRequestGroup(
                    group_id=GROUP, topics=(m.OffsetFetchRequestTopics(name=SECRET, partition_indexes=(0,)),)
                ),
                m.OffsetFetchRequestGroup(group_id="another", topics=None),
            ),
            require_stable=False,
        ),
        _each("groups", NO_GROUP, NO_PLACE, 2),
    ),
    Case(
        "offset_fetch",
        5,
        lambda m, topic_id: m.OffsetFetchRequest(
            group_id=GROUP, topics=(m.OffsetFetchRequestTopic(name=SECRET, partition_indexes=(0,)),)
        ),
        [("", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "offset_commit",
        8,
        lambda m, topic_id: m.OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=-1,
            member_id="",
            group_instance_id=None,
            topics=(
                m.OffsetCommitRequestTopic(
                    name=SECRET,
                    partitions=(
                        m.OffsetCommitRequestPartition(
                            partition_index=0, committed_offset=1, committed_leader_epoch=-1, committed_metadata=None
                        ),
                    ),
                ),
            ),
        ),
        [("topics.partitions", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "offset_delete",
        0,
        lambda m, topic_id: m.OffsetDeleteRequest(
            group_id=GROUP,
            topics=(
                m.OffsetDeleteRequestTopic(
                    name=SECRET, partitions=(m.OffsetDeleteRequestPartition(partition_index=0),)
                ),
            ),
        ),
        [("", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "list_offsets",
        9,
        lambda m, topic_id: m.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=0,
            topics=tuple(
                m.ListOffsetsTopic(name=name, partitions=(_offsets_partition(m),)) for name in (SECRET, "nope")
            ),
        ),
        _each("topics.partitions", NO_TOPIC, NO_PLACE, 2),
    ),
    Case(
        "offset_for_leader_epoch",
        4,
        lambda m, topic_id: m.OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=(
                m.OffsetForLeaderTopic(
                    topic=SECRET,
                    partitions=(m.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0),),
                ),
            ),
        ),
        [("topics.partitions", NO_TOPIC, NO_PLACE)],
    ),
    Case(
        "delete_records",
        2,
        lambda m, topic_id: m.DeleteRecordsRequest(
            topics=(
                m.DeleteRecordsTopic(name=SECRET, partitions=(m.DeleteRecordsPartition(partition_index=0, offset=0),)),
            ),
            timeout=SECOND,
        ),
        [("topics.partitions", NO_TOPIC, NO_PLACE)],
    ),
    Case(
        "produce",
        11,
        lambda m, topic_id: _produce(m, None),
        [("responses.partition_responses", NO_TOPIC, None)],
    ),
    Case(
        "produce",
        11,
        lambda m, topic_id: _produce(m, "tx"),
        [("responses.partition_responses", NO_TOPIC, None)],
    ),
    Case(
        "fetch",
        12,
        lambda m, topic_id: m.FetchRequest(
            cluster_id=None,
            replica_id=-1,
            topics=(m.FetchTopic(topic=SECRET, partitions=(_fetch_partition(m),)),),
            **_FETCH,
        ),
        [("", NONE, NO_PLACE), ("responses.partitions", NO_TOPIC, NO_PLACE)],
    ),
    Case(
        "fetch",
        16,
        lambda m, topic_id: m.FetchRequest(
            topics=(m.FetchTopic(topic_id=topic_id, partitions=(_fetch_partition(m),)),), **_FETCH
        ),
        [("", NONE, NO_PLACE), ("responses.partitions", NO_TOPIC, NO_PLACE)],
    ),
    Case(
        "init_producer_id",
        4,
        lambda m, topic_id: m.InitProducerIdRequest(
            transactional_id=None, transaction_timeout=SECOND, producer_id=-1, producer_epoch=-1
        ),
        [("", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "init_producer_id",
        4,
        lambda m, topic_id: m.InitProducerIdRequest(
            transactional_id="tx", transaction_timeout=SECOND, producer_id=-1, producer_epoch=-1
        ),
        [("", NO_TRANSACTION, NO_PLACE)],
    ),
    Case(
        "describe_producers",
        0,
        lambda m, topic_id: m.DescribeProducersRequest(topics=(m.TopicRequest(name=SECRET, partition_indexes=(0,)),)),
        [("topics.partitions", NO_TOPIC, "Topic authorization failed.")],
    ),
    Case("list_transactions", 1, lambda m, topic_id: m.ListTransactionsRequest(), [("", NONE, NO_PLACE)]),
    Case(
        "describe_transactions",
        0,
        lambda m, topic_id: m.DescribeTransactionsRequest(transactional_ids=("tx",)),
        [("transaction_states", NO_TRANSACTION, NO_PLACE)],
    ),
    Case(
        "add_partitions_to_txn",
        3,
        lambda m, topic_id: m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx",
            v3_and_below_producer_id=1,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=(m.AddPartitionsToTxnTopic(name=SECRET, partitions=(0,)),),
        ),
        [("results_by_topic_v3_and_below.results_by_partition", NO_TRANSACTION, NO_PLACE)],
    ),
    Case(
        "add_partitions_to_txn",
        5,
        lambda m, topic_id: m.AddPartitionsToTxnRequest(
            transactions=(
                m.AddPartitionsToTxnTransaction(
                    transactional_id="tx",
                    producer_id=1,
                    producer_epoch=0,
                    topics=(m.AddPartitionsToTxnTopic(name=SECRET, partitions=(0,)),),
                ),
            )
        ),
        [("", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "end_txn",
        3,
        lambda m, topic_id: m.EndTxnRequest(transactional_id="tx", producer_id=1, producer_epoch=0, committed=True),
        [("", NO_TRANSACTION, NO_PLACE)],
    ),
    Case(
        "write_txn_markers",
        1,
        lambda m, topic_id: m.WriteTxnMarkersRequest(
            markers=(
                m.WritableTxnMarker(
                    producer_id=1,
                    producer_epoch=0,
                    transaction_result=False,
                    topics=(m.WritableTxnMarkerTopic(name=SECRET, partition_indexes=(0,)),),
                    coordinator_epoch=0,
                ),
            )
        ),
        [("markers.topics.partitions", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "join_group",
        9,
        lambda m, topic_id: m.JoinGroupRequest(
            group_id=GROUP,
            session_timeout=timedelta(seconds=10),
            rebalance_timeout=SECOND,
            member_id="",
            group_instance_id=None,
            protocol_type="consumer",
            protocols=(),
            reason=None,
        ),
        [("", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "sync_group",
        5,
        lambda m, topic_id: m.SyncGroupRequest(
            group_id=GROUP,
            generation_id=1,
            member_id="x",
            group_instance_id=None,
            protocol_type="consumer",
            protocol_name="range",
            assignments=(),
        ),
        [("", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "heartbeat",
        4,
        lambda m, topic_id: m.HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="x", group_instance_id=None),
        [("", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "leave_group",
        5,
        lambda m, topic_id: m.LeaveGroupRequest(
            group_id=GROUP, members=(m.MemberIdentity(member_id="x", group_instance_id=None, reason=None),)
        ),
        [("", NO_GROUP, NO_PLACE)],
    ),
)
