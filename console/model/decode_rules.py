"""A context's rules for decoding keys and values that have no reference to a schema: in some topics they are
numbers, have a schema in a file, or are decoded by a program. Pure.
"""

from __future__ import annotations

import struct
from fnmatch import fnmatchcase
from math import isfinite, isnan

import msgspec
from msgspec import Struct

from console.model.kafka_structs import NUMBERS
from console.model.schemas import NotDecoded

_LETTERS = {each: NUMBERS[each] for each in ("int16", "int32", "int64")} | {"float32": "f", "float64": "d"}
NUMBER_TYPES = tuple(_LETTERS)
"""The types of numbers that a rule may name, written as Java's serializers do, big-endian: Short, Integer, Long, Float,
Double.
"""
PROTOBUF, AVRO, COMMAND = "protobuf", "avro", "command"


class DecodeRule(Struct, frozen=True):
    """A rule that says how to decode the keys or the values of some topics."""

    topic: str
    """A glob pattern for the names of topics."""
    part: str
    """The part of the record: ``key`` or ``value``."""
    kind: str
    """PROTOBUF, AVRO, COMMAND, or one of `NUMBER_TYPES`."""
    place: str
    """The file and line that contain the rule, for messages."""
    file: str = ""
    """The absolute path of the schema; for a command, the folder of the file that contains the rule; ``""`` for
    numbers.
    """
    message: str = ""
    """The full name of a Protobuf message; ``""`` for other kinds."""
    command: tuple[str, ...] = ()
    """The program and its arguments; empty for other kinds."""

    def fits(self, topic: str, part: str) -> bool:
        """Return whether the rule applies to the keys or values of a topic. part: ``key`` or ``value``."""
        return self.part == part and fnmatchcase(topic, self.topic)


def number_json(kind: str, data: bytes) -> bytes:
    """Return a number, which `data` contains in big-endian bytes, as JSON; NaN and infinities as JSON strings.

    Args:
        kind: one of `NUMBER_TYPES`.

    Raises:
        NotDecoded: `data` has another size than the type.
    """
    form = struct.Struct(f">{_LETTERS[kind]}")
    if len(data) != form.size:
        raise NotDecoded(f"it has {len(data)} bytes, and {kind} has {form.size}")
    (number,) = form.unpack(data)
    if not isinstance(number, float) or isfinite(number):
        return msgspec.json.encode(_shortest(number) if kind == "float32" else number)
    return msgspec.json.encode("NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity")


def _shortest(number: float) -> float:
    """Return the number with the fewest decimal digits that rounds to the same 4-byte float; Java prints floats so."""
    packed = struct.pack(">f", number)
    return next(each for digits in range(1, 10) if _packed(each := float(f"{number:.{digits}g}")) == packed)


def _packed(number: float) -> bytes:
    try:
        return struct.pack(">f", number)
    except OverflowError:
        return b""
