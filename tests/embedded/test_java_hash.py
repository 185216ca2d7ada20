"""Java's hashes and the order of its maps, against what Java gave."""

from __future__ import annotations

from console.embedded.java import hash_order, java_hash


def test_hashes_of_texts() -> None:
    assert java_hash("") == 0
    assert java_hash("hello") == 99162322
    assert java_hash("Aa") == java_hash("BB") == 2112


def test_the_order_of_a_map() -> None:
    """Those that collide stay in the order in which they were put."""
    assert hash_order(["BB", "Aa", "b", "a"]) == ["BB", "Aa", "a", "b"]
    keys = ["retention.ms", "message.timestamp.type", "cleanup.policy", "segment.ms", "no.such.key", "compression.type"]
    assert hash_order(keys) == [
        "compression.type",
        "cleanup.policy",
        "message.timestamp.type",
        "retention.ms",
        "segment.ms",
        "no.such.key",
    ]


def test_a_map_that_has_grown() -> None:
    order = (18, 17, 19, 14, 13, 16, 15, 1, 10, 0, 12, 11, 5, 4, 3, 2, 9, 8, 7, 6)
    assert hash_order(f"key-{number}" for number in range(20)) == [f"key-{number}" for number in order]
