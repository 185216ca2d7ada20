"""Which entities may have quotas (ClientQuotaControlManager.validateEntity; before KRaft ZkAdminManager)."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from console.embedded.quotas.messages import (
    EMPTY_ENTITY,
    EMPTY_NAME,
    NO_HOST,
    UNKNOWN_TYPE,
    messages_of,
)
from console.embedded.state.java_hash import sized_hash_order
from console.embedded.versions.release import Release
from console.model.quota import CLIENT_ID, IP, USER

_TYPES = (USER, CLIENT_ID, IP)
_UNQUOTED = "-_.*"
"""What org.apache.kafka.common.utils.Sanitizer leaves as it is, beside letters and digits."""


def ordered(parts: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """The components as a broker goes through them; of two of one type the last one counts."""
    named = dict(parts)
    return {type_: named[type_] for type_ in sized_hash_order(tuple(named))}


def shown(parts: Mapping[str, str | None]) -> str:
    """``client-id=x, user=null``."""
    return ", ".join(f"{type_}={'null' if name is None else name}" for type_, name in parts.items())


async def problem(parts: Mapping[str, str | None], release: Release) -> str | None:
    """Why there can't be quotas for this entity, None where there can."""
    if not parts:
        return EMPTY_ENTITY
    for type_, name in parts.items():
        if type_ not in _TYPES:
            return UNKNOWN_TYPE.format(type=type_)
        if name == "":
            return EMPTY_NAME.format(type=type_)
    if IP not in parts:
        return None
    if len(parts) > 1:
        return messages_of(release).mixed_entity
    ip = parts[IP]
    if ip is None:
        return None
    # With ZooKeeper the name was made fit for a path before, so that no IPv6 address is one.
    host = ip if release.kraft else quote(ip, safe=_UNQUOTED).replace("*", "%2A")
    return None if await _resolves(host) else NO_HOST.format(name=host)


async def _resolves(host: str) -> bool:
    """Whether it is an address, or a name that this host knows (InetAddress.getByName)."""
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    try:
        await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return True
