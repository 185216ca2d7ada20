"""The ways to brokers that this host does not reach: by SSH, by a proxy, by Kubernetes."""

from __future__ import annotations

import threading

from console.admin.kube import KubeWay
from console.admin.proxy import ProxyWay
from console.admin.settings import Proxy, SshHost, Via
from console.admin.ssh import SshWay

Way = SshWay | ProxyWay | KubeWay
"""A way to brokers: `start` logs in if necessary, `open` returns a connection to an address, `close` ends
everything."""

_MADE: dict[Via, Way] = {}
_LOCK = threading.Lock()


def way(via: Via) -> Way:
    """Return the way that all clients of the process share: its login may need a password, for which kac asks
    once.
    """
    with _LOCK:
        found = _MADE.get(via)
        if found is None:
            found = _MADE[via] = _new(via)
        return found


def _new(via: Via) -> Way:
    if isinstance(via, SshHost):
        return SshWay(via)
    return ProxyWay(via) if isinstance(via, Proxy) else KubeWay(via)
