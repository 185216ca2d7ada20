"""Schemas of a registry: the reference from a record to its schema, and the schema as the registry describes it.
Pure.
"""

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
"""Header of a part -> the prefix of the names of Apicurio's headers for the part."""
_PROTOBUF_TYPES = {KEY_HEADER: b"apicurio.protobuf.type.key", VALUE_HEADER: b"apicurio.protobuf.type"}
GLOBAL_ID, CONTENT_ID, APICURIO_ID = "Apicurio global id", "Apicurio content id", "Apicurio id"
"""Name spaces of Apicurio's ids. The last one is for an id before the payload, which is a global id unless the producer
is configured otherwise."""
APICURIOS = (GLOBAL_ID, CONTENT_ID, APICURIO_ID)
GLUE, ARTIFACT, FINGERPRINT = "AWS Glue version", "Apicurio artifact", "Avro fingerprint"
FRAME_BEGINS = frozenset({b"\x00", b"\x03", b"\xc3"})
"""The first bytes of contents that have a reference before the payload; other contents can have a reference only in
headers.
"""
_GUID_SIZE = 16
_GLUE_BEGINS = (b"\x03\x00", b"\x03\x05")
"""The first two bytes of Glue's header: its version, and whether the payload is compressed."""
_AVRO_BEGINS, _PRINT_SIZE = b"\xc3\x01", 8
"""The marker of Avro's single-object encoding, and the size of the little-endian fingerprint behind it, which no
registry has."""
LONGEST_REASON = 300
"""Maximum length in characters of the reason for a failed decoding."""
MOST_VALUES = 4_000_000
"""Maximum number of values that are decoded from the records of one response."""
MOST_MADE = 64 << 20
"""Maximum size in bytes of the JSON that is made from the records of one response."""
MOST_SECONDS = 6.0
"""Maximum seconds of decoding for one response."""


class SchemaKey(NamedTuple):
    """The reference to a schema: its id in the registry, its GUID in hex, or its subject. Unused fields are 0 or
    ``""``.
    """

    id: int = 0
    guid: str = ""
    of: str = ""
    """The system that defines the id, such as Apicurio's; ``""`` for Confluent's."""
    subject: str = ""
    """The subject to whose newest version the reference points, in place of an id or GUID; ``""`` for a reference by id
    or GUID.
    """

    def __str__(self) -> str:
        if self.subject:
            return f"{self.of} {self.subject}" if self.of else f"the newest of {self.subject}"
        if self.of:
            return f"{self.of} {self.guid or self.id}"
        return f"guid {self.guid}" if self.guid else f"id {self.id}"


class Framed(NamedTuple):
    """A record's key or value, split into the reference to its schema and the bytes that the schema encodes."""

    key: SchemaKey
    payload: bytes
    """The bytes that the schema encodes, without the reference."""
    indexes: bytes | None = None
    """The indexes of a Protobuf message if a header has them, or the name of the message from Apicurio's headers; None
    if the indexes are in front of the payload, or the schema is no Protobuf.
    """


def framed(data: bytes | None, headers: tuple[Header, ...], header: bytes) -> Framed | None:
    """Split a key or a value into the reference to its schema and the payload; None if it has no reference.

    Args:
        data: the key or value. Confluent's format is a zero byte, four bytes of an id, the payload; Apicurio's has
            eight bytes of an id; AWS Glue's begins with a 3, the compression and a UUID; Avro's single-object encoding
            begins with two bytes and the schema's fingerprint.
        headers: the headers of the record.
        header: `KEY_HEADER` or `VALUE_HEADER`, in which newer serializers write the reference. If the record has this
            header several times, the last one is used, as by Confluent's deserializer: a client that copies a record
            may keep its headers.
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
    """Return the big-endian number of some bytes; 0 if it is negative, which can't be an id."""
    return max(0, int.from_bytes(data, "big", signed=True))


def dashed(guid: str) -> str:
    """Return a GUID with dashes. guid: 32 hexadecimal digits."""
    return "-".join((guid[:8], guid[8:12], guid[12:16], guid[16:20], guid[20:]))


class Allowance:
    """The remaining budget for decoding the records of one response: values, bytes of JSON, and seconds.

    ended: whether the read was cancelled, so that decoding has to stop.
    """

    def __init__(self) -> None:
        self.ended = False
        self.renew()

    def renew(self) -> None:
        """Restore the whole budget. A search calls it for each record, because a search has no end."""
        self.values = MOST_VALUES
        self.bytes = MOST_MADE
        self.seconds = MOST_SECONDS

    def spent(self) -> str:
        """Return, as text, which limit is exhausted, or that the read was cancelled; ``""`` if decoding may
        continue.
        """
        if self.ended:
            return "the look was ended"
        if self.values <= 0:
            return f"the records have more than {MOST_VALUES:,} values"
        if self.bytes <= 0:
            return f"the records have more than {MOST_MADE >> 20} MiB as text"
        return f"decoding the records takes more than {MOST_SECONDS:g} s" if self.seconds <= 0 else ""

    def refusal(self) -> NotDecoded:
        """Return the error for a record that is not decoded because the budget is exhausted."""
        return NotDecoded(f"{self.spent()}; ask for fewer records")


Decode = Callable[[bytes, "bytes | None", Allowance], bytes]
"""A function from the payload, the indexes of the message (None if the payload has them), and an allowance to JSON."""
Encode = Callable[[bytes], bytes]
"""A function from JSON to the payload."""
_CONTEXT = re.compile(r"^:\.[^:]*:")
"""Matches the prefix of a subject that is in a context of the registry: ``:.context:``."""


def no_encoding(_document: bytes) -> bytes:
    """Raise NotDecoded: the default of `Schema.encode`, for schemas that can't encode."""
    raise NotDecoded("nothing is encoded by it")


class SchemaText(Struct, frozen=True):
    """The text of a schema in the registry, with the schemas to which it refers."""

    kind: str
    text: str
    name: str = ""
    """The name by which other schemas refer to this one."""
    references: tuple[SchemaText, ...] = ()
    """All schemas to which this one refers, directly or through others. Each schema comes after those to which it
    refers.
    """
    subject: str = ""
    """One of the subjects that have the schema; ``""`` if unknown."""
    version: int = 0
    """The version in `subject`; 0 if `subject` is ``""``."""

    @property
    def size(self) -> int:
        """The number of characters of its text and of the texts of its references."""
        return len(self.text) + sum(each.size for each in self.references)


class Schema(Struct, frozen=True):
    """A compiled schema, which decodes contents and encodes them."""

    key: SchemaKey
    kind: str
    decode: Decode
    """A function from the payload, the indexes and an allowance to JSON. Raises `NotDecoded`."""
    subject: str = ""
    version: int = 0
    weight: int = 0
    """The bytes of memory that the compiled schema takes."""
    subjects: tuple[str, ...] = ()
    """All subjects that have the schema, as far as the registry reports them."""
    name: str = ""
    """The schema's own name, such as a record's full name; some serializers use it as the subject."""
    aliases: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    """The name of a field -> its aliases in Avro."""
    doubt: str = ""
    """The reason why another schema may be the right one for the record; ``""`` if there is no doubt."""
    encode: Encode = no_encoding
    """A function from JSON to the payload. Raises `NotDecoded`."""

    def framed(self, document: bytes) -> bytes:
        """Return the bytes of a key or a value for a JSON document, in Confluent's format: a zero byte, the id, and the
        payload. Raises NotDecoded if the schema can't encode the document.
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
    """Return the kind of schema that a file has, by the ending of its name; None for an unknown ending."""
    return next((kind for ending, kind in _BY_ENDING.items() if name.endswith(ending)), None)


def kind_of(text: str, told: str | None) -> str:
    """Return the kind of a schema: the one that the registry names, else one that the text shows.

    Args:
        text: the text of the schema.
        told: the kind in the registry's response; None if it names none. In Confluent's API this means Avro; Apicurio
            also leaves out other kinds.
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
    """Raised if a schema can't decode or encode contents, or can't be used; the message is one printable line for the
    operator.
    """

    def __init__(self, text: str) -> None:
        super().__init__("".join(each for each in text[:LONGEST_REASON] if each.isprintable()))
