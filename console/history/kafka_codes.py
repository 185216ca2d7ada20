"""Kafka's numbers in its words, as request logs and records of the metadata log have them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RESOURCE_TYPES: Mapping[int, str] = MappingProxyType(
    {2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN", 7: "USER"}
)
PATTERN_TYPES: Mapping[int, str] = MappingProxyType({3: "LITERAL", 4: "PREFIXED"})
PERMISSIONS: Mapping[int, str] = MappingProxyType({2: "DENY", 3: "ALLOW"})
OPERATIONS: Mapping[int, str] = MappingProxyType(
    {
        2: "ALL",
        3: "READ",
        4: "WRITE",
        5: "CREATE",
        6: "DELETE",
        7: "ALTER",
        8: "DESCRIBE",
        9: "CLUSTER_ACTION",
        10: "DESCRIBE_CONFIGS",
        11: "ALTER_CONFIGS",
        12: "IDEMPOTENT_WRITE",
        13: "CREATE_TOKENS",
        14: "DESCRIBE_TOKENS",
        15: "TWO_PHASE_COMMIT",
    }
)
MECHANISMS: Mapping[int, str] = MappingProxyType({1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"})
CONFIG_OPS: Mapping[int, str] = MappingProxyType({0: "set", 1: "delete", 2: "append", 3: "subtract"})


def named(names: Mapping[int, str], code: int) -> str:
    """A code's name; `UNKNOWN(n)` where it has none."""
    return names.get(code, f"UNKNOWN({code})")
