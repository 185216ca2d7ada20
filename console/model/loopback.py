"""Whether a host is this one. Pure."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress


def is_loopback(host: str) -> bool:
    """Return whether the text of a host means this host, as ``localhost`` or an address of it: secrets may go there in
    clear text. Another name may lead elsewhere, and a short form of an address is a name to some resolvers.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def binds_loopback(host: str) -> bool:
    """Return whether only this host reaches a server that listens at this address, also in a short form: ``127.1`` is
    ``127.0.0.1`` to the system.
    """
    with suppress(OSError, ValueError):  # also raised for characters that no address has
        host = socket.inet_ntoa(socket.inet_aton(host))
    return is_loopback(host.lower().rstrip("."))
