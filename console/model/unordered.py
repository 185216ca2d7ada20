"""Config lists whose order does not matter to brokers. Pure; Spark's executors use it too, with Python 3.10."""

from __future__ import annotations

UNORDERED = frozenset(
    (
        *("cleanup.policy", "log.cleanup.policy", "cordoned.log.dirs"),
        *("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"),
    )
)
"""Keys whose value is a list that brokers read as a set: order and repetitions have no meaning."""


def differ(key: str, one: str | None, other: str | None) -> bool:
    """Return whether brokers treat two values of a key differently. one, other: a value, or None if the key is not
    set.
    """
    if one is None or other is None or one == other:
        return one != other
    return as_it_counts(key, one) != as_it_counts(key, other)


def as_it_counts(key: str, text: str) -> str:
    """Return a value in a form in which values that brokers treat alike are equal texts. For a list that brokers
    read as a set, the form has each item once, sorted and without blanks; for another key it is the text itself.
    """
    if key not in UNORDERED or not text.strip():
        return text
    return ",".join(sorted({item.strip() for item in text.split(",")}))
