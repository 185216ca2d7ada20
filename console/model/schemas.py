"""Schemas of a registry: how a record names the one that it was written with, and what a registry has of it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from console.model.records import Header

AVRO, PROTOBUF, JSON_SCHEMA = "AVRO", "PROTOBUF", "JSON"
KEY_HEADER, VALUE_HEADER = b"__key_schema_id", b"__value_schema_id"
_GUID_SIZE = 16
LONGEST_REASON = 300
"""Characters of why something is not decoded."""


class SchemaKey(NamedTuple):
    """What names a schema for ever: its id in the registry, or its GUID in hex."""

    id: int = 0
    guid: str = ""

    def __str__(self) -> str:
        return f"guid {self.guid}" if self.guid else f"id {self.id}"


class Framed(NamedTuple):
    """Contents that name their schema. payload: what the schema describes. indexes: of a message of Protobuf, where
    they do not stand before the payload."""

    key: SchemaKey
    payload: bytes
    indexes: bytes | None = None


def framed(data: bytes | None, headers: tuple[Header, ...], header: bytes) -> Framed | None:
    """Return what of a key or a value is the schema's name, None if it has none.

    Args:
        data: key or value, in Confluent's format: a zero, four bytes of an id, what the schema describes.
        header: `KEY_HEADER` or `VALUE_HEADER`, which newer serializers write in place of the first five bytes. Of
            several the last counts, as for Confluent's: who reads a record and writes it on may keep its headers.
    """
    if not data:
        return None
    named = next((value for name, value in reversed(headers) if name == header), None) or b""
    if named[:1] == b"\x01" and len(named) > _GUID_SIZE:
        return Framed(SchemaKey(guid=named[1 : _GUID_SIZE + 1].hex()), data, named[_GUID_SIZE + 1 :])
    if named[:1] == b"\x00" and len(named) >= 5 and (number := int.from_bytes(named[1:5], "big", signed=True)) > 0:
        return Framed(SchemaKey(number), data, named[5:])
    if data[0] == 0 and len(data) >= 5 and (number := int.from_bytes(data[1:5], "big", signed=True)) > 0:
        return Framed(SchemaKey(number), data[5:])
    return None


class SchemaText(Struct, frozen=True):
    """A schema as the registry has it. name: under which others refer to it. references: what it refers to, each after
    those that it stands on itself. subject: one that it is registered under, with its version; 0 for none."""

    kind: str
    text: str
    name: str = ""
    references: tuple[SchemaText, ...] = ()
    subject: str = ""
    version: int = 0

    @property
    def size(self) -> int:
        """The characters of all its texts."""
        return len(self.text) + sum(each.size for each in self.references)


class Schema(Struct, frozen=True):
    """A schema that decodes. decode: payload and indexes -> JSON; raises `NotDecoded`. weight: bytes that it takes."""

    key: SchemaKey
    kind: str
    decode: Callable[[bytes, bytes | None], bytes]
    subject: str = ""
    version: int = 0
    weight: int = 0

    def __str__(self) -> str:
        return f"{self.subject} version {self.version}, {self.key}" if self.subject else str(self.key)


class NotDecoded(Exception):
    """Why contents can't be decoded by a schema, or the schema can't be used: one line for the operator, made
    printable.
    """

    def __init__(self, text: str) -> None:
        super().__init__("".join(each for each in text[:LONGEST_REASON] if each.isprintable()))
