"""Kafka 2.8 with ZooKeeper, as a broker of that release answers ApiVersions."""

from __future__ import annotations

from console.embedded.spec import Release

RELEASE = Release(
    name="2.8",
    kraft=False,
    apis={
        0: (0, 9),  # produce
        1: (0, 12),  # fetch
        2: (0, 6),  # list_offsets
        3: (0, 11),  # metadata
        4: (0, 5),  # leader_and_isr
        5: (0, 3),  # stop_replica
        6: (0, 7),  # update_metadata
        7: (0, 3),  # controlled_shutdown
        8: (0, 8),  # offset_commit
        9: (0, 7),  # offset_fetch
        10: (0, 3),  # find_coordinator
        11: (0, 7),  # join_group
        12: (0, 4),  # heartbeat
        13: (0, 4),  # leave_group
        14: (0, 5),  # sync_group
        15: (0, 5),  # describe_groups
        16: (0, 4),  # list_groups
        17: (0, 1),  # sasl_handshake
        18: (0, 3),  # api_versions
        19: (0, 7),  # create_topics
        20: (0, 6),  # delete_topics
        21: (0, 2),  # delete_records
        22: (0, 4),  # init_producer_id
        23: (0, 4),  # offset_for_leader_epoch
        24: (0, 3),  # add_partitions_to_txn
        25: (0, 3),  # add_offsets_to_txn
        26: (0, 3),  # end_txn
        27: (0, 1),  # write_txn_markers
        28: (0, 3),  # txn_offset_commit
        29: (0, 2),  # describe_acls
        30: (0, 2),  # create_acls
        31: (0, 2),  # delete_acls
        32: (0, 4),  # describe_configs
        33: (0, 2),  # alter_configs
        34: (0, 2),  # alter_replica_log_dirs
        35: (0, 2),  # describe_log_dirs
        36: (0, 2),  # sasl_authenticate
        37: (0, 3),  # create_partitions
        38: (0, 2),  # create_delegation_token
        39: (0, 2),  # renew_delegation_token
        40: (0, 2),  # expire_delegation_token
        41: (0, 2),  # describe_delegation_token
        42: (0, 2),  # delete_groups
        43: (0, 2),  # elect_leaders
        44: (0, 1),  # incremental_alter_configs
        45: (0, 0),  # alter_partition_reassignments
        46: (0, 0),  # list_partition_reassignments
        47: (0, 0),  # offset_delete
        48: (0, 1),  # describe_client_quotas
        49: (0, 1),  # alter_client_quotas
        50: (0, 0),  # describe_user_scram_credentials
        51: (0, 0),  # alter_user_scram_credentials
        56: (0, 0),  # alter_partition
        57: (0, 0),  # update_features
        60: (0, 0),  # describe_cluster
        61: (0, 0),  # describe_producers
    },
)
