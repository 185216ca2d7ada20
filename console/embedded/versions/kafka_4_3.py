"""Kafka 4.3, as a broker of that release answers ApiVersions."""

from __future__ import annotations

from console.embedded.spec import Release

RELEASE = Release(
    name="4.3",
    kraft=True,
    apis={
        0: (0, 13),  # produce
        1: (4, 18),  # fetch
        2: (1, 11),  # list_offsets
        3: (0, 13),  # metadata
        8: (2, 10),  # offset_commit
        9: (1, 10),  # offset_fetch
        10: (0, 6),  # find_coordinator
        11: (0, 9),  # join_group
        12: (0, 4),  # heartbeat
        13: (0, 5),  # leave_group
        14: (0, 5),  # sync_group
        15: (0, 6),  # describe_groups
        16: (0, 5),  # list_groups
        17: (0, 1),  # sasl_handshake
        18: (0, 4),  # api_versions
        19: (2, 7),  # create_topics
        20: (1, 6),  # delete_topics
        21: (0, 2),  # delete_records
        22: (0, 5),  # init_producer_id
        23: (2, 4),  # offset_for_leader_epoch
        24: (0, 5),  # add_partitions_to_txn
        25: (0, 4),  # add_offsets_to_txn
        26: (0, 5),  # end_txn
        27: (1, 2),  # write_txn_markers
        28: (0, 5),  # txn_offset_commit
        29: (1, 3),  # describe_acls
        30: (1, 3),  # create_acls
        31: (1, 3),  # delete_acls
        32: (1, 4),  # describe_configs
        33: (0, 2),  # alter_configs
        34: (1, 2),  # alter_replica_log_dirs
        35: (1, 5),  # describe_log_dirs
        36: (0, 2),  # sasl_authenticate
        37: (0, 3),  # create_partitions
        38: (1, 3),  # create_delegation_token
        39: (1, 2),  # renew_delegation_token
        40: (1, 2),  # expire_delegation_token
        41: (1, 3),  # describe_delegation_token
        42: (0, 2),  # delete_groups
        43: (0, 2),  # elect_leaders
        44: (0, 1),  # incremental_alter_configs
        45: (0, 1),  # alter_partition_reassignments
        46: (0, 0),  # list_partition_reassignments
        47: (0, 0),  # offset_delete
        48: (0, 1),  # describe_client_quotas
        49: (0, 1),  # alter_client_quotas
        50: (0, 0),  # describe_user_scram_credentials
        51: (0, 0),  # alter_user_scram_credentials
        55: (0, 2),  # describe_quorum
        57: (0, 2),  # update_features
        60: (0, 2),  # describe_cluster
        61: (0, 0),  # describe_producers
        64: (0, 0),  # unregister_broker
        65: (0, 0),  # describe_transactions
        66: (0, 2),  # list_transactions
        68: (0, 1),  # consumer_group_heartbeat
        69: (0, 1),  # consumer_group_describe
        74: (0, 1),  # list_config_resources
        75: (0, 0),  # describe_topic_partitions
        76: (1, 1),  # share_group_heartbeat
        77: (1, 1),  # share_group_describe
        78: (1, 2),  # share_fetch
        79: (1, 2),  # share_acknowledge
        80: (0, 1),  # add_raft_voter
        81: (0, 0),  # remove_raft_voter
        83: (0, 0),  # initialize_share_group_state
        84: (0, 0),  # read_share_group_state
        85: (0, 1),  # write_share_group_state
        86: (0, 0),  # delete_share_group_state
        87: (0, 1),  # read_share_group_state_summary
        88: (0, 0),  # streams_group_heartbeat
        89: (0, 0),  # streams_group_describe
        90: (0, 1),  # describe_share_group_offsets
        91: (0, 0),  # alter_share_group_offsets
        92: (0, 0),  # delete_share_group_offsets
    },
    supported={
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "metadata.version": (7, 30),
        "share.version": (0, 1),
        "streams.version": (0, 1),
        "transaction.version": (0, 2),
        "eligible.leader.replicas.version": (0, 1),
    },
    finalized={
        "group.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
        "eligible.leader.replicas.version": 1,
        "share.version": 1,
        "metadata.version": 30,
    },
)
