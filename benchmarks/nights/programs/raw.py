"""Encodes and decodes a few messages of Kafka's protocol by hand, for clients that are older or more careless than any
available library.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from crc32c import crc32c

PRODUCE, METADATA, INIT_PRODUCER_ID = 0, 3, 22
PATIENCE = 10.0


def text(value: str | None) -> bytes:
    """Encode a string with its length in two bytes; None as the null string."""
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def _varint(value: int) -> bytes:
    """Encode a number as a zigzag varint."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    return bytes((*out, rest))


def batch(value: bytes, producer: int, epoch: int = 0, sequence: int = 0) -> bytes:
    """Encode a record batch (version 2) with one record without a key, by an idempotent producer."""
    record = b"\0" + _varint(0) + _varint(0) + _varint(-1) + _varint(len(value)) + value + _varint(0)
    now = int(time.time() * 1000)
    summed = struct.pack(">hiqqqhii", 0, 0, now, now, producer, epoch, sequence, 1) + _varint(len(record)) + record
    rest = struct.pack(">ibI", -1, 2, crc32c(summed)) + summed
    return struct.pack(">qi", 0, len(rest)) + rest


@dataclass(frozen=True)
class Topic:
    """A topic in a Metadata response: its error code, and partition -> the broker id of its leader."""

    error: int
    leaders: dict[int, int]


class Reader:
    """Decodes the values of a response one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, code: str) -> int:
        """Return the next number. code: its format in the module `struct`."""
        (value,) = struct.unpack_from(f">{code}", self._data, self._at)
        self._at += struct.calcsize(f">{code}")
        return int(value)

    def text(self) -> str:
        """Return the next string; ``""`` for null."""
        length = max(self.take("h"), 0)
        self._at += length
        return self._data[self._at - length : self._at].decode()


class Connection:
    """A connection to a broker, on which each request waits for its response."""

    def __init__(self, address: tuple[str, int], client: str) -> None:
        self._socket = socket.create_connection(address, timeout=PATIENCE)
        self._client, self._number = client, 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, api: int, version: int, body: bytes) -> Reader:
        """Send a request and return its response. api: API key. Raises OSError if the broker closes the connection."""
        self._number += 1
        request = struct.pack(">hhi", api, version, self._number) + text(self._client) + body
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        (length,) = struct.unpack(">i", self._exactly(4))
        return Reader(self._exactly(length)[4:])

    def _exactly(self, count: int) -> bytes:
        """Read `count` bytes. Raises OSError if the broker closes the connection before."""
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise ConnectionResetError("the broker closed the connection")
            data += more
        return data

    def metadata(self, topics: Sequence[str]) -> tuple[dict[int, tuple[str, int]], dict[str, Topic]]:
        """Request topics by name with Metadata version 1; a broker creates missing topics if auto.create.topics.enable
        is true.

        Returns:
            Broker id -> (host, port), and topic name -> the broker's answer.
        """
        body = struct.pack(">i", len(topics)) + b"".join(map(text, topics))
        answer = self.ask(METADATA, 1, body)
        brokers = {}
        for _ in range(answer.take("i")):
            node, host, port = answer.take("i"), answer.text(), answer.take("i")
            answer.text()
            brokers[node] = (host, port)
        answer.take("i")
        found = {}
        for _ in range(answer.take("i")):
            error, name = answer.take("h"), answer.text()
            answer.take("b")
            leaders = {}
            for _ in range(answer.take("i")):
                answer.take("h")
                partition, leader = answer.take("i"), answer.take("i")
                for _ in range(2):
                    for _ in range(answer.take("i")):
                        answer.take("i")
                leaders[partition] = leader
            found[name] = Topic(error, leaders)
        return brokers, found

    def producer_id(self) -> tuple[int, int]:
        """Request a new producer id, and return it with its epoch. Raises OSError if the broker refuses."""
        answer = self.ask(INIT_PRODUCER_ID, 1, text(None) + struct.pack(">i", 60_000))
        answer.take("i")
        if error := answer.take("h"):
            raise OSError(f"no producer id: error {error}")
        return answer.take("q"), answer.take("h")

    def produce(self, topic: str, batches: dict[int, bytes]) -> None:
        """Write a batch to each partition, acknowledged by all in-sync replicas. batches: partition -> encoded batch.
        Raises OSError if a batch is refused.
        """
        parts = b"".join(struct.pack(">ii", number, len(data)) + data for number, data in batches.items())
        head = text(None) + struct.pack(">hii", -1, 30_000, 1) + text(topic) + struct.pack(">i", len(batches))
        answer = self.ask(PRODUCE, 7, head + parts)
        answer.take("i")
        answer.text()
        for _ in range(answer.take("i")):
            partition, error = answer.take("i"), answer.take("h")
            if error:
                raise OSError(f"partition {partition} is not written: error {error}")
            for _ in range(3):
                answer.take("q")

    def produce_as_in_2013(self, topic: str, partition: int, value: bytes) -> None:
        """Write a record as the first clients did: Produce version 0 with a message of magic 0."""
        message = struct.pack(">bbii", 0, 0, -1, len(value)) + value
        message = struct.pack(">I", crc32(message)) + message
        records = struct.pack(">qi", 0, len(message)) + message
        head = struct.pack(">hii", 1, 10_000, 1) + text(topic) + struct.pack(">iii", 1, partition, len(records))
        self.ask(PRODUCE, 0, head + records)


def address(bootstrap: str) -> tuple[str, int]:
    """Return host and port of the first address in ``host:port,…``."""
    host, _, port = bootstrap.split(",")[0].rpartition(":")
    return host, int(port)
