"""An HTTP server for Prometheus with one resource, GET /metrics. Size, time and number of requests are limited."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from console.model.cluster import address_text
from console.model.loopback import binds_loopback, is_loopback
from console.model.numbers import is_natural

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 16
LONGEST_HEAD = 16 << 10
"""Maximum size in bytes of a request's first line and headers."""
SECONDS = 10.0
"""Maximum seconds for a request and its response."""
_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Address(NamedTuple):
    """An address at which kac accepts connections: a host name or IP address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return address_text(self.host, self.port)

    @property
    def is_loopback(self) -> bool:
        """Whether the address is a loopback address, so that only this host reaches it."""
        return binds_loopback(self.host)


def address(text: str) -> Address:
    """Parse an address such as ``127.0.0.1:9108`` or ``[::1]:9108``. Raises ValueError for another form."""
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_host = bare.isascii() and bare.isprintable() and " " not in bare and (":" in bare) == (bare != host)
    if not bare or not is_host or not is_natural(port) or int(port) > 65535:
        raise ValueError(f"an address to listen at is HOST:PORT, as 127.0.0.1:9108, not {text!r}")
    return Address(bare, int(port))


@asynccontextmanager
async def listening(at: Address, metrics: Callable[[], Awaitable[str]]) -> AsyncIterator[Address]:
    """Serve metrics inside the ``with`` block. Yield the address; for port 0 it has the port that the system chose.

    Args:
        metrics: returns the text of a response in Prometheus' text format.

    Raises:
        OSError: kac can't listen at the address.
    """
    open_ones: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(open_ones) < MOST_CONNECTIONS:
                open_ones.add(task)
                async with asyncio.timeout(SECONDS):
                    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                    writer.write(await _response(head, at if is_own else None, metrics))
                    writer.close()
                    await writer.wait_closed()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, TimeoutError) as end:
            log.debug("a scrape ended: %r", end)
        finally:
            open_ones.discard(task)
            # Abort instead of closing: a transport that only closes would keep the whole response for a client that
            # does not read.
            writer.transport.abort()

    server = await asyncio.start_server(serve, at.host, at.port, limit=LONGEST_HEAD)
    if not server.sockets:
        raise OSError(errno.EADDRNOTAVAIL, "it can't be listened at")
    # Look at the addresses of the sockets, not at the text of the option: 127.1, 2130706433 and names also lead to
    # loopback.
    is_own = all(is_loopback(each.getsockname()[0]) for each in server.sockets)
    try:
        yield at._replace(port=server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)


async def _response(head: str, own: Address | None, metrics: Callable[[], Awaitable[str]]) -> bytes:
    """Return the whole HTTP response to a request: the metrics, or an error of status 403, 404 or 405. The connection
    is closed afterwards.

    Args:
        head: the request's first line and headers.
        own: the address that the operator gave, if it is a loopback address; a request is then refused if its Host
            header is neither this address nor a loopback address. None to accept any Host header.
    """
    line, *headers = head.split("\r\n")
    method, _, rest = line.partition(" ")
    path, _, version = rest.partition(" ")
    if method not in ("GET", "HEAD") or version not in ("HTTP/1.0", "HTTP/1.1"):
        return _message("405 Method Not Allowed", "only GET and HEAD")
    # Check the Host header: a page in a browser on this host may reach loopback through a name, and the browser sends
    # that name.
    if own is not None and not all(
        host == own.host.lower().rstrip(".") or is_loopback(host) for host in _hosts(headers)
    ):
        return _message("403 Forbidden", "kac listens on loopback: ask for 127.0.0.1 or localhost")
    if path.partition("?")[0] != "/metrics":
        return _message("404 Not Found", "the metrics are at /metrics")
    message = _message("200 OK", await metrics())
    return message.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else message


def _hosts(headers: Iterable[str]) -> Iterator[str]:
    """Yield the host in each Host header, without port and brackets, and without the dot at the end of a name."""
    for name, _, value in (header.partition(":") for header in headers):
        if name.strip().lower() == "host":
            host, bracket, _ = value.strip().lower().partition("]")
            yield host.removeprefix("[") if bracket else host.partition(":")[0].rstrip(".")


def _message(status: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {_TYPE}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
