"""Listeners of brokers and controllers as they advertise them, and the certificates that they show. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.config import ConfigSet

_ENDPOINT = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)://(?P<host>\[[0-9A-Fa-f:.]++\]|[^:/\s]++):(?P<port>[0-9]{1,5})"
)
WITH_TLS = frozenset({"SSL", "SASL_SSL"})
MONTH, WEEK = timedelta(days=30), timedelta(days=7)


class Listener(NamedTuple):
    """Where a node listens. name: ``""`` where it is only known by its address."""

    broker: int
    host: str
    port: int
    name: str = ""

    @property
    def address(self) -> str:
        """As ``host:port``."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Certificate(NamedTuple):
    """What a listener showed. subject, issuer: distinguished names (RFC 4514); begins, ends: UTC."""

    listener: Listener
    subject: str
    issuer: str
    begins: datetime
    ends: datetime

    def ends_soon(self, now: datetime) -> bool:
        """Whether it should have been replaced: within its last month, or the last fifth of a short life."""
        return self.ends - now < min(MONTH, (self.ends - self.begins) / 5)


def advertised_with_tls(broker: int, configs: ConfigSet) -> Iterator[Listener]:
    """The listeners that a broker advertises and that speak TLS, from its own configs."""
    protocols = _protocols(configs)
    for found in _ENDPOINT.finditer(_value(configs, "advertised.listeners") or _value(configs, "listeners")):
        port = int(found["port"])
        if protocols.get(found["name"].upper(), found["name"].upper()) in WITH_TLS and 0 < port < 65_536:
            yield Listener(broker, found["host"].strip("[]"), port, found["name"])


def speaks_tls(configs: ConfigSet, listener: str) -> bool:
    """Whether a listener of this name speaks TLS."""
    return _protocols(configs).get(listener.upper(), listener.upper()) in WITH_TLS


def _protocols(configs: ConfigSet) -> dict[str, str]:
    """Listener -> its security protocol (listener.security.protocol.map)."""
    pairs = (part.split(":", 1) for part in _value(configs, "listener.security.protocol.map").split(",") if ":" in part)
    return {name.strip().upper(): protocol.strip().upper() for name, protocol in pairs}


def _value(configs: ConfigSet, key: str) -> str:
    entry = configs.get(key)
    return entry.value or "" if entry is not None else ""
