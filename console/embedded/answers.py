"""Functions for responses of all APIs: a result for each item of a request, one error for all items, and long arrays
that are encoded in steps.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields, replace
from functools import partial
from random import choice
from time import perf_counter
from types import MappingProxyType
from typing import Any, TypeVar

from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType
from msgspec import Struct

from console.embedded.apis import APIS, ITSELF, Items
from console.embedded.context import RequestContext
from console.embedded.faults import FailSome
from console.embedded.refusals import Refusal
from console.wire.fields import shape_of, structured, unused
from console.wire.frames import EncodedBody, encode_body
from console.wire.schemas import Messages
from console.wire.tagged_fields import encode_varint

NO_OPERATIONS = -(2**31)
"""The value of the field for authorized operations in a response if the client did not request them (KIP-430)."""

TOPIC_OPERATIONS = ("READ", "WRITE", "CREATE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
CLUSTER_OPERATIONS = (
    "CREATE",
    "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE",
    "ALTER",
    "DESCRIBE",
)
_GROUP_OPERATIONS = ("READ", "DESCRIBE", "DELETE")
_GROUP_CONFIGS = ("DESCRIBE_CONFIGS", "ALTER_CONFIGS")
_GROUP_CONFIGS_FROM = (4, 0)
"""The first release in which ACLs on groups may have the operations in `_GROUP_CONFIGS` (AclEntry.supportedOperations).
"""


def group_operations(context: RequestContext) -> tuple[str, ...]:
    """Return Kafka's names of the operations that ACLs on groups may have in this release."""
    newer = context.cluster.release.number >= _GROUP_CONFIGS_FROM
    return _GROUP_OPERATIONS + _GROUP_CONFIGS if newer else _GROUP_OPERATIONS


def advertised_controller(context: RequestContext) -> int:
    """Return the controller id that responses to clients name. If brokers forward requests, it is the id of a random
    live broker (KRaftMetadataCache.getRandomAliveBrokerId), or -1 if none is alive. Otherwise it is the id of the
    controller.
    """
    view = context.view
    if not context.cluster.forwarding:
        return view.controller_id
    # Clients must not learn the quorum's leader: every broker accepts their changes and forwards them.
    alive = [broker.id for broker in view.brokers.values() if broker.alive]
    return choice(alive) if alive else -1  # noqa: S311 - not a secret


_RENAMED: Mapping[str, Sequence[str]] = {
    "key": (),
    "topic": ("name",),
    "topic_name": ("name",),
    "user": ("name",),
    "index": ("partition_index",),
    "partition_index": ("partition", "partition_id"),
    "partition_id": ("partition_index", "partition"),
}
"""Name of a field in a response's element -> the names that the same value may have in the request's item."""


_NOT_REPEATED = frozenset({"num_partitions", "replication_factor"})
"""Fields that an error response does not copy from the request, because in CreateTopics they describe the created
topic.
"""


def error_answer(request: Any, messages: Messages, code: int, message: str | None = None) -> Any | None:
    """Return the response with this error, both at the top and for each item (AbstractRequest.getErrorResponse).

    Args:
        request: the request, whose items the response repeats.
        code: the error code, even one that kio does not know.
        message: the error message, for versions that have the field; None for no message.

    Returns:
        None for an API whose responses have no error codes.
    """
    if not _has_error(messages.response):
        return None
    return _entity(messages.response, request, APIS[messages.api].items, code, message)


def error_items(request: Any, messages: Messages) -> tuple[str, str] | None:
    """Return the name of the array of items in the response, and that in the request; None for a request without
    items.
    """
    for answered, asked in APIS[messages.api].items:
        if _asked_items(request, asked):
            return answered, asked
    return None


def _entity(
    type_: type[Any],
    source: Any,
    items: Items,
    code: int,
    message: str | None,
    own: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Return a structure of a response that repeats the fields of a request's item, with this error.

    Args:
        type_: the class of the structure.
        source: the request's item.
        items: the arrays within it that are repeated, too.
        own: the values of fields that do not come from the item.
    """
    values = structured(type_, {field.name: own[field.name] for field in fields(type_) if field.name in own})
    for field in fields(type_):
        if field.name in values:
            continue
        if _is_code(field):
            values[field.name] = code
        elif field.name == "error_message":
            values[field.name] = (message or "") if field.type is str else message
        else:
            values[field.name] = _value(field, source, items, code, message)
    return type_(**values)


def _value(field: Field[Any], source: Any, items: Items, code: int, message: str | None) -> Any:
    shape = shape_of(field)
    if shape.is_array:
        asked: list[Any] = []
        for answered, name in items:
            if answered == field.name:
                asked += (source,) if name == ITSELF else _asked_items(source, name)
        if shape.entity is not None:
            if asked:
                return tuple(_entity(shape.entity, item, items, code, message) for item in asked)
            echoed = getattr(source, field.name, None)
            # Kafka repeats the entity in its errors, so that a client finds its entry.
            if echoed and not _has_error(shape.entity):  # the entity of a quota
                return tuple(_entity(shape.entity, item, items, code, message) for item in echoed)
        return ()
    if (
        getattr(source, "__type__", None) is EntityType.request
    ):  # responses repeat only items, no other field of the request
        return unused(field)
    for name in () if field.name in _NOT_REPEATED else (field.name, *_RENAMED.get(field.name, ())):
        if hasattr(source, name):
            return getattr(source, name)
    if isinstance(source, str | int) and not isinstance(source, bool) and _accepts(field, source):
        return source
    return unused(field)


Result = int | Refusal | Mapping[str, Any]
"""The result of an item: an error code (0 for success); a Refusal, which also has a message; or a mapping with the
fields of the response's element.
"""


def each_item(context: RequestContext, request: Any, result: Callable[..., Result], **own: Any) -> Any:
    """Return a response that has an element for each item of the request. The row of the API in `APIS` says which
    arrays belong together.

    Args:
        result: function that returns an item's result. Its arguments are the items that enclose the item, the outermost
            first, and the item itself. Fields of the response's element that repeat the item's fields are filled in.
        own: the other fields of the response.
    """
    found = context.messages
    return context.answer(**elements(found.response, request, APIS[found.api].items, result), **own)


def elements(type_: type[Any], source: Any, items: Items, result: Callable[..., Result]) -> dict[str, Any]:
    """Return the name of the response's array -> the array, with an element for each item of `source`; see
    `each_item`.
    """
    (answered, asked), *inner = items
    element = shape_of(type_.__dataclass_fields__[answered]).entity
    assert element is not None
    made: list[Any] = []
    for item in _asked_items(source, asked):
        if inner:
            found: Result = elements(element, item, tuple(inner), partial(result, item))
        else:
            found = result(item)
        refusal = Refusal(found) if isinstance(found, int) else found
        if isinstance(refusal, Refusal):
            made.append(_entity(element, item, (), *refusal))
        else:
            made.append(_entity(element, item, (), 0, None, refusal))
    return {answered: tuple(made)}


def _asked_items(source: Any, path: str) -> list[Any]:
    """Return an array in the request. A path such as ``dirs.topics`` means the arrays ``topics`` of all elements of
    ``dirs``, joined.
    """
    found = [source]
    for name in path.split("."):
        found = [item for each in found for item in getattr(each, name, None) or ()]
    return found


def _accepts(field: Field[Any], source: str | int) -> bool:
    """Return whether the value of an item that is a plain text or number, without fields, goes into this field of
    the response's element: the field has a name such as ``group_id``, by which responses name items, and the type
    of the value.
    """
    kinds = ("string",) if isinstance(source, str) else ("int32",)
    named = (
        ("name", "key", "group_id", "topic", "transactional_id")
        if isinstance(source, str)
        else ("partition_index", "partition_id")
    )
    return field.metadata.get("kafka_type") in kinds and field.name in named


def _is_code(field: Field[Any]) -> bool:
    """Return whether the field is an error code, by its type or by its name: the formats in `console/wire/proposals`
    declare error codes as integers.
    """
    return field.name == "error_code" or field.metadata.get("kafka_type") == "error_code"


def _has_error(type_: type[Any]) -> bool:
    for field in fields(type_):
        entity = shape_of(field).entity
        if _is_code(field) or (entity is not None and _has_error(entity)):
            return True
    return False


OF_THE_WHOLE = "This is not the correct controller for this cluster."
"""Kafka's default message for NOT_CONTROLLER (class Errors)."""
_NOT_CONTROLLER_MESSAGES: Mapping[str, str] = {
    "alter_partition_reassignments": OF_THE_WHOLE,
    "create_topics": "",
    "list_partition_reassignments": OF_THE_WHOLE,
}
_WITHOUT_ITEMS = frozenset({"alter_partition_reassignments", "list_partition_reassignments"})
_WITHOUT_TOP_ERROR = frozenset({"elect_leaders"})
"""APIs whose top-level error_code is always 0."""
_DEDUPLICATED = frozenset({"create_partitions"})
"""APIs whose response has only one element for an item that occurs several times in the request."""


def not_controller(request: Any, found: Messages) -> Any | None:
    """Return the NOT_CONTROLLER response of a broker that is not the controller and does not forward requests
    (KafkaApis of 2.8.2); None for an API without error codes.
    """
    if found.api in _WITHOUT_ITEMS:
        request = replace(request, topics=())
    elif found.api in _DEDUPLICATED:
        request = replace(request, topics=tuple({topic.name: topic for topic in request.topics}.values()))
    answer = error_answer(request, found, ErrorCode.not_controller, _NOT_CONTROLLER_MESSAGES.get(found.api))
    if answer is not None and found.api in _WITHOUT_TOP_ERROR and hasattr(answer, "error_code"):
        return replace(answer, error_code=0)
    return answer


T = TypeVar("T")

AT_A_STRETCH = 0.01
"""Seconds of work after which a long computation yields to other connections."""


async def with_pauses(items: Iterable[T], keep: Callable[[T], object]) -> None:
    """Call the function `keep` with each item. After each `AT_A_STRETCH` seconds, let other connections have their
    turn.
    """
    pause_at = perf_counter() + AT_A_STRETCH
    for item in items:
        keep(item)
        if perf_counter() > pause_at:
            await asyncio.sleep(0)
            pause_at = perf_counter() + AT_A_STRETCH


async def long_answer(response: type[Any], empty: Any, items: Iterable[bytes]) -> EncodedBody:
    """Encode a response whose last field is an array, and yield to other connections meanwhile.

    Args:
        empty: the response with an empty array.
        items: the encoded elements of the array; they may be computed lazily.
    """
    return EncodedBody(await long_part(response, empty, items))


async def long_part(entity: type[Any], empty: Any, items: Iterable[bytes]) -> bytes:
    """Encode a structure of a response whose last field is an array. Other tasks run between the items.

    Args:
        entity: the class of the structure.
        empty: the structure with an empty array.
        items: the encoded elements of the array.
    """
    encoded: list[bytes] = []
    await with_pauses(items, encoded.append)
    before = encode_body(entity, empty)
    # The structure ends with the empty array and, in flexible versions, tagged fields; insert the items between.
    if entity.__flexible__:
        return b"".join((before[:-2], encode_varint(len(encoded) + 1), *encoded, before[-1:]))
    return b"".join((before[:-4], struct.pack(">i", len(encoded)), *encoded))


def each_encoded(element: type[Any], items: Iterable[Any]) -> Iterator[bytes]:
    """Yield the encoding of each structure, one after another."""
    return (encode_body(element, item) for item in items)


class WireFormat(Struct, frozen=True):
    """The encoding of strings, array lengths and the ends of structures in a version of an API."""

    flexible: bool
    """Whether the version is flexible, and so has tagged fields (KIP-482)."""

    def string(self, text: str | None) -> bytes:
        """Encode a string; None becomes null."""
        if text is None:
            return b"\x00" if self.flexible else b"\xff\xff"
        data = text.encode()
        return (encode_varint(len(data) + 1) if self.flexible else struct.pack(">h", len(data))) + data

    def length(self, count: int) -> bytes:
        """Encode the length of an array."""
        return encode_varint(count + 1) if self.flexible else struct.pack(">i", count)

    @property
    def end(self) -> bytes:
        """The bytes at the end of a structure: an empty section of tagged fields, or nothing."""
        return b"\x00" if self.flexible else b""


_NAME_FIELDS = ("name", "resource_name", "topic", "topic_name", "group_id", "key", "entity_name")


async def answer_partly(
    request: Any, messages: Messages, effect: FailSome, handled: Callable[[Any], Awaitable[Any]]
) -> Any:
    """Return a response in which some items have the error of a fault; the handler answers for the other items.

    A request without items goes to the handler unchanged.
    """
    arrays = error_items(request, messages)
    if arrays is None:
        return await handled(request)
    answered, asked = arrays
    items = tuple(getattr(request, asked))
    failing = [_fails(item, number, effect) for number, item in enumerate(items, 1)]
    failed = tuple(item for item, fails in zip(items, failing, strict=True) if fails)
    done = tuple(item for item, fails in zip(items, failing, strict=True) if not fails)
    if not failed:
        return await handled(request)
    refused = error_answer(replace(request, **{asked: failed}), messages, effect.code, effect.message)
    if not done:
        return refused
    answer = await handled(replace(request, **{asked: done}))
    merged = _merged(failing, getattr(refused, answered), getattr(answer, answered))
    return replace(answer, **{answered: merged})


def _fails(item: Any, number: int, effect: FailSome) -> bool:
    if effect.names:
        name = (
            item if isinstance(item, str) else next((getattr(item, n) for n in _NAME_FIELDS if hasattr(item, n)), None)
        )
        return name in effect.names
    return number % effect.every == 0


def _merged(failing: list[bool], refused: tuple[Any, ...], answered: tuple[Any, ...]) -> tuple[Any, ...]:
    """Combine the response's elements for failing and for handled items in the order of the request. If there are
    more or fewer elements than items, return the elements for handled items first. failing: for each item of the
    request whether it fails.
    """
    if len(refused) + len(answered) != len(failing):
        return (*answered, *refused)
    first, second = iter(refused), iter(answered)
    return tuple(next(first if fails else second) for fails in failing)


def repeated_keys(items: Iterable[T], key: Callable[[T], Hashable]) -> set[Hashable]:
    """Return the keys that more than one item has. key: function that returns an item's key."""
    seen: set[Hashable] = set()
    return {k for k in map(key, items) if k in seen or seen.add(k)}  # type: ignore[func-returns-value]
