"""Connections to brokers that this host can't reach directly: through SSH, a proxy or Kubernetes."""

from __future__ import annotations

import threading

from console.admin.kube import KubeWay
from console.admin.proxy import ProxyWay
from console.admin.settings import Proxy, SshHost, Via
from console.admin.ssh import SshWay

Way = SshWay | ProxyWay | KubeWay
"""The connection to an SSH host, proxy or Kubernetes namespace. `start` logs in if necessary, `open` returns a
connection through it to an address, `close` ends everything.
"""

_MADE: dict[Via, Way] = {}
_LOCK = threading.Lock()


def way(via: Via) -> Way:
    """Return the connection to an SSH host, proxy or namespace that all clients of the process share. Its login may
    need a password, for which kac then asks only once.
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
