"""The limits because of which a broker refuses new connections (SocketServer, ConnectionQuotas)."""

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
"""Names of the configs with a limit for a broker, or for one of its listeners."""
NEW_CONNECTIONS = "connection_creation_rate"
"""The quota key for the number of new connections per second from an address."""


def limits_set(configs: ConfigSet) -> Iterator[ConfigEntry]:
    """Yield the config entries of limits that are set: first those of the broker, then those of its listeners."""
    some = (configs.get(key) for key in CONNECTION_LIMITS)
    of_listeners = (each for each in configs if listener_base(each.name) in CONNECTION_LIMITS)
    for each in (*some, *of_listeners):
        if each is not None and each.value and each.source != DEFAULT_CONFIG:
            yield each
