"""A proxy in front of a broker that closes a client's connection instead of returning the answer to a chosen request.
The broker gets that request, never gets it, or gets it later.
"""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Self

Address = tuple[str, int]


class Cut(Enum):
    """When the proxy closes the connection of a request.

    BEFORE: the broker never gets the request. AFTER: the broker has answered it. HELD: as BEFORE, but
    `CuttingProxy.let_go` delivers the request later.
    """

    BEFORE = auto()
    AFTER = auto()
    HELD = auto()


Event = Callable[[], Awaitable[None]]


async def nothing_else() -> None:
    """Do nothing: the connection ends without another event."""


class CuttingProxy:
    """Forwards requests and answers until a request of an armed API arrives, and then closes that client's connection.

    Use as an async context manager; clients connect to `address`.
    """

    def __init__(self, broker: Address) -> None:
        self._broker = broker
        self._server: asyncio.Server | None = None
        self._armed: dict[int, tuple[Cut, Event]] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self.address: Address = ("127.0.0.1", 0)
        self.seen: list[int] = []
        self._held: list[bytes] = []
        self._skip: dict[int, int] = {}

    def arm(self, api_key: int, cut: Cut, event: Event = nothing_else, skip: int = 0) -> None:
        """Cut the connection at the next request with this API key, after `skip` such requests that pass.

        event: is awaited before the client's connection is closed.
        """
        self._armed[api_key] = cut, event
        self._skip[api_key] = skip

    @property
    def holds(self) -> bool:
        """Whether the proxy holds a request that the broker has not got yet."""
        return bool(self._held)

    async def let_go(self) -> None:
        """Deliver the held requests to the broker, each on a new connection; return once the broker has answered
        them.
        """
        held, self._held = self._held, []
        for request in held:
            broker, to_broker = await asyncio.open_connection(*self._broker)
            to_broker.write(request)
            await _frame(broker)
            to_broker.close()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _armed_for(self, api_key: int) -> tuple[Cut | None, Event]:
        if self._skip.get(api_key):
            self._skip[api_key] -= 1
            return None, nothing_else
        return self._armed.pop(api_key, (None, nothing_else))

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        broker, to_broker = await asyncio.open_connection(*self._broker)
        try:
            while True:
                request = await _frame(client)
                api_key: int = struct.unpack_from(">h", request, 4)[0]
                self.seen.append(api_key)
                cut, event = self._armed_for(api_key)
                if cut is Cut.HELD:
                    self._held.append(request)
                    return await event()
                if cut is Cut.BEFORE:
                    return await event()
                to_broker.write(request)
                answer = await _frame(broker)
                if cut is Cut.AFTER:
                    return await event()
                to_client.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            to_client.close()
            to_broker.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(4)
    return size + await reader.readexactly(*struct.unpack(">i", size))
