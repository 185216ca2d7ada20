"""A connection to one broker: aiokafka's for TLS and the correlation of responses, with kio's messages; kac's own code
receives the frames and does the SASL exchange.
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
"""aiokafka's timeout for each request, too long to matter: callers here have their own timeouts."""
MAX_IDLE_MS = 9 * 60 * 1000
"""Milliseconds after which the client closes an idle connection: brokers do so after ten minutes
(connections.max.idle.ms)."""
PROBE_SECONDS = 1.0
MAX_EARLY_FRAME = 512 * 1024
"""Maximum size in bytes of a response before authentication: API versions, or a SASL token
(sasl.server.max.receive.size). A greater length is text or TLS that was read as a length, or comes from a peer that is
not authenticated yet."""
MAX_FRAME = 100 * 1024 * 1024
"""Maximum size in bytes of a response: the brokers' limit of a request (socket.request.max.bytes), and about
librdkafka's limit of a response (receive.message.max.bytes)."""
USUAL_BUFFER = 64 * 1024
"""Size in bytes of the receive buffer while no response is expected."""
GROWTH = 8
"""Factor by which a full buffer grows, at most to the size of the frame."""

PREFIX = struct.Struct(">i")
"""The length before a frame."""


_API_VERSIONS = api_key("api_versions")
_SOFTWARE = {"client_software_name": "kac", "client_software_version": "1"}
TELLS_NODES = 5
"""The first version of ApiVersions that names the expected node; another broker refuses it (KIP-1242)."""

log = logging.getLogger(__name__)


class NoCommonVersion(ConnectionError):
    """The broker has an API, but in no version that kac knows. theirs: the broker's lowest and highest version."""

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
    """A failed connection attempt.

    ``__cause__`` is the error of asyncio, ssl, aiokafka or the mechanism.

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
    """The peer lacks the version of ApiVersions that names the expected node."""


class NotKafka(ConnectionError):
    """The peer's first bytes are not a Kafka frame. start: those bytes."""

    def __init__(self, start: bytes) -> None:
        super().__init__("the peer does not speak Kafka's protocol")
        self.start = start


class FrameTooLong(ConnectionError):
    """A peer announced a response of more than MAX_FRAME bytes; the connection is closed. size: its bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"an answer of {size:,} bytes was announced; at most {MAX_FRAME:,} are read")
        self.size = size


def too_long(error: BaseException | None) -> FrameTooLong | None:
    """Return an error, or the first of its causes, that is a FrameTooLong; None without one."""
    while error is not None and not isinstance(error, FrameTooLong):
        error = error.__cause__
    return error


class _CheckedConnection(_conn.AIOKafkaConnection):  # type: ignore[misc,name-defined]
    """aiokafka's connection with two additions: it refuses a frame of an impossible length as soon as the length
    arrives, and it renews an expiring session on the open connection (KIP-368) at the next request after the time for
    it.

    A broker closes the connection at a request after the session's end, and refuses other requests during the exchange.
    So requests are held back until the session is renewed; earlier requests are answered first.
    """

    _is_established = False

    _versions: dict[int, tuple[int, int]]

    def __init__(
        self, host: str, port: int, *, login: Login | None, limit: float, meant: Node | None, **arguments: Any
    ) -> None:
        """Create a connection that is not open yet.

        Args:
            login: the login by SASL; None for a connection without a login.
            limit: the seconds for the renewal of a session.
            meant: the node that must answer; None for any.
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
        """Run aiokafka's reader task with a check of lengths. Hold no reference to the connection while it waits.
        Raises NotKafka and FrameTooLong.
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
        """Connect as aiokafka does, then check the node if one is expected. Afterwards a `FrameReceiver` receives the
        frames, and frames of up to `MAX_FRAME` bytes are accepted.
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
        """Request the versions. If there is a login, send SaslHandshake together with ApiVersions, which saves a round
        trip: it depends on no version of the broker and has no credentials.
        """
        if self._login is not None:
            self._loop.call_soon(self._send_handshake, handshake(self._login))
        if self.meant is None or self._login is not None:
            await self._ask_versions(0)
        else:
            await self._ask_versions_of(self.meant)

    async def _ask_versions_of(self, meant: Node) -> None:
        """Request the versions of this node and no other. Raises AnotherNode and _TellsNoNode."""
        means = {**_SOFTWARE, "cluster_id": meant.cluster_id, "node_id": meant.id}
        raw = await super().send(AiokafkaRequest("api_versions", TELLS_NODES, means))
        code = int.from_bytes(raw.body[:2], "big", signed=True)
        if code == ErrorCode.rebootstrap_required:
            raise AnotherNode(meant)
        if code:  # a broker without this version answers in version 0
            raise _TellsNoNode(f"ApiVersions is refused with {code}")
        response = decode_body(response_type(raw.api, raw.version), raw.body)
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}

    def _send_handshake(self, request: AiokafkaRequest) -> None:
        if self._writer is not None:
            self._handshake = asyncio.ensure_future(super().send(request))
            # Retrieve the exception: if ApiVersions fails, nothing awaits this future.
            self._handshake.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _ask_who_logged_us_in(self, meant: Node) -> None:
        """Request the versions again with the id of the expected node, after the login: before it, a broker of Kafka
        4.4 answers such a request even if it is another node. A node can't be checked if the broker lacks version 5 of
        ApiVersions: `meant` becomes None. Raises AnotherNode.
        """
        if self._versions.get(_API_VERSIONS, (0, 0))[1] >= TELLS_NODES:
            await self._ask_versions_of(meant)
        else:
            self.meant = None

    async def _ask_versions_again(self) -> None:
        """Request the versions in a version that the broker has. A broker without version 0, which is sent first,
        returns only its versions of ApiVersions (KIP-511). Raises NoCommonVersion.
        """
        theirs: tuple[int, int] = self._versions[_API_VERSIONS]
        version = common_version("api_versions", theirs)
        if version is None:
            raise NoCommonVersion("api_versions", theirs)
        await self._ask_versions(version, **_SOFTWARE)

    async def _ask_versions(self, version: int, **fields: str) -> None:
        """Request the versions with this version of ApiVersions. fields: the fields of the request."""
        raw = await super().send(AiokafkaRequest("api_versions", version, fields))
        response = decode_body(response_type(raw.api, raw.version), raw.body)
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}

    async def _do_sasl_handshake(self) -> None:
        """Log in. Replaces aiokafka's exchange, which does not support session expiry."""
        if self._login is not None:
            shaken, self._handshake = self._handshake, None
            self._due = await log_in(super().send, self._versions, self._login, self.host, shaken)

    def _handle_frame(self, frame: bytes) -> None:
        """Handle a frame before the connection is established: a response to a request of aiokafka's or of `log_in`."""
        if self._requests and isinstance(self._requests[0][1], AiokafkaRequest):
            self.take(memoryview(frame))
        else:
            super()._handle_frame(frame)

    def send(self, request: Any) -> Awaitable[Any]:
        """Write the request, or hold it back while the session is renewed; begin the renewal if it is due. Await the
        result for the response.
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
        """Authenticate again and send the requests held back; close the connection if that fails."""
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
        """Close the connection. Requests held back fail like those without a response, but were not sent."""
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
        """Whether this side has not closed the connection."""
        return self._writer is not None

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its answer."""
        return not self.unanswered

    @property
    def unanswered(self) -> list[asyncio.Future[Any]]:
        """The responses that have not arrived, also those to requests held back."""
        waiting = [answer for _, _, answer in self._requests] + [answer for _, answer in self._held]
        return [answer for answer in waiting if not answer.done()]

    def take(self, frame: memoryview) -> None:
        """Resolve the oldest pending request. A frame that does not answer it closes the connection."""
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
        """The current or last step of connecting. The first request is ApiVersions, all others belong to SASL; one of
        these is sent before the answer to ApiVersions arrives.
        """
        if self._correlation_id and not self._versions:
            return Stage.VERSIONS
        return (Stage.OPENING, Stage.VERSIONS, Stage.SASL)[min(self._correlation_id, 2)]


class FrameReceiver(asyncio.BufferedProtocol):
    """Receives frames into one buffer. Its size depends on the bytes received, not on the length announced.
    asyncio's streams copy all bytes twice more, and wake a task for each read. All other events are passed on to
    aiokafka's protocol.
    """

    def __init__(self, connection: _CheckedConnection, inner: asyncio.StreamReaderProtocol) -> None:
        self._connection = weakref.ref(connection)
        self._inner = inner
        self._buffer = memoryview(bytearray(USUAL_BUFFER))
        self._filled = 0

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Return the free part of the buffer."""
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """Pass complete frames on after a read of `nbytes`."""
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
        """Move the bytes from `start` on to the beginning of a buffer that has room for more.

        Args:
            wanted: the size of the incomplete frame in bytes.
            shrink: whether the buffer may return to its usual size.
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
        """Tell the inner protocol that the peer has closed its side. Return its answer: whether the transport stays
        open, None for no.
        """
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the transport is closed."""
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass on that the transport's send buffer is full."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the transport accepts bytes again."""
        self._inner.resume_writing()


def _pass_on(source: asyncio.Future[RawResponse], target: asyncio.Future[RawResponse]) -> None:
    """Copy the result of one response to another future, and its cancellation back."""

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
    """An open connection. Any number of requests may be in flight; a broker answers them in order."""

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
        """The node that the peer confirmed to be; None if the connection was opened without an expected node, or if the
        broker lacks the check.
        """
        found: Node | None = self._carrier.meant
        return found

    @property
    def tells_nodes(self) -> bool:
        """Whether the broker refuses a connection that is meant for another node."""
        return self.versions.get(_API_VERSIONS, (0, 0))[1] >= TELLS_NODES

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return bool(self._carrier.connected())

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its answer."""
        return bool(self._carrier.is_idle)

    @property
    def not_renewed(self) -> ConnectFailed | None:
        """The error of the failed session renewal that closed the connection; None if there was no such failure."""
        failed: ConnectFailed | None = self._carrier.not_renewed
        return failed

    @property
    def versions(self) -> Mapping[int, tuple[int, int]]:
        """API key -> (lowest, highest version) of the broker, read when the connection was opened."""
        versions: Mapping[int, tuple[int, int]] = self._carrier._versions
        return versions

    def version(self, api: str) -> int | None:
        """Return the highest version of an API that both sides support; None if they have no version in common."""
        theirs = self.versions.get(api_key(api))
        return None if theirs is None else common_version(api, theirs)

    def newer(self, api: str) -> tuple[int, int] | None:
        """Return the broker's lowest and highest version of an API if all its versions are newer than those that kac
        knows; None otherwise.
        """
        theirs = self.versions.get(api_key(api))
        return theirs if theirs is not None and theirs[0] > version_range(api)[1] else None

    def proposes(self, api: str, version: int) -> bool:
        """Return whether the broker supports a proposal's version of one of Kafka's APIs. The broker must also have the
        proposals' own APIs: in a later Kafka the same version number may be another format.
        """
        lowest, highest = self.versions.get(api_key(api), (0, -1))
        return lowest <= version <= highest and any(LOWEST <= key <= HIGHEST for key in self.versions)

    def prepare(self, api: str, version: int, asked: Asked) -> AiokafkaRequest:
        """Return an encoded request of this version. Raises the errors of a function in `asked`, and Unencodable."""
        return AiokafkaRequest(api, version, asked, self._record)

    def send(self, request: AiokafkaRequest) -> Awaitable[RawResponse]:
        """Write the request at once. Await the result for the response.

        Raises aiokafka's KafkaConnectionError if the connection is lost. `request.sent`: whether bytes may have been
        sent.
        """
        answer: Awaitable[RawResponse] = self._carrier.send(request)
        return answer

    async def close_when_idle(self, longest: float) -> None:
        """Close once no request is in flight, or after `longest` seconds."""
        if under_way := self._carrier.unanswered:
            await asyncio.wait(under_way, timeout=longest)
        await self.close()

    async def close(self, wait: float = 1.0) -> None:
        """Close, waiting at most `wait` seconds for the transport to end cleanly."""
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
    """Connect, read the broker's versions, authenticate. Raises ConnectFailed.

    Args:
        limit: the seconds for all steps.
        security: aiokafka's arguments ``security_protocol`` and ``ssl_context``; ``login``, a `Login`, for SASL.
        record: called with each exchange, a request and its response; None to record nothing.
        meant: the node that must answer, if the cluster's brokers support this check; a broker that does not is
            connected again without it; None for any node.
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
    """Return whether a TCP connection to this address opens within PROBE_SECONDS."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.transport.abort()
    return True
