"""The table of the APIs that the embedded cluster serves: for each API, the nodes that serve it and the items in its
messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, auto
from typing import NamedTuple

Items = tuple[tuple[str, str], ...]
"""(array in the response, array in the request) for each pair of arrays: the response's array has one element for
each item of the request's array.
"""


class Served(Flag):
    """Flags: which kinds of nodes serve an API, and whether brokers forward it to the controller."""

    AT_CONTROLLERS = auto()
    """Controllers that are not brokers serve the API, too (listener "controller" in Kafka's message definitions)."""
    HANDED_ON = auto()
    """Brokers forward the request to the active controller, and wait while there is none."""
    BY_THE_ACTIVE = auto()
    """Controllers that are not the active one refuse the request before its handler is called."""
    UNFORWARDED = auto()
    """In a cluster whose brokers don't forward requests, only the broker that is the controller accepts the request."""


_BROKERS = Served(0)
_ALL = Served.AT_CONTROLLERS
_HANDED_ON = _ALL | Served.HANDED_ON
"""The API is served by all nodes, and brokers forward it. The handler, not the dispatcher, checks whether the
controller is the active one, because other checks, which all controllers make, come before that check.
"""
_ACTIVE = _HANDED_ON | Served.BY_THE_ACTIVE
_CONTROLLER = _ACTIVE | Served.UNFORWARDED


class Api(NamedTuple):
    """A row of the table of APIs."""

    module: str
    """The module in `handlers` or `proposals` that has the handler, a function with the API's name."""
    items: Items = ()
    """The pairs of arrays in the response and the request; see `Items`."""
    served: Served = _BROKERS
    """The nodes that serve the API, and how."""


ITSELF = ""
"""In place of the name of an array in the request: the response's array has one element, for the enclosing item
itself.
"""
_TOPICS, _PARTITIONS, _GROUPS = ("topics", "topics"), ("partitions", "partitions"), ("groups", "groups")
_ENTRIES, _RESOURCES = ("entries", "entries"), ("responses", "resources")
_BY_ID = ("groups", "group_ids")
_PLACES = (_TOPICS, _PARTITIONS)
_MOVED = (("responses", "topics"), _PARTITIONS)

APIS: Mapping[str, Api] = {
    "create_acls": Api("acls", (("results", "creations"),), _ACTIVE),
    "delete_acls": Api("acls", (("filter_results", "filters"),), _ACTIVE),
    "describe_acls": Api("acls", (("filter_results", "filters"),), _ALL),
    "alter_client_quotas": Api("client_quotas", (_ENTRIES,), _ACTIVE),
    "describe_client_quotas": Api("client_quotas", (("filter_results", "filters"),)),
    "describe_cluster": Api("cluster", served=_ALL),
    "unregister_broker": Api("cluster", served=_ACTIVE),
    "update_features": Api("cluster", served=_CONTROLLER),
    "alter_configs": Api("configs", (_RESOURCES,), _HANDED_ON),
    "describe_configs": Api("configs", (("results", "resources"),), _ALL),
    "incremental_alter_configs": Api("configs", (_RESOURCES,), _HANDED_ON),
    "list_config_resources": Api("configs"),
    "alter_user_scram_credentials": Api(
        "credentials", (("results", "deletions"), ("results", "upsertions")), _CONTROLLER
    ),
    "describe_user_scram_credentials": Api("credentials", served=_ALL),
    "find_coordinator": Api("group_members", (("coordinators", "coordinator_keys"),)),
    "heartbeat": Api("group_members"),
    "join_group": Api("group_members"),
    "leave_group": Api("group_members", (("members", "members"),)),
    "sync_group": Api("group_members"),
    "offset_commit": Api("group_offsets", _PLACES),
    "offset_delete": Api("group_offsets", _PLACES),
    "offset_fetch": Api("group_offsets", (_GROUPS, _TOPICS, ("partitions", "partition_indexes"))),
    "txn_offset_commit": Api("group_offsets", _PLACES),
    "consumer_group_describe": Api("groups", (_BY_ID,)),
    "delete_groups": Api("groups", (("results", "groups_names"),)),
    "describe_groups": Api("groups", (_GROUPS,)),
    "list_groups": Api("groups"),
    "share_group_describe": Api("groups", (_BY_ID,)),
    "streams_group_describe": Api("groups", (_BY_ID,)),
    "api_versions": Api("login", served=_ALL),
    "sasl_authenticate": Api("login", served=_ALL),
    "sasl_handshake": Api("login", served=_ALL),
    "describe_topic_partitions": Api("metadata", (_TOPICS,)),
    "metadata": Api("metadata", (_TOPICS,)),
    "add_raft_voter": Api("quorum", served=_HANDED_ON),
    "describe_quorum": Api("quorum", served=_HANDED_ON),
    "remove_raft_voter": Api("quorum", served=_HANDED_ON),
    "delete_records": Api("records", _PLACES),
    "fetch": Api("records", _MOVED),
    "list_offsets": Api("records", _PLACES),
    "offset_for_leader_epoch": Api("records", _PLACES),
    "produce": Api("records", (("responses", "topic_data"), ("partition_responses", "partition_data"))),
    "alter_partition_reassignments": Api("replicas", _MOVED, _CONTROLLER),
    "alter_replica_log_dirs": Api("replicas", (("results", "dirs.topics"), _PARTITIONS)),
    "describe_log_dirs": Api("replicas"),
    "elect_leaders": Api(
        "replicas", (("replica_election_results", "topic_partitions"), ("partition_result", "partitions")), _CONTROLLER
    ),
    "list_partition_reassignments": Api("replicas", served=_HANDED_ON | Served.UNFORWARDED),
    "alter_share_group_offsets": Api("share_offsets", _MOVED),
    "delete_share_group_offsets": Api("share_offsets", (("responses", "topics"),)),
    "describe_share_group_offsets": Api("share_offsets", (_GROUPS,)),
    "create_delegation_token": Api("tokens", served=_HANDED_ON),
    "describe_delegation_token": Api("tokens", served=_ALL),
    "expire_delegation_token": Api("tokens", served=_HANDED_ON),
    "renew_delegation_token": Api("tokens", served=_HANDED_ON),
    "create_partitions": Api("topics", (("results", "topics"),), _CONTROLLER),
    "create_topics": Api("topics", (_TOPICS,), _CONTROLLER),
    "delete_topics": Api(
        "topics", (("responses", "topics"), ("responses", "topic_names")), _HANDED_ON | Served.UNFORWARDED
    ),
    "add_offsets_to_txn": Api("transactions"),
    "add_partitions_to_txn": Api(
        "transactions",
        (("results_by_topic_v3_and_below", "v3_and_below_topics"), ("results_by_partition", "partitions")),
    ),
    "describe_producers": Api("transactions", (_TOPICS, ("partitions", "partition_indexes"))),
    "describe_transactions": Api("transactions", (("transaction_states", "transactional_ids"),)),
    "end_txn": Api("transactions"),
    "init_producer_id": Api("transactions"),
    "list_transactions": Api("transactions"),
    "write_txn_markers": Api("transactions", (("markers", "markers"), _TOPICS, ("partitions", "partition_indexes"))),
    "kip4_alter_acls": Api("kip4", (("responses", "requests"), ("results", "actions"))),
    "kip4_create_topics": Api("kip4", (("topic_error_codes", "create_topic_requests"),)),
    "kip4_delete_topics": Api("kip4", (("topic_error_codes", "topics"),)),
    "kip4_list_acls": Api("kip4"),
    "kip21_alter_config": Api("kip21", (("entities", "entities"),)),
    "kip21_describe_config": Api("kip21", (("entities", "entities"),)),
    "kip133_alter_configs": Api("kip133", (_RESOURCES,)),
    "kip133_list_configs": Api("kip133", (("entities", "resources"),)),
    "kip248_alter_quotas": Api("kip248", (("resources", "resources"), ("configs", "configs"))),
    "kip248_describe_quotas": Api("kip248", (("resources", "resources"), ("configs", ITSELF))),
    "kip248_list_quotas": Api("kip248"),
}
"""kio's name of an API -> its row. The key of a proposal's own API consists of the proposal and the handler's name."""
