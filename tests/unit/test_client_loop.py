"""Tests of a socket that the client's event loop opens in advance: the next connection to its address gets the socket,
or its failure; otherwise the loop closes it at its end.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest

from console.admin.client_loop import ClientLoop
from tests.support.patience import PATIENCE


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        yield server


@pytest.fixture
def loop() -> Iterator[ClientLoop]:
    made = ClientLoop()
    yield made
    made.close()


def _is_pending(server: socket.socket) -> bool:
    server.setblocking(False)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_the_next_connection_takes_it_and_the_one_after_opens_its_own(
    listening: socket.socket, loop: ClientLoop
) -> None:
    host, port = listening.getsockname()

    async def connect() -> asyncio.Transport:
        transport: asyncio.Transport
        transport, _ = await loop.create_connection(asyncio.Protocol, host, port)
        return transport

    async def both() -> None:
        loop.open_ahead(host, port)
        accepted, _ = await asyncio.to_thread(listening.accept)
        first = await connect()
        assert first.get_extra_info("sockname") == accepted.getpeername()
        assert not _is_pending(listening)
        second = await connect()
        assert second.get_extra_info("sockname") != accepted.getpeername()
        for transport in (first, second):
            transport.close()
        accepted.close()
        await asyncio.sleep(0)

    loop.run_until_complete(both())


def test_a_refusal_is_that_of_the_connection(listening: socket.socket, loop: ClientLoop) -> None:
    host, port = listening.getsockname()
    listening.close()

    async def refused() -> None:
        loop.open_ahead(host, port)
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(asyncio.Protocol, host, port)

    loop.run_until_complete(refused())


def test_what_nobody_takes_is_closed_with_the_loop(listening: socket.socket) -> None:
    loop = ClientLoop()
    host, port = listening.getsockname()

    async def opened() -> socket.socket:
        loop.open_ahead(host, port)
        accepted, _ = await asyncio.to_thread(listening.accept)
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
        return accepted

    accepted = loop.run_until_complete(opened())
    loop.close()
    accepted.settimeout(PATIENCE)
    with contextlib.closing(accepted):
        assert accepted.recv(1) == b""
