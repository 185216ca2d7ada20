"""A link with a long way before a broker: what passes is late, and the round trips of which it took are counted.

A client that sends after an answer arrived may have waited for it: what it sends is one round trip after that answer.
What it sends while answers are still on their way waited for none of them. So many round trips are a property of what
was sent after what, and the delay only keeps apart what goes out together from what goes out one after another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

Address = tuple[str, int]
ONE_WAY = 0.5
"""Seconds; a round trip is twice that: a process that gets no processor for so long would count as one that waits."""
_PART = 1 << 16


class SlowLink:
    """Passes bytes on, each way ONE_WAY later. Use as an async context manager; `address` is where clients connect.

    `round_trips`: of the answer that arrived last. Making a TCP connection is not one: a client connects to this proxy.
    """

    def __init__(self, broker: Address) -> None:
        self._broker = broker
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.address: Address = ("127.0.0.1", 0)
        self.round_trips = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        broker, to_broker = await asyncio.open_connection(*self._broker)
        asked = [0]
        self._run(self._requests(client, to_broker, asked))
        self._run(self._answers(broker, to_client, asked))

    def _run(self, passing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(passing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _requests(self, client: asyncio.StreamReader, to_broker: asyncio.StreamWriter, asked: list[int]) -> None:
        loop = asyncio.get_running_loop()

        def deliver(part: bytes, sent_after: int) -> None:
            asked[0] = max(asked[0], sent_after + 1)
            to_broker.write(part)

        while part := await client.read(_PART):
            loop.call_later(ONE_WAY, deliver, part, self.round_trips)
        loop.call_later(ONE_WAY, to_broker.close)

    async def _answers(self, broker: asyncio.StreamReader, to_client: asyncio.StreamWriter, asked: list[int]) -> None:
        loop = asyncio.get_running_loop()

        def deliver(part: bytes, round_trip: int) -> None:
            self.round_trips = max(self.round_trips, round_trip)
            to_client.write(part)

        while part := await broker.read(_PART):
            loop.call_later(ONE_WAY, deliver, part, asked[0])
        loop.call_later(ONE_WAY, to_client.close)
