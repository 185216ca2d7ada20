"""Answers split into parts, one for each requested item, and answers assembled from such parts.

So a replay finds one topic in an answer for all, and a list in lists with another order or other boundaries.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from console.wire.frames import decode_body, decode_request, encode_body
from console.wire.schemas import api_key, messages

Part = Hashable
"""A requested item, with the fields of the request that affect its answer."""


class _Lists(NamedTuple):
    """The lists of an API."""

    asked: str
    """The field of the list in the request."""
    answered: str
    """The field of the list in the answer."""
    name: Callable[[Any], Hashable]
    """Returns an item's name, which is equal for a requested item and its answer."""
    flags: tuple[str, ...] = ()
    """The fields of the request that affect the answer of each item."""
    all: bool = False
    """Whether a request without a list requests everything; the keys of its parts then are the names of its items
    alone."""
    inside: _Inside | None = None
    """The lists in the items, such as partitions in topics; None without such lists."""


class _Inside(NamedTuple):
    """The lists in items of lists, as in `_Lists`."""

    asked: str
    answered: str
    name: Callable[[Any], Hashable]


def _of(*fields: str) -> Callable[[Any], Hashable]:
    """Return a function that returns the first of these fields that an item has, or the item itself if it is a plain
    value.
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
"""Fields of requests that do not affect the answer, or only its level of detail."""


def _request(key: int, version: int, body: bytes) -> tuple[str, Any] | None:
    """Return the API and the decoded request; None for an unknown or unreadable one."""
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
    """Return a key that is equal for equivalent requests: without timeouts and the client's name, with lists in any
    order.
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
    """Return the parts of a request, in order; None if it can't be split, or if it requests everything."""
    found = _request(key, version, body)
    lists = _LISTS.get(found[0]) if found is not None else None
    if found is None or lists is None or not hasattr(found[1], lists.asked):
        return None
    items = getattr(found[1], lists.asked)
    if not items:
        return None
    return tuple(part for part, _ in _asked(found[1], items, lists))


def _asked(request: Any, items: Iterable[Any], lists: _Lists) -> Iterable[tuple[Part, Hashable]]:
    """Yield each part with the name of its answer."""
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
    """An answer split into parts."""

    response: Any
    """The decoded answer."""
    parts: Mapping[Part, tuple[Any, Any]]
    """Part -> its item, and the item that contains it; None in place of the latter for an item of the answer's own
    list."""


def answered_parts(key: int, version: int, request: bytes, body: bytes) -> Answered | None:
    """Return the split answer to a request; None if it can't be split. Raises MalformedFrame if the body can't be
    decoded.
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
    """Return the encoded body of an answer with these items. envelope: a decoded answer, which has the other fields."""
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
