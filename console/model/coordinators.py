"""Computes the partition of a coordinator's topic for a group or a transactional id, and finds groups that a listing
could not show. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from console.model.cluster import Group, GroupListing

OFFSETS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
"""The topics of the coordinators of groups, transactions and share groups."""
_MIN_INT = -(2**31)


def java_hash(text: str) -> int:
    """Return java.lang.String.hashCode of a text as a signed 32-bit number."""
    value = 0
    # Java hashes UTF-16 code units: a character outside the BMP has two.
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


# Cached: each refresh looks up the same groups, and hashing a long name is a loop in Python.
@lru_cache(65_536)
def partition_of(name: str, partitions: int) -> int:
    """Return the number of the partition to which a group belongs in the topic ``__consumer_offsets``, or a
    transactional id in ``__transaction_state`` (Utils.abs of its hash). partitions: the number of partitions of
    that topic.
    """
    value = java_hash(name)
    # Java can't negate this number; Kafka's Utils.abs returns 0.
    return 0 if value == _MIN_INT else abs(value) % partitions


def unlisted(groups: Mapping[str, Group], listing: GroupListing) -> dict[str, Group]:
    """Return the known groups that may still exist although a listing lacks them, because the group's coordinator
    did not respond, or because the group's partition of the offsets topic has no leader. groups: the known
    groups, by name.
    """
    partitions = listing.offsets.partitions if listing.offsets is not None else ()
    down = {each.number for each in partitions if each.leader < 0}
    return {
        name: group
        for name, group in groups.items()
        if f"broker {group.coordinator}" in listing.failures or (down and partition_of(name, len(partitions)) in down)
    }
