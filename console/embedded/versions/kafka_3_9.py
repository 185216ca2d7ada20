"""Kafka 3.9, as a broker of that release answers ApiVersions."""

from __future__ import annotations

from console.embedded.spec import Release

RELEASE = Release(
    name="3.9",
    kraft=True,
    apis={
        0: (0, 11),  # produce
        1: (0, 17),  # fetch
        2: (0, 9),  # list_offsets
        3: (0, 12),  # metadata
        8: (0, 9),  # offset_commit
        9: (0, 9),  # offset_fetch
        10: (0, 6),  # find_coordinator
        11: (0, 9),  # join_group
        12: (0, 4),  # heartbeat
        13: (0, 5),  # leave_group
        14: (0, 5),  # sync_group
        15: (0, 5),  # describe_groups
        16: (0, 5),  # list_groups
        17: (0, 1),  # sasl_handshake
        18: (0, 4),  # api_versions
        19: (0, 7),  # create_topics
        20: (0, 6),  # delete_topics
        21: (0, 2),  # delete_records
        22: (0, 5),  # init_producer_id
        23: (0, 4),  # offset_for_leader_epoch
        24: (0, 5),  # add_partitions_to_txn
        25: (0, 4),  # add_offsets_to_txn
        26: (0, 4),  # end_txn
        27: (0, 1),  # write_txn_markers
        28: (0, 4),  # txn_offset_commit
        29: (0, 3),  # describe_acls
        30: (0, 3),  # create_acls
        31: (0, 3),  # delete_acls
        32: (0, 4),  # describe_configs
        33: (0, 2),  # alter_configs
        34: (0, 2),  # alter_replica_log_dirs
        35: (0, 4),  # describe_log_dirs
        36: (0, 2),  # sasl_authenticate
        37: (0, 3),  # create_partitions
        38: (0, 3),  # create_delegation_token
        39: (0, 2),  # renew_delegation_token
        40: (0, 2),  # expire_delegation_token
        41: (0, 3),  # describe_delegation_token
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
        55: (0, 2),  # describe_quorum
        57: (0, 1),  # update_features
        60: (0, 1),  # describe_cluster
        61: (0, 0),  # describe_producers
        64: (0, 0),  # unregister_broker
        65: (0, 0),  # describe_transactions
        66: (0, 1),  # list_transactions
        68: (0, 0),  # consumer_group_heartbeat
        69: (0, 0),  # consumer_group_describe
        74: (0, 0),  # list_config_resources
        75: (0, 0),  # describe_topic_partitions
        80: (0, 0),  # add_raft_voter
        81: (0, 0),  # remove_raft_voter
    },
    supported={
        "kraft.version": (0, 1),
        "metadata.version": (1, 21),
    },
    finalized={
        "metadata.version": 21,
    },
)
