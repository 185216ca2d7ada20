"""Bootstrap addresses: ``host:port,host:port``, IPv6 in brackets (Kafka's ClientUtils)."""

from __future__ import annotations

import re

DEFAULT_PORT = 9092

_ADDRESS = re.compile(
    r"""(?:[A-Za-z0-9._-]*://)?                       # a listener's name, as Kafka prints it, counts for nothing
        (?:\[(?P<six>[0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|(?P<host>[^\s\[\]:,/@]+))
        (?::(?P<port>[0-9]+))?""",
    re.VERBOSE,
)


def parse_bootstrap(text: str) -> tuple[tuple[str, int], ...]:
    """Addresses in order, each once; the port is 9092 where none is given.

    Raises ValueError that names the address and what is wrong with it.
    """
    if "@" in text:
        # What stands before it may be a password, so none of it is repeated.
        raise ValueError("an address has no @; a user and a password go into a file for --command-config")
    addresses = tuple(dict.fromkeys(_address(part) for part in text.split(",") if part.strip()))
    if not addresses:
        raise ValueError("no address: give HOST:PORT, or several with commas between")
    return addresses


def format_bootstrap(addresses: tuple[tuple[str, int], ...]) -> str:
    """The text that `parse_bootstrap` reads back."""
    return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in addresses)


def _address(part: str) -> tuple[str, int]:
    text = part.strip()
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not HOST:PORT{_hint(text)}")
    host = match["six"] or match["host"]
    port = int(match["port"]) if match["port"] else DEFAULT_PORT
    if not 0 < port < 65536:
        raise ValueError(f"{text!r}: the port has to be from 1 to 65535")
    if not host.isprintable():
        raise ValueError(f"{text!r}: a host name has no control characters")
    return host, port


def _hint(text: str) -> str:
    if text.count(":") > 1 and "[" not in text:
        return "; an IPv6 address goes in brackets: [::1]:9092"
    if text.endswith(":") or re.search(r":[^0-9\]]", text):
        return "; the port is a number"
    return ""
