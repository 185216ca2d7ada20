"""A proxy before a broker that loses one answer: the request passes or not, and the connection ends without a word."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from types import TracebackType
from typing import Self

Address = tuple[str, int]


class Cut(Enum):
    """When a request's connection ends: before the broker gets it, or once the broker has answered."""

    BEFORE = auto()
    AFTER = auto()


Event = Callable[[], Awaitable[None]]


async def nothing_else() -> None:
    """The connection ends, and that is all."""


class CuttingProxy:
    """Passes whole frames on, both ways, until a request of the armed API comes; that is cut, and only that one.

    Use as an async context manager; `address` is where clients connect to.
    """

    def __init__(self, broker: Address) -> None:
        self._broker = broker
        self._server: asyncio.Server | None = None
        self._armed: dict[int, tuple[Cut, Event]] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self.address: Address = ("127.0.0.1", 0)
        self.seen: list[int] = []

    def arm(self, api_key: int, cut: Cut, event: Event = nothing_else) -> None:
        """Cut the next request of this API. event: what else happens before the client notices."""
        self._armed[api_key] = cut, event

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

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
                cut, event = self._armed.pop(api_key, (None, nothing_else))
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
