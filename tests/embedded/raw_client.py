"""A client that sends and receives Kafka's messages as bytes."""

import asyncio
import struct
from collections.abc import Callable
from ssl import SSLContext
from types import ModuleType
from typing import Any, Self

from console.embedded.brokers import EmbeddedCluster
from console.wire.frames import decode_body, encode_header, encode_payload, split_response
from console.wire.schemas import request_module, response_type
from tests.support.patience import PATIENCE

"""Seconds in which an immediate answer must come."""


def header(key: int, version: int, correlation_id: int = 7, client: bytes = b"\x00\x01x") -> bytes:
    """Return the bytes of a request header v1. key: the API key. client: the client id with its length."""
    return struct.pack(">hhi", key, version, correlation_id) + client


def framed(data: bytes) -> bytes:
    """Return data after its length in four bytes."""
    return struct.pack(">i", len(data)) + data


class RawClient:
    """A connection to a broker (by id), a controller or an address; an asynchronous context manager."""

    def __init__(
        self,
        of: EmbeddedCluster | tuple[str, int],
        broker: int = 1,
        client_id: str = "raw",
        tls: SSLContext | None = None,
    ) -> None:
        self._address = of if isinstance(of, tuple) else of.address_of(broker)
        self._tls = tls
        self._client_id = client_id
        self._correlation_id = 0

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(*self._address, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def frame(self) -> bytes:
        """Return the next message from the broker, without its length."""
        async with asyncio.timeout(PATIENCE):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def rest(self) -> bytes:
        """Read until the broker closes the connection, and return the bytes."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""

    def request(self, api: str, version: int, build: Callable[[ModuleType], Any]) -> int:
        """Send a request that `build` makes from kio's module; return its correlation id without waiting for the
        response.
        """
        self._correlation_id += 1
        payload = build(request_module(api, version))
        self.send(framed(encode_header(payload, self._correlation_id, self._client_id) + encode_payload(payload)))
        return self._correlation_id

    async def ask(self, api: str, version: int, build: Callable[[ModuleType], Any]) -> Any:
        """Send a request that `build` makes from kio's module; return the decoded response, with error codes as
        numbers.
        """
        sent = self.request(api, version, build)
        response = response_type(api, version)
        correlation_id, body = split_response(response, await self.frame())
        assert correlation_id == sent
        return decode_body(response, body)
