"""Java's hash of a text, and the order in which it goes over a HashMap: which of several errors is the first to be told
hangs on that, and which broker coordinates a group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

_FIRST_TABLE, _LOAD = 16, 0.75


def java_hash(text: str) -> int:
    """java.lang.String.hashCode, as a signed number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def hash_order(keys: Iterable[str]) -> Sequence[str]:
    """Different keys in the order of a java.util.HashMap into which they were put one after another."""
    put = list(keys)
    table = _FIRST_TABLE
    while len(put) > _LOAD * table:
        table *= 2
    return _ordered(put, table)


def sized_hash_order(keys: Collection[str]) -> Sequence[str]:
    """The same for a map that was made for as many."""
    table = 1
    while table < len(keys) or len(keys) > _LOAD * table:
        table *= 2
    return _ordered(list(dict.fromkeys(keys)), table)


def _ordered(keys: list[str], table: int) -> list[str]:
    return sorted(keys, key=lambda key: _spread(java_hash(key) & 0xFFFFFFFF) & (table - 1))


def _spread(value: int) -> int:
    """HashMap.hash."""
    return value ^ value >> 16
