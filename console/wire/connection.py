"""One connection to one broker: aiokafka's, which does TLS, SASL and the pairing of answers, with kio's messages."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Any

from console.wire.aiokafka_request import AiokafkaRequest, Build, Exchange, RawResponse
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body
from console.wire.partial_imports import import_aiokafka_conn
from console.wire.proposals.formats import HIGHEST, LOWEST
from console.wire.sasl import BearerAuthenticator, ScramAuthenticator
from console.wire.schemas import api_key, response_type, version_range

_conn = import_aiokafka_conn()

NO_LIMIT_MS = 24 * 3600 * 1000
"""aiokafka's own limit for each request: every caller here has a limit of its own."""
MAX_IDLE_MS = 9 * 60 * 1000
"""Brokers drop an idle connection after ten minutes (connections.max.idle.ms); be first, when nothing is under way."""
PROBE_SECONDS = 1.0
MAX_FRAME = 100 * 1024 * 1024
"""Bytes of an answer: as much as brokers accept of a request (socket.request.max.bytes), and about what librdkafka
receives (receive.message.max.bytes)."""
MAX_EARLY_FRAME = 512 * 1024
"""Bytes of an answer before authentication: API versions, or a SASL token (sasl.server.max.receive.size). A greater
length is text or TLS taken for a length, or a peer that is not authenticated yet."""


class NotKafka(ConnectionError):
    """The peer's first bytes are no Kafka frame: `start` holds them."""

    def __init__(self, start: bytes) -> None:
        super().__init__("the peer does not speak Kafka's protocol")
        self.start = start


class FrameTooLong(ConnectionError):
    """A peer announced an answer of `size` bytes, which is more than MAX_FRAME; the connection is closed."""

    def __init__(self, size: int) -> None:
        super().__init__(f"an answer of {size:,} bytes was announced; at most {MAX_FRAME:,} are read")
        self.size = size


def too_long(error: BaseException | None) -> FrameTooLong | None:
    """The frame that was too long, where that is why a connection was lost."""
    while error is not None and not isinstance(error, FrameTooLong):
        error = error.__cause__
    return error


class Stage(Enum):
    """How far a connection got: TCP, TLS where something listens that does not answer, the exchange of versions,
    SASL."""

    OPENING = auto()
    TLS = auto()
    VERSIONS = auto()
    SASL = auto()


class ConnectFailed(ConnectionError):
    """No connection. `stage`: what failed; `began`: when it was tried, in seconds since 1970; `__cause__`: why, as
    asyncio, ssl or aiokafka told."""

    def __init__(self, stage: Stage, began: float) -> None:
        super().__init__(f"connecting failed at {stage.name}")
        self.stage = stage
        self.began = began


class _CheckedConnection(_conn.AIOKafkaConnection):  # type: ignore[misc,name-defined]
    """aiokafka's connection, which refuses a frame of an impossible length as soon as that is announced."""

    _is_established = False

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
            this = self_ref()
            if this is None:
                return
            if size < 4 or (size > MAX_EARLY_FRAME and not this._is_established):
                raise NotKafka(prefix)
            if size > MAX_FRAME:
                raise FrameTooLong(size)
            del this
            frame = await reader.readexactly(size)
            this = self_ref()
            if this is None:
                return
            this._handle_frame(frame)
            del this

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """As aiokafka's; longer frames are read once it is through."""
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] = await super().connect()
        self._is_established = True
        return streams

    def authenticator_oauth(self) -> BearerAuthenticator:
        """As aiokafka's, for one that hears refusals."""
        return BearerAuthenticator(sasl_oauth_token_provider=self._sasl_oauth_token_provider)

    def authenticator_scram(self) -> ScramAuthenticator:
        """As aiokafka's, for one that checks what the server says."""
        return ScramAuthenticator(
            loop=self._loop,
            sasl_plain_password=self._sasl_plain_password,
            sasl_plain_username=self._sasl_plain_username,
            sasl_mechanism=self._sasl_mechanism,
        )

    @property
    def stage(self) -> Stage:
        """What is, or was, under way while connecting: the first request asks for versions, all others are SASL's."""
        return (Stage.OPENING, Stage.VERSIONS, Stage.SASL)[min(self._correlation_id, 2)]


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
    def is_idle(self) -> bool:
        """Whether no request waits for its answer."""
        return all(answer.done() for _, _, answer in self._carrier._requests)

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

    def proposes(self, api: str, version: int) -> bool:
        """Whether the broker speaks a proposal's own version of Kafka's API. Only one that has the proposals' own APIs
        too is believed: to a later Kafka the same number may mean another format."""
        lowest, highest = self.versions.get(api_key(api), (0, -1))
        return lowest <= version <= highest and any(LOWEST <= key <= HIGHEST for key in self.versions)

    def prepare(self, api: str, version: int, build: Build) -> AiokafkaRequest:
        """A request of this version, encoded and ready to send. Raises what `build` raises, and Unencodable."""
        return AiokafkaRequest(api, version, build, self._record)

    def send(self, request: AiokafkaRequest) -> Awaitable[RawResponse]:
        """Writes the request at once; the result is its answer.

        Raises aiokafka's KafkaConnectionError where the connection is, or gets, lost. `request.sent` tells whether
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


async def enabled_mechanisms(
    host: str, port: int, *, client_id: str, limit: float, security: Mapping[str, Any]
) -> tuple[str, ...]:
    """The SASL mechanisms of a listener, asked on a connection of its own; empty where it does not tell.

    A handshake for a mechanism that the broker lacks is answered with those that it has (SaslHandshakeResponse);
    aiokafka does not hand them out.
    """
    without_sasl = {name: value for name, value in security.items() if not name.startswith("sasl_")}
    without_sasl["security_protocol"] = security["security_protocol"].replace("SASL_PLAINTEXT", "PLAINTEXT")
    without_sasl["security_protocol"] = without_sasl["security_protocol"].replace("SASL_SSL", "SSL")
    try:
        connection = await connect(host, port, client_id=client_id, limit=limit, security=without_sasl)
    except ConnectFailed:
        return ()
    try:
        request = connection.prepare("sasl_handshake", 1, lambda kio: kio.SaslHandshakeRequest(mechanism=""))
        async with asyncio.timeout(limit):
            raw = await connection.send(request)
        return tuple(decode_body(response_type(raw.api, raw.version), raw.body).mechanisms)
    except (OSError, _conn.Errors.KafkaError, MalformedFrame):
        return ()
    finally:
        await connection.close()


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

    security: aiokafka's own arguments ``security_protocol``, ``ssl_context``, ``sasl_…``. limit: seconds for all of it.
    Raises ConnectFailed.
    """
    carrier = _CheckedConnection(
        host, port, client_id=client_id, request_timeout_ms=NO_LIMIT_MS, max_idle_ms=MAX_IDLE_MS, **security
    )
    began = time.time()
    try:
        async with asyncio.timeout(limit):
            _, writer = await carrier.connect()
    except Exception as error:
        stage = carrier.stage
        if stage is Stage.OPENING and isinstance(error, TimeoutError) and security.get("ssl_context") is not None:
            stage = Stage.TLS if await _listens(host, port) else stage
        raise ConnectFailed(stage, began) from error
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return Connection(carrier, record)


async def _listens(host: str, port: int) -> bool:
    """Whether TCP connections are accepted there, without waiting for long."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.transport.abort()
    return True
