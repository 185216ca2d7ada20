"""The difference between two mappings that share unchanged values. Pure.

Values are compared by identity. If the keys of both are in the same order, the loops run in C, so that 100,000 entries
take some milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def differing(old: Mapping[K, V], new: Mapping[K, V]) -> list[tuple[K, V | None, V | None]]:
    """Return the keys whose values are not the same object, each with its value before and after.

    Args:
        old, new: mappings whose values are never None.

    Returns:
        (key, old value, new value) in the order of `new`, then the keys that only `old` has. A missing value is None.
    """
    if old is new:
        return []
    if len(old) == len(new) and [*old] == [*new]:
        return [
            (key, before, after)
            for key, before, after in zip(new, old.values(), new.values(), strict=True)
            if before is not after
        ]
    known: list[tuple[K, V | None, V | None]] = [
        (key, before, after)
        for key, before, after in zip(new, map(old.get, new), new.values(), strict=True)
        if before is not after
    ]
    come = sum(before is None for _, before, _ in known)
    if len(old) > len(new) - come:
        known += [(key, before, None) for key, before in old.items() if key not in new]
    return known
