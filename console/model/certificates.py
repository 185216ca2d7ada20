"""Advertised listeners of brokers and controllers, and their certificates. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import address_text
from console.model.config import ConfigSet, text_in

_ENDPOINT = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)://(?P<host>\[[0-9A-Fa-f:.]++\]|[^:/\s]*+):(?P<port>[0-9]{1,5})"
)
WITH_TLS = frozenset({"SSL", "SASL_SSL"})
MONTH, WEEK = timedelta(days=30), timedelta(days=7)


class Listener(NamedTuple):
    """A listener that a node advertises."""

    broker: int
    host: str
    port: int
    name: str = ""
    """The name of the listener; ``""`` if only the address is known."""

    @property
    def address(self) -> str:
        """The address as ``host:port``."""
        return address_text(self.host, self.port)


class Certificate(NamedTuple):
    """The certificate of a listener: its subject, its issuer and its validity."""

    listener: Listener
    subject: str
    """The distinguished name of the owner (RFC 4514)."""
    issuer: str
    """The distinguished name of the issuer (RFC 4514)."""
    begins: datetime
    """The start of the certificate's validity, UTC."""
    ends: datetime
    """The end of the certificate's validity, UTC."""

    def ends_soon(self, now: datetime) -> bool:
        """Return whether the certificate is due for renewal: less than 30 days, or less than a fifth of its whole
        validity if that is shorter, are left until it ends.

        Args:
            now: the present time, with its zone.
        """
        return self.ends - now < min(MONTH, (self.ends - self.begins) / 5)

    def ends_now(self, now: datetime) -> bool:
        """Return whether the certificate ends very soon: less than a week, or less than a twentieth of its whole
        validity if that is shorter (as in certificates that a program renews), is left.

        Args:
            now: the present time, with its zone.
        """
        return self.ends - now < min(WEEK, (self.ends - self.begins) / 20)


def advertised(broker: int, configs: ConfigSet) -> Iterator[Listener]:
    """Yield the listeners that a broker advertises, except the controllers' listeners.

    Args:
        broker: the broker's id.
        configs: the configs of the broker. The endpoints are in ``advertised.listeners``, or in ``listeners`` if that
            is empty.
    """
    of_controllers = _of_controllers(configs)
    for found in _ENDPOINT.finditer(text_in(configs, "advertised.listeners") or text_in(configs, "listeners")):
        port = int(found["port"])
        if found["host"] and 0 < port < 65_536 and found["name"].upper() not in of_controllers:
            yield Listener(broker, found["host"].strip("[]"), port, found["name"])


def listening(configs: ConfigSet) -> dict[str, int]:
    """Return name of a listener, in upper case -> the port at which the broker listens; listeners without a port in
    ``listeners`` are missing.
    """
    return {found["name"].upper(): int(found["port"]) for found in _ENDPOINT.finditer(text_in(configs, "listeners"))}


def advertised_with_tls(broker: int, configs: ConfigSet) -> Iterator[Listener]:
    """Yield the listeners that a broker advertises with TLS.

    Args:
        broker: the broker's id.
        configs: the configs of the broker. The protocols are in ``listener.security.protocol.map``. For a listener
            that is not in the map, the name is the protocol.
    """
    return (each for each in advertised(broker, configs) if speaks_tls(configs, each.name))


def speaks_tls(configs: ConfigSet, listener: str) -> bool:
    """Return whether a broker's listener of this name uses TLS.

    Args:
        configs: the configs of the broker.
        listener: the name of the listener, in any case.
    """
    return _protocols(configs).get(listener.upper(), listener.upper()) in WITH_TLS


def client_protocols(configs: ConfigSet) -> dict[str, str]:
    """Return name of a listener -> its security protocol, both in upper case, for the listeners that a broker opens to
    clients and other brokers; the controllers' listeners are left out.

    Args:
        configs: the configs of the broker.
    """
    protocols = _protocols(configs)
    of_controllers = _of_controllers(configs)
    names = (each.partition("://")[0].strip().upper() for each in text_in(configs, "listeners").split(","))
    return {name: protocols.get(name, name) for name in names if name and name not in of_controllers}


def _of_controllers(configs: ConfigSet) -> frozenset[str]:
    """Return the names of the controllers' listeners (``controller.listener.names``), in upper case."""
    return frozenset(each.strip().upper() for each in text_in(configs, "controller.listener.names").split(","))


def _protocols(configs: ConfigSet) -> dict[str, str]:
    """Return name of a listener -> its security protocol, both in upper case (listener.security.protocol.map)."""
    pairs = (
        part.split(":", 1) for part in text_in(configs, "listener.security.protocol.map").split(",") if ":" in part
    )
    return {name.strip().upper(): protocol.strip().upper() for name, protocol in pairs}
