"""An embedded cluster behind proxies, which replace the answers of those APIs for which a test sets a script.

Each broker advertises the address of its proxy, so clients connect only to proxies.
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
    """A request that a proxy received. request: its bytes without the length before them."""

    key: int
    version: int
    broker_id: int
    request: bytes


class Hang:
    """An answer that never comes; the connection stays open."""


class Cut:
    """The connection is closed without an answer."""


Answer = bytes | Hang | Cut
Reply = Callable[[Asked, bytes], Answer]
"""A function of the request and the embedded cluster's honest answer (a whole frame with its length), which returns the
answer that the proxy sends.
"""


class HostileCluster:
    """A running embedded cluster whose answers tests replace. All methods may be called from any thread, at any time.

    Attributes:
        bootstrap: the proxies' addresses, as ``host:port,…``.
        embedded: the cluster behind the proxies.
        asked: all requests that the proxies have received.
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
        """Return the addresses of all proxies, as ``host:port,…``."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    def reply(self, api: str | None, reply: Reply) -> None:
        """Send the result of `reply` in place of each answer of an API. api: kio's package name; None for all APIs
        without a script of their own.
        """
        self._replies[None if api is None else api_key(api)] = reply

    def frame(self, api: str | None, data: bytes) -> None:
        """Send this frame, which includes its length, as the answer of an API; None for all APIs without a script of
        their own.
        """
        self.reply(api, lambda _asked, _honest: data)

    def body(self, api: str, data: bytes) -> None:
        """Send this body as the answer of an API, after a correct length and response header."""
        self.rewrite_body(api, lambda _asked, _body: data)

    def rewrite_body(self, api: str, rewrite: Callable[[Asked, bytes], bytes]) -> None:
        """Replace the body of each answer of an API by the result of `rewrite`, a function of the request and the
        honest body, the bytes after the response header.
        """

        def replaced(asked: Asked, honest: bytes) -> bytes:
            start = 4 + _header_size(asked)
            header = honest[4:start]
            body = rewrite(asked, honest[start:])
            return struct.pack(">i", len(header) + len(body)) + header + body

        self.reply(api, replaced)

    def rewrite(self, api: str, rewrite: Callable[[Any, Any], Any]) -> None:
        """Replace each answer of an API by the result of `rewrite`, a function of kio's module for its version and of
        the decoded honest response.
        """

        def replaced(asked: Asked, body: bytes) -> bytes:
            found = messages(asked.key, asked.version)
            assert found is not None
            return encode_body(found.response, rewrite(found.schema, decode_body(found.response, body)))

        self.rewrite_body(api, replaced)

    def hang(self, api: str | None = None) -> None:
        """Never answer requests of an API; None for all APIs without a script of their own."""
        self.reply(api, lambda _asked, _honest: Hang())

    def cut(self, api: str | None = None) -> None:
        """Close the connection at each request of an API; None for all APIs without a script of their own."""
        self.reply(api, lambda _asked, _honest: Cut())

    def honest(self, api: str | None = None) -> None:
        """Send the honest answers of an API again; None removes the script for all APIs without one of their own."""
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
    """Run a hostile cluster in a thread until the end of the block, and yield it. It answers honestly until a test sets
    a script. spec: None for one broker without topics.
    """
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
