"""TCP relays in front of the brokers' inter-broker listeners, which can cut or delay a follower's connections to a
leader.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import struct
import threading
from collections.abc import Mapping
from typing import Self

from tests.support.free_ports import LOOPBACK

_FETCHER = re.compile(rb"broker-(\d+)-fetcher")
_FRAME = 4


class Relays:
    """A relay for each broker. They run in a separate thread, so that a test that blocks does not hold up replication.

    ports: broker id -> (the relay's port, the broker's port). A follower is recognised by the client id of a
    connection's first request, ``broker-2-fetcher-0`` (kafka.server.BrokerBlockingSender).
    """

    def __init__(self, ports: Mapping[int, tuple[int, int]]) -> None:
        self._ports = dict(ports)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relays", daemon=True)
        self._servers: list[asyncio.Server] = []
        self._pipes: dict[asyncio.Task[None], tuple[int, int]] = {}
        self._cut: set[tuple[int, int]] = set()
        self._delays: dict[tuple[int, int], float] = {}
        self._hello = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def cut(self, leader: int, *followers: int) -> None:
        """Close the connections on which these followers fetch from a leader, and refuse new ones until `heal`."""
        pairs = {(leader, follower) for follower in followers}
        self._loop.call_soon_threadsafe(self._cut_now, pairs)

    def delay(self, leader: int, follower: int, seconds: float) -> None:
        """Delay each piece of the leader's responses to a follower by `seconds` seconds, until `heal`."""
        self._loop.call_soon_threadsafe(self._delays.__setitem__, (leader, follower), seconds)

    def delay_hello(self, seconds: float) -> None:
        """Delay the first response on each connection that is not a follower's by `seconds` seconds, until `heal`."""
        self._loop.call_soon_threadsafe(setattr, self, "_hello", seconds)

    def heal(self) -> None:
        """End all cuts and delays."""
        self._loop.call_soon_threadsafe(setattr, self, "_hello", 0.0)
        self._loop.call_soon_threadsafe(self._cut.clear)
        self._loop.call_soon_threadsafe(self._delays.clear)

    def _cut_now(self, pairs: set[tuple[int, int]]) -> None:
        self._cut |= pairs
        for task, pair in self._pipes.items():
            if pair in pairs:
                task.cancel()

    async def _listen(self) -> None:
        for broker, (port, target) in self._ports.items():

            async def serve(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: int = broker, target: int = target
            ) -> None:
                # asyncio's server asks each ended task for its exception, and a cancelled task raises an error then.
                with contextlib.suppress(asyncio.CancelledError):
                    await self._serve(broker, target, reader, writer)

            self._servers.append(await asyncio.start_server(serve, LOOPBACK, port))

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(
        self, broker: int, target: int, client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        to_broker: asyncio.StreamWriter | None = None
        try:
            size = await client.readexactly(_FRAME)
            first = await client.readexactly(struct.unpack(">i", size)[0])
            found = _FETCHER.search(first)
            pair = broker, int(found[1]) if found else -1
            if pair in self._cut:
                return
            self._pipes[task] = pair
            from_broker, to_broker = await asyncio.open_connection(LOOPBACK, target)
            to_broker.write(size + first)
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(client, to_broker))
                group.create_task(self._answers(from_broker, to_client, pair))
        except* (OSError, asyncio.IncompleteReadError):
            pass  # one side closed the connection
        finally:
            self._pipes.pop(task, None)
            to_client.close()
            if to_broker is not None:
                to_broker.close()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pair: tuple[int, int]) -> None:
        hello = self._hello if pair[1] < 0 else 0.0
        while data := await reader.read(65536):
            if seconds := self._delays.get(pair, hello):
                await asyncio.sleep(seconds)
            hello = 0.0
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError("the broker closed")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError("the client closed")
