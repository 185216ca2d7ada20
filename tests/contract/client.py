"""A client of one broker, with one request at a time on a blocking socket. It retries nothing and keeps no metadata."""

import socket
import struct
from typing import Any

from console.model.secret import Secret
from console.wire import frames, schemas
from tests.support.kafka_messages import Build, with_fields
from tests.support.patience import PATIENCE


class NoAnswer(ConnectionError):
    """The broker closed the connection instead of answering, or did not answer in time."""


class Client:
    """A connection to a broker, logged in by SASL PLAIN if a user is given. After a NoAnswer it is closed and can't be
    used again.
    """

    def __init__(
        self, address: tuple[str, int], login: tuple[str, Secret] | None = None, client_id: str = "contract"
    ) -> None:
        """Connect and log in.

        Args:
            login: user and password; None for no login.

        Raises OSError if it can't connect, NoAnswer if the broker refuses the login.
        """
        self._client_id = client_id
        self._socket = socket.create_connection(address, PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sent = 0
        if login is not None:
            user, password = login
            self.ask("sasl_handshake", 1, with_fields(mechanism="PLAIN"))
            token = f"\0{user}\0{password.reveal()}".encode()
            told = self.ask("sasl_authenticate", 2, with_fields(auth_bytes=token))
            if told.error_code:
                raise NoAnswer(f"{user} may not log in: {told.error_message}")

    def ask(self, api: str, version: int, build: Build, patience: float = PATIENCE) -> Any:
        """Send a request, and return the response as kio's object, with error codes as numbers. Raises NoAnswer if none
        arrives within `patience` seconds.
        """
        self._sent += 1
        payload = build(schemas.request_module(api, version))
        frame = frames.encode_header(payload, self._sent, self._client_id) + frames.encode_payload(payload)
        self._socket.settimeout(patience)
        try:
            answer = self.exchange(frame)
        except OSError as lost:
            self.close()
            raise NoAnswer(f"{api} v{version}: {lost}") from lost
        response = schemas.response_type(api, version)
        correlation_id, body = frames.split_response(response, answer)
        assert correlation_id == self._sent
        return frames.decode_body(response, body)

    def exchange(self, frame: bytes) -> bytes:
        """Send the bytes of a request frame, and return those of the response frame. Raises OSError if the broker sends
        none in time.
        """
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def close(self) -> None:
        """Close the connection. A second call has no effect."""
        self._socket.close()

    def _exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise ConnectionResetError("closed by the broker")
            parts += part
        return bytes(parts)
