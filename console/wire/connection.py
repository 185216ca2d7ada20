"""One connection to one broker: aiokafka's, which does TLS, SASL and the pairing of answers, carrying kio's messages."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from console.wire.aiokafka_conn import import_aiokafka_conn
from console.wire.carried import Build, CarriedRequest, Exchange, RawResponse
from console.wire.schemas import api_key, version_range

_conn = import_aiokafka_conn()

NO_LIMIT_MS = 24 * 3600 * 1000
"""aiokafka's own limit for each request: every caller here has a limit of its own."""
MAX_IDLE_MS = 9 * 60 * 1000
"""Brokers drop an idle connection after ten minutes (connections.max.idle.ms); be first, when nothing is under way."""
MAX_FRAME = 1 << 30
"""Bytes. Larger lengths come from servers that do not speak Kafka."""


class NotKafka(ConnectionError):
    """The peer sent bytes that are no Kafka frame: `start` holds the first of them."""

    def __init__(self, start: bytes) -> None:
        super().__init__("the peer does not speak Kafka's protocol")
        self.start = start


class _CheckedConnection(_conn.AIOKafkaConnection):  # type: ignore[misc,name-defined]
    """aiokafka's connection, which refuses a frame of an impossible length before waiting for its bytes."""

    @staticmethod
    async def _read(self_ref: Callable[[], _CheckedConnection | None]) -> None:
        """As aiokafka's own reader task: holds no reference to the connection while it waits."""
        this = self_ref()
        if this is None:
            return
        reader: asyncio.StreamReader = this._reader
        del this
        while True:
            prefix = await reader.readexactly(4)
            (size,) = struct.unpack(">i", prefix)
            if not 4 <= size <= MAX_FRAME:
                raise NotKafka(prefix)
            frame = await reader.readexactly(size)
            this = self_ref()
            if this is None:
                return
            this._handle_frame(frame)
            del this


class Connection:
    """An open connection. Any number of requests may be under way; a broker answers them in order."""

    def __init__(self, carrier: Any, record: Callable[[Exchange], None] | None) -> None:
        self._carrier = carrier
        self._record = record

    @property
    def host(self) -> str:
        """The host that was asked for."""
        return str(self._carrier.host)

    @property
    def port(self) -> int:
        """The port that was asked for."""
        return int(self._carrier.port)

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return bool(self._carrier.connected())

    @property
    def versions(self) -> Mapping[int, tuple[int, int]]:
        """API key -> (lowest, highest version) that the broker told when the connection was opened."""
        versions: Mapping[int, tuple[int, int]] = self._carrier._versions
        return versions

    def version(self, api: str) -> int | None:
        """The highest version of an API that both sides have, or None."""
        theirs = self.versions.get(api_key(api))
        if theirs is None:
            return None
        lowest, highest = version_range(api)
        chosen = min(highest, theirs[1])
        return chosen if chosen >= max(lowest, theirs[0]) else None

    def prepare(self, api: str, version: int, build: Build) -> CarriedRequest:
        """A request of this version, built and ready to send. Raises what `build` raises."""
        return CarriedRequest(api, version, build, self._record)

    def send(self, request: CarriedRequest) -> Awaitable[RawResponse]:
        """Writes the request at once; the result is its answer.

        Raises aiokafka's KafkaConnectionError where the connection is, or gets, lost. `request.encoded` tells whether
        bytes may have left.
        """
        answer: Awaitable[RawResponse] = self._carrier.send(request)
        return answer

    async def close_when_idle(self, longest: float) -> None:
        """Closes once nothing is under way, or after `longest` seconds."""
        under_way = [answer for _, _, answer in self._carrier._requests if not answer.done()]
        if under_way:
            await asyncio.wait(under_way, timeout=longest)
        await self.close()

    async def close(self, wait: float = 1.0) -> None:
        """Closes, waiting at most `wait` seconds for the transport to end cleanly."""
        writer = self._carrier._writer
        reading = self._carrier._read_task
        closed = self._carrier.close()
        if reading is not None:
            await asyncio.wait({reading}, timeout=wait)
        if closed is not None:
            await asyncio.wait({closed}, timeout=wait)
            if not closed.done() and writer is not None:
                writer.transport.abort()


async def connect(
    host: str,
    port: int,
    *,
    client_id: str,
    limit: float,
    security: Mapping[str, Any],
    record: Callable[[Exchange], None] | None = None,
) -> Connection:
    """Connects, learns the broker's versions, authenticates.

    security: aiokafka's own arguments ``security_protocol``, ``ssl_context``, ``sasl_…``. limit: seconds for all of
    it. Raises TimeoutError, OSError (refused, unknown host, TLS) or one of aiokafka's errors.
    """
    carrier = _CheckedConnection(
        host, port, client_id=client_id, request_timeout_ms=NO_LIMIT_MS, max_idle_ms=MAX_IDLE_MS, **security
    )
    async with asyncio.timeout(limit):
        _, writer = await carrier.connect()
    raw = writer.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return Connection(carrier, record)
