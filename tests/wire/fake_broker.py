"""A server on loopback that misbehaves on purpose: it sends half frames, nothing or garbage, or cuts the connection at
a chosen moment.
"""

import asyncio
import ssl
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self

LOOPBACK = "127.0.0.1"
API_VERSIONS, METADATA, DESCRIBE_CONFIGS, INCREMENTAL_ALTER, CREATE_TOPICS, DESCRIBE_QUORUM = 18, 3, 32, 44, 19, 55
UNSUPPORTED_VERSION = 35
KRAFT: Mapping[int, tuple[int, int]] = {
    API_VERSIONS: (0, 4),
    METADATA: (0, 13),
    DESCRIBE_CONFIGS: (1, 4),
    INCREMENTAL_ALTER: (0, 1),
    CREATE_TOPICS: (2, 7),
    DESCRIBE_QUORUM: (0, 2),
}
ZOOKEEPER: Mapping[int, tuple[int, int]] = {key: KRAFT[key] for key in KRAFT if key != DESCRIBE_QUORUM}


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived. connection: the number of the connection on which it came, from 1 on."""

    key: int
    version: int
    correlation_id: int
    frame: bytes
    connection: int


@dataclass
class Conversation:
    """A client's connection to the fake broker, on which a reply can write."""

    writer: asyncio.StreamWriter

    async def answer(self, request: Received, body: bytes) -> None:
        """Send a response with this body to a request, in a frame with the response header of flexible versions."""
        await self.send(frame(request.correlation_id, body))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def cut(self) -> None:
        """End the connection at once, as a crash does."""
        self.writer.transport.abort()


Reply = Callable[[Conversation, Received], Awaitable[None]]


def frame(correlation_id: int, body: bytes) -> bytes:
    """Return a response frame: its length, the response header of flexible versions, and the body."""
    return struct.pack(">ii", 5 + len(body), correlation_id) + b"\x00" + body


def answering(body: bytes) -> Reply:
    async def reply(conversation: Conversation, request: Received) -> None:
        await conversation.answer(request, body)

    return reply


async def cut(conversation: Conversation, _request: Received) -> None:
    """Reply like a broker that dies: cut the connection without a response."""
    conversation.cut()


async def silence(_conversation: Conversation, _request: Received) -> None:
    """Reply like a broker that hangs: send no response, and keep the connection open."""


def metadata_body(brokers: Mapping[int, tuple[str, int]], controller: int) -> bytes:
    """Return the bytes of a MetadataResponse v13 without topics, encoded by this function and not by kio. brokers: id
    -> (host, port). controller: a broker id.
    """
    listed = b"".join(
        struct.pack(">i", node) + _string(host) + struct.pack(">i", port) + b"\x00\x00"
        for node, (host, port) in brokers.items()
    )
    head = struct.pack(">i", 0) + bytes([len(brokers) + 1]) + listed
    return head + _string("fake") + struct.pack(">i", controller) + b"\x01" + struct.pack(">h", 0) + b"\x00"


def create_topics_body(*codes: int) -> bytes:
    """Return the bytes of a CreateTopicsResponse v7, encoded by this function and not by kio, with a topic ``t0``,
    ``t1``… for each error code.
    """
    topics = b"".join(
        _string(f"t{index}") + bytes(16) + struct.pack(">h", code) + b"\x00" + struct.pack(">ih", -1, -1) + b"\x01\x00"
        for index, code in enumerate(codes)
    )
    return struct.pack(">i", 0) + bytes([len(codes) + 1]) + topics + b"\x00"


def _string(text: str) -> bytes:
    return bytes([len(text.encode()) + 1]) + text.encode()


class FakeBroker:
    """A broker that answers ApiVersions by itself. It answers each further request by the next one of its replies, and
    once all have been used, by the last one.

    Use as an asynchronous context manager; the port is chosen on entry.

    received: the requests, except ApiVersions. connections: the number of connections that clients have made.
    """

    def __init__(
        self, *replies: Reply, versions: Mapping[int, tuple[int, int]] = KRAFT, tls: ssl.SSLContext | None = None
    ) -> None:
        self.replies = list(replies)
        self.versions = versions
        self.tls = tls
        self.received: list[Received] = []
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()

    @property
    def address(self) -> tuple[str, int]:
        """The host and port at which the broker listens."""
        host, port = self._server.sockets[0].getsockname()
        return host, port

    async def arrived(self, count: int) -> None:
        """Wait, without a limit, until at least `count` requests except ApiVersions have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) >= count)

    def stop_listening(self) -> None:
        """Refuse new connections from now on; open ones stay open."""
        self._server.close()

    def drop_clients(self) -> None:
        """Cut all open connections at once; new ones are still accepted."""
        for writer in self._writers:
            writer.transport.abort()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0, ssl=self.tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        task = asyncio.create_task(self._converse(reader, writer, self.connections))
        self._tasks.add(task)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        conversation = Conversation(writer)
        try:
            while not writer.transport.is_closing():
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                data = await reader.readexactly(size)
                request = Received(*struct.unpack_from(">hhi", data), data, number)
                if request.key == API_VERSIONS:
                    await conversation.send(self._versions_frame(request))
                    continue
                async with self._arrived:
                    self.received.append(request)
                    self._arrived.notify_all()
                reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
                await reply(conversation, request)
        except (EOFError, OSError):
            pass  # the client went away
        finally:
            writer.close()

    def _versions_frame(self, request: Received) -> bytes:
        """Return the frame of an ApiVersionsResponse, in version 0 or in the request's version from 3 on. As Kafka
        does, answer a version that the broker does not serve in version 0, with the range of versions that it serves
        (KIP-511).
        """
        lowest, highest = self.versions[API_VERSIONS]
        if not lowest <= request.version <= highest:
            body = struct.pack(">hihhh", UNSUPPORTED_VERSION, 1, API_VERSIONS, lowest, highest)
            return struct.pack(">ii", 4 + len(body), request.correlation_id) + body
        if request.version:
            keys = b"".join(struct.pack(">hhhb", key, *both, 0) for key, both in self.versions.items())
            body = struct.pack(">hb", 0, len(self.versions) + 1) + keys + struct.pack(">ib", 0, 0)
            return struct.pack(">ii", 4 + len(body), request.correlation_id) + body
        body = struct.pack(">hi", 0, len(self.versions)) + b"".join(
            struct.pack(">hhh", key, lowest, highest) for key, (lowest, highest) in self.versions.items()
        )
        return struct.pack(">ii", 4 + len(body), request.correlation_id) + body
