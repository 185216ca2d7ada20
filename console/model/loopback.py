"""Whether a host name or address means this host. Pure."""

from __future__ import annotations

import ipaddress
from contextlib import suppress


def is_loopback(host: str) -> bool:
    """Return whether the text of a host surely means this host, so that secrets may be sent to it without
    encryption: ``localhost``, or a loopback address in its full form. False for other names, and for short forms
    of an address, which some resolvers treat as names.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def binds_loopback(host: str) -> bool:
    """Return whether a server that listens at this address can be reached from this host only. Short forms count as the
    addresses that the system takes them for: ``127.1`` is ``127.0.0.1``.
    """
    import socket

    with suppress(OSError, ValueError):  # also raised for characters that no address has
        host = socket.inet_ntoa(socket.inet_aton(host))
    return is_loopback(host.lower().rstrip("."))
