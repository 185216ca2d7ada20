"""A request of each API from a user without any rights, and every error in the answer of a Kafka 4.4 broker.

The topic SECRET exists, with one partition. The answers were recorded from a real broker; a test compares the table
with that broker again.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple
from uuid import UUID

from tests.support.acl_filters import EVERY_ACL
from tests.support.kafka_messages import Build, with_fields

SECRET = "secret-topic"
GROUP = "secret-group"
NO_PLACE = "-"
"""The value in place of a message for an answer that has no field for a message."""
ANOTHER_ID = UUID(int=7)
TOPIC, BROKER, LOGGER, METRICS, GROUP_CONFIG = 2, 4, 8, 16, 32
LITERAL, READ, ALLOW = 3, 3, 3
_PART = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": None}
COMMITTED = [(SECRET, [_PART])]
"""The field of requests that commit offsets: offset 1 for partition 0 of SECRET."""
NONE, NO_TOPIC, NO_GROUP, NO_CLUSTER, NO_TRANSACTION = 0, 29, 30, 31, 53
NO_TOKENS = 61
"""The error code of brokers on which delegation tokens are disabled, because they have no secret key for them."""
TOPIC_REFUSED, GROUP_REFUSED, CLUSTER_REFUSED = (
    f"{what} authorization failed." for what in ("Topic", "Group", "Cluster")
)

Error = tuple[str, int, str | None]
"""Path in the answer (``topics.partitions``), error code, message; None for a null message."""


class Case(NamedTuple):
    """A request of an API in a version, and the errors in the broker's answer."""

    api: str
    version: int
    fields: Mapping[str, Any]
    errors: Sequence[Error]

    @property
    def build(self) -> Build:
        """A function that makes the request from kio's module of the version."""
        return with_fields(**self.fields)


def errors_of(answer: Any, path: str = "") -> Iterator[Error]:
    """Yield every error code in an answer, also 0 (no error), with its path and message. Errors of the entries of an
    array are sorted.
    """
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
    """Return a message in which Java's text of a request, which brokers print, is replaced by "it"; None and ``""`` are
    returned unchanged.
    """
    return message and re.sub(r"^Request Request\(.*\) (?=needs)", "it ", message, flags=re.DOTALL)


def _needs(operation: str) -> str:
    return f"it needs {operation} permission."


def _each(path: str, code: int, message: str | None, times: int) -> list[Error]:
    return [(path, code, message)] * times


_ALTERABLE = ((TOPIC, SECRET), (TOPIC, "nope"), (BROKER, "1"), (BROKER, ""), (METRICS, "x"), (GROUP_CONFIG, GROUP))
_DESCRIBABLE = (*_ALTERABLE, (LOGGER, "1"))


def _config_errors(path: str, clusters: int = 3, without_message: int = 0) -> list[Error]:
    """Return the errors for the configs of two topics, a group, and `clusters` resources that need rights on the
    cluster.

    without_message: number of further errors for cluster resources, without a message.
    """
    return [
        *_each(path, NO_TOPIC, TOPIC_REFUSED, 2),
        (path, NO_GROUP, GROUP_REFUSED),
        *_each(path, NO_CLUSTER, CLUSTER_REFUSED, clusters),
        *_each(path, NO_CLUSTER, None, without_message),
    ]


_FETCH: Mapping[str, Any] = {"max_wait": 1, "min_bytes": 1, "max_bytes": 1000, "forgotten_topics_data": []}
_FETCHED = (0, -1, 0, -1, -1, 1000)
"""A partition of a fetch request: number, leader epoch, fetch offset, last fetched epoch, log start offset, greatest
number of bytes.
"""
_NEW = ("new", SECRET, "bad name", "twice", "twice")
_SHARED = [(GROUP, [(SECRET, [0])]), ("another", None)]
"""Groups of a request for share groups' offsets: GROUP with partition 0 of SECRET, and another group with all
partitions (None).
"""


_OF_GROUP, _OF_TRANSACTION = [("", NO_GROUP, NO_PLACE)], [("", NO_TRANSACTION, NO_PLACE)]
"""The only error of an answer: that of the group or of the transactional id."""
_DESCRIBED: Mapping[str, Any] = {"group_ids": [GROUP], "include_authorized_operations": True}
_MEMBER: Mapping[str, Any] = {"group_id": GROUP, "generation_id": 1, "member_id": "x", "group_instance_id": None}
_CONSUMER: Mapping[str, Any] = {"protocol_type": "consumer", "protocol_name": "range", "protocols": []}
_PRODUCER: Mapping[str, Any] = {"transactional_id": "tx", "producer_id": 1, "producer_epoch": 0}
_NO_PRODUCER: Mapping[str, Any] = {"transaction_timeout": 1, "producer_id": -1, "producer_epoch": -1}


def _metadata(*names: str) -> Mapping[str, Any]:
    both = {"allow_auto_topic_creation": True, "include_topic_authorized_operations": True}
    return {"topics": [(None, name) for name in names] or None, **both}


def _produce(transactional_id: str | None) -> Mapping[str, Any]:
    topics = [(SECRET, [(0, None)])]
    return {"transactional_id": transactional_id, "acks": 1, "timeout": 1, "topic_data": topics}


_VOTER: Mapping[str, Any] = {"cluster_id": None, "voter_id": 77, "voter_directory_id": ANOTHER_ID}
_CASES: Sequence[Case] = (
    Case("api_versions", 4, {"client_software_name": "x", "client_software_version": "1"}, [("", NONE, NO_PLACE)]),
    Case("metadata", 12, _metadata(SECRET, "nope", "bad name"), _each("topics", NO_TOPIC, NO_PLACE, 3)),
    Case("metadata", 12, _metadata(), []),
    Case(
        "describe_cluster",
        2,
        {"include_cluster_authorized_operations": True, "include_fenced_brokers": False},
        [("", NONE, None)],
    ),
    Case("describe_quorum", 2, {"topics": [("__cluster_metadata", [0])]}, [("", NO_CLUSTER, CLUSTER_REFUSED)]),
    Case(
        "create_topics",
        7,
        {"topics": [(name, 1, 1, [], []) for name in _NEW], "timeout": 1, "validate_only": True},
        [*_each("topics", NO_TOPIC, "Authorization failed.", 3), ("topics", 42, "Duplicate topic name.")],
    ),
    Case(
        "create_partitions",
        3,
        {"topics": [(name, 3, None) for name in (SECRET, "nope")], "timeout": 1, "validate_only": False},
        _each("results", NO_TOPIC, None, 2),
    ),
    Case(
        "describe_configs",
        4,
        {
            "resources": [(*each, None) for each in _DESCRIBABLE],
            "include_synonyms": False,
            "include_documentation": False,
        },
        _config_errors("results", 4),
    ),
    Case(
        "alter_configs",
        2,
        {"resources": [(*each, []) for each in _ALTERABLE], "validate_only": True},
        _config_errors("responses", clusters=1, without_message=2),
    ),
    Case(
        "incremental_alter_configs",
        1,
        {"resources": [(*each, []) for each in _DESCRIBABLE], "validate_only": True},
        _config_errors("responses", clusters=1, without_message=3),
    ),
    Case("describe_client_quotas", 1, {"components": [], "strict": False}, [("", NO_CLUSTER, None)]),
    Case(
        "alter_client_quotas",
        1,
        {
            "entries": [([(type_, "a")], [("producer_byte_rate", 1.0, False)]) for type_ in ("user", "nonsense")],
            "validate_only": True,
        },
        _each("entries", NO_CLUSTER, CLUSTER_REFUSED, 2),
    ),
    Case("describe_acls", 3, EVERY_ACL, [("", NO_CLUSTER, _needs("DESCRIBE"))]),
    Case(
        "create_acls",
        3,
        {"creations": [(TOPIC, name, LITERAL, "User:x", "*", READ, ALLOW) for name in ("x", "")]},
        _each("results", NO_CLUSTER, _needs("ALTER"), 2),
    ),
    Case(
        "delete_acls",
        3,
        {"filters": [(TOPIC, "x", LITERAL, None, None, READ, ALLOW)]},
        [("filter_results", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "describe_user_scram_credentials",
        0,
        {"users": ["a", "b"]},
        [("", NO_CLUSTER, None), *_each("results", NO_CLUSTER, None, 2)],
    ),
    Case(
        "alter_user_scram_credentials",
        0,
        {"deletions": [("a", 1)], "upsertions": []},
        [("results", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case("describe_log_dirs", 4, {"topics": None}, [("", NO_CLUSTER, NO_PLACE)]),
    Case("list_config_resources", 1, {"resource_types": []}, [("", NO_CLUSTER, NO_PLACE)]),
    Case(
        "alter_partition_reassignments",
        0,
        {"timeout": 1, "topics": [(SECRET, [(0, None)])]},
        [("", NO_CLUSTER, _needs("ALTER")), ("responses.partitions", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case("list_partition_reassignments", 0, {"timeout": 1, "topics": None}, [("", NO_CLUSTER, _needs("DESCRIBE"))]),
    Case(
        "elect_leaders",
        2,
        {"election_type": 0, "topic_partitions": [(SECRET, [0])], "timeout": 1},
        [("", NO_CLUSTER, NO_PLACE), ("replica_election_results.partition_result", NO_CLUSTER, _needs("ALTER"))],
    ),
    Case(
        "elect_leaders", 2, {"election_type": 0, "topic_partitions": None, "timeout": 1}, [("", NO_CLUSTER, NO_PLACE)]
    ),
    Case(
        "alter_replica_log_dirs",
        2,
        {"dirs": [("/nowhere", [(SECRET, [0])])]},
        [("results.partitions", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "create_delegation_token",
        3,
        {"owner_principal_type": None, "owner_principal_name": None, "renewers": [], "max_lifetime": 1},
        [("", NO_TOKENS, NO_PLACE)],
    ),
    Case("renew_delegation_token", 2, {"hmac": b"secret", "renew_period": 1}, [("", NO_TOKENS, NO_PLACE)]),
    Case("expire_delegation_token", 2, {"hmac": b"secret", "expiry_time_period": 1}, [("", NO_TOKENS, NO_PLACE)]),
    Case("describe_delegation_token", 3, {"owners": None}, [("", NO_TOKENS, NO_PLACE)]),
    Case(
        "add_raft_voter",
        1,
        {**_VOTER, "timeout": 1, "listeners": [("CONTROLLER", "localhost", 9093)], "ack_when_committed": True},
        [("", NO_CLUSTER, CLUSTER_REFUSED)],
    ),
    Case("remove_raft_voter", 0, _VOTER, [("", NO_CLUSTER, CLUSTER_REFUSED)]),
    Case("unregister_broker", 0, {"broker_id": 77}, [("", NO_CLUSTER, _needs("ALTER"))]),
    Case("update_features", 1, {"feature_updates": [], "validate_only": True}, [("", NO_CLUSTER, _needs("ALTER"))]),
    Case(
        "describe_topic_partitions",
        0,
        {"topics": [SECRET, "nope"], "response_partition_limit": 2000, "cursor": None},
        _each("topics", NO_TOPIC, NO_PLACE, 2),
    ),
    Case("describe_topic_partitions", 0, {"topics": [], "response_partition_limit": 2000, "cursor": None}, []),
    Case("find_coordinator", 6, {"key_type": 0, "coordinator_keys": [GROUP]}, [("coordinators", NO_GROUP, "")]),
    Case("find_coordinator", 6, {"key_type": 1, "coordinator_keys": ["tx"]}, [("coordinators", NO_TRANSACTION, "")]),
    Case("find_coordinator", 3, {"key_type": 0, "key": GROUP}, [("", NO_GROUP, GROUP_REFUSED)]),
    Case("list_groups", 5, {"states_filter": [], "types_filter": []}, [("", NONE, NO_PLACE)]),
    Case(
        "describe_groups",
        5,
        {"groups": [GROUP], "include_authorized_operations": True},
        [("groups", NO_GROUP, NO_PLACE)],
    ),
    Case(
        "describe_groups", 6, {"groups": [GROUP], "include_authorized_operations": True}, [("groups", NO_GROUP, None)]
    ),
    Case("consumer_group_describe", 1, _DESCRIBED, [("groups", NO_GROUP, None)]),
    Case("share_group_describe", 1, _DESCRIBED, [("groups", NO_GROUP, None)]),
    Case("streams_group_describe", 0, _DESCRIBED, [("groups", NO_GROUP, None)]),
    *(
        Case("describe_share_group_offsets", version, {"groups": _SHARED}, _each("groups", NO_GROUP, None, 2))
        for version in (0, 1)
    ),
    Case(
        "alter_share_group_offsets",
        0,
        {"group_id": GROUP, "topics": [(SECRET, [(0, 0)])]},
        [("", NO_GROUP, GROUP_REFUSED)],
    ),
    Case("delete_share_group_offsets", 0, {"group_id": GROUP, "topics": [SECRET]}, [("", NO_GROUP, GROUP_REFUSED)]),
    Case("delete_groups", 2, {"groups_names": [GROUP]}, [("results", NO_GROUP, NO_PLACE)]),
    Case(
        "offset_fetch",
        8,
        {"groups": [(GROUP, [(SECRET, [0])]), ("another", None)], "require_stable": False},
        _each("groups", NO_GROUP, NO_PLACE, 2),
    ),
    Case("offset_fetch", 5, {"group_id": GROUP, "topics": [(SECRET, [0])]}, _OF_GROUP),
    Case(
        "offset_commit",
        8,
        {**_MEMBER, "member_id": "", "generation_id_or_member_epoch": -1, "topics": COMMITTED},
        [("topics.partitions", NO_GROUP, NO_PLACE)],
    ),
    Case("offset_delete", 0, {"group_id": GROUP, "topics": [(SECRET, [0])]}, _OF_GROUP),
    Case(
        "list_offsets",
        9,
        {"replica_id": -1, "isolation_level": 0, "topics": [(name, [(0, -1, -1)]) for name in (SECRET, "nope")]},
        _each("topics.partitions", NO_TOPIC, NO_PLACE, 2),
    ),
    Case(
        "offset_for_leader_epoch",
        4,
        {"replica_id": -1, "topics": [(SECRET, [(0, -1, 0)])]},
        [("topics.partitions", NO_TOPIC, NO_PLACE)],
    ),
    Case(
        "delete_records", 2, {"topics": [(SECRET, [(0, 0)])], "timeout": 1}, [("topics.partitions", NO_TOPIC, NO_PLACE)]
    ),
    Case("produce", 11, _produce(None), [("responses.partition_responses", NO_TOPIC, None)]),
    Case("produce", 11, _produce("tx"), [("responses.partition_responses", NO_TOPIC, None)]),
    Case(
        "fetch",
        12,
        {"cluster_id": None, "replica_id": -1, "topics": [(SECRET, [_FETCHED])], **_FETCH},
        [("", NONE, NO_PLACE), ("responses.partitions", NO_TOPIC, NO_PLACE)],
    ),
    Case("init_producer_id", 4, {"transactional_id": None, **_NO_PRODUCER}, [("", NO_CLUSTER, NO_PLACE)]),
    Case("init_producer_id", 4, {"transactional_id": "tx", **_NO_PRODUCER}, _OF_TRANSACTION),
    Case(
        "describe_producers",
        0,
        {"topics": [(SECRET, [0])]},
        [("topics.partitions", NO_TOPIC, "Topic authorization failed.")],
    ),
    Case("list_transactions", 1, {}, [("", NONE, NO_PLACE)]),
    Case("describe_transactions", 0, {"transactional_ids": ["tx"]}, [("transaction_states", NO_TRANSACTION, NO_PLACE)]),
    Case(
        "add_partitions_to_txn",
        3,
        {
            "v3_and_below_transactional_id": "tx",
            "v3_and_below_producer_id": 1,
            "v3_and_below_producer_epoch": 0,
            "v3_and_below_topics": [(SECRET, [0])],
        },
        [("results_by_topic_v3_and_below.results_by_partition", NO_TRANSACTION, NO_PLACE)],
    ),
    Case(
        "add_partitions_to_txn",
        5,
        {"transactions": [{**_PRODUCER, "topics": [(SECRET, [0])]}]},
        [("", NO_CLUSTER, NO_PLACE)],
    ),
    Case("add_offsets_to_txn", 3, {**_PRODUCER, "group_id": GROUP}, _OF_TRANSACTION),
    Case(
        "txn_offset_commit",
        3,
        {**_PRODUCER, **_MEMBER, "member_id": "", "generation_id": -1, "topics": COMMITTED},
        [("topics.partitions", NO_TRANSACTION, NO_PLACE)],
    ),
    Case("end_txn", 3, {**_PRODUCER, "committed": True}, _OF_TRANSACTION),
    Case(
        "write_txn_markers",
        1,
        {"markers": [(1, 0, False, [(SECRET, [0])], 0)]},
        [("markers.topics.partitions", NO_CLUSTER, NO_PLACE)],
    ),
    Case(
        "join_group",
        9,
        {**_MEMBER, **_CONSUMER, "member_id": "", "session_timeout": 10, "rebalance_timeout": 1, "reason": None},
        _OF_GROUP,
    ),
    Case("sync_group", 5, {**_MEMBER, **_CONSUMER, "assignments": []}, _OF_GROUP),
    Case("heartbeat", 4, _MEMBER, _OF_GROUP),
    Case("leave_group", 5, {"group_id": GROUP, "members": [("x", None, None)]}, _OF_GROUP),
)


def cases(topic_id: UUID) -> Sequence[Case]:
    """Return all cases of the table; `topic_id` is the id of SECRET, for requests that name topics by id."""
    deleted = [(SECRET, None), ("nope", None), (None, ANOTHER_ID), (None, topic_id)]
    unknown = ("responses", 100, "This server does not host this topic ID.")
    refused = [("", NONE, NO_PLACE), ("responses.partitions", NO_TOPIC, NO_PLACE)]
    return (
        *_CASES,
        Case(
            "delete_topics",
            6,
            {"topics": deleted, "timeout": 1},
            [unknown, *_each("responses", NO_TOPIC, TOPIC_REFUSED, 3)],
        ),
        Case("fetch", 16, {"topics": [(topic_id, [_FETCHED])], **_FETCH}, refused),
    )
