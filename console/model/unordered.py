"""Lists of configs whose order means nothing to brokers. Pure."""

from __future__ import annotations

UNORDERED = frozenset(
    (
        *("cleanup.policy", "log.cleanup.policy", "cordoned.log.dirs"),
        *("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"),
    )
)
"""Lists that brokers take for sets: what is there counts, not where and how often."""


def as_it_counts(key: str, text: str) -> str:
    """A value by which two are compared: of a list that is a set each item once, sorted, without blanks; of another key
    the text as it is."""
    if key not in UNORDERED or not text.strip():
        return text
    return ",".join(sorted({item.strip() for item in text.split(",")}))
