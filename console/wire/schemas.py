"""The index of messages: an API's key, its versions, and the module of one version, imported at its first use.

The client looks up by kio's name of an API, the broker's side by key and version, as in a request header. Kafka's
messages are kio's, or generated from a newer Kafka's own definitions (console.wire.newer); other versions may be a
proposal's own (console.wire.proposals).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, cast

from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType
from kio.static.protocol import ResponsePayload

from console.lean_imports import import_alone
from console.wire.newer import NEWER

BY_VERSION: Mapping[str, Mapping[int, Any]] = {
    **schema_name_map,
    **{api: {**schema_name_map[api], **versions} for api, versions in NEWER.items()},
}
"""kio's name of an API -> version -> the module and the class of each of its messages."""


@cache
def _keys_by_name() -> dict[str, int]:
    return {name: key for key, name in api_key_map.items()}


def api_key(api: str) -> int:
    """Return the key of an API by kio's package name ("describe_configs"). Raises KeyError for an unknown name."""
    return _keys_by_name()[api]


@cache
def version_range(api: str) -> tuple[int, int]:
    """Return the lowest and highest version of an API that kac knows."""
    versions = BY_VERSION[api]
    return min(versions), max(versions)


@cache
def _proposed_messages(api: str, version: int) -> Messages | None:
    """Return the proposal's own messages; None for a version of Kafka's. Raises KeyError for any other version."""
    if version in BY_VERSION[api]:
        return None
    from console.wire.proposals.table import PROPOSED

    return Messages(*PROPOSED[api_key(api), version], proposed=True)


def _message_of(api: str, version: int, kind: EntityType) -> tuple[ModuleType, str]:
    path, _, name = BY_VERSION[api][version][kind].partition(":")
    return import_alone(path), name


def request_module(api: str, version: int) -> ModuleType:
    """Return the module with the request of this version and its nested classes."""
    if proposed := _proposed_messages(api, version):
        return proposed.schema
    return _message_of(api, version, EntityType.request)[0]


def response_type(api: str, version: int) -> type[ResponsePayload]:
    """Return the class of the response of this version. In kio's classes, error codes are a closed enumeration."""
    if proposed := _proposed_messages(api, version):
        return cast("type[ResponsePayload]", proposed.response)
    module, name = _message_of(api, version, EntityType.response)
    return cast("type[ResponsePayload]", getattr(module, name))


# The messages of an API by key and version, as a broker needs them.


class Messages(NamedTuple):
    """Request and response of one version of one API."""

    api: str
    key: int
    version: int
    request: type[Any]
    response: type[Any]
    schema: ModuleType
    """The module of the response and its nested classes."""
    proposed: bool = False
    """Whether the messages have a proposal's own format, which no Kafka release has."""


@cache
def messages(key: int, version: int) -> Messages | None:
    """Return the messages of a key and a version, a proposal's own or Kafka's; None if neither has this version."""
    from console.wire.proposals.table import PROPOSED

    found = PROPOSED.get((key, version))
    return Messages(*found, proposed=True) if found else _kafka_messages(key, version)


def _kafka_messages(key: int, version: int) -> Messages | None:
    api = api_key_map.get(key)
    if api is None or version not in BY_VERSION[api]:
        return None
    requests, request = _message_of(api, version, EntityType.request)
    schema, response = _message_of(api, version, EntityType.response)
    return Messages(api, key, version, getattr(requests, request), getattr(schema, response), schema)


def api_name(key: int) -> str | None:
    """Return kio's name of a Kafka API; None for an unknown key."""
    return api_key_map.get(key)


# The first Kafka release with an API, in a version that kac knows.

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
    "alter_replica_log_dirs": "2.0",
    "describe_client_quotas": "2.6",
    "alter_client_quotas": "2.6",
    "describe_user_scram_credentials": "2.7",
    "alter_user_scram_credentials": "2.7",
    "update_features": "2.7",
    "unregister_broker": "3.0 with KRaft",
    "describe_cluster": "2.8",
    "describe_producers": "2.8",
    "list_transactions": "3.0",
    "describe_transactions": "3.0",
    "describe_quorum": "3.3 with KRaft",
    "list_config_resources": "3.7",
    "consumer_group_describe": "3.7",
    "describe_topic_partitions": "3.8",
}
"""kio's name of an API -> the release. APIs that all brokers have had since 1.0 are left out."""
