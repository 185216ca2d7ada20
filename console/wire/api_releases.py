"""Which Kafka release first has an API, in a version that kio can speak."""

from __future__ import annotations

from collections.abc import Mapping

FIRST_RELEASE: Mapping[str, str] = {
    "describe_acls": "2.0",
    "create_acls": "2.0",
    "delete_acls": "2.0",
    "describe_configs": "1.1",
    "alter_configs": "0.11",
    "incremental_alter_configs": "2.3",
    "create_partitions": "1.0",
    "describe_log_dirs": "2.0",
    "elect_leaders": "2.2",
    "alter_partition_reassignments": "2.4",
    "list_partition_reassignments": "2.4",
    "describe_client_quotas": "2.6",
    "alter_client_quotas": "2.6",
    "describe_user_scram_credentials": "2.7",
    "alter_user_scram_credentials": "2.7",
    "update_features": "2.7",
    "describe_cluster": "2.8",
    "describe_quorum": "3.3 with KRaft",
    "list_config_resources": "3.7",
    "consumer_group_describe": "3.7",
    "describe_topic_partitions": "3.8",
}
"""By kio's names. What every broker has had since 1.0 is left out."""
