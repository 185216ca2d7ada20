"""A broker's address."""

from __future__ import annotations

Address = tuple[str, int]
"""Host and port."""


def show(address: Address) -> str:
    """``host:port``, an IPv6 address in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
