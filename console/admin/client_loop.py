"""The event loop of the client's thread: for hosts with dead addresses, resolvers that hang, and ways to brokers.

A connection goes to the first of a host's addresses that answers, IPv6 and IPv4 alternating (RFC 8305).
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
"""Seconds after which the next address of a host is tried in parallel (RFC 8305)."""


class ClientLoop(asyncio.SelectorEventLoop):
    """An event loop for hosts with dead addresses and for a resolver that hangs.

    route: the addresses and ways that connections take. TLS checks the host names that callers pass, not the addresses
    in their place.
    """

    def __init__(self, route: Route = DIRECT) -> None:
        super().__init__()
        self._route = route
        self._ahead: dict[tuple[str, int], asyncio.Task[socket.socket]] = {}

    def open_ahead(self, host: str, port: int) -> None:
        """Open a socket for the next connection to this address; if this fails, that connection fails with the same
        error.
        """
        opening = self.create_task(self._open_socket(host, port), name=f"open ahead {host}:{port}")
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._ahead[host, port] = opening

    def close(self) -> None:
        """Close the loop, and the unused sockets that were opened ahead."""
        for opening in self._ahead.values():
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                opening.result().close()
        self._ahead.clear()
        super().close()

    async def create_connection(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        """Connect as asyncio does, but try all addresses of the host in a staggered race.

        asyncio tries them one by one, so that an address that drops packets uses up the timeout; asyncio's race (in
        3.11) leaves a socket open if it is cancelled as it ends.
        """
        if host is not None:
            ahead = self._ahead.pop((host, port), None)
            options["sock"] = await (ahead or self._open_socket(host, port))
            if options.get("ssl"):
                options.setdefault("server_hostname", host)
        return await super().create_connection(protocol_factory, **options)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        """Resolve as asyncio does, but in a daemon thread: a resolver without servers takes many seconds."""
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
    """Look up a host as socket.getaddrinfo does. Raises OSError also for text that is invalid as a host name."""
    try:
        return socket.getaddrinfo(host, port, **options)
    except UnicodeError:  # idna refuses a label that is empty or has more than 63 characters
        raise socket.gaierror(socket.EAI_NONAME, "it can't be a host's name") from None
