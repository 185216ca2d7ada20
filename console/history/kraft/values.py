"""Values of Kafka's protocol as JSON text, as Kafka's own JSON converters write them."""

from __future__ import annotations

import struct
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from json.encoder import encode_basestring
from math import isinf, isnan

BOOLEANS = ("false", "true")
NUMBERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
"""Kafka's whole numbers, as `struct` calls them."""


class MalformedRecordError(ValueError):
    """The bytes are not what the record's schema says."""


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
            raise MalformedRecordError("a varint has more than ten bytes")


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
    """UTF-8 as a JSON string; what is no UTF-8 becomes U+FFFD, as in Java."""
    return encode_basestring(raw.decode("utf-8", "replace"))


def uuid(raw: bytes) -> str:
    """16 bytes as Kafka writes uuids: base64 for URLs without its padding."""
    return f'"{urlsafe_b64encode(raw).decode()[:-2]}"'


def base64_text(raw: bytes) -> str:
    """Bytes in base64."""
    return b64encode(raw).decode()


def real(number: float) -> str:
    """A float64; what JSON has no number for is a string, as Jackson writes it."""
    if isnan(number):
        return '"NaN"'
    if isinf(number):
        return '"Infinity"' if number > 0 else '"-Infinity"'
    return repr(number)


def whole_numbers(letter: str) -> Callable[[bytes], str]:
    """Makes of the bytes of an array of whole numbers its JSON."""
    width = struct.calcsize(f">{letter}")

    def made(raw: bytes) -> str:
        return f"[{','.join(map(str, struct.unpack(f'>{len(raw) // width}{letter}', raw)))}]"

    return made


def uuids(raw: bytes) -> str:
    """The bytes of an array of uuids as JSON."""
    return f"[{','.join(uuid(raw[at : at + 16]) for at in range(0, len(raw), 16))}]"
