"""An embedded cluster behind proxies that replace the answers of scripted APIs.

Every broker advertises the address of its proxy, so clients only connect to proxies.
"""

import asyncio
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.spec import LOOPBACK, ClusterSpec
from console.wire.frames import decode_body, encode_body
from console.wire.schemas import api_key, messages

_HEAD = struct.Struct(">hhi")
_CORRELATION = 4


class Asked(NamedTuple):
    """A request that a proxy received. request: the bytes after the length."""

    key: int
    version: int
    broker_id: int
    request: bytes


class Hang:
    """The broker never answers; the connection stays open."""


class Cut:
    """The connection ends without an answer."""


Answer = bytes | Hang | Cut
Reply = Callable[[Asked, bytes], Answer]
"""(the request, the honest answer as a whole frame with its length) -> the answer of the proxy."""


class HostileCluster:
    """A running cluster whose answers tests replace. All methods may be called from any thread, at any time.

    Attributes:
        bootstrap: the proxies' addresses.
        embedded: the cluster behind the proxies.
        asked: all requests that the proxies received.
    """

    def __init__(self, embedded: ThreadedCluster) -> None:
        self.embedded = embedded
        self.asked: list[Asked] = []
        self.addresses: dict[int, tuple[str, int]] = {}
        self._replies: dict[int | None, Reply] = {}
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def bootstrap(self) -> str:
        """``host:port,…`` of all proxies."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    def reply(self, api: str | None, reply: Reply) -> None:
        """Replace each answer of an API (kio's package name) by the result of `reply`; None: of all APIs without their
        own script.
        """
        self._replies[None if api is None else api_key(api)] = reply

    def frame(self, api: str | None, data: bytes) -> None:
        """Answer an API with this frame, which includes its length."""
        self.reply(api, lambda _asked, _honest: data)

    def body(self, api: str, data: bytes) -> None:
        """Answer an API with this body, after a correct length and response header."""
        self.rewrite_body(api, lambda _asked, _body: data)

    def rewrite_body(self, api: str, rewrite: Callable[[Asked, bytes], bytes]) -> None:
        """Answer an API with the result of `rewrite` for the honest body (the bytes after the response header)."""

        def replaced(asked: Asked, honest: bytes) -> bytes:
            start = 4 + _header_size(asked)
            header = honest[4:start]
            body = rewrite(asked, honest[start:])
            return struct.pack(">i", len(header) + len(body)) + header + body

        self.reply(api, replaced)

    def rewrite(self, api: str, rewrite: Callable[[Any, Any], Any]) -> None:
        """Answer an API with the result of `rewrite` for kio's module of the version and the honest response."""

        def replaced(asked: Asked, body: bytes) -> bytes:
            found = messages(asked.key, asked.version)
            assert found is not None
            return encode_body(found.response, rewrite(found.schema, decode_body(found.response, body)))

        self.rewrite_body(api, replaced)

    def hang(self, api: str | None = None) -> None:
        """Never answer requests of an API; None: of all APIs without their own script."""
        self.reply(api, lambda _asked, _honest: Hang())

    def cut(self, api: str | None = None) -> None:
        """Close the connection at each request of an API; None: of all APIs without their own script."""
        self.reply(api, lambda _asked, _honest: Cut())

    def honest(self, api: str | None = None) -> None:
        """Remove the script of an API; None: the script for all APIs without their own."""
        self._replies.pop(None if api is None else api_key(api), None)

    async def _start(self, cluster: EmbeddedCluster) -> None:
        for broker_id, address in cluster.addresses.items():
            server = await asyncio.start_server(self._serving(broker_id, address), LOOPBACK, 0)
            self._servers.append(server)
            self.addresses[broker_id] = server.sockets[0].getsockname()[:2]
            broker = cluster.state.brokers[broker_id]
            cluster.state.put_broker(replace(broker, port=self.addresses[broker_id][1]))

    async def _stop(self, _cluster: EmbeddedCluster) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _serving(
        self, broker_id: int, address: tuple[str, int]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve(broker_id, address, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accepted

    async def _serve(
        self,
        broker_id: int,
        address: tuple[str, int],
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
    ) -> None:
        broker, to_broker = await asyncio.open_connection(*address)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    request = await _frame(client)
                    key, version, _ = _HEAD.unpack_from(request, 4)
                    asked = Asked(key, version, broker_id, request[4:])
                    self.asked.append(asked)
                    to_broker.write(request)
                    honest = await _frame(broker)
                    reply = self._replies.get(key) or self._replies.get(None)
                    answer = honest if reply is None else reply(asked, honest)
                    if isinstance(answer, Hang):
                        await client.read(-1)
                        return
                    if isinstance(answer, Cut):
                        return
                    to_client.write(answer)
                    await to_client.drain()
        finally:
            to_client.close()
            to_broker.close()


@contextmanager
def hostile_cluster(spec: ClusterSpec | None = None) -> Iterator[HostileCluster]:
    """Yield a running cluster in a thread, honest until a test scripts it. spec: one empty broker by default."""
    with run_in_thread(spec or ClusterSpec(brokers=1)) as embedded:
        cluster = HostileCluster(embedded)
        embedded.run(cluster._start)
        try:
            yield cluster
        finally:
            embedded.run(cluster._stop)


def _header_size(asked: Asked) -> int:
    found = messages(asked.key, asked.version)
    assert found is not None
    return _CORRELATION + bool(found.response.__header_schema__.__flexible__)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(4)
    return size + await reader.readexactly(*struct.unpack(">i", size))
