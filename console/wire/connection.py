"""A connection to one broker. aiokafka's connection does TLS and matches responses to requests; kio has the messages;
kac's own code receives the frames and logs in by SASL.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Any

from kio.schema.errors import ErrorCode

from console.lean_imports import import_aiokafka_conn
from console.model.identity import Node
from console.wire.aiokafka_request import AiokafkaRequest, Exchange, RawResponse
from console.wire.bounds_check import MalformedFrame
from console.wire.fields import Asked
from console.wire.frames import decode_body
from console.wire.proposals.formats import HIGHEST, LOWEST
from console.wire.sasl import Login, handshake, log_in
from console.wire.schemas import api_key, response_type, version_range

_conn = import_aiokafka_conn()

NO_LIMIT_MS = 24 * 3600 * 1000
"""aiokafka's timeout for a request, 24 hours: too long to matter, because kac's callers set their own timeouts."""
MAX_IDLE_MS = 9 * 60 * 1000
"""Milliseconds without a request after which the client closes a connection, before the broker does so after ten
minutes (connections.max.idle.ms).
"""
PROBE_SECONDS = 1.0
MAX_EARLY_FRAME = 512 * 1024
"""Maximum size in bytes of a response before the login is complete: ApiVersions, or a SASL token
(sasl.server.max.receive.size). A larger length is no length but the first bytes of a text or of TLS, or an
unauthenticated peer wants kac to reserve too much memory.
"""
MAX_FRAME = 100 * 1024 * 1024
"""Maximum size in bytes of a response. It equals the brokers' default limit of a request (socket.request.max.bytes),
and about equals librdkafka's limit of a response (receive.message.max.bytes).
"""
USUAL_BUFFER = 64 * 1024
"""Size in bytes of the receive buffer while no response is expected."""
GROWTH = 8
"""Factor by which a full buffer grows, until it has the size of the frame."""

PREFIX = struct.Struct(">i")
"""The format of a frame's length, which precedes the frame: a signed 32-bit number."""


_API_VERSIONS = api_key("api_versions")
_SOFTWARE = {"client_software_name": "kac", "client_software_version": "1"}
TELLS_NODES = 5
"""The first version of ApiVersions whose request names the expected node; a broker that is another node refuses the
request (KIP-1242).
"""

log = logging.getLogger(__name__)


class NoCommonVersion(ConnectionError):
    """The broker has the API, but in no version that kac supports. theirs: the broker's lowest and highest version."""

    def __init__(self, api: str, theirs: tuple[int, int]) -> None:
        super().__init__(f"{api} in versions {theirs[0]} to {theirs[1]}")
        self.api = api
        self.theirs = theirs


def common_version(api: str, theirs: tuple[int, int]) -> int | None:
    """Return the highest version of an API that both sides support; None if they have no version in common."""
    lowest, highest = version_range(api)
    chosen = min(highest, theirs[1])
    return chosen if chosen >= max(lowest, theirs[0]) else None


class Stage(Enum):
    """A step of connecting: TCP, the TLS handshake, ApiVersions, SASL."""

    OPENING = auto()
    TLS = auto()
    VERSIONS = auto()
    SASL = auto()


class ConnectFailed(ConnectionError):
    """A failed connection attempt, or a failed renewal of a session.

    ``__cause__`` is the error of asyncio, ssl, aiokafka or the SASL mechanism.

    Attributes:
        stage: the step that failed.
        began: the start of the attempt, in seconds since 1970.
    """

    def __init__(self, stage: Stage, began: float) -> None:
        super().__init__(f"connecting failed at {stage.name}")
        self.stage = stage
        self.began = began


class AnotherNode(ConnectionError):
    """The peer reports that it is not the expected node, but another one, or a node of another cluster. meant: the
    expected node."""

    def __init__(self, meant: Node) -> None:
        super().__init__(f"it is not node {meant.id} of cluster {meant.cluster_id}")
        self.meant = meant


class _TellsNoNode(ConnectionError):
    """The peer does not support the version of ApiVersions that names the expected node."""


class NotKafka(ConnectionError):
    """The peer's first bytes are not the length of a Kafka frame. start: these bytes."""

    def __init__(self, start: bytes) -> None:
        super().__init__("the peer does not speak Kafka's protocol")
        self.start = start


class FrameTooLong(ConnectionError):
    """A peer announced a response of more than MAX_FRAME bytes, so kac closed the connection. size: the announced
    bytes.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"an answer of {size:,} bytes was announced; at most {MAX_FRAME:,} are read")
        self.size = size


def too_long(error: BaseException | None) -> FrameTooLong | None:
    """Return the first FrameTooLong among an error and its chain of ``__cause__``; None if there is no FrameTooLong."""
    while error is not None and not isinstance(error, FrameTooLong):
        error = error.__cause__
    return error


class _CheckedConnection(_conn.AIOKafkaConnection):  # type: ignore[misc,name-defined]
    """aiokafka's connection with two additions. It refuses a frame with an impossible length as soon as the length
    arrives. And it authenticates again on the open connection (KIP-368), at the first request after the renewal of
    the SASL session is due, which is before the session expires.

    A broker closes the connection at a request after the session's end, and refuses other requests during the SASL
    exchange. So this class holds requests back until the exchange is complete; requests sent earlier are answered
    before it.
    """

    _is_established = False

    _versions: dict[int, tuple[int, int]]

    def __init__(
        self, host: str, port: int, *, login: Login | None, limit: float, meant: Node | None, **arguments: Any
    ) -> None:
        """Create a connection without opening it.

        Args:
            login: the SASL mechanism and credentials; None to connect without a login.
            limit: the maximum seconds for a later renewal of the session.
            meant: the node that the peer must be; None to accept any node.
        """
        super().__init__(host, port, request_timeout_ms=NO_LIMIT_MS, max_idle_ms=MAX_IDLE_MS, **arguments)
        self._login = login
        self._limit = limit
        self.meant = meant
        self._due = float("inf")
        self._renewal: asyncio.Task[None] | None = None
        self._held: deque[tuple[AiokafkaRequest, asyncio.Future[RawResponse]]] = deque()
        self._handshake: asyncio.Future[RawResponse] | None = None
        self.not_renewed: ConnectFailed | None = None

    @staticmethod
    async def _read(self_ref: Callable[[], _CheckedConnection | None]) -> None:
        """Read frames until the connection closes, as aiokafka's reader task does, but check each length first. Keep no
        reference to the connection while waiting. Raises NotKafka and FrameTooLong.
        """
        this = self_ref()
        if this is None:
            return
        reader: asyncio.StreamReader = this._reader
        del this
        while True:
            prefix = await reader.readexactly(PREFIX.size)
            (size,) = PREFIX.unpack(prefix)
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
        """Open the connection: TCP, TLS, ApiVersions and SASL as in aiokafka; then ask for the broker's versions again
        if it has no version 0, and check the peer's node if `meant` is set. From then on a `FrameReceiver` receives
        the frames, which may have up to `MAX_FRAME` bytes. On any error, close the connection and raise the error.
        """
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] = await super().connect()
        try:
            if self._versions.get(_API_VERSIONS, (0, 0))[0] > 0:
                await self._ask_versions_again()
            if self.meant is not None and self._login is not None:
                await self._ask_who_logged_us_in(self.meant)
        except BaseException:
            self.close()
            raise
        self._is_established = True
        streams[1].transport.set_protocol(FrameReceiver(self, self._protocol))
        return streams

    async def _do_version_lookup(self) -> None:
        """Send ApiVersions and store the broker's versions. If there is a login, send SaslHandshake together with it to
        save a round trip: SaslHandshake needs no knowledge of the broker's versions and has no credentials.
        """
        if self._login is not None:
            self._loop.call_soon(self._send_handshake, handshake(self._login))
        if self.meant is None or self._login is not None:
            await self._ask_versions(0)
        else:
            await self._ask_versions_of(self.meant)

    async def _ask_versions_of(self, meant: Node) -> None:
        """Send ApiVersions with the id of the expected node, and store the broker's versions. Raises AnotherNode if the
        peer is another node, and _TellsNoNode if the peer does not support this check.
        """
        means = {**_SOFTWARE, "cluster_id": meant.cluster_id, "node_id": meant.id}
        raw = await super().send(AiokafkaRequest("api_versions", TELLS_NODES, means))
        code = int.from_bytes(raw.body[:2], "big", signed=True)
        if code == ErrorCode.rebootstrap_required:
            raise AnotherNode(meant)
        if code:  # a broker without this version answers in version 0
            raise _TellsNoNode(f"ApiVersions is refused with {code}")
        self._take_versions(raw)

    def _send_handshake(self, request: AiokafkaRequest) -> None:
        if self._writer is not None:
            self._handshake = asyncio.ensure_future(super().send(request))
            # Retrieve the exception: if ApiVersions fails, nothing awaits this future.
            self._handshake.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _ask_who_logged_us_in(self, meant: Node) -> None:
        """Send ApiVersions again after the login, with the id of the expected node. This is needed because a broker
        of Kafka 4.4 that is another node does not refuse such a request before the login. If the broker lacks
        this version of ApiVersions, don't check, and set `meant` to None. Raises AnotherNode.
        """
        if self._versions.get(_API_VERSIONS, (0, 0))[1] >= TELLS_NODES:
            await self._ask_versions_of(meant)
        else:
            self.meant = None

    async def _ask_versions_again(self) -> None:
        """Send ApiVersions in the highest version that both sides support. This is needed for a broker without version
        0: it answers the first request, of version 0, with only its versions of ApiVersions (KIP-511). Raises
        NoCommonVersion.
        """
        theirs: tuple[int, int] = self._versions[_API_VERSIONS]
        version = common_version("api_versions", theirs)
        if version is None:
            raise NoCommonVersion("api_versions", theirs)
        await self._ask_versions(version, **_SOFTWARE)

    async def _ask_versions(self, version: int, **fields: str) -> None:
        """Send ApiVersions in this version and store the broker's versions. fields: the fields of the request."""
        raw = await super().send(AiokafkaRequest("api_versions", version, fields))
        self._take_versions(raw)

    def _take_versions(self, raw: RawResponse) -> None:
        response = decode_body(response_type(raw.api, raw.version), raw.body)
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}

    async def _do_sasl_handshake(self) -> None:
        """Log in by SASL and store the time of the next renewal; do nothing without a login. It replaces aiokafka's
        exchange, which does not support the expiry of sessions.
        """
        if self._login is not None:
            shaken, self._handshake = self._handshake, None
            self._due = await log_in(super().send, self._versions, self._login, self.host, shaken)

    def _handle_frame(self, frame: bytes) -> None:
        """Complete the oldest pending request with a frame that arrived before the connection is established. The
        request is one of aiokafka's or one of `log_in`.
        """
        if self._requests and isinstance(self._requests[0][1], AiokafkaRequest):
            self.take(memoryview(frame))
        else:
            super()._handle_frame(frame)

    def send(self, request: Any) -> Awaitable[Any]:
        """Write the request and return an awaitable of its response. While the session is renewed, hold the request
        back instead; begin the renewal first if it is due.
        """
        if self._writer is None or (self._renewal is None and time.monotonic() < self._due):
            answer: Awaitable[Any] = super().send(request)
            return answer
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renew(), name=f"re-authenticate to {self.host}:{self.port}")
        held: asyncio.Future[RawResponse] = self._loop.create_future()
        self._held.append((request, held))
        return held

    async def _renew(self) -> None:
        """Authenticate again, then send the requests held back. If that fails or takes more than the limit, close the
        connection and store the error in `not_renewed`.
        """
        began = time.time()
        try:
            async with asyncio.timeout(self._limit):
                await self._do_sasl_handshake()
        except Exception as error:  # noqa: BLE001 any error ends the connection
            self.not_renewed = ConnectFailed(Stage.SASL, began)
            self.not_renewed.__cause__ = error
            self._renewal = None
            self.refuse(error)
            return
        self._renewal = None
        held, self._held = self._held, deque()
        for request, answer in held:
            if not answer.done():
                _pass_on(asyncio.ensure_future(self._written(request)), answer)

    async def _written(self, request: AiokafkaRequest) -> RawResponse:
        answer: RawResponse = await super().send(request)
        return answer

    def close(self, reason: Any = None, exc: BaseException | None = None) -> Any:
        """Close the connection. Requests without a response, and requests held back, fail with KafkaConnectionError;
        `sent` stays False for the requests held back.
        """
        closed = super().close(reason=reason, exc=exc)
        if self._renewal is not None:
            self._renewal.cancel()
        held, self._held = self._held, deque()
        for _, answer in held:
            if not answer.done():
                error = _conn.Errors.KafkaConnectionError(f"Connection at {self.host}:{self.port} closed")
                error.__cause__ = exc
                answer.set_exception(error)
        return closed

    @property
    def is_open(self) -> bool:
        """Whether the connection is open: it was connected, and aiokafka has not closed it."""
        return self._writer is not None

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its response."""
        return not self.unanswered

    @property
    def unanswered(self) -> list[asyncio.Future[Any]]:
        """The futures of all responses that have not arrived, including those of requests held back."""
        waiting = [answer for _, _, answer in self._requests] + [answer for _, answer in self._held]
        return [answer for answer in waiting if not answer.done()]

    def take(self, frame: memoryview) -> None:
        """Complete the oldest pending request with its response frame. If the frame has another correlation id or is
        malformed, close the connection.
        """
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
        """Close the connection. Pending requests fail with this error as the cause."""
        self.close(reason=_conn.CloseReason.CONNECTION_BROKEN, exc=error)

    @property
    def stage(self) -> Stage:
        """The current step of connecting, or the step that failed: OPENING before the first request; VERSIONS until
        ApiVersions, the first request, is answered and another request has been sent; then SASL. SaslHandshake
        may be sent before ApiVersions is answered. TLS counts as OPENING here; `connect` tests which of them
        failed.
        """
        if self._correlation_id and not self._versions:
            return Stage.VERSIONS
        return (Stage.OPENING, Stage.VERSIONS, Stage.SASL)[min(self._correlation_id, 2)]


class FrameReceiver(asyncio.BufferedProtocol):
    """A receiver of response frames into one buffer, whose size grows with the bytes received, not with the length
    announced. It replaces asyncio's streams, which copy all bytes twice more and wake a task for each read. It
    passes all other events to aiokafka's protocol.
    """

    def __init__(self, connection: _CheckedConnection, inner: asyncio.StreamReaderProtocol) -> None:
        self._connection = weakref.ref(connection)
        self._inner = inner
        self._buffer = memoryview(bytearray(USUAL_BUFFER))
        self._filled = 0

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Return the free part of the buffer, into which asyncio reads next."""
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """Pass the complete frames in the buffer to the connection, after a read of `nbytes` bytes."""
        self._filled += nbytes
        start, wanted = 0, PREFIX.size
        connection = self._connection()
        while connection is not None and connection.is_open and self._filled - start >= PREFIX.size:
            prefix = self._buffer[start : start + PREFIX.size]
            (size,) = PREFIX.unpack(prefix)
            if size < PREFIX.size:
                connection.refuse(NotKafka(bytes(prefix)))
            elif size > MAX_FRAME:
                connection.refuse(FrameTooLong(size))
            elif self._filled - start < PREFIX.size + size:
                wanted = PREFIX.size + size
                break
            else:
                end = start + PREFIX.size + size
                connection.take(self._buffer[start + PREFIX.size : end])
                start = end
        if connection is None or not connection.is_open:
            start = self._filled
        self._keep(start, wanted, shrink=connection is None or connection.is_idle)

    def _keep(self, start: int, wanted: int, *, shrink: bool) -> None:
        """Move the buffered bytes from the index `start` on to the beginning of a buffer with room for more bytes.

        Args:
            wanted: the size of the incomplete frame in bytes.
            shrink: whether a large buffer may be replaced by one of `USUAL_BUFFER` bytes.
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
        """Report to aiokafka's protocol that the peer has closed its side. Return whether the transport stays open;
        None means no.
        """
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report to aiokafka's protocol that the transport is closed."""
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Report to aiokafka's protocol that the transport's send buffer is full."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Report to aiokafka's protocol that the transport's send buffer has room again."""
        self._inner.resume_writing()


def _pass_on(source: asyncio.Future[RawResponse], target: asyncio.Future[RawResponse]) -> None:
    """Copy the result or error of the future `source` to `target` when it is done; cancel `source` if `target` is
    cancelled.
    """

    def done(_: object) -> None:
        if target.done() or source.cancelled():
            target.cancel()
        elif (error := source.exception()) is not None:
            target.set_exception(error)
        else:
            target.set_result(source.result())

    source.add_done_callback(done)
    target.add_done_callback(lambda _: source.cancel())


class Connection:
    """An open connection to one broker. Many requests may be in flight at a time; the broker answers them in order."""

    def __init__(self, carrier: Any, record: Callable[[Exchange], None] | None) -> None:
        self._carrier = carrier
        self._record = record

    @property
    def host(self) -> str:
        """The host as passed to `connect`."""
        return str(self._carrier.host)

    @property
    def port(self) -> int:
        """The port as passed to `connect`."""
        return int(self._carrier.port)

    @property
    def node(self) -> Node | None:
        """The node that the peer confirmed to be; None if `connect` was called without an expected node, or if the
        broker does not support the check.
        """
        found: Node | None = self._carrier.meant
        return found

    @property
    def tells_nodes(self) -> bool:
        """Whether the broker's version of ApiVersions supports the check of the expected node (KIP-1242)."""
        return self.versions.get(_API_VERSIONS, (0, 0))[1] >= TELLS_NODES

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return bool(self._carrier.connected())

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its response."""
        return bool(self._carrier.is_idle)

    @property
    def not_renewed(self) -> ConnectFailed | None:
        """The error that made the renewal of the SASL session fail and closed the connection; None if no renewal has
        failed.
        """
        failed: ConnectFailed | None = self._carrier.not_renewed
        return failed

    @property
    def versions(self) -> Mapping[int, tuple[int, int]]:
        """API key -> (lowest, highest version) that the broker supports, as read when the connection was opened."""
        versions: Mapping[int, tuple[int, int]] = self._carrier._versions
        return versions

    def version(self, api: str) -> int | None:
        """Return the highest version of an API that both sides support; None if they have no version in common."""
        theirs = self.versions.get(api_key(api))
        return None if theirs is None else common_version(api, theirs)

    def newer(self, api: str) -> tuple[int, int] | None:
        """Return the broker's (lowest, highest version) of an API if all of them are newer than kac's; None otherwise,
        also if the broker lacks the API.
        """
        theirs = self.versions.get(api_key(api))
        return theirs if theirs is not None and theirs[0] > version_range(api)[1] else None

    def proposes(self, api: str, version: int) -> bool:
        """Return whether the broker supports this version of one of Kafka's APIs as a proposal defines it. A broker
        counts only if it also has the proposals' own APIs: a later Kafka may use the same version number for another
        format.
        """
        lowest, highest = self.versions.get(api_key(api), (0, -1))
        return lowest <= version <= highest and any(LOWEST <= key <= HIGHEST for key in self.versions)

    def prepare(self, api: str, version: int, asked: Asked) -> AiokafkaRequest:
        """Encode a request in this version, without sending it. asked: the request's fields, or a function that makes
        the request. Raises Unencodable, and any error that the function in `asked` raises.
        """
        return AiokafkaRequest(api, version, asked, self._record)

    def send(self, request: AiokafkaRequest) -> Awaitable[RawResponse]:
        """Write the request at once and return an awaitable of its response.

        The awaitable raises aiokafka's KafkaConnectionError if the connection is lost; `request.sent` then says whether
        bytes of the request may have been sent.
        """
        answer: Awaitable[RawResponse] = self._carrier.send(request)
        return answer

    async def close_when_idle(self, longest: float) -> None:
        """Wait until no request is in flight, at most `longest` seconds, then close."""
        if under_way := self._carrier.unanswered:
            await asyncio.wait(under_way, timeout=longest)
        await self.close()

    async def close(self, wait: float = 1.0) -> None:
        """Close, and wait at most `wait` seconds until the transport has ended cleanly."""
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
    meant: Node | None = None,
) -> Connection:
    """Connect to an address, read the broker's versions and log in. Raises ConnectFailed.

    Args:
        limit: the maximum seconds for all steps together.
        security: aiokafka's arguments ``security_protocol`` and ``ssl_context``; for SASL also ``login``, a `Login`.
        record: function called with each request and its response; None to record nothing.
        meant: the node that the peer must be; None to accept any node. If the broker does not support the check,
            connect again without it.
    """
    arguments = {"login": None, **security}
    carrier = _CheckedConnection(host, port, client_id=client_id, limit=limit, meant=meant, **arguments)
    began = time.time()
    try:
        async with asyncio.timeout(limit):
            _, writer = await carrier.connect()
    except _TellsNoNode:
        return await connect(host, port, client_id=client_id, limit=limit, security=security, record=record)
    except Exception as error:
        stage = carrier.stage
        if stage is Stage.OPENING and isinstance(error, TimeoutError) and security.get("ssl_context") is not None:
            stage = Stage.TLS if await _listens(host, port) else stage
        raise ConnectFailed(stage, began) from error
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return Connection(carrier, record)


async def _listens(host: str, port: int) -> bool:
    """Return whether a TCP connection to this address can be opened within PROBE_SECONDS."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.transport.abort()
    return True
