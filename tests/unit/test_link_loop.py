"""Tests of the client's event loop for hosts with several addresses, some of which do not answer."""

import asyncio
import errno
import socket
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from aiohappyeyeballs import AddrInfoType
from hypothesis import given
from hypothesis import strategies as st

from console.admin.client_loop import ClientLoop
from tests.support.patience import PATIENCE

V4, V6 = socket.AF_INET, socket.AF_INET6


def info(family: int, address: tuple[object, ...]) -> tuple[int, int, int, str, tuple[object, ...]]:
    return (family, socket.SOCK_STREAM, 0, "", address)


class Tried(ClientLoop):
    """A client loop that keeps the addresses that are tried, and refuses each connection."""

    def __init__(self, addresses: Sequence[AddrInfoType]) -> None:
        super().__init__()
        self.addresses = addresses
        self.tried: list[tuple[int]] = []

    async def _addresses(self, *_: object) -> Sequence[AddrInfoType]:
        return self.addresses

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.tried.append(address)
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"refused {address}")


@given(st.lists(st.sampled_from([V4, V6]), min_size=1, max_size=8))
def test_families_take_turns_and_nothing_is_lost(families: list[int]) -> None:
    addresses = [info(family, (index,)) for index, family in enumerate(families)]
    loop = Tried(addresses)
    try:
        with pytest.raises(ConnectionRefusedError):
            loop.run_until_complete(loop.create_connection(asyncio.Protocol, "host.example", 9))
    finally:
        loop.close()
    mixed = [addresses[address[0]] for address in loop.tried]
    assert sorted(mixed, key=lambda one: one[4][0]) == addresses
    shorter = min(families.count(V4), families.count(V6))
    turns = [one[0] for one in mixed[: 2 * shorter]]
    assert all(one != other for one, other in pairwise(turns))
    for family in (V4, V6):
        assert [one for one in mixed if one[0] == family] == [one for one in addresses if one[0] == family]


def run(main: Callable[[], Awaitable[None]]) -> None:
    loop = ClientLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(main(), PATIENCE))
    finally:
        loop.close()


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_a_dead_address_of_a_host_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as alive, listening() as dead:
        dead_address, alive_address = dead.getsockname(), alive.getsockname()
        dead.close()
        monkeypatch.setattr(
            ClientLoop, "_addresses", lambda *_: answer([info(V4, dead_address), info(V4, alive_address)])
        )

        async def connect() -> None:
            transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, "host.example", 9)
            assert transport.get_extra_info("peername") == alive_address
            transport.close()

        run(connect)


async def answer(value: object) -> object:
    return value


def test_when_every_address_refuses_the_refusal_is_told() -> None:
    with listening() as dead:
        address = dead.getsockname()

    async def connect() -> None:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, *address)

    run(connect)


def test_an_unknown_name_is_told() -> None:
    async def connect() -> None:
        with pytest.raises(socket.gaierror):
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, "no-such-host.invalid", 9)

    run(connect)


def test_a_connection_given_up_at_any_moment_leaves_no_socket_open() -> None:
    """If a connection is cancelled after 0 to 11 turns of the loop, no socket stays open; every warning is an error."""
    code = """
        import asyncio, gc, socket
        from console.admin.client_loop import ClientLoop
        async def give_up(address, turns):
            connecting = asyncio.ensure_future(
                asyncio.get_running_loop().create_connection(asyncio.Protocol, *address))
            for _ in range(turns):
                await asyncio.sleep(0)
            connecting.cancel()
            try:
                transport, _ = await connecting
            except asyncio.CancelledError:
                pass
            else:
                transport.close()
            await asyncio.sleep(0)
        with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
            loop = ClientLoop()
            for turns in range(12):
                loop.run_until_complete(give_up(server.getsockname(), turns))
            loop.close()
        gc.collect()
    """
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stderr == ""
