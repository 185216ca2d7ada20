"""Behaviour of Java that clients of Kafka can see: String.hashCode, the order of a HashMap, the parsing of numbers.

The order of a HashMap decides which of several errors a broker reports; String.hashCode decides which broker
coordinates a group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from console.model.coordinators import java_hash as java_hash

_FIRST_TABLE, _LOAD = 16, 0.75


def hash_order(keys: Iterable[str]) -> Sequence[str]:
    """Return distinct keys in the order in which a java.util.HashMap iterates over them, if they were added one by
    one.
    """
    put = list(keys)
    table = _FIRST_TABLE
    while len(put) > _LOAD * table:
        table *= 2
    return _ordered(put, table)


def sized_hash_order(keys: Collection[str]) -> Sequence[str]:
    """Return distinct keys in the order in which a java.util.HashMap iterates over them, if it was created with room
    for all.
    """
    table = 1
    while table < len(keys) or len(keys) > _LOAD * table:
        table *= 2
    return _ordered(list(dict.fromkeys(keys)), table)


def _ordered(keys: list[str], table: int) -> list[str]:
    return sorted(keys, key=lambda key: _spread(java_hash(key) & 0xFFFFFFFF) & (table - 1))


def _spread(value: int) -> int:
    """Return the bits of a hash code mixed as by HashMap.hash."""
    return value ^ value >> 16


_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?|\.[0-9a-fA-F]++)[pP][+-]?\d+[fFdD]?", re.ASCII
)
_SPACE = "".join(map(chr, range(0x21)))


def trimmed(text: str) -> str:
    """Return the text without spaces and control characters at both ends (String.trim)."""
    return text.strip(_SPACE)


def whole_number(text: str, bits: int) -> int:
    """Parse a signed whole number of at most this many bits (Integer.parseInt, Long.parseLong). Raises ValueError."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    value = int(text)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(text)
    return value


def decimal_number(text: str) -> float:
    """Parse a decimal number (Double.parseDouble). Raises ValueError."""
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD") if "N" not in text and "I" not in text else text)
    if _HEXADECIMAL.fullmatch(text):
        return float.fromhex(text.rstrip("fFdD"))  # the suffix comes after the exponent, which is decimal
    raise ValueError(text)
