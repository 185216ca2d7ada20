"""Asks a broker which brokers are alive, with a request that is encoded here by hand, without the code under test."""

import socket
import ssl
import struct

_METADATA, _VERSION, _CORRELATION = 3, 1, 7


def live_brokers(address: tuple[str, int], tls: ssl.SSLContext | None = None, timeout: float = 5.0) -> frozenset[int]:
    """Return the broker ids in the broker's answer to Metadata v1.

    timeout: seconds. Raises OSError if the broker does not answer in time.
    """
    body = struct.pack(">hhih3si", _METADATA, _VERSION, _CORRELATION, 3, b"kac", 0)
    with socket.create_connection(address, timeout) as plain:
        connection = tls.wrap_socket(plain, server_hostname=address[0]) if tls else plain
        with connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            (size,) = struct.unpack(">i", _exactly(connection, 4))
            return _broker_ids(_exactly(connection, size))


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise ConnectionError("the broker closed the connection")
        parts += part
    return bytes(parts)


def _broker_ids(answer: bytes) -> frozenset[int]:
    (count,) = struct.unpack_from(">i", answer, 4)
    at, ids = 8, set()
    for _ in range(count):
        node, host_length = struct.unpack_from(">ih", answer, at)
        at += 6 + host_length + 4
        (rack_length,) = struct.unpack_from(">h", answer, at)
        at += 2 + max(rack_length, 0)
        ids.add(node)
    return frozenset(ids)
