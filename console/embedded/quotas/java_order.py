"""The order in which brokers go through names, that of a HashMap: it decides which of several errors is told."""

from __future__ import annotations

from collections.abc import Collection

from console.embedded.state.coordinators import java_hash

_LOAD_FACTOR = 0.75


def in_hash_order(names: Collection[str]) -> list[str]:
    """The keys of a HashMap that was made for as many."""
    buckets = 1
    while buckets < len(names) or len(names) > _LOAD_FACTOR * buckets:
        buckets *= 2
    return sorted(dict.fromkeys(names), key=lambda name: _spread(name) & (buckets - 1))


def _spread(name: str) -> int:
    value = java_hash(name) & 0xFFFFFFFF
    return value ^ (value >> 16)
