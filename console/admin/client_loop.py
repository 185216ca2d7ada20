"""The event loop of the client's thread: names are looked up without holding anything up, hosts tried side by side."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

HAPPY_EYEBALLS_DELAY = 0.25
"""Seconds that one address of a host has before the next is tried beside it (RFC 8305)."""


class ClientLoop(asyncio.SelectorEventLoop):
    """A loop for a client whose hosts may have dead addresses and whose resolver may hang."""

    async def create_connection(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        """As asyncio's, with all addresses of the host tried in a staggered race; asyncio's own default is one by one,
        where an address that swallows packets takes all the time there is."""
        if host is not None:
            options.setdefault("happy_eyeballs_delay", HAPPY_EYEBALLS_DELAY)
        return await super().create_connection(protocol_factory, host, port, **options)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        """As asyncio's, in a daemon thread: the interpreter waits for a pool's threads when it ends, and a resolver
        whose servers are gone takes many seconds."""
        answer: asyncio.Future[Any] = self.create_future()

        def look_up() -> None:
            try:
                found, error = socket.getaddrinfo(host, port, **options), None
            except OSError as failed:
                found, error = None, failed
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self.call_soon_threadsafe(_settle, answer, found, error)

        threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
        return await answer


def _settle(answer: asyncio.Future[Any], found: Any, error: OSError | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(found)
