"""Servers that speak Kafka's protocol and are not Kafka: which APIs each has, what it refuses, and how it answers
otherwise. As public documents have them; a record for each, and nothing else in the program names one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.embedded.spec import Profile

_NOT_AUTHORIZED = 31
"""CLUSTER_AUTHORIZATION_FAILED."""


def without_features(answer: Any) -> Any:
    """Remove the features: they are Kafka's own, no other server has its metadata.version."""
    if not hasattr(answer, "supported_features"):
        return answer
    return replace(answer, supported_features=(), finalized_features=(), finalized_features_epoch=-1)


def _dead_groups(answer: Any) -> Any:
    """Describe groups as Dead and without members, whatever they do."""
    return replace(answer, groups=tuple(replace(each, group_state="Dead", members=()) for each in answer.groups))


def _bucket(answer: Any) -> Any:
    """Add what was uploaded as one more directory of the broker, with replicas of the same topics."""
    first = answer.results[0] if answer.results else None
    if first is None or not first.topics:
        return answer
    return replace(answer, results=(*answer.results, replace(first, log_dir="remote://bucket")))


PROFILES: Mapping[str, Profile] = {
    # The versions are those of its handlers (github.com/redpanda-data/redpanda, src/v/kafka/server/handlers/*.h, whose
    # handlers.h lists them). There is no quorum to describe, no election, no moving between directories. Objects in
    # tiered storage are a log directory by the bucket's name (describe_log_dirs.cc).
    "redpanda": Profile(
        release="3.9",
        apis={
            "produce": (0, 7),
            "fetch": (4, 11),
            "list_offsets": (0, 4),
            "metadata": (0, 7),
            "offset_commit": (1, 7),
            "offset_fetch": (1, 7),
            "find_coordinator": (0, 3),
            "join_group": (0, 6),
            "heartbeat": (0, 4),
            "leave_group": (0, 4),
            "sync_group": (0, 4),
            "describe_groups": (0, 5),
            "list_groups": (0, 2),
            "sasl_handshake": (0, 1),
            "api_versions": (0, 3),
            "create_topics": (0, 6),
            "delete_topics": (0, 4),
            "delete_records": (0, 2),
            "init_producer_id": (0, 4),
            "offset_for_leader_epoch": (0, 4),
            "add_partitions_to_txn": (0, 3),
            "add_offsets_to_txn": (0, 3),
            "end_txn": (0, 3),
            "txn_offset_commit": (0, 3),
            "describe_acls": (0, 3),
            "create_acls": (0, 3),
            "delete_acls": (0, 3),
            "describe_configs": (0, 2),
            "alter_configs": (0, 1),
            "describe_log_dirs": (0, 2),
            "sasl_authenticate": (0, 2),
            "create_partitions": (0, 3),
            "delete_groups": (0, 2),
            "incremental_alter_configs": (0, 1),
            "alter_partition_reassignments": (0, 0),
            "list_partition_reassignments": (0, 0),
            "offset_delete": (0, 0),
            "describe_client_quotas": (0, 1),
            "alter_client_quotas": (0, 1),
            "describe_producers": (0, 0),
            "describe_transactions": (0, 0),
            "list_transactions": (0, 0),
        },
        answers={"api_versions": without_features, "describe_log_dirs": _bucket},
    ),
    # A client's log of its ApiVersions (github.com/Azure/azure-event-hubs-for-kafka/issues/209 for keys 24 to 44,
    # github.com/MicrosoftDocs/azure-docs/issues/29970 for Produce and Fetch, Metadata up to version 5). Its groups are
    # listed as Dead though they have offsets.
    "event-hubs": Profile(
        release="3.9",
        apis={
            "produce": (3, 7),
            "fetch": (4, 6),
            "list_offsets": (1, 2),
            "metadata": (0, 5),
            "offset_commit": (2, 3),
            "offset_fetch": (1, 3),
            "find_coordinator": (0, 1),
            "join_group": (0, 2),
            "heartbeat": (0, 1),
            "leave_group": (0, 1),
            "sync_group": (0, 1),
            "describe_groups": (0, 1),
            "list_groups": (0, 1),
            "sasl_handshake": (0, 1),
            "api_versions": (0, 3),
            "create_topics": (0, 3),
            "delete_topics": (0, 2),
            "init_producer_id": (0, 1),
            "describe_configs": (0, 2),
            "sasl_authenticate": (0, 1),
            "create_partitions": (0, 1),
            "delete_groups": (0, 0),
        },
        answers={"api_versions": without_features, "describe_groups": _dead_groups},
    ),
    # kafka-broker-api-versions against a cluster (github.com/tchiotludo/akhq/pull/1113, keys 0 to 25;
    # github.com/segmentio/topicctl/issues/69: moves are listed and not made; github.com/provectus/kafka-ui/issues/3331:
    # no log directories). Access is decided outside of the cluster, so that there are no ACLs.
    "msk-serverless": Profile(
        release="3.9",
        apis={
            "produce": (7, 9),
            "fetch": (10, 12),
            "list_offsets": (5, 6),
            "metadata": (7, 11),
            "offset_commit": (6, 8),
            "offset_fetch": (5, 7),
            "find_coordinator": (2, 3),
            "join_group": (4, 7),
            "heartbeat": (2, 4),
            "leave_group": (2, 4),
            "sync_group": (2, 5),
            "describe_groups": (2, 5),
            "list_groups": (2, 4),
            "sasl_handshake": (1, 1),
            "api_versions": (2, 3),
            "create_topics": (3, 7),
            "delete_topics": (3, 6),
            "init_producer_id": (1, 4),
            "offset_for_leader_epoch": (2, 4),
            "add_partitions_to_txn": (1, 3),
            "add_offsets_to_txn": (1, 3),
            "end_txn": (1, 3),
            "txn_offset_commit": (2, 3),
            "describe_configs": (2, 4),
            "sasl_authenticate": (1, 2),
            "create_partitions": (1, 3),
            "delete_groups": (1, 2),
            "incremental_alter_configs": (0, 1),
            "list_partition_reassignments": (0, 0),
            "offset_delete": (0, 0),
        },
        answers={"api_versions": without_features},
    ),
    # It has Kafka's APIs; what concerns brokers is not the customer's, and is refused as a missing right
    # (github.com/kafbat/kafka-ui/issues/1809 and github.com/tchiotludo/akhq/issues/111 for the log directories).
    "confluent-cloud": Profile(
        release="3.9",
        refused=dict.fromkeys(
            (
                "alter_partition_reassignments",
                "alter_replica_log_dirs",
                "alter_user_scram_credentials",
                "describe_log_dirs",
                "describe_quorum",
                "describe_user_scram_credentials",
                "elect_leaders",
                "list_partition_reassignments",
                "update_features",
            ),
            _NOT_AUTHORIZED,
        ),
    ),
}
"""By the names of `kac cluster --profile`."""
