"""The metadata records' schemas, as Kafka's releases ship them, and values of Kafka's protocol as JSON text."""

from __future__ import annotations

import json
import pkgutil
import struct
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring
from math import isinf, isnan
from typing import Any

RELEASES = ("4.3", "3.9")
"""Newest first: schemas that two releases have in common are read from the newer one."""


@dataclass(frozen=True)
class Field:
    """A field in one version of its record. name: as in Kafka's JSON. type: Kafka's name of it, of an array its
    elements' (`is_array`). tag: None for a field without one. fields: of a struct."""

    name: str
    type: str
    is_array: bool
    nullable: bool
    tag: int | None
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class RecordSchema:
    """One version of a record's schema."""

    name: str
    api_key: int
    version: int
    fields: tuple[Field, ...]


@lru_cache(maxsize=1)
def known_schemas() -> Mapping[tuple[int, int], RecordSchema]:
    """Every version of every record type of all releases, by its number and version."""
    made: dict[tuple[int, int], RecordSchema] = {}
    for release in RELEASES:
        made = schemas_of(release) | made
    return made


def schemas_of(release: str) -> dict[tuple[int, int], RecordSchema]:
    """The schemas of one release, ``4.3``. Raises RuntimeError if its data file is missing."""
    name = f"data/kafka_{release.replace('.', '_')}.json"
    # pkgutil, since executors import this from a zip. `tests/support/record_metadata_schemas.py` writes the data.
    data = pkgutil.get_data(__package__ or "", name)
    if data is None:
        raise RuntimeError(f"{name} is missing in console.history.kraft: the package is incomplete")
    return {
        (record["apiKey"], version): RecordSchema(
            record["name"], record["apiKey"], version, _fields(record["fields"], version)
        )
        for record in json.loads(data)
        for version in _versions(record["validVersions"])
    }


def _fields(raw: list[dict[str, Any]], version: int) -> tuple[Field, ...]:
    return tuple(
        Field(
            name=each["name"],
            type=each["type"].removeprefix("[]"),
            is_array=each["type"].startswith("[]"),
            nullable=_is_in(version, each.get("nullableVersions")),
            tag=each["tag"] if _is_in(version, each.get("taggedVersions")) else None,
            fields=_fields(each.get("fields", []), version),
        )
        for each in raw
        if _is_in(version, each["versions"])
    )


def _versions(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _is_in(version: int, text: str | None) -> bool:
    """Whether ``2+``, ``1-3`` or ``4`` includes the version; None includes none."""
    if text is None:
        return False
    if text.endswith("+"):
        return version >= int(text[:-1])
    return version in _versions(text)


# -- values as JSON text, as Kafka's own JSON converters write them --------------------------------------------------

BOOLEANS = ("false", "true")
NUMBERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
"""Kafka's whole numbers, by their letters in `struct`."""


class MalformedRecordError(ValueError):
    """The bytes do not fit the record's schema."""


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint of up to 64 bits, and where it ends. Raises MalformedRecordError, IndexError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedRecordError("a varint of more than ten bytes")


def skip_tags(data: bytes, at: int) -> int:
    """Where the tagged fields that begin here end."""
    count, at = uvarint(data, at)
    while count:
        if at >= len(data):
            raise MalformedRecordError("tagged fields run over the end")
        count -= 1
        _, at = uvarint(data, at)
        size, at = uvarint(data, at)
        at += size
    return at


def quoted(raw: bytes) -> str:
    """UTF-8 as a JSON string; invalid bytes become U+FFFD, as in Java."""
    return encode_basestring(raw.decode("utf-8", "replace"))


def uuid(raw: bytes) -> str:
    """16 bytes as Kafka writes uuids: base64 for URLs without its padding."""
    return f'"{urlsafe_b64encode(raw).decode()[:-2]}"'


def base64_text(raw: bytes) -> str:
    """Bytes in base64."""
    return b64encode(raw).decode()


def real(number: float) -> str:
    """A float64; infinities and NaN become strings, as Jackson writes them."""
    if isnan(number):
        return '"NaN"'
    if isinf(number):
        return '"Infinity"' if number > 0 else '"-Infinity"'
    return repr(number)


def whole_numbers(letter: str) -> Callable[[bytes], str]:
    """Returns a function that makes JSON of the bytes of an array of whole numbers."""
    width = struct.calcsize(f">{letter}")

    def made(raw: bytes) -> str:
        return f"[{','.join(map(str, struct.unpack(f'>{len(raw) // width}{letter}', raw)))}]"

    return made


def uuids(raw: bytes) -> str:
    """The bytes of an array of uuids as JSON."""
    return f"[{','.join(uuid(raw[at : at + 16]) for at in range(0, len(raw), 16))}]"
