"""A connection to one broker: aiokafka's for TLS, SASL and correlation of answers, with kio's messages."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import time
import weakref
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
"""aiokafka's own time-out for each request, out of the way: every caller here has a time-out of its own."""
MAX_IDLE_MS = 9 * 60 * 1000
"""Brokers close an idle connection after ten minutes (connections.max.idle.ms). The client closes it earlier."""
PROBE_SECONDS = 1.0
MAX_FRAME = 100 * 1024 * 1024
"""Bytes of an answer: as many as brokers accept in a request (socket.request.max.bytes), and about as many as
librdkafka receives (receive.message.max.bytes)."""
MAX_EARLY_FRAME = 512 * 1024
"""Bytes of an answer before authentication: API versions, or a SASL token (sasl.server.max.receive.size). A greater
length is text or TLS read as a length, or comes from a peer that is not authenticated yet."""


USUAL_BUFFER = 64 * 1024
"""Bytes of the receive buffer while no answer is expected."""
GROWTH = 4
"""A full buffer grows to so many times its size, but not beyond the frame."""

_PREFIX = struct.Struct(">i")

log = logging.getLogger(__name__)


class NotKafka(ConnectionError):
    """The peer's first bytes are not a Kafka frame. start: those bytes."""

    def __init__(self, start: bytes) -> None:
        super().__init__("the peer does not speak Kafka's protocol")
        self.start = start


class FrameTooLong(ConnectionError):
    """A peer announced an answer of more than MAX_FRAME bytes; the connection is closed. size: bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"an answer of {size:,} bytes was announced; at most {MAX_FRAME:,} are read")
        self.size = size


def too_long(error: BaseException | None) -> FrameTooLong | None:
    """The FrameTooLong among the causes of an error, or None."""
    while error is not None and not isinstance(error, FrameTooLong):
        error = error.__cause__
    return error


class Stage(Enum):
    """The step of connecting that failed: TCP, the TLS handshake, ApiVersions, SASL."""

    OPENING = auto()
    TLS = auto()
    VERSIONS = auto()
    SASL = auto()


class ConnectFailed(ConnectionError):
    """No connection. stage: the step that failed. began: when the attempt started, in seconds since 1970.

    ``__cause__`` is the error of asyncio, ssl or aiokafka.
    """

    def __init__(self, stage: Stage, began: float) -> None:
        super().__init__(f"connecting failed at {stage.name}")
        self.stage = stage
        self.began = began


class _CheckedConnection(_conn.AIOKafkaConnection):  # type: ignore[misc,name-defined]
    """aiokafka's connection, but a frame of an impossible length is refused as soon as it is announced."""

    _is_established = False

    @staticmethod
    async def _read(self_ref: Callable[[], _CheckedConnection | None]) -> None:
        """aiokafka's reader task with a check of lengths. Holds no reference to the connection while it waits."""
        this = self_ref()
        if this is None:
            return
        reader: asyncio.StreamReader = this._reader
        del this
        while True:
            prefix = await reader.readexactly(_PREFIX.size)
            (size,) = _PREFIX.unpack(prefix)
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
        """As aiokafka's. Afterwards a `_FrameReceiver` receives, and longer frames are accepted."""
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] = await super().connect()
        self._is_established = True
        streams[1].transport.set_protocol(_FrameReceiver(self, self._protocol))
        return streams

    @property
    def is_open(self) -> bool:
        """Whether this side has not closed it."""
        return self._writer is not None

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its answer."""
        return all(answer.done() for _, _, answer in self._requests)

    def take(self, frame: memoryview) -> None:
        """Resolves the oldest request without an answer. A frame that is not its answer closes the connection."""
        try:
            correlation_id, request, answer = self._requests[0]
            answered, response = request.response(frame)
        except (IndexError, MalformedFrame) as error:
            log.warning("%s:%s sent a frame that is not an answer: %r", self.host, self.port, error)
            self.refuse(error)
            return
        if answered != correlation_id:
            mismatch = f"Correlation ids do not match: sent {correlation_id}, received {answered}"
            if not answer.done():
                answer.set_exception(_conn.Errors.CorrelationIdError(mismatch))
            self.close(reason=_conn.CloseReason.OUT_OF_SYNC)
            return
        if not answer.done():
            answer.set_result(response)
        self._last_action = time.monotonic()  # read by aiokafka's check for idle connections
        self._requests.popleft()

    def refuse(self, error: Exception) -> None:
        """Closes the connection. Requests without an answer fail with this error as the cause."""
        self.close(reason=_conn.CloseReason.CONNECTION_BROKEN, exc=error)

    def authenticator_oauth(self) -> BearerAuthenticator:
        """The authenticator that reports a refused token."""
        return BearerAuthenticator(sasl_oauth_token_provider=self._sasl_oauth_token_provider)

    def authenticator_scram(self) -> ScramAuthenticator:
        """The authenticator that checks the server's messages."""
        return ScramAuthenticator(
            loop=self._loop,
            sasl_plain_password=self._sasl_plain_password,
            sasl_plain_username=self._sasl_plain_username,
            sasl_mechanism=self._sasl_mechanism,
        )

    @property
    def stage(self) -> Stage:
        """The current or last step of connecting. The first request is ApiVersions, all others are SASL's."""
        return (Stage.OPENING, Stage.VERSIONS, Stage.SASL)[min(self._correlation_id, 2)]


class _FrameReceiver(asyncio.BufferedProtocol):
    """Receives frames into one buffer. Its size depends on the bytes received, not on the length announced.

    asyncio's streams copy all bytes twice more, and wake a task for each read. All other events are passed on to
    aiokafka's protocol.
    """

    def __init__(self, carrier: _CheckedConnection, inner: asyncio.StreamReaderProtocol) -> None:
        self._carrier = weakref.ref(carrier)
        self._inner = inner
        self._buffer = memoryview(bytearray(USUAL_BUFFER))
        self._filled = 0

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """The free part of the buffer."""
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """Passes complete frames on after a read of `nbytes`."""
        self._filled += nbytes
        start, wanted = 0, _PREFIX.size
        carrier = self._carrier()
        while carrier is not None and carrier.is_open and self._filled - start >= _PREFIX.size:
            prefix = self._buffer[start : start + _PREFIX.size]
            (size,) = _PREFIX.unpack(prefix)
            if size < _PREFIX.size:
                carrier.refuse(NotKafka(bytes(prefix)))
            elif size > MAX_FRAME:
                carrier.refuse(FrameTooLong(size))
            elif self._filled - start < _PREFIX.size + size:
                wanted = _PREFIX.size + size
                break
            else:
                end = start + _PREFIX.size + size
                carrier.take(self._buffer[start + _PREFIX.size : end])
                start = end
        if carrier is None or not carrier.is_open:
            start = self._filled
        self._keep(start, wanted, shrink=carrier is None or carrier.is_idle)

    def _keep(self, start: int, wanted: int, *, shrink: bool) -> None:
        """Moves the bytes from `start` on to the beginning of a buffer that has room for more.

        wanted: size of the incomplete frame in bytes. shrink: whether the buffer may go back to its usual size.
        """
        left, size = self._filled - start, len(self._buffer)
        if left == size:
            size = min(wanted, GROWTH * size)
        elif shrink and wanted <= USUAL_BUFFER:
            size = USUAL_BUFFER
        if start or size != len(self._buffer):
            buffer = self._buffer if size == len(self._buffer) else memoryview(bytearray(size))
            buffer[:left] = self._buffer[start : self._filled]
            self._buffer, self._filled = buffer, left

    def eof_received(self) -> bool | None:
        """The peer has closed its side."""
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is closed."""
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """The transport's send buffer is full."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The transport accepts bytes again."""
        self._inner.resume_writing()


class Connection:
    """An open connection. Any number of requests may be in flight; a broker answers them in order."""

    def __init__(self, carrier: Any, record: Callable[[Exchange], None] | None) -> None:
        self._carrier = carrier
        self._record = record

    @property
    def host(self) -> str:
        """The host as given."""
        return str(self._carrier.host)

    @property
    def port(self) -> int:
        """The port as given."""
        return int(self._carrier.port)

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return bool(self._carrier.connected())

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its answer."""
        return bool(self._carrier.is_idle)

    @property
    def versions(self) -> Mapping[int, tuple[int, int]]:
        """API key -> (lowest, highest version) of the broker, read when the connection was opened."""
        versions: Mapping[int, tuple[int, int]] = self._carrier._versions
        return versions

    def version(self, api: str) -> int | None:
        """The highest version of an API that both sides support, or None."""
        theirs = self.versions.get(api_key(api))
        if theirs is None:
            return None
        lowest, highest = version_range(api)
        chosen = min(highest, theirs[1])
        return chosen if chosen >= max(lowest, theirs[0]) else None

    def proposes(self, api: str, version: int) -> bool:
        """Whether the broker supports a proposal's version of an API of Kafka's. The proposals' own APIs must be there
        too: in a later Kafka the same version number may be another format."""
        lowest, highest = self.versions.get(api_key(api), (0, -1))
        return lowest <= version <= highest and any(LOWEST <= key <= HIGHEST for key in self.versions)

    def prepare(self, api: str, version: int, build: Build) -> AiokafkaRequest:
        """An encoded request of this version. Raises what `build` raises, and Unencodable."""
        return AiokafkaRequest(api, version, build, self._record)

    def send(self, request: AiokafkaRequest) -> Awaitable[RawResponse]:
        """Writes the request at once. The result is awaited for the answer.

        Raises aiokafka's KafkaConnectionError if the connection is lost. `request.sent`: whether bytes may have been
        sent.
        """
        answer: Awaitable[RawResponse] = self._carrier.send(request)
        return answer

    async def close_when_idle(self, longest: float) -> None:
        """Closes once no request is in flight, or after `longest` seconds."""
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
    """The SASL mechanisms of a listener, read over a connection of its own; empty if unknown.

    The answer to a handshake for an unsupported mechanism lists the supported ones (SaslHandshakeResponse); aiokafka
    does not return them.
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
    """Connects, reads the broker's versions, authenticates.

    security: aiokafka's arguments ``security_protocol``, ``ssl_context``, ``sasl_…``. limit: seconds for all steps.
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
    """Whether TCP connections are accepted there, checked within PROBE_SECONDS."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.transport.abort()
    return True
