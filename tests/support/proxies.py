"""Proxies to brokers for tests: SOCKS5 and HTTP proxies that resolve host names themselves, and a port that routes by
TLS' SNI.
"""

import asyncio
import base64
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Self

from tests.support.certificates import Authority
from tests.support.free_ports import LOOPBACK

Address = tuple[str, int]
Login = tuple[str, str]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Served:
    """A server on a loopback port, which runs in a thread; a context manager. port: set when it is entered."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._served, LOOPBACK, 0), self._loop).result()
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await self._handle(reader, writer)
        writer.close()


def socks(names: Mapping[str, str], login: Login | None = None, asked: list[Address] | None = None) -> Served:
    """Return a SOCKS5 proxy (RFC 1928, RFC 1929).

    Args:
        names: host name -> the address to connect to; other names are refused.
        login: the user and the password that it requires; None for no login.
        asked: a list to which it appends the addresses that clients ask for; None to keep none.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods, wanted = await reader.readexactly(count), 2 if login else 0
        writer.write(bytes([5, wanted if wanted in methods else 0xFF]))
        if wanted not in methods:
            return
        if login is not None:
            _, size = await reader.readexactly(2)
            user = (await reader.readexactly(size)).decode()
            (size,) = await reader.readexactly(1)
            right = (user, (await reader.readexactly(size)).decode()) == login
            writer.write(bytes([1, 0 if right else 1]))
            if not right:
                return
        _, _, _, kind = await reader.readexactly(4)
        assert kind == 3, "the client looked the name up by itself"
        (size,) = await reader.readexactly(1)
        host = (await reader.readexactly(size)).decode()
        port = int.from_bytes(await reader.readexactly(2), "big")
        if asked is not None:
            asked.append((host, port))
        reply = b"\x05%c\x00\x01\x00\x00\x00\x00\x00\x00"
        if host not in names:
            writer.write(reply % 4)
            return
        try:
            there = await asyncio.open_connection(names[host], port)
        except OSError:
            writer.write(reply % 5)
            return
        writer.write(reply % 0)
        await _join((reader, writer), there)

    return Served(handle)


def http(names: Mapping[str, str], login: Login | None = None) -> Served:
    """Return an HTTP proxy that only supports CONNECT. The parameters are those of `socks`."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split(" ", 2)
        host, _, port = target.rpartition(":")
        word = base64.b64encode(":".join(login or ()).encode()).decode()
        if method != "CONNECT":
            writer.write(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
        elif login is not None and f"Basic {word}\r\n" not in head:
            writer.write(b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="p"\r\n\r\n')
        elif host not in names:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        elif port == "22":
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
        else:
            there = await asyncio.open_connection(names[host], int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _join((reader, writer), there)

    return Served(handle)


def by_sni(places: Mapping[str, Address], authority: Authority) -> Served:
    """Return a server that passes each connection, without decrypting it, to the broker that its TLS handshake names.

    places: server name -> address of the broker. authority: issues a certificate, which `server_name` needs.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data, name = b"", ""
        while not name:
            data += await reader.read(1 << 14)
            name = server_name(data, authority)
        there = await asyncio.open_connection(*places[name])
        there[1].write(data)
        await _join((reader, writer), there)

    return Served(handle)


def server_name(hello: bytes, authority: Authority) -> str:
    """Return the server name (SNI) in the first bytes of a TLS handshake; ``"none"`` if it has no name, ``""`` if the
    bytes are incomplete.
    """
    found: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    identity = authority.issue("peek")
    context.load_cert_chain(str(identity.pem))
    context.sni_callback = lambda _, name, __: found.append(name or "none")
    incoming = ssl.MemoryBIO()
    incoming.write(hello)
    with suppress(ssl.SSLError):
        context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True).do_handshake()
    return "".join(found)


async def _join(
    here: tuple[asyncio.StreamReader, asyncio.StreamWriter], there: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    await asyncio.gather(copy(here[0], there[1]), copy(there[0], here[1]))
