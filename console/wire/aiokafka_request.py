"""A kio request in the form that aiokafka's connections take."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from types import ModuleType
from typing import Any, NamedTuple

from console.wire.frames import encode_header, encode_payload, response_header, split_frame
from console.wire.schemas import request_module

Build = Callable[[ModuleType], Any]
"""From kio's module of the version in hand to the request payload."""


class RawResponse(NamedTuple):
    """A response not decoded yet: the API's name, its version, and the bytes after the response header."""

    api: str
    version: int
    body: memoryview


class Exchange(NamedTuple):
    """One request and its answer, as they were on the wire, without their lengths."""

    key: int
    version: int
    request: bytes
    response: bytes


class _Encoded(NamedTuple):
    data: bytes

    def encode(self) -> bytes:
        return self.data


class _ResponseHeader(NamedTuple):
    correlation_id: int


class AiokafkaRequest:
    """One request at one version, encoded. `sent` turns True right before its bytes are written.

    It stands for aiokafka's ``Request``, ``RequestStruct`` and response class at once. Its textual form tells the API
    alone, since aiokafka logs requests. Making one raises what `build` raises, and Unencodable.
    """

    def __init__(self, api: str, version: int, build: Build, record: Callable[[Exchange], None] | None = None) -> None:
        self.api = api
        self.version = version
        self.sent = False
        self._payload = build(request_module(api, version))
        self._response_header = response_header(api, self._payload)
        self._body = encode_payload(self._payload)
        self._header = b""
        self._record = record

    def __repr__(self) -> str:
        return f"<{self.api} v{self.version}>"

    def prepare(self, _versions: object) -> AiokafkaRequest:
        """The version is chosen already."""
        return self

    def build_request_header(self, correlation_id: int, client_id: str) -> _Encoded:
        """The header, encoded."""
        self._header = encode_header(self._payload, correlation_id, client_id)
        return _Encoded(self._header)

    def encode(self) -> bytes:
        """The payload; aiokafka writes it at once."""
        self.sent = True
        return self._body

    def parse_response_header(self, frame: BytesIO) -> _ResponseHeader:
        """Reads the header and leaves `frame` at the body."""
        data = frame.getvalue()
        correlation_id, body = split_frame(self._response_header, data)
        frame.seek(len(data) - len(body))
        if self._record is not None:
            self._record(Exchange(self._payload.__api_key__, self.version, self._header + self._body, data))
        return _ResponseHeader(correlation_id)

    @property
    def RESPONSE_TYPE(self) -> AiokafkaRequest:  # noqa: N802
        """aiokafka's name for what decodes the response."""
        return self

    def decode(self, frame: BytesIO) -> RawResponse:
        """The body as it is: decoding is left to who asked, so that an odd body can't break the connection."""
        return RawResponse(self.api, self.version, memoryview(frame.getvalue())[frame.tell() :])
