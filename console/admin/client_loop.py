"""The event loop of the client's thread. It handles hosts with unreachable addresses, slow resolvers of names, and
routes to brokers through SSH, a proxy or Kubernetes.

A connection uses the first address of the host that answers; IPv6 and IPv4 addresses are tried in turn (RFC 8305).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from aiohappyeyeballs import AddrInfoType, start_connection

from console.admin.settings import DIRECT, Route

HAPPY_EYEBALLS_DELAY = 0.25
"""Seconds after which the host's next address is tried in parallel (RFC 8305)."""


class ClientLoop(asyncio.SelectorEventLoop):
    """An event loop that copes with unreachable addresses and slow resolvers.

    route: the replacements for addresses, and the SSH host, proxy or Kubernetes through which connections go. TLS
    checks the host names that callers pass, not those of the replacements.
    """

    def __init__(self, route: Route = DIRECT) -> None:
        super().__init__()
        self._route = route
        self._ahead: dict[tuple[str, int], asyncio.Task[socket.socket]] = {}

    def open_ahead(self, host: str, port: int) -> None:
        """Begin to open a socket for the next connection to this address. If this fails, that connection raises the
        error.
        """
        opening = self.create_task(self._open_socket(host, port), name=f"open ahead {host}:{port}")
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._ahead[host, port] = opening

    def close(self) -> None:
        """Close the loop, and the sockets of `open_ahead` that were not used."""
        for opening in self._ahead.values():
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                opening.result().close()
        self._ahead.clear()
        super().close()

    async def create_connection(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        """Connect as asyncio does, but try the addresses of the host in parallel, each a moment after the one before.

        asyncio tries them one after another, so that one address that drops packets uses up the timeout. asyncio's own
        parallel mode (in 3.11) leaves a socket open if it is cancelled at its end.
        """
        if host is not None:
            ahead = self._ahead.pop((host, port), None)
            options["sock"] = await (ahead or self._open_socket(host, port))
            if options.get("ssl"):
                options.setdefault("server_hostname", host)
        return await super().create_connection(protocol_factory, **options)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        """Resolve a host name as asyncio does, but in a daemon thread, which does not delay the end of the process.
        Without a name server, resolving takes many seconds.
        """
        from console.event_loop import apart  # imported late, as most starts resolve no name

        return await apart(lambda: _resolved(host, port, **options), "look up")

    async def _open_socket(self, host: str, port: int) -> socket.socket:
        host, port = self._route.place_of((host, port))
        if self._route.via is not None:
            from console.admin.ways import way

            return await way(self._route.via).open(host, port)
        addresses = await self._addresses(host, port)
        return await start_connection(addresses, happy_eyeballs_delay=HAPPY_EYEBALLS_DELAY, loop=self)

    async def _addresses(self, host: str, port: int) -> Sequence[AddrInfoType]:
        with suppress(socket.gaierror):  # a numeric address needs no look-up; this fails for a name
            return _resolved(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        found: Sequence[AddrInfoType] = await self.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return found


def _resolved(host: Any, port: Any, **options: Any) -> Sequence[AddrInfoType]:
    """Look up a host as socket.getaddrinfo does. Raises OSError, also for a text that can't be a host name."""
    try:
        return socket.getaddrinfo(host, port, **options)
    except UnicodeError:  # idna refuses a label that is empty or has more than 63 characters
        raise socket.gaierror(socket.EAI_NONAME, "it can't be a host's name") from None
