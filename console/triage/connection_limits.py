"""Limits by which a broker turns clients away that connect (SocketServer, ConnectionQuotas)."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.broker_keys import listener_base
from console.model.codes import DEFAULT_CONFIG
from console.model.config import ConfigEntry, ConfigSet

CONNECTION_LIMITS = (
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "max.connections",
    "max.connection.creation.rate",
)
"""Limits of a broker, or of one of its listeners."""
NEW_CONNECTIONS = "connection_creation_rate"
"""The quota of an address for new connections a second."""


def limits_set(configs: ConfigSet) -> Iterator[ConfigEntry]:
    """Yield the limits that are set, of the broker first, then of its listeners."""
    some = (configs.get(key) for key in CONNECTION_LIMITS)
    of_listeners = (each for each in configs if listener_base(each.name) in CONNECTION_LIMITS)
    for each in (*some, *of_listeners):
        if each is not None and each.value and each.source != DEFAULT_CONFIG:
            yield each
