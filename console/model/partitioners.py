"""Computes the partition to which common clients send a record with a key."""

from __future__ import annotations

from zlib import crc32

_SEED, _MULTIPLIER, _SHIFT = 0x9747B28C, 0x5BD1E995, 24
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of Kafka's Java client (``Utils.murmur2``), as an unsigned 32-bit number."""
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
    """Return the partition that Kafka's Java client, and librdkafka's ``murmur2`` partitioners, choose for a key.

    Args:
        count: the number of partitions.
    """
    return (murmur2(key) & 0x7FFFFFFF) % count


def librdkafka_partition(key: bytes, count: int) -> int:
    """Return the partition that librdkafka's default ``consistent_random`` chooses for a key. Real clients send records
    with an empty key to any partition.

    Args:
        count: the number of partitions.
    """
    return crc32(key) % count


def likely_partitions(key: bytes, count: int) -> tuple[int, ...]:
    """Return the partitions that `java_partition` and `librdkafka_partition` choose for a key, each once.

    Args:
        count: the number of partitions.
    """
    return tuple(dict.fromkeys((java_partition(key, count), librdkafka_partition(key, count))))
