"""Readers for structs of Kafka's messages and records, from the fields of each version. Pure.

The tables of fields come from the schemas in Kafka's jars. If a version is flexible, sizes are unsigned varints, and
tagged fields follow the others. Spark's executors run this from a zip file: Python 3.10.
"""

from __future__ import annotations

import struct
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite, isnan
from typing import Any


@dataclass(frozen=True)
class Field:
    """A field of a record in one version."""

    name: str
    """The name in Kafka's JSON."""
    type: str
    """Kafka's name of the type; for an array, of its elements' type."""
    is_array: bool
    nullable: bool
    tag: int | None
    """The tag; None for an untagged field."""
    fields: tuple[Field, ...]
    """The fields of a struct; empty for other types."""


def _fields_of(raw: Iterable[Mapping[str, Any]], version: int) -> tuple[Field, ...]:
    """Return the fields that a struct has in one version. raw: each field as in Kafka's JSON schemas."""
    return tuple(
        Field(
            name=each["name"],
            type=each["type"].removeprefix("[]"),
            is_array=each["type"].startswith("[]"),
            nullable=version in versions_of(each.get("nullableVersions")),
            tag=each["tag"] if version in versions_of(each.get("taggedVersions")) else None,
            fields=_fields_of(each.get("fields", ()), version),
        )
        for each in raw
        if version in versions_of(each["versions"])
    )


def versions_of(text: str | None) -> range:
    """Return the versions in a text such as ``2+``, ``1-3`` or ``4``; empty for None and ``none``."""
    if text is None or text == "none":
        return range(0)
    first, _, last = text.rstrip("+").partition("-")
    return range(int(first), 1 << 15 if text.endswith("+") else int(last or first) + 1)


@dataclass(frozen=True)
class RecordSchema:
    """One version of a record's schema."""

    name: str
    api_key: int
    """The number of the record type, which identifies it in its log."""
    version: int
    fields: tuple[Field, ...]
    is_flexible: bool = True

    def reader(self) -> Read:
        """Return a function that reads the record's fields from bytes."""
        return _struct_reader(self.fields, is_flexible=self.is_flexible)


def schemas_of(records: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int], RecordSchema]:
    """Return (number of the record type, version) -> the schema. records: each record as in Kafka's JSON schemas."""
    return {
        (record["apiKey"], version): RecordSchema(
            record["name"],
            record["apiKey"],
            version,
            _fields_of(record["fields"], version),
            version in versions_of(record.get("flexibleVersions", "0+")),
        )
        for record in records
        for version in versions_of(record["validVersions"])
    }


# -- values, as Kafka's own JSON converters write them ----------------------------------------------------------------

NUMBERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
"""Kafka's integer types -> the format characters of Python's `struct`."""
_LETTERS = NUMBERS | {"bool": "?", "float64": "d", "uuid": "16s"}

Read = Callable[[bytes, int], tuple[Any, int]]
"""A function from the bytes of a record and the position of a value to the value and the position after it. That
position lies beyond the bytes if the value is cut short. It raises MalformedRecordError, IndexError or struct.error for
bytes that do not fit.
"""
_Size = Callable[[Field, bytes, int], tuple[int, int]]
"""A function from a field, the bytes and a position to a number of bytes or elements, and the position where these
begin. The number is -1 for null.
"""


class MalformedRecordError(ValueError):
    """The bytes do not fit the record's schema."""


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned varint at a position, and the position after it. Raises MalformedRecordError if it has more
    than ten bytes, and IndexError if the data end within it.
    """
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedRecordError("a varint of more than ten bytes")


def _text(raw: bytes) -> str:
    """Decode bytes as UTF-8; invalid bytes become U+FFFD, as in Java. Not cached, because the text may be a secret."""
    return raw.decode("utf-8", "replace")


@lru_cache(1 << 15)
def _uuid(raw: bytes) -> str:
    """Encode 16 bytes as Kafka writes uuids: URL-safe base64 without padding."""
    return urlsafe_b64encode(raw).decode()[:-2]


def _real(number: float) -> float | str:
    """Return a float64; infinities and NaN become the strings that Jackson writes for them."""
    if isfinite(number):
        return number
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


_SIZED: Mapping[str, Callable[[bytes], str]] = {"string": _text, "bytes": lambda raw: b64encode(raw).decode()}
"""Type with a variable size -> the function that converts its bytes."""
_SHOWN: Mapping[str, Callable[[Any], Any]] = {"uuid": _uuid, "float64": _real}
"""Type of fixed size -> the function that converts its unpacked value; types that need no conversion are missing."""


def _struct_reader(fields: Sequence[Field], *, is_flexible: bool = True) -> Read:
    """Return a function that reads a struct as a dict: first its untagged fields in order, then the tagged ones that
    are there.
    """
    placed = [(field.name, _reader(field, is_flexible=is_flexible)) for field in fields if field.tag is None]
    tagged = {
        field.tag: (field.name, _reader(field, is_flexible=is_flexible)) for field in fields if field.tag is not None
    }

    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        made: dict[str, Any] = {}
        for name, value in placed:
            made[name], at = value(data, at)
        if not is_flexible:
            return made, at
        count, at = uvarint(data, at) if data[at] else (0, at + 1)
        for _ in range(count):
            tag, at = uvarint(data, at)
            size, at = uvarint(data, at)
            end = at + size
            if tag in tagged:
                name, value = tagged[tag]
                made[name], at = value(data, at)
                if at != end:
                    raise MalformedRecordError(f"its tag {tag} has the wrong size")
            at = end
        return made, at

    return read


def _reader(field: Field, *, is_flexible: bool) -> Read:
    size_of = _short_size if is_flexible else _int16_size if field.type == "string" else _int32_size
    if not field.is_array:
        if field.fields:
            return _nullable_struct(field, _struct_reader(field.fields, is_flexible=is_flexible))
        return _of_size(field) if field.type in _LETTERS else _sized(field, _SIZED[field.type], size_of)
    count_of = _short_size if is_flexible else _int32_size
    if field.type in NUMBERS:
        return _numbers(field, count_of)
    single = replace(field, is_array=False, nullable=False)
    element = (
        _struct_reader(field.fields, is_flexible=is_flexible)
        if field.fields
        else _reader(single, is_flexible=is_flexible)
    )

    def read(data: bytes, at: int) -> tuple[list[Any] | None, int]:
        count, at = count_of(field, data, at)
        made = []
        for _ in range(count):  # each takes at least one byte, so an excessive count ends with the record
            value, at = element(data, at)
            made.append(value)
        return (None if count < 0 else made), at

    return read


def _nullable_struct(field: Field, read_struct: Read) -> Read:
    """Return a function that reads a struct, and returns None for null. Before a nullable struct there is a byte
    that says whether it is null: -1 means null, or 0 in a tagged field (KIP-893).
    """
    if not field.nullable:
        return read_struct

    def read(data: bytes, at: int) -> tuple[dict[str, Any] | None, int]:
        if data[at] == (0xFF if field.tag is None else 0):
            return None, at + 1
        return read_struct(data, at + 1)

    return read


def _of_size(field: Field) -> Read:
    """Return a function that reads a value of fixed size."""
    form, shown = struct.Struct(f">{_LETTERS[field.type]}"), _SHOWN.get(field.type)
    unpack, size = form.unpack_from, form.size

    def read(data: bytes, at: int) -> tuple[Any, int]:
        (value,) = unpack(data, at)
        return (shown(value) if shown else value), at + size

    return read


def _sized(field: Field, shown: Callable[[bytes], str], size_of: _Size) -> Read:
    """Return a function that reads bytes that follow their size."""

    def read(data: bytes, at: int) -> tuple[str | None, int]:
        size, at = size_of(field, data, at)
        return (None, at) if size < 0 else (shown(data[at : at + size]), at + size)

    return read


def _numbers(field: Field, count_of: _Size) -> Read:
    """Return a function that reads an array of integers, which follow the number of its elements."""
    letter, width = NUMBERS[field.type], struct.calcsize(f">{NUMBERS[field.type]}")

    def read(data: bytes, at: int) -> tuple[Sequence[int] | None, int]:
        count, at = count_of(field, data, at)
        return (None, at) if count < 0 else (struct.unpack_from(f">{count}{letter}", data, at), at + count * width)

    return read


def _short_size(field: Field, data: bytes, at: int) -> tuple[int, int]:
    """Return a size in a flexible version, -1 for null, and the position after it. The unsigned varint is the size plus
    one, or 0 for null. Raises MalformedRecordError if the field is null and must not be.
    """
    size, at = (data[at], at + 1) if data[at] < 0x80 else uvarint(data, at)
    if not size and not field.nullable:
        raise MalformedRecordError(f"{field.name} must not be null")
    return size - 1, at


def _int16_size(field: Field, data: bytes, at: int) -> tuple[int, int]:
    return _checked(field, *struct.unpack_from(">h", data, at)), at + 2


def _int32_size(field: Field, data: bytes, at: int) -> tuple[int, int]:
    return _checked(field, *struct.unpack_from(">i", data, at)), at + 4


def _checked(field: Field, size: int) -> int:
    """Return a size that was read in a version that is not flexible: -1 for null. Raises MalformedRecordError if the
    field is null and must not be.
    """
    if size < 0 and not field.nullable:
        raise MalformedRecordError(f"{field.name} must not be null")
    return max(size, -1)
