"""Schemas of a registry: how a record names the one that it was written with, and what a registry has of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field

from console.model.records import Header

AVRO, PROTOBUF, JSON_SCHEMA = "AVRO", "PROTOBUF", "JSON"
KEY_HEADER, VALUE_HEADER = b"__key_schema_id", b"__value_schema_id"
_APICURIOS = {KEY_HEADER: b"apicurio.key.", VALUE_HEADER: b"apicurio.value."}
"""What the names of Apicurio's headers begin with."""
_PROTOBUF_TYPES = {KEY_HEADER: b"apicurio.protobuf.type.key", VALUE_HEADER: b"apicurio.protobuf.type"}
GLOBAL_ID, CONTENT_ID, APICURIO_ID = "Apicurio global id", "Apicurio content id", "Apicurio id"
"""The last stands before a payload, and is a global id unless the producer is set otherwise."""
GLUE, ARTIFACT, FINGERPRINT = "AWS Glue version", "Apicurio artifact", "Avro fingerprint"
_GUID_SIZE = 16
_GLUE_BEGINS = (b"\x03\x00", b"\x03\x05")
"""The version of Glue's header, and whether the payload is compressed."""
_AVRO_BEGINS, _PRINT_SIZE = b"\xc3\x01", 8
"""Of Avro's own form for one object: a number of no registry follows, little-endian."""
LONGEST_REASON = 300
"""Characters of why something is not decoded."""
MOST_VALUES = 4_000_000
"""Values of all records of one answer that are decoded."""
MOST_MADE = 64 << 20
"""Bytes of JSON that are made of the records of one answer."""
MOST_SECONDS = 6.0
"""Seconds of decoding for one answer."""


class SchemaKey(NamedTuple):
    """What names a schema: its id in the registry, or its GUID in hex; in the name space `of`, ``""``: Confluent's.

    subject: in place of these, the subject whose newest version it is.
    """

    id: int = 0
    guid: str = ""
    of: str = ""
    subject: str = ""

    def __str__(self) -> str:
        if self.subject:
            return f"{self.of} {self.subject}" if self.of else f"the newest of {self.subject}"
        if self.of:
            return f"{self.of} {self.guid or self.id}"
        return f"guid {self.guid}" if self.guid else f"id {self.id}"


class Framed(NamedTuple):
    """Contents that name their schema. payload: what the schema describes. indexes: of a message of Protobuf, where
    they do not stand before the payload; also a message's name, as Apicurio's serializers have it there."""

    key: SchemaKey
    payload: bytes
    indexes: bytes | None = None


def framed(data: bytes | None, headers: tuple[Header, ...], header: bytes) -> Framed | None:
    """Return what of a key or a value is the schema's name, None if it has none.

    Args:
        data: key or value, in Confluent's format: a zero, four bytes of an id, what the schema describes; in
            Apicurio's, with eight bytes; in AWS Glue's: a three, the compression, a UUID; or in Avro's own: two bytes
            and the schema's fingerprint.
        header: `KEY_HEADER` or `VALUE_HEADER`, which newer serializers write in place of the first five bytes. Of
            several the last counts, as for Confluent's: who reads a record and writes it on may keep its headers.
    """
    if not data:
        return None
    named = _last(headers, header)
    if named[:1] == b"\x01" and len(named) > _GUID_SIZE:
        return Framed(SchemaKey(guid=named[1 : _GUID_SIZE + 1].hex()), data, named[_GUID_SIZE + 1 :])
    if named[:1] == b"\x00" and len(named) >= 5 and (number := _number(named[1:5])):
        return Framed(SchemaKey(number), data, named[5:])
    if (found := _by_apicurios_headers(data, headers, header)) is not None:
        return found
    if data[0] == 0 and len(data) >= 5 and (number := _number(data[1:5])):
        return Framed(SchemaKey(number), data[5:])
    # Eight bytes more than the zero, and one at least that a schema describes: as Confluent's this would be id 0.
    if data[:5] == bytes(5) and len(data) > 9 and (number := _number(data[1:9])):
        return Framed(SchemaKey(number, of=APICURIO_ID), data[9:])
    if data[:2] in _GLUE_BEGINS and len(data) >= 2 + _GUID_SIZE:
        return Framed(SchemaKey(guid=dashed(data[2 : 2 + _GUID_SIZE].hex()), of=GLUE), data[2 + _GUID_SIZE :])
    if data[:2] == _AVRO_BEGINS and len(data) >= 2 + _PRINT_SIZE:
        mark = data[2 : 2 + _PRINT_SIZE][::-1].hex()
        return Framed(SchemaKey(guid=mark, of=FINGERPRINT), data[2 + _PRINT_SIZE :])
    return None


def _by_apicurios_headers(data: bytes, headers: tuple[Header, ...], part: bytes) -> Framed | None:
    begins = _APICURIOS[part]
    if _last(headers, begins + b"encoding") == b"JSON":
        return None  # the text of the value itself
    name = _last(headers, _PROTOBUF_TYPES[part]) or None
    for of, ending in ((GLOBAL_ID, b"globalId"), (CONTENT_ID, b"contentId")):
        found = _last(headers, begins + ending)
        if len(found) == 8 and (number := _number(found)):
            return Framed(SchemaKey(number, of=of), data, name)
    if artifact := _last(headers, begins + b"artifactId"):
        return Framed(SchemaKey(of=ARTIFACT, subject=artifact.decode(errors="replace")[:100]), data, name)
    return None


def _last(headers: tuple[Header, ...], name: bytes) -> bytes:
    return next((value for each, value in reversed(headers) if each == name), None) or b""


def _number(data: bytes) -> int:
    """Return an id, 0 for what can be no id."""
    return max(0, int.from_bytes(data, "big", signed=True))


def dashed(guid: str) -> str:
    """Return a GUID as it is written."""
    return "-".join((guid[:8], guid[8:12], guid[12:16], guid[16:20], guid[20:]))


class Allowance:
    """What the records of one answer may still take while they are decoded: values, bytes of JSON, seconds.

    ended: whether the look was ended.
    """

    def __init__(self) -> None:
        self.values = MOST_VALUES
        self.bytes = MOST_MADE
        self.seconds = MOST_SECONDS
        self.ended = False

    def spent(self) -> str:
        """Return which of them is used up, ``""`` for none."""
        if self.ended:
            return "the look was ended"
        if self.values <= 0:
            return f"the records have more than {MOST_VALUES:,} values"
        if self.bytes <= 0:
            return f"the records have more than {MOST_MADE >> 20} MiB as text"
        return f"decoding the records takes more than {MOST_SECONDS:g} s" if self.seconds <= 0 else ""

    def refusal(self) -> NotDecoded:
        """Return why a record is not decoded for which nothing is left."""
        return NotDecoded(f"{self.spent()}; ask for fewer records")


Decode = Callable[[bytes, "bytes | None", Allowance], bytes]
"""Payload, indexes of its message, what may be spent -> JSON."""
_CONTEXT = re.compile(r"^:\.[^:]*:")
"""What a subject of a registry's context begins with."""


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
    """A schema that decodes. decode: payload and indexes -> JSON; raises `NotDecoded`. weight: bytes that it takes.

    subjects: all that it is registered under, as far as the registry says. name: its own, by which some serializers
    register it. aliases: a field's name -> its other names in Avro. doubt: why it may be another one's.
    """

    key: SchemaKey
    kind: str
    decode: Decode
    subject: str = ""
    version: int = 0
    weight: int = 0
    subjects: tuple[str, ...] = ()
    name: str = ""
    aliases: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    doubt: str = ""

    def is_of(self, topic: str) -> bool:
        """Return whether it is registered for a topic, or by its own name for any; also where nothing is known."""
        names = [_CONTEXT.sub("", each) for each in self.subjects]
        return not names or any(each in (topic, self.name) or each.startswith(f"{topic}-") for each in names)

    def __str__(self) -> str:
        version = f" version {self.version}" if self.version else ""
        return f"{self.subject}{version}, {self.key}" if self.subject else str(self.key)


class NotDecoded(Exception):
    """Why contents can't be decoded by a schema, or the schema can't be used: one line for the operator, made
    printable.
    """

    def __init__(self, text: str) -> None:
        super().__init__("".join(each for each in text[:LONGEST_REASON] if each.isprintable()))
