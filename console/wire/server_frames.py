"""The broker's side of frames: request headers and payloads in, response frames out (KIP-482 for the flexible ones)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import InvalidUnicode

from console.wire.bounds_check import check_message
from console.wire.frames import MalformedFrame
from console.wire.open_codes import with_open_codes
from console.wire.unknown_tags import without_unknown_tags

_START = struct.Struct(">hhi")
_SHORT = struct.Struct(">h")
_HEAD = struct.Struct(">ii")
NO_CLIENT_ID = ""


class RequestHead(NamedTuple):
    """What every request begins with, whatever its API (RequestHeader v1 without the client id)."""

    key: int
    version: int
    correlation_id: int


class EncodedBody(NamedTuple):
    """A response body that is bytes already: for what would take too long to encode anew each time."""

    data: bytes


def read_head(frame: bytes) -> RequestHead:
    """Key, version and correlation id; raises MalformedFrame where the frame is too short for them."""
    if len(frame) < _START.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes has no header")
    return RequestHead(*_START.unpack_from(frame))


def read_client_id(frame: bytes, *, flexible: bool) -> tuple[str, int]:
    """The client id, null as ``""``, and where the payload begins. Raises MalformedFrame."""
    try:
        (length,) = _SHORT.unpack_from(frame, _START.size)
        offset = _START.size + _SHORT.size
        if length > len(frame) - offset:
            raise MalformedFrame(f"a client id of {length} bytes in a request of {len(frame)}")
        client_id = frame[offset : offset + length].decode("utf-8", "replace") if length > 0 else NO_CLIENT_ID
        offset += max(length, 0)
        return client_id, _after_tags(frame, offset) if flexible else offset
    except (struct.error, IndexError) as error:
        raise MalformedFrame(f"the header of a request of {len(frame)} bytes ends too early") from error


def _after_tags(frame: bytes, offset: int) -> int:
    count, offset = _varint(frame, offset)
    for _ in range(count):
        _, offset = _varint(frame, offset)
        size, offset = _varint(frame, offset)
        offset += size
    if offset > len(frame):
        raise MalformedFrame("a tagged field ends behind the request")
    return offset


def _varint(frame: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = frame[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
        if shift > 28:
            raise MalformedFrame("a varint of more than five bytes")


def is_flexible(request: Any) -> bool:
    """Whether requests of this class come with tagged fields, in the header too."""
    return bool(request.__flexible__)


def decode_request(request: Any, payload: bytes) -> Any:
    """The request in the payload. Raises MalformedFrame.

    As in Kafka, text that is not UTF-8 is read with replacement characters, and tagged fields that the version does
    not have are passed over.
    """
    check_message(request, payload)
    read = _reader(request)
    try:
        try:
            entity, _ = read(payload, 0)
        except (KeyError, InvalidUnicode):  # unknown tags; bytes that are no text
            entity, _ = read(without_unknown_tags(request, payload, mend_text=True)[0], 0)
    except Exception as error:  # kio raises several kinds
        raise MalformedFrame(f"{request.__name__} v{request.__version__}: {error}") from error
    return entity


def varint(value: int) -> bytes:
    """A number as Kafka writes the lengths of flexible versions (UNSIGNED_VARINT)."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


@cache
def _reader(request: Any) -> Callable[[bytes, int], tuple[Any, int]]:
    reader: Callable[[bytes, int], tuple[Any, int]] = entity_reader(request)
    return reader


@cache
def _writer(entity: Any) -> Callable[[BytesIO, Any], None]:
    # With open codes, so that a response may carry any number as its error code.
    return entity_writer(with_open_codes(entity))


def encode_body(response: Any, payload: Any) -> bytes:
    """The payload as the response's version is written; error codes may be plain integers."""
    if isinstance(payload, EncodedBody):
        return payload.data
    buffer = BytesIO()
    _writer(response)(buffer, payload)
    return buffer.getvalue()


def response_frame(response: Any, correlation_id: int, body: bytes) -> bytes:
    """Length, response header and body."""
    tags = b"\x00" if response.__header_schema__.__flexible__ else b""
    return _HEAD.pack(4 + len(tags) + len(body), correlation_id) + tags + body
