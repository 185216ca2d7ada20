"""Which partition of a coordinator's topic a group or a transactional id is in. Pure."""

from __future__ import annotations

from functools import lru_cache

OFFSETS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
"""The topics that groups, transactions and share groups are coordinated by."""
_MIN_INT = -(2**31)


def java_hash(text: str) -> int:
    """java.lang.String.hashCode, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


@lru_cache(65_536)
def partition_of(name: str, partitions: int) -> int:
    """The partition for a group or a transactional id (Utils.abs of its hash)."""
    value = java_hash(name)
    return 0 if value == _MIN_INT else abs(value) % partitions
