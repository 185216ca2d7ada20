"""The partitions in which the usual clients put a key."""

from __future__ import annotations

from zlib import crc32

_SEED, _MULTIPLIER, _SHIFT = 0x9747B28C, 0x5BD1E995, 24
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of Kafka's Java client (``Utils.murmur2``), as an unsigned number."""
    made = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        part = int.from_bytes(data[at : at + 4], "little") * _MULTIPLIER & _MASK
        part = (part ^ part >> _SHIFT) * _MULTIPLIER & _MASK
        made = made * _MULTIPLIER & _MASK ^ part
    if whole < len(data):
        made = (made ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    made = (made ^ made >> 13) * _MULTIPLIER & _MASK
    return made ^ made >> 15


def java_partition(key: bytes, count: int) -> int:
    """Return the partition of a key by Kafka's Java client, and by librdkafka's ``murmur2`` partitioners."""
    return (murmur2(key) & 0x7FFFFFFF) % count


def librdkafka_partition(key: bytes, count: int) -> int:
    """Return the partition of a key by librdkafka's default, ``consistent_random``; it puts an empty key anywhere."""
    return crc32(key) % count


def likely_partitions(key: bytes, count: int) -> tuple[int, ...]:
    """Return the partitions in which the usual clients put a key, each once."""
    return tuple(dict.fromkeys((java_partition(key, count), librdkafka_partition(key, count))))
