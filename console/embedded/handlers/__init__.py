"""The Kafka APIs of the embedded cluster. Each module has the APIs of one noun, with a function for each.

A function has kio's name of its API. Its row in `console.embedded.apis` gives the module, and makes brokers advertise
the API. The function's docstring names the API with its key, the served versions (fewer if a release has fewer, see
data/releases.json), and intended differences from Kafka.

Args:
    request: kio's request entity in the client's version; `getattr` reads the fields that some versions lack.
    context: origin of the request; reads use `context.view`, changes go through `context.state`.

Returns:
    kio's response entity in the same version, an `EncodedBody` if the function encodes by itself, or None for no
    response.

Raises:
    CloseConnection: the broker closes the connection without a response.

By key:
- 0 produce, 1 fetch, 2 list_offsets, 3 metadata
- 8 offset_commit, 9 offset_fetch, 10 find_coordinator, 11 join_group, 12 heartbeat, 13 leave_group, 14 sync_group
- 15 describe_groups, 16 list_groups, 17 sasl_handshake, 18 api_versions, 19 create_topics, 20 delete_topics
- 21 delete_records, 22 init_producer_id, 23 offset_for_leader_epoch, 24 add_partitions_to_txn, 25 add_offsets_to_txn
- 26 end_txn, 27 write_txn_markers, 28 txn_offset_commit, 29 describe_acls, 30 create_acls, 31 delete_acls
- 32 describe_configs, 33 alter_configs
- 34 alter_replica_log_dirs, 35 describe_log_dirs, 36 sasl_authenticate, 37 create_partitions
- 38 create_delegation_token, 39 renew_delegation_token, 40 expire_delegation_token, 41 describe_delegation_token
- 42 delete_groups
- 43 elect_leaders, 44 incremental_alter_configs, 45 alter_partition_reassignments, 46 list_partition_reassignments
- 47 offset_delete, 48 describe_client_quotas, 49 alter_client_quotas, 50 describe_user_scram_credentials
- 51 alter_user_scram_credentials, 55 describe_quorum, 57 update_features, 60 describe_cluster
- 61 describe_producers, 64 unregister_broker, 65 describe_transactions, 66 list_transactions
- 69 consumer_group_describe, 74 list_config_resources, 75 describe_topic_partitions, 77 share_group_describe
- 80 add_raft_voter, 81 remove_raft_voter
- 89 streams_group_describe, 90 describe_share_group_offsets, 91 alter_share_group_offsets
- 92 delete_share_group_offsets
"""
