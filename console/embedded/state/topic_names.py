"""What a topic may be called (org.apache.kafka.common.internals.Topic)."""

from __future__ import annotations

import re

METADATA_TOPIC = "__cluster_metadata"
"""KRaft's own log, which clients see nothing of but in DescribeQuorum."""
MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def is_legal(name: str) -> bool:
    """Whether Kafka would make a topic of this name."""
    return name not in (".", "..") and len(name) <= MAX_LENGTH and _LEGAL.fullmatch(name) is not None
