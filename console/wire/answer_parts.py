"""Responses split into parts, one for each requested item (topic, group, partition), and responses assembled from
parts.

A replay thereby finds the recorded response for one topic in a response for all topics, and assembles the response to a
list from recorded responses to lists in another order or of other lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from console.wire.frames import decode_body, decode_request, encode_body
from console.wire.schemas import api_key, messages

Part = Hashable
"""The key of a part: a requested item together with the request's fields that affect the response for it."""


class _Lists(NamedTuple):
    """The list fields of an API: the requested items in the request, and their results in the response."""

    asked: str
    """The name of the request's field that has the list."""
    answered: str
    """The name of the response's field that has the list."""
    name: Callable[[Any], Hashable]
    """Returns the identity of an item, such as a topic's name: equal for a requested item and its result."""
    flags: tuple[str, ...] = ()
    """The names of the request's other fields that affect the result of each item."""
    all: bool = False
    """Whether a request with null as its list requests all items. If so, the key of an item's part has only the
    item's identity, not the item's other fields.
    """
    inside: _Inside | None = None
    """The lists inside each item, such as partitions in topics; None if the items have no lists to split."""


class _Inside(NamedTuple):
    """The list fields inside each item, with the same meaning as in `_Lists`."""

    asked: str
    answered: str
    name: Callable[[Any], Hashable]


def _of(*fields: str) -> Callable[[Any], Hashable]:
    """Return a function that returns an item's identity: the value of the first of these fields that the item has; the
    item itself if it has none of the fields.
    """

    def named(item: Any) -> Hashable:
        name: Hashable = next((getattr(item, field) for field in fields if hasattr(item, field)), item)
        return name

    return named


def _config_name(item: Any) -> Hashable:
    return item.resource_type, item.resource_name


_GROUP = _of("group_id")
_TOPIC = _of("name", "topic")
_PARTITION = _of("partition_index", "partition")
_LISTS: Mapping[str, _Lists] = {
    "metadata": _Lists("topics", "topics", _TOPIC, all=True),
    "describe_configs": _Lists("resources", "results", _config_name, ("include_synonyms",)),
    "describe_groups": _Lists("groups", "groups", _GROUP),
    "consumer_group_describe": _Lists("group_ids", "groups", _GROUP),
    "share_group_describe": _Lists("group_ids", "groups", _GROUP),
    "streams_group_describe": _Lists("group_ids", "groups", _GROUP),
    "offset_fetch": _Lists("groups", "groups", _GROUP, ("require_stable",)),
    "describe_share_group_offsets": _Lists("groups", "groups", _GROUP),
    "find_coordinator": _Lists("coordinator_keys", "coordinators", _of("key"), ("key_type",)),
    "describe_transactions": _Lists("transactional_ids", "transaction_states", _of("transactional_id")),
    "list_offsets": _Lists(
        "topics",
        "topics",
        _TOPIC,
        ("replica_id", "isolation_level"),
        inside=_Inside("partitions", "partitions", _PARTITION),
    ),
    "offset_for_leader_epoch": _Lists(
        "topics", "topics", _TOPIC, inside=_Inside("partitions", "partitions", _PARTITION)
    ),
    "describe_producers": _Lists(
        "topics", "topics", _TOPIC, inside=_Inside("partition_indexes", "partitions", _PARTITION)
    ),
}
_PASSING = frozenset({"timeout", "client_software_name", "client_software_version", "include_documentation"})
"""Request fields that `likeness` ignores, because they do not affect the response or only add documentation to it."""


def _request(key: int, version: int, body: bytes) -> tuple[str, Any] | None:
    """Return kio's name of the API and the decoded request; None for an unknown API or version, or malformed bytes."""
    from console.wire.bounds_check import MalformedFrame

    known = messages(key, version)
    if known is None:
        return None
    try:
        return known.api, decode_request(known.request, body)
    except MalformedFrame:
        return None


@cache
def likeness(key: int, version: int, body: bytes) -> Hashable:
    """Return a key that is equal for equivalent requests: timeouts, the client's name and the order of lists are
    ignored. The key of an unknown or malformed request is its own key, version and bytes.
    """
    found = _request(key, version, body)
    if found is None:
        return key, version, body
    return key, version, _sorted(found[1])


def _sorted(value: Any) -> Hashable:
    if isinstance(value, tuple):
        return tuple(sorted(map(_sorted, value), key=repr))
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is None:
        return value if isinstance(value, Hashable) else repr(value)
    return tuple((name, _sorted(getattr(value, name))) for name in fields if name not in _PASSING)


@cache
def asked_parts(key: int, version: int, body: bytes) -> tuple[Part, ...] | None:
    """Return the keys of a request's parts, in the order of the request; None if the request can't be decoded, its API
    has no lists to split, or its list is null or empty.
    """
    found = _request(key, version, body)
    lists = _LISTS.get(found[0]) if found is not None else None
    if found is None or lists is None or not hasattr(found[1], lists.asked):
        return None
    items = getattr(found[1], lists.asked)
    if not items:
        return None
    return tuple(part for part, _ in _asked(found[1], items, lists))


def _asked(request: Any, items: Iterable[Any], lists: _Lists) -> Iterable[tuple[Part, Hashable]]:
    """Yield, for each requested item, the key of its part and the identity of its result."""
    flags = tuple(getattr(request, name, None) for name in lists.flags)
    for item in items:
        name = lists.name(item)
        if lists.inside is None:
            yield ((flags, name if lists.all else item), name)
        else:
            for each in getattr(item, lists.inside.asked):
                yield ((flags, name, each), (name, lists.inside.name(each)))


def named_topics(version: int, body: bytes) -> tuple[str, ...]:
    """Return the topics that a Metadata request names; empty if it names no topic, or can't be decoded."""
    found = _request(api_key("metadata"), version, body)
    topics = found[1].topics if found is not None else None
    return tuple(each.name for each in topics or () if each.name is not None)


class Answered(NamedTuple):
    """A response split into parts."""

    response: Any
    """The whole decoded response."""
    parts: Mapping[Part, tuple[Any, Any]]
    """Key of a part -> (the result, the item that contains it, such as the partition's topic). The second value is None
    if the result is directly in the response's list.
    """


def answered_parts(key: int, version: int, request: bytes, body: bytes) -> Answered | None:
    """Return the split response to a request; None if the request can't be decoded, or its API has no lists to split.
    Requested items without a result are left out. Raises MalformedFrame if the response body can't be decoded.

    Args:
        request: the request's payload.
        body: the response's body.
    """
    known, found = messages(key, version), _request(key, version, request)
    lists = _LISTS.get(found[0]) if found is not None else None
    if known is None or found is None or lists is None or not hasattr(found[1], lists.asked):
        return None
    response = decode_body(known.response, body)
    if not hasattr(response, lists.answered):
        return None
    told: dict[Hashable, tuple[Any, Any]] = {}
    for item in getattr(response, lists.answered):
        if lists.inside is None:
            told[lists.name(item)] = item, None
        else:
            inner = getattr(item, lists.inside.answered)
            told.update({(lists.name(item), lists.inside.name(each)): (each, item) for each in inner})
    items = getattr(found[1], lists.asked)
    if items is None:
        flags = tuple(getattr(found[1], name, None) for name in lists.flags)
        return Answered(response, {(flags, name): pair for name, pair in told.items()} if lists.all else {})
    return Answered(response, {part: told[name] for part, name in _asked(found[1], items, lists) if name in told})


def put_together(key: int, version: int, envelope: Any, items: Iterable[tuple[Any, Any]]) -> bytes:
    """Return the encoded body of a response with these results.

    Args:
        envelope: a decoded response, from which all fields other than the results are copied.
        items: pairs of a result and the item that contains it, as in `Answered.parts`.
    """
    known = messages(key, version)
    assert known is not None
    lists = _LISTS[known.api]
    if lists.inside is None:
        whole = tuple(item for item, _ in items)
    else:
        by_holder: dict[Hashable, tuple[Any, list[Any]]] = {}
        for item, holder in items:
            by_holder.setdefault(lists.name(holder), (holder, []))[1].append(item)
        whole = tuple(replace(holder, **{lists.inside.answered: tuple(inner)}) for holder, inner in by_holder.values())
    return encode_body(known.response, replace(envelope, **{lists.answered: whole}))
