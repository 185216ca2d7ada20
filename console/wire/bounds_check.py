"""Checks of the array lengths in a message's bytes before kio's native reader decodes them.

That reader reserves eight bytes for each element that an array claims to have, and aborts the process if it can't; it
also accepts null for any array. So every message from a peer is checked here first, whatever its size: no array may
claim more elements than the remaining bytes can hold.

The check goes through the bytes field by field, by the message's schema (a *walk*). Most elements of an array have the
same layout, that is the same lengths of strings and inner arrays. So the check remembers layouts, and skips an element
of a remembered layout after one comparison.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from console.wire.fields import LENGTHS, SIZES, shape_of
from console.wire.tagged_fields import read_varint


class MalformedFrame(ValueError):
    """Bytes that are not a valid message."""


Marks = list[int] | None
"""A list to which a walk appends the offsets of all bytes that determine its path: lengths, counts, null markers. None
if the caller does not need them.
"""
Walk = Callable[[bytes, int, Marks], int]
"""Function of (data, offset of a field, marks) that skips the field and returns the offset after it. Raises
MalformedFrame, struct.error or IndexError for invalid or truncated bytes.
"""

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_PRESENT = 1
_LONGEST_TEXT = 2**15 - 1
_LONGEST_LAYOUT = 256
"""Maximum size in bytes of an element whose layout is remembered. Longer elements seldom share a layout."""
_LAYOUTS = 4
_FRUITLESS = 32
"""Number of elements of an array that may have an unknown layout. After the next such element, the walk goes through
the rest of the array field by field.
"""


class _FieldWalk(NamedTuple):
    """The way to skip a field: a walk, or None if the field has a fixed size."""

    walk: Walk | None
    least: int
    """The smallest possible size of the field in bytes; its exact size if it has no walk."""
    nests: bool = False
    """Whether the field is or contains an array of entities."""


def check_message(message: Any, payload: bytes, start: int = 0) -> None:
    """Raise MalformedFrame for a message that kio must not decode: an array claims more elements than the bytes after
    it can hold, an array that must not be null is null, or the payload is truncated. Bytes after the message are
    ignored.

    Args:
        message: kio's class of the message, or a proposal's class in the same form.
        payload: the bytes, which may begin before the message.
        start: the offset of the message in `payload`.
    """
    try:
        end = (_entity_walk(message).walk or _nothing)(payload, start, None)
    except (struct.error, IndexError) as error:
        raise MalformedFrame(f"{message.__name__} v{message.__version__} ends too early") from error
    if end > len(payload):
        raise MalformedFrame(f"{message.__name__} v{message.__version__} ends too early")


def prepare_check(message: Any) -> None:
    """Build and cache the walk of this message class, which takes milliseconds, so that `check_message` does not have
    to.
    """
    _entity_walk(message)


@cache
def _entity_walk(entity: Any) -> _FieldWalk:
    flexible: bool = entity.__flexible__
    text = _request_text if entity.__module__.endswith(".request") else _compact_text
    walks: list[Walk] = []
    fixed = least = 0
    nests = False
    tagged: dict[int, Walk] = {}
    for field in fields(entity):
        step = _field_walk(field, flexible, text)
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = step.walk or _nothing
            continue
        least += step.least
        nests = nests or step.nests
        if step.walk is None:
            fixed += step.least
            continue
        if fixed:
            walks.append(_skip(fixed))
            fixed = 0
        walks.append(step.walk)
    if fixed:
        walks.append(_skip(fixed))
    if flexible:
        walks.append(_tags_walk(tagged))
        least += 1
    if len(walks) == 1:
        return _FieldWalk(walks[0], least, nests)

    def walk(data: bytes, at: int, marks: Marks) -> int:
        for each in walks:
            at = each(data, at, marks)
        return at

    return _FieldWalk(walk, least, nests)


def _field_walk(field: Field[Any], flexible: bool, text: Walk) -> _FieldWalk:
    """Return the way to skip a field. text: the walk of a string in a flexible version."""
    shape = shape_of(field)
    of = _primitive_walk(shape.kind, flexible, text) if shape.entity is None else _entity_walk(shape.entity)
    if shape.is_array:
        if of.walk is None:
            elements = _fixed_elements(of.least)
        else:
            elements = _each_element(of.walk) if shape.entity is None or of.nests else _by_layout(of.walk)
        walk = _array_walk(field.name, elements, of.least, shape.is_nullable, flexible)
        return _FieldWalk(walk, 1 if flexible else _INT32.size, nests=shape.entity is not None)
    if of.walk is not None and shape.entity is not None and shape.is_nullable:
        return _FieldWalk(_nullable_entity(of.walk), 1, of.nests)
    return of


def _primitive_walk(kind: str, flexible: bool, text: Walk) -> _FieldWalk:
    if kind in SIZES:
        return _FieldWalk(None, SIZES[kind])
    if flexible:
        return _FieldWalk(text if kind == "string" else _compact_text, 1)
    if LENGTHS[kind] == _INT16.format:
        return _FieldWalk(_text, _INT16.size)
    return _FieldWalk(_bytes, _INT32.size)


def _skip(size: int) -> Walk:
    return lambda _data, at, _marks: at + size


def _nothing(_data: bytes, at: int, _marks: Marks) -> int:
    return at


def _text(data: bytes, at: int, marks: Marks) -> int:
    (length,) = _INT16.unpack_from(data, at)
    if marks is not None:
        marks += (at, at + 1)
    return at + 2 + length if length > 0 else at + 2


def _bytes(data: bytes, at: int, marks: Marks) -> int:
    (length,) = _INT32.unpack_from(data, at)
    if marks is not None:
        marks += range(at, at + 4)
    return at + 4 + length if length > 0 else at + 4


def _compact_text(data: bytes, at: int, marks: Marks) -> int:
    length = data[at]
    if length < 0x80:
        if marks is not None:
            marks.append(at)
        at += 1
    else:
        length, at = _varint(data, at, marks)
    return at + length - 1 if length else at


def _request_text(data: bytes, at: int, marks: Marks) -> int:
    """Skip a string in a request and return the offset after it. Raises MalformedFrame for a string that is too long
    for the non-flexible versions: brokers refuse it, too (MessageGenerator: "had invalid length").
    """
    end = _compact_text(data, at, marks)
    if end - at > _LONGEST_TEXT + 3:
        raise MalformedFrame(f"a text of more than {_LONGEST_TEXT} bytes")
    return end


def _nullable_entity(inner: Walk) -> Walk:
    """Return the walk of a nullable structure, which begins with a byte that says whether it is present (KIP-893)."""

    def walk(data: bytes, at: int, marks: Marks) -> int:
        if marks is not None:
            marks.append(at)
        return inner(data, at + 1, marks) if data[at] == _PRESENT else at + 1

    return walk


Elements = Callable[[bytes, int, Marks, int], int]
"""Function of (data, offset, marks, count) that skips `count` elements and returns the offset after them."""


def _fixed_elements(size: int) -> Elements:
    return lambda _data, at, _marks, count: at + count * size


def _each_element(one: Walk) -> Elements:
    def walk(data: bytes, at: int, marks: Marks, count: int) -> int:
        for _ in range(count):
            at = one(data, at, marks)
        return at

    return walk


class _Layout(NamedTuple):
    """The layout of an element: its size in bytes, and the values of the bytes that determine the layout."""

    size: int
    of: Callable[[bytes], Any]
    """Returns the layout's determining bytes from an element's bytes."""
    seen: Any


def _by_layout(one: Walk) -> Elements:
    """Return the walk of elements that contain no array of structures. one: the walk of a single element.

    An element whose determining bytes equal those of an earlier element would take the same path through the walk. Its
    size is therefore known. Its counts need no further check, because it is skipped only if the remaining bytes hold
    all of it.
    """
    known: tuple[_Layout, ...] = ()

    def learned(data: bytes, at: int) -> int:
        nonlocal known
        marks: list[int] = []
        end = one(data, at, marks)
        if len(marks) > 1 and at < end <= min(len(data), at + _LONGEST_LAYOUT):
            of = itemgetter(*(mark - at for mark in marks))
            known = (_Layout(end - at, of, of(data[at:end])), *known[: _LAYOUTS - 1])
        return end

    def walk(data: bytes, at: int, marks: Marks, count: int) -> int:
        if marks is not None:
            return plain(data, at, marks, count)
        length = len(data)
        misses = 0
        for done in range(count):
            for size, of, seen in known:
                end = at + size
                if end <= length and of(data[at:end]) == seen:
                    at = end
                    break
            else:
                if misses == _FRUITLESS:
                    return plain(data, at, None, count - done)
                misses += 1
                at = learned(data, at)
        return at

    plain = _each_element(one)
    return walk


def _array_walk(name: str, elements: Elements, least: int, nullable: bool, flexible: bool) -> Walk:
    """Return the walk of an array, which raises MalformedFrame if the array claims more elements than the bytes can
    hold.

    Args:
        name: the name of the field, for messages.
        elements: the walk of the elements.
        least: the smallest possible size of an element in bytes.
    """
    least = max(least, 1)

    def walk(data: bytes, at: int, marks: Marks) -> int:
        if flexible:
            count = data[at]
            if count < 0x80:
                if marks is not None:
                    marks.append(at)
                at += 1
            else:
                count, at = _varint(data, at, marks)
            count -= 1
        else:
            (count,) = _INT32.unpack_from(data, at)
            if marks is not None:
                marks += range(at, at + 4)
            at += 4
        if count < 0:
            if nullable:
                return at
            raise MalformedFrame(f"the array {name} is null")
        if count * least > len(data) - at:
            raise MalformedFrame(f"the array {name} has {count} elements in {len(data) - at} bytes")
        return elements(data, at, marks, count)

    return walk


def _tags_walk(known: dict[int, Walk]) -> Walk:
    def walk(data: bytes, at: int, marks: Marks) -> int:
        if data[at] == 0:
            if marks is not None:
                marks.append(at)
            return at + 1
        count, at = _varint(data, at, marks)
        for _ in range(count):
            tag, at = _varint(data, at, marks)
            size, at = _varint(data, at, marks)
            if tag in known:
                known[tag](data, at, marks)
            at += size
        return at

    return walk


def _varint(data: bytes, at: int, marks: Marks) -> tuple[int, int]:
    try:
        value, end = read_varint(data, at)
    except ValueError as error:
        raise MalformedFrame(str(error)) from error
    if marks is not None:
        marks += range(at, end)
    return value, end
