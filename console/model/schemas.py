"""Schemas of a registry: the reference that a record has to its schema, and a registry's description of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field

from console.model.foreign_json import json_as
from console.model.records import Header

AVRO, PROTOBUF, JSON_SCHEMA = "AVRO", "PROTOBUF", "JSON"
KEY_HEADER, VALUE_HEADER = b"__key_schema_id", b"__value_schema_id"
_APICURIOS = {KEY_HEADER: b"apicurio.key.", VALUE_HEADER: b"apicurio.value."}
"""Part -> the prefix of the names of Apicurio's headers."""
_PROTOBUF_TYPES = {KEY_HEADER: b"apicurio.protobuf.type.key", VALUE_HEADER: b"apicurio.protobuf.type"}
GLOBAL_ID, CONTENT_ID, APICURIO_ID = "Apicurio global id", "Apicurio content id", "Apicurio id"
"""Name spaces of Apicurio's ids. The last one is for an id before the payload, which is a global id unless the producer
is configured otherwise."""
APICURIOS = (GLOBAL_ID, CONTENT_ID, APICURIO_ID)
GLUE, ARTIFACT, FINGERPRINT = "AWS Glue version", "Apicurio artifact", "Avro fingerprint"
FRAME_BEGINS = frozenset({b"\x00", b"\x03", b"\xc3"})
"""The first bytes of contents with a reference in front of the payload; other contents can have a reference only in
headers."""
_GUID_SIZE = 16
_GLUE_BEGINS = (b"\x03\x00", b"\x03\x05")
"""The first two bytes of Glue's header: its version, and whether the payload is compressed."""
_AVRO_BEGINS, _PRINT_SIZE = b"\xc3\x01", 8
"""The marker of Avro's single-object encoding, and the size of the little-endian fingerprint behind it, which no
registry has."""
LONGEST_REASON = 300
"""Maximum length in characters of the reason for a failed decoding."""
MOST_VALUES = 4_000_000
"""Maximum number of values that are decoded, of all records of one response."""
MOST_MADE = 64 << 20
"""Maximum size in bytes of the JSON from the records of one response."""
MOST_SECONDS = 6.0
"""Maximum seconds of decoding for one response."""


class SchemaKey(NamedTuple):
    """The reference to a schema: its id in the registry, or its GUID in hex."""

    id: int = 0
    guid: str = ""
    of: str = ""
    """The name space of the id; ``""`` for Confluent's."""
    subject: str = ""
    """The subject whose newest version is meant, in place of an id or GUID; ``""`` for a reference by id or GUID."""

    def __str__(self) -> str:
        if self.subject:
            return f"{self.of} {self.subject}" if self.of else f"the newest of {self.subject}"
        if self.of:
            return f"{self.of} {self.guid or self.id}"
        return f"guid {self.guid}" if self.guid else f"id {self.id}"


class Framed(NamedTuple):
    """Contents with a reference to their schema."""

    key: SchemaKey
    payload: bytes
    """The bytes that the schema describes."""
    indexes: bytes | None = None
    """The indexes of a Protobuf message, if they are not in front of the payload; or the name of the message, from the
    headers of Apicurio's serializers; None without either."""


def framed(data: bytes | None, headers: tuple[Header, ...], header: bytes) -> Framed | None:
    """Split a key or a value into schema reference and payload; None if it has no reference.

    Args:
        data: key or value, in Confluent's format: a zero, four bytes of an id, the payload; in Apicurio's, with eight
            bytes; in AWS Glue's: a three, the compression, a UUID; or in Avro's own: two bytes and the schema's
            fingerprint.
        header: `KEY_HEADER` or `VALUE_HEADER`, which newer serializers write instead of the first five bytes. If
            there are several, the last one is used, as by Confluent's: a client that copies a record may keep its
            headers.
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
    # After the zero byte follow an id of eight bytes and at least one byte of payload: in Confluent's format this would
    # be id 0.
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
        return None  # the value itself is text
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
    """Return an id, 0 for bytes that can't be an id."""
    return max(0, int.from_bytes(data, "big", signed=True))


def dashed(guid: str) -> str:
    """Return a GUID in its usual form, with dashes."""
    return "-".join((guid[:8], guid[8:12], guid[12:16], guid[16:20], guid[20:]))


class Allowance:
    """The remaining budget for decoding the records of one response: values, bytes of JSON, seconds.

    ended: whether the read was cancelled.
    """

    def __init__(self) -> None:
        self.ended = False
        self.renew()

    def renew(self) -> None:
        """Restore the whole budget: a search has no end, and each of its records may use all of the budget."""
        self.values = MOST_VALUES
        self.bytes = MOST_MADE
        self.seconds = MOST_SECONDS

    def spent(self) -> str:
        """Return, as text, the exhausted limit or the end of the read; ``""`` if decoding can continue."""
        if self.ended:
            return "the look was ended"
        if self.values <= 0:
            return f"the records have more than {MOST_VALUES:,} values"
        if self.bytes <= 0:
            return f"the records have more than {MOST_MADE >> 20} MiB as text"
        return f"decoding the records takes more than {MOST_SECONDS:g} s" if self.seconds <= 0 else ""

    def refusal(self) -> NotDecoded:
        """Return the error for a record that exceeds the budget."""
        return NotDecoded(f"{self.spent()}; ask for fewer records")


Decode = Callable[[bytes, "bytes | None", Allowance], bytes]
"""Takes the payload, the indexes of its message, and an allowance; returns JSON."""
Encode = Callable[[bytes], bytes]
"""Takes JSON; returns the payload."""
_CONTEXT = re.compile(r"^:\.[^:]*:")
"""Matches the prefix of a subject in a context of the registry."""


def no_encoding(_document: bytes) -> bytes:
    """Raise NotDecoded: a schema of this kind can't encode."""
    raise NotDecoded("nothing is encoded by it")


class SchemaText(Struct, frozen=True):
    """The text of a schema in the registry."""

    kind: str
    text: str
    name: str = ""
    """The name by which other schemas refer to this one."""
    references: tuple[SchemaText, ...] = ()
    """The schemas that this one refers to, each after those that it refers to itself."""
    subject: str = ""
    """One of the subjects of the schema."""
    version: int = 0
    """The version in that subject; 0 without a subject."""

    @property
    def size(self) -> int:
        """The number of characters of all its texts."""
        return len(self.text) + sum(each.size for each in self.references)


class Schema(Struct, frozen=True):
    """A compiled schema, which decodes contents and encodes them."""

    key: SchemaKey
    kind: str
    decode: Decode
    """Takes the payload and indexes; returns JSON. Raises `NotDecoded`."""
    subject: str = ""
    version: int = 0
    weight: int = 0
    """The size in bytes that it takes in memory."""
    subjects: tuple[str, ...] = ()
    """All subjects of the schema, as far as the registry reports them."""
    name: str = ""
    """The schema's own name, by which some serializers register it."""
    aliases: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    """The name of a field -> its other names in Avro."""
    doubt: str = ""
    """The reason why the record may have another schema; ``""`` without doubt."""
    encode: Encode = no_encoding
    """Takes JSON; returns the payload. Raises `NotDecoded`."""

    def framed(self, document: bytes) -> bytes:
        """Return JSON as a key or a value in Confluent's form: a zero, the id, and the payload. Raises NotDecoded if
        the schema can't encode it.
        """
        return b"\x00" + self.key.id.to_bytes(4, "big") + self.encode(document)

    def is_of(self, topic: str) -> bool:
        """Return whether the schema is registered for a topic, or under its own name for any topic; True if its
        subjects are unknown.
        """
        names = [_CONTEXT.sub("", each) for each in self.subjects]
        return not names or any(each in (topic, self.name) or each.startswith(f"{topic}-") for each in names)

    def __str__(self) -> str:
        version = f" version {self.version}" if self.version else ""
        return f"{self.subject}{version}, {self.key}" if self.subject else str(self.key)


_OF_JSON_SCHEMA = ("object", "integer", "number")


_BY_ENDING = {".avsc": AVRO, ".proto": PROTOBUF}


def kind_by_ending(name: str) -> str | None:
    """Return the kind of the schema in a file, by the file's name; None for another ending."""
    return next((kind for ending, kind in _BY_ENDING.items() if name.endswith(ending)), None)


def kind_of(text: str, told: str | None) -> str:
    """Return the kind of a schema: the one that the registry names, else the one that the text shows.

    In Confluent's API a schema without a kind is Avro; Apicurio also leaves out other kinds.
    """
    if told:
        return told
    try:
        document = json_as(text, object)
    except ValueError:
        return AVRO if text[:1] in ("{", "[", '"') else PROTOBUF
    if isinstance(document, dict) and ("type" not in document or document["type"] in _OF_JSON_SCHEMA):
        return JSON_SCHEMA
    return AVRO


class NotDecoded(Exception):
    """Raised if a schema can't decode contents, or can't be used; the message is one printable line for the
    operator.
    """

    def __init__(self, text: str) -> None:
        super().__init__("".join(each for each in text[:LONGEST_REASON] if each.isprintable()))
