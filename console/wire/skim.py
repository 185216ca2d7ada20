"""A look over a message's bytes before kio's native reader gets them.

That reader makes room for as many elements as an array says it has, and ends the process where there is no such room;
and it takes a null for any array. Kafka refuses both, and so do we of what comes from afar.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from console.wire.malformed import MalformedFrame
from console.wire.unknown_tags import LENGTHS, SIZES

Skim = Callable[[bytes, int], int]
"""(data, offset) -> the offset behind. Raises MalformedFrame, struct.error, IndexError."""

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_PRESENT = 1
_LONGEST_TEXT = 2**15 - 1


def check_message(message: Any, payload: bytes) -> None:
    """Raises MalformedFrame where an array has more elements than bytes are left, where one is null that may not be,
    or where the payload ends too early. Bytes behind the message are no matter."""
    try:
        end = _entity(message)(payload, 0)
    except (struct.error, IndexError) as error:
        raise MalformedFrame(f"{message.__name__} v{message.__version__} ends too early") from error
    if end > len(payload):
        raise MalformedFrame(f"{message.__name__} v{message.__version__} ends too early")


@cache
def _entity(entity: Any) -> Skim:
    flexible: bool = entity.__flexible__
    text = _request_text if entity.__module__.endswith(".request") else _compact_text
    steps: list[Skim] = []
    fixed = 0
    tagged: dict[int, Skim] = {}
    for field in fields(entity):
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = _field(field, flexible, text)[0] or _nothing
            continue
        step, size = _field(field, flexible, text)
        if step is None:
            fixed += size
            continue
        if fixed:
            steps.append(_skip(fixed))
            fixed = 0
        steps.append(step)
    if fixed:
        steps.append(_skip(fixed))
    if flexible:
        steps.append(_tags(tagged))
    if len(steps) == 1:
        return steps[0]

    def skim(data: bytes, at: int) -> int:
        for step in steps:
            at = step(data, at)
        return at

    return skim


def _field(field: Field[Any], flexible: bool, text: Skim) -> tuple[Skim | None, int]:
    """How to pass over a field: a step, or None and its size in bytes where that is always the same. text: for one in a
    flexible version."""
    type_: Any = field.type
    nullable = get_origin(type_) is UnionType
    if nullable:
        type_ = next(part for part in get_args(type_) if part is not NoneType)
    if get_origin(type_) is tuple:
        element = get_args(type_)[0]
        inner, size = (
            (_entity(element), 0) if _is_entity(element) else _primitive(field.metadata["kafka_type"], flexible, text)
        )
        return _array(field.name, inner, size, nullable, flexible), 0
    if _is_entity(type_):
        inner = _entity(type_)
        return (_perhaps(inner) if nullable else inner), 0
    return _primitive(field.metadata["kafka_type"], flexible, text)


def _is_entity(type_: Any) -> bool:
    return isinstance(type_, type) and is_dataclass(type_)


def _primitive(kind: str, flexible: bool, text: Skim) -> tuple[Skim | None, int]:
    if kind in SIZES:
        return None, SIZES[kind]
    if flexible:
        return (text if kind == "string" else _compact_text), 0
    return (_text if LENGTHS[kind] == _INT16.format else _bytes), 0


def _skip(size: int) -> Skim:
    return lambda _data, at: at + size


def _nothing(_data: bytes, at: int) -> int:
    return at


def _text(data: bytes, at: int) -> int:
    (length,) = _INT16.unpack_from(data, at)
    return at + 2 + length if length > 0 else at + 2


def _bytes(data: bytes, at: int) -> int:
    (length,) = _INT32.unpack_from(data, at)
    return at + 4 + length if length > 0 else at + 4


def _compact_text(data: bytes, at: int) -> int:
    length = data[at]
    if length >= 0x80:
        length, at = _varint(data, at)
    else:
        at += 1
    return at + length - 1 if length else at


def _request_text(data: bytes, at: int) -> int:
    """A broker takes no text that would not fit in the versions before (MessageGenerator: "had invalid length")."""
    end = _compact_text(data, at)
    if end - at > _LONGEST_TEXT + 3:
        raise MalformedFrame(f"a text of more than {_LONGEST_TEXT} bytes")
    return end


def _perhaps(inner: Skim) -> Skim:
    """An entity behind a byte that tells whether it is there (KIP-893)."""
    return lambda data, at: inner(data, at + 1) if data[at] == _PRESENT else at + 1


def _array(name: str, inner: Skim | None, size: int, nullable: bool, flexible: bool) -> Skim:
    def skim(data: bytes, at: int) -> int:
        if flexible:
            length, at = _varint(data, at)
            count = length - 1
        else:
            (count,) = _INT32.unpack_from(data, at)
            at += 4
        if count < 0:
            if nullable:
                return at
            raise MalformedFrame(f"the array {name} is null")
        if count * (size or 1) > len(data) - at:
            raise MalformedFrame(f"the array {name} has {count} elements in {len(data) - at} bytes")
        if inner is None:
            return at + count * size
        for _ in range(count):
            at = inner(data, at)
        return at

    return skim


def _tags(known: dict[int, Skim]) -> Skim:
    def skim(data: bytes, at: int) -> int:
        if data[at] == 0:
            return at + 1
        count, at = _varint(data, at)
        for _ in range(count):
            tag, at = _varint(data, at)
            size, at = _varint(data, at)
            if tag in known:
                known[tag](data, at)
            at += size
        return at

    return skim


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 28:
            raise MalformedFrame("a varint of more than five bytes")
