"""The order in which Java goes over a HashMap of texts: which of several errors is the first to be told hangs on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_FIRST_TABLE, _LOAD = 16, 0.75


def string_hash(text: str) -> int:
    """String.hashCode, as 32 bits without a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def hash_order(keys: Iterable[str]) -> Sequence[str]:
    """Different keys in the order of a java.util.HashMap into which they were put one after another."""
    put = list(keys)
    table = _FIRST_TABLE
    while len(put) > _LOAD * table:
        table *= 2
    return sorted(put, key=lambda key: _spread(string_hash(key)) & (table - 1))


def _spread(value: int) -> int:
    """HashMap.hash."""
    return value ^ value >> 16
