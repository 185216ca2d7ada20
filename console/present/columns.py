"""The columns by which `list` filters: what an operator may write before ``=`` for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from console.present.quotas import KEYS

CONFIG_KEYS = ", or a config's key"

COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "topics": ("name", "partitions", "replication", "under_replicated", "offline", "internal"),
        "brokers": (
            "id",
            "host",
            "port",
            "rack",
            "release",
            "controller",
            "fenced",
            "leaders",
            "replicas",
            "out_of_sync",
        ),
        "users": ("user", "quotas", "scram", "acls"),
        "clients": ("client", "quotas"),
        "ips": ("ip", "quotas"),
        "quotas": ("user", "client", "ip", *KEYS),
        "acls": ("principal", "resource_type", "resource_name", "pattern_type", "permission", "operation", "host"),
        "groups": ("name", "state", "type", "protocol", "lag", "coordinator"),
        "loggers": ("broker", "logger", "level"),
        "client-metrics": ("name", "metrics", "interval_ms", "match"),
        "scram": ("user", "mechanism", "iterations"),
    }
)
"""What ``KEY=VALUE`` can be asked of each kind."""
