"""What several handlers say alike."""

from __future__ import annotations

from datetime import timedelta
from random import choice

from console.embedded.context import RequestContext

NO_TIME = timedelta(0)
NO_OPERATIONS = -(2**31)
"""The operations were not asked for (KIP-430)."""

TOPIC_OPERATIONS = ("READ", "WRITE", "CREATE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
CLUSTER_OPERATIONS = (
    "CREATE",
    "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE",
    "ALTER",
    "DESCRIBE",
)
_GROUP_OPERATIONS = ("READ", "DESCRIBE", "DELETE")
_GROUP_CONFIGS = ("DESCRIBE_CONFIGS", "ALTER_CONFIGS")
_GROUP_CONFIGS_FROM = (4, 0)
"""AclEntry.supportedOperations."""


def group_operations(context: RequestContext) -> tuple[str, ...]:
    """What can be allowed on a group; since 4.0 it has configs too."""
    newer = context.cluster.release.number >= _GROUP_CONFIGS_FROM
    return _GROUP_OPERATIONS + _GROUP_CONFIGS if newer else _GROUP_OPERATIONS


def told_controller(context: RequestContext) -> int:
    """The broker that clients are told is the controller: where brokers forward to it, any that is alive
    (KRaftMetadataCache.getRandomAliveBrokerId), else the one that it is."""
    view = context.view
    if not context.cluster.forwarding:
        return view.controller_id
    alive = [broker.id for broker in view.brokers.values() if broker.alive]
    return choice(alive) if alive else -1  # noqa: S311 - nothing secret hangs on it
