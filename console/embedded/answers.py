"""Shared parts of responses: a result for each item, one error for all items, and long arrays encoded in steps."""

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
"""The value in responses for authorized operations that were not requested (KIP-430)."""

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
"""First release in which ACLs on groups may have the operations of `_GROUP_CONFIGS` (AclEntry.supportedOperations)."""


def group_operations(context: RequestContext) -> tuple[str, ...]:
    """Return the operations that can be allowed on a group."""
    newer = context.cluster.release.number >= _GROUP_CONFIGS_FROM
    return _GROUP_OPERATIONS + _GROUP_CONFIGS if newer else _GROUP_OPERATIONS


def advertised_controller(context: RequestContext) -> int:
    """Return the controller id for clients: a random live broker if brokers forward requests
    (KRaftMetadataCache.getRandomAliveBrokerId), -1 if no broker is alive; otherwise the controller.
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
"""Field of an element of a response -> names of the same field in the request's items."""


_NOT_REPEATED = frozenset({"num_partitions", "replication_factor"})
"""Fields that an error does not repeat: in CreateTopics they describe the created topic."""


def error_answer(request: Any, messages: Messages, code: int, message: str | None = None) -> Any | None:
    """Return the response with this error, at the top and for each item (AbstractRequest.getErrorResponse).

    Args:
        request: source of the items, which the response repeats if the API has items.
        code: any number, even one that kio does not know.
        message: used if the version has the field.

    Returns:
        None for an API without error codes.
    """
    if not _has_error(messages.response):
        return None
    return _entity(messages.response, request, APIS[messages.api].items, code, message)


def error_items(request: Any, messages: Messages) -> tuple[str, str] | None:
    """Return the names of the item arrays in the response and in the request; None for a request without items."""
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
    """Return an entity that repeats the fields of an item. own: the fields that do not come from the item."""
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
"""The result of an item: an error code (0 for success); a Refusal, which has a message; or the fields of the
element."""


def each_item(context: RequestContext, request: Any, result: Callable[..., Result], **own: Any) -> Any:
    """Return the response with an element for each item of the request, paired as in the API's row.

    Args:
        result: called with the items that contain an item, and the item. Fields that repeat the item are filled in.
        own: the response's other fields.
    """
    found = context.messages
    return context.answer(**elements(found.response, request, APIS[found.api].items, result), **own)


def elements(type_: type[Any], source: Any, items: Items, result: Callable[..., Result]) -> dict[str, Any]:
    """Return an array by its field's name, with an element for each item of the source; see `each_item`."""
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
    """Return an array of the request. A path such as ``dirs.topics`` joins the arrays of all elements."""
    found = [source]
    for name in path.split("."):
        found = [item for each in found for item in getattr(each, name, None) or ()]
    return found


def _accepts(field: Field[Any], source: str | int) -> bool:
    """Return whether a bare item of a request belongs in this field, the first name or number of an element."""
    kinds = ("string",) if isinstance(source, str) else ("int32",)
    named = (
        ("name", "key", "group_id", "topic", "transactional_id")
        if isinstance(source, str)
        else ("partition_index", "partition_id")
    )
    return field.metadata.get("kafka_type") in kinds and field.name in named


def _is_code(field: Field[Any]) -> bool:
    """Return whether the field is an error code. In the proposals' formats it is an ordinary number."""
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
"""APIs that answer a repeated item only once."""


def not_controller(request: Any, found: Messages) -> Any | None:
    """Return the response of a broker that is not the controller and does not forward (KafkaApis of 2.8.2); None for an
    API without error codes.
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
"""Seconds of work between two pauses for other requests."""


async def with_pauses(items: Iterable[T], keep: Callable[[T], object]) -> None:
    """Call a function with each item, with pauses for other connections."""
    pause_at = perf_counter() + AT_A_STRETCH
    for item in items:
        keep(item)
        if perf_counter() > pause_at:
            await asyncio.sleep(0)
            pause_at = perf_counter() + AT_A_STRETCH


async def long_answer(response: type[Any], empty: Any, items: Iterable[bytes]) -> EncodedBody:
    """Return an encoded response whose last field is an array of these items.

    Args:
        empty: the response with an empty array.
        items: encoded elements, consumed lazily, with pauses for other connections.
    """
    return EncodedBody(await long_part(response, empty, items))


async def long_part(entity: type[Any], empty: Any, items: Iterable[bytes]) -> bytes:
    """Return an encoded structure of a response, with its array as in `long_answer`."""
    encoded: list[bytes] = []
    await with_pauses(items, encoded.append)
    before = encode_body(entity, empty)
    # The structure ends with the empty array and, in flexible versions, tagged fields; insert the items between.
    if entity.__flexible__:
        return b"".join((before[:-2], encode_varint(len(encoded) + 1), *encoded, before[-1:]))
    return b"".join((before[:-4], struct.pack(">i", len(encoded)), *encoded))


def each_encoded(element: type[Any], items: Iterable[Any]) -> Iterator[bytes]:
    """Encode entities one by one, lazily."""
    return (encode_body(element, item) for item in items)


class WireFormat(Struct, frozen=True):
    """Encoding of strings, array lengths and structure ends in a version."""

    flexible: bool
    """Whether the version has tagged fields (KIP-482)."""

    def string(self, text: str | None) -> bytes:
        """Encode a string; None is null."""
        if text is None:
            return b"\x00" if self.flexible else b"\xff\xff"
        data = text.encode()
        return (encode_varint(len(data) + 1) if self.flexible else struct.pack(">h", len(data))) + data

    def length(self, count: int) -> bytes:
        """Encode the length of an array."""
        return encode_varint(count + 1) if self.flexible else struct.pack(">i", count)

    @property
    def end(self) -> bytes:
        """The end of a structure without tagged fields."""
        return b"\x00" if self.flexible else b""


_NAME_FIELDS = ("name", "resource_name", "topic", "topic_name", "group_id", "key", "entity_name")


async def answer_partly(
    request: Any, messages: Messages, effect: FailSome, handled: Callable[[Any], Awaitable[Any]]
) -> Any:
    """Return the response with errors for some items, and the handler's result for the others.

    A request without items goes to the handler as a whole.
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
    """Return the items in the request's order if the handler kept it."""
    if len(refused) + len(answered) != len(failing):
        return (*answered, *refused)
    first, second = iter(refused), iter(answered)
    return tuple(next(first if fails else second) for fails in failing)


def repeated_keys(items: Iterable[T], key: Callable[[T], Hashable]) -> set[Hashable]:
    """Return the keys that several items share."""
    seen: set[Hashable] = set()
    return {k for k in map(key, items) if k in seen or seen.add(k)}  # type: ignore[func-returns-value]
