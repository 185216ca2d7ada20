"""The index of messages: API keys, versions, and the module of each version, which is imported when first used.

The client looks messages up by kio's name of an API; the embedded cluster, as a broker, by the key and version in a
request header. The messages of Kafka come from kio, or are generated from the definitions of a newer Kafka
(console.wire.newer). Further versions may be those of a proposal (console.wire.proposals).
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
"""kio's name of an API -> version -> for its request and its response: the name of the module and of the class."""


@cache
def _keys_by_name() -> dict[str, int]:
    return {name: key for key, name in api_key_map.items()}


def api_key(api: str) -> int:
    """Return the key of an API by kio's package name ("describe_configs"). Raises KeyError for an unknown name."""
    return _keys_by_name()[api]


@cache
def version_range(api: str) -> tuple[int, int]:
    """Return the (lowest, highest version) of an API that kac supports. Raises KeyError for an unknown name."""
    versions = BY_VERSION[api]
    return min(versions), max(versions)


@cache
def _proposed_messages(api: str, version: int) -> Messages | None:
    """Return the messages that a proposal defines for this version of an API; None for a version that Kafka defines.
    Raises KeyError for a version that neither defines.
    """
    if version in BY_VERSION[api]:
        return None
    from console.wire.proposals.table import PROPOSED

    return Messages(*PROPOSED[api_key(api), version], proposed=True)


def _message_of(api: str, version: int, kind: EntityType) -> tuple[ModuleType, str]:
    path, _, name = BY_VERSION[api][version][kind].partition(":")
    return import_alone(path), name


def request_module(api: str, version: int) -> ModuleType:
    """Return the module that defines the request of this version and the structures in it."""
    if proposed := _proposed_messages(api, version):
        return proposed.schema
    return _message_of(api, version, EntityType.request)[0]


def response_type(api: str, version: int) -> type[ResponsePayload]:
    """Return the class of the response of this version. Classes of kio's raise ValueError for unknown error codes; see
    `frames.with_open_codes`.
    """
    if proposed := _proposed_messages(api, version):
        return cast("type[ResponsePayload]", proposed.response)
    module, name = _message_of(api, version, EntityType.response)
    return cast("type[ResponsePayload]", getattr(module, name))


# The messages of an API by key and version, as a broker needs them.


class Messages(NamedTuple):
    """The request class and the response class of one version of one API."""

    api: str
    key: int
    version: int
    request: type[Any]
    response: type[Any]
    schema: ModuleType
    """The module that defines the response and the structures in it."""
    proposed: bool = False
    """Whether only a proposal defines this version, and no Kafka release has it."""


@cache
def messages(key: int, version: int) -> Messages | None:
    """Return the messages of an API key and version, as Kafka or a proposal defines them; None if neither has this
    version.
    """
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
    """Return kio's name of the Kafka API with this key; None for an unknown key."""
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
"""kio's name of an API -> the first Kafka release that has it in a version that kac supports. APIs that all brokers
have since 1.0 are left out.
"""
