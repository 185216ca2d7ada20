"""The answer to any request that says one error of everything in it (AbstractRequest.getErrorResponse)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from types import UnionType
from typing import Any, TypeGuard, get_args, get_origin

from kio.static.constants import EntityType

from console.wire.schemas import Messages

ITSELF = ""
"""Stands for an array with the one item that the answer has something for."""

ITEMS: Mapping[str, Sequence[tuple[str, str]]] = {
    "alter_client_quotas": (("entries", "entries"),),
    "alter_configs": (("responses", "resources"),),
    "alter_partition_reassignments": (("responses", "topics"), ("partitions", "partitions")),
    "alter_user_scram_credentials": (("results", "deletions"), ("results", "upsertions")),
    "consumer_group_describe": (("groups", "group_ids"),),
    "create_acls": (("results", "creations"),),
    "create_partitions": (("results", "topics"),),
    "create_topics": (("topics", "topics"),),
    "delete_acls": (("filter_results", "filters"),),
    "delete_groups": (("results", "groups_names"),),
    "delete_records": (("topics", "topics"), ("partitions", "partitions")),
    "delete_topics": (("responses", "topics"), ("responses", "topic_names")),
    "describe_acls": (("filter_results", "filters"),),
    "describe_client_quotas": (("filter_results", "filters"),),
    "describe_configs": (("results", "resources"),),
    "describe_groups": (("groups", "groups"),),
    "describe_topic_partitions": (("topics", "topics"),),
    "elect_leaders": (("replica_election_results", "topic_partitions"), ("partition_result", "partitions")),
    "fetch": (("responses", "topics"), ("partitions", "partitions")),
    "find_coordinator": (("coordinators", "coordinator_keys"),),
    "incremental_alter_configs": (("responses", "resources"),),
    "kip133_alter_configs": (("responses", "resources"),),
    "kip133_list_configs": (("entities", "resources"),),
    "kip21_alter_config": (("entities", "entities"),),
    "kip21_describe_config": (("entities", "entities"),),
    "kip248_alter_quotas": (("resources", "resources"), ("configs", "configs")),
    "kip248_describe_quotas": (("resources", "resources"), ("configs", ITSELF)),
    "kip4_alter_acls": (("responses", "requests"), ("results", "actions")),
    "kip4_create_topics": (("topic_error_codes", "create_topic_requests"),),
    "kip4_delete_topics": (("topic_error_codes", "topics"),),
    "leave_group": (("members", "members"),),
    "list_offsets": (("topics", "topics"), ("partitions", "partitions")),
    "metadata": (("topics", "topics"),),
    "offset_commit": (("topics", "topics"), ("partitions", "partitions")),
    "offset_delete": (("topics", "topics"), ("partitions", "partitions")),
    "offset_fetch": (("groups", "groups"), ("topics", "topics"), ("partitions", "partition_indexes")),
    "offset_for_leader_epoch": (("topics", "topics"), ("partitions", "partitions")),
    "produce": (("responses", "topic_data"), ("partition_responses", "partition_data")),
}
"""For each API whose answer has something for each item of the request: the answer's array and the request's."""

_RENAMED: Mapping[str, Sequence[str]] = {
    "key": (),
    "topic": ("name",),
    "user": ("name",),
    "index": ("partition_index",),
    "partition_index": ("partition", "partition_id"),
    "partition_id": ("partition_index", "partition"),
}
"""Fields of an answer's item by the other names that they have in a request's."""


def error_answer(request: Any, messages: Messages, code: int, message: str | None = None) -> Any | None:
    """The response with this error, at its top and for each item; None for an API whose answers hold no error.

    code: any number, Kafka's or not. message: goes where the version has a place for it.
    """
    if not _has_error(messages.response):
        return None
    return _entity(messages.response, request, ITEMS.get(messages.api, ()), code, message)


def error_items(request: Any, messages: Messages) -> tuple[str, str] | None:
    """The response's and the request's array of items, None for an API that is answered as a whole."""
    for answered, asked in ITEMS.get(messages.api, ()):
        if hasattr(request, asked) and getattr(request, asked):
            return answered, asked
    return None


def _entity(type_: type[Any], source: Any, items: Sequence[tuple[str, str]], code: int, message: str | None) -> Any:
    values: dict[str, Any] = {}
    for field in fields(type_):
        if _is_code(field):
            values[field.name] = code
        elif field.name == "error_message":
            values[field.name] = (message or "") if field.type is str else message
        else:
            values[field.name] = _value(field, source, items, code, message)
    return type_(**values)


def _value(field: Field[Any], source: Any, items: Sequence[tuple[str, str]], code: int, message: str | None) -> Any:
    element = _element(field)
    if element is not None:
        asked: list[Any] = []
        for answered, name in items:
            if answered == field.name:
                asked += (source,) if name == ITSELF else getattr(source, name, None) or ()
        if _is_entity(element):
            if asked:
                return tuple(_entity(element, item, items, code, message) for item in asked)
            echoed = getattr(source, field.name, None)
            if echoed and not _has_error(element):  # the entity of a quota
                return tuple(_entity(element, item, items, code, message) for item in echoed)
        return ()
    if (
        getattr(source, "__type__", None) is EntityType.request
    ):  # only items are named again, nothing of the request itself
        return zero(field)
    for name in (field.name, *_RENAMED.get(field.name, ())):
        if hasattr(source, name):
            return getattr(source, name)
    if isinstance(source, str | int) and not isinstance(source, bool) and _accepts(field, source):
        return source
    return zero(field)


def _accepts(field: Field[Any], source: str | int) -> bool:
    """Whether a bare item is what this field names: the first name or number of an entity."""
    kinds = ("string",) if isinstance(source, str) else ("int32",)
    named = ("name", "key", "group_id", "topic") if isinstance(source, str) else ("partition_index", "partition_id")
    return field.metadata.get("kafka_type") in kinds and field.name in named


def zero(field: Field[Any]) -> Any:
    """What stands in a field of which nothing is known: its default, null where it may be, else nothing or zero."""
    if field.default is not MISSING:
        return field.default
    type_ = field.type
    if get_origin(type_) is tuple:
        return ()
    if get_origin(type_) is UnionType and type(None) in get_args(type_):
        return None
    if _is_entity(type_):
        return type_(**{part.name: zero(part) for part in fields(type_)})
    kind = field.metadata["kafka_type"]
    if kind.startswith("timedelta"):
        return timedelta(0)
    return {"string": "", "bytes": b"", "records": b"", "bool": False, "float64": 0.0}.get(kind, 0)


def _element(field: Field[Any]) -> Any:
    """The type of an array's elements, None for what is no array."""
    type_: Any = field.type
    if get_origin(type_) is UnionType:
        type_ = next(part for part in get_args(type_) if part is not type(None))
    return get_args(type_)[0] if get_origin(type_) is tuple else None


def _is_entity(type_: Any) -> TypeGuard[type[Any]]:
    return isinstance(type_, type) and is_dataclass(type_)


def _is_code(field: Field[Any]) -> bool:
    """Whether an error's number stands there; the proposals' own formats have it as any other number."""
    return field.name == "error_code" or field.metadata.get("kafka_type") == "error_code"


def _has_error(type_: type[Any]) -> bool:
    for field in fields(type_):
        element = _element(field)
        if _is_code(field):
            return True
        if _is_entity(element) and _has_error(element):
            return True
    return False
