"""Encoding and decoding of frames, without the length before them, for both sides of a connection.

A client encodes request headers and payloads, and decodes response headers and bodies. A broker, here the embedded
cluster, decodes request headers and payloads, and encodes response headers and bodies. KIP-482 defines the flexible
versions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import Field, fields, is_dataclass
from functools import cache
from io import BytesIO
from types import GenericAlias, MappingProxyType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args, get_origin

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import InvalidUnicode, SerialError
from kio.static.primitive import i16, i64
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from console.wire.bounds_check import MalformedFrame, check_message, prepare_check
from console.wire.tagged_fields import skip_tags, without_unknown_tags

if TYPE_CHECKING:
    from kio.static.primitive import i32


# Error codes as plain integers.
#
# kio decodes an error code into its enumeration and raises ValueError for an unknown one, so that the whole response is
# lost. A broker may be newer than kio. Therefore each response class gets a subclass with the same slots, in which
# fields of kind ``error_code`` are declared ``int16``; kio's native reader follows the declarations, at the same speed.
# Times that can't be null are read as milliseconds: brokers send -1 for a missing time (DescribeTransactions), for
# which kio raises too.

ReadEntity = Callable[[bytes | memoryview, int], tuple[Any, int]]
"""Function of (buffer, offset) that returns (decoded entity, bytes read)."""


@cache  # keeps the class: kio's reader caches by a class's address, so a class that it has read must never be freed
def with_open_codes(entity: type) -> type:
    """Return a subclass of the entity's class in which error codes are plain integers, as are times that can't be null.
    Return the class itself if neither it nor a structure in it has such fields.
    """
    opened = {field.name: _opened(field) for field in fields(entity)}
    if all(opened[field.name] is field for field in fields(entity)):
        return entity
    declared = {**entity.__dataclass_fields__, **opened}  # type: ignore[attr-defined]
    return type(entity.__name__, (entity,), {"__slots__": (), "__dataclass_fields__": declared})


def _opened(field: Field[Any]) -> Field[Any]:
    plain = _PLAIN.get((field.metadata.get("kafka_type"), get_origin(field.type) is UnionType))
    type_ = plain[0] if plain is not None else _opened_type(field.type)
    if type_ == field.type:
        return field
    result = copy(field)
    result.type = type_
    if plain is not None:
        result.metadata = MappingProxyType({**field.metadata, "kafka_type": plain[1]})
    return result


_PLAIN: Mapping[tuple[Any, bool], tuple[type, str]] = {
    ("error_code", False): (i16, "int16"),
    ("datetime_i64", False): (i64, "int64"),
}
"""(Kafka's type of a field, whether the field may be null) -> the Python type and Kafka's type that the subclass of
`with_open_codes` declares in their place.
"""


def _opened_type(type_: Any) -> Any:
    if get_origin(type_) is tuple:
        return GenericAlias(tuple, (_opened_type(get_args(type_)[0]), ...))
    if get_origin(type_) is UnionType:
        first, *others = (_opened_type(part) for part in get_args(type_))
        for other in others:
            first = first | other
        return first
    return with_open_codes(type_) if isinstance(type_, type) and is_dataclass(type_) else type_


@cache
def open_reader(entity: type) -> ReadEntity:
    """Return kio's native reader of the class that `with_open_codes` returns."""
    reader: ReadEntity = entity_reader(with_open_codes(entity))
    return reader


# Encoding requests and decoding responses, as a client.

_INT32 = struct.Struct(">i")


class Unencodable(ValueError):
    """A value in a request can't be encoded: a number is out of range, or a text is not valid Unicode."""


@cache
def _request_writer(entity: type[Entity]) -> Callable[[BytesIO, Entity], None]:
    return entity_writer(entity)


def encode_header(payload: RequestPayload, correlation_id: int, client_id: str) -> bytes:
    """Return the encoded request header for this payload's API and version."""
    header = payload.__header_schema__(
        request_api_key=payload.__api_key__,
        request_api_version=payload.__version__,
        correlation_id=cast("i32", correlation_id),
        client_id=client_id,
    )
    return _encode(header)


def encode_payload(payload: RequestPayload) -> bytes:
    """Return the encoded request payload. Raises Unencodable."""
    try:
        return _encode(payload)
    except (SerialError, ValueError, TypeError, AttributeError, struct.error) as error:
        raise Unencodable(f"{type(payload).__name__} v{payload.__version__}: {error}") from error


def _encode(entity: Entity) -> bytes:
    buffer = BytesIO()
    _request_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def has_flexible_response_header(api: str, request: RequestPayload | type[RequestPayload]) -> bool:
    """Return whether the header of this request's response has tagged fields. True if the request is flexible, but
    always False for ApiVersions, because any client must be able to read its response (KIP-511).
    """
    return request.__flexible__ and api != "api_versions"


def split_response(response: type[ResponsePayload], frame: bytes) -> tuple[int, memoryview]:
    """Return the correlation id and the body of a response frame. Raises MalformedFrame if the header is truncated.
    response: the class of the response.
    """
    return split_frame(memoryview(frame), flexible=response.__header_schema__.__flexible__)


def split_frame(frame: memoryview, *, flexible: bool) -> tuple[int, memoryview]:
    """Return the correlation id and the body of a response frame. Raises MalformedFrame if the header is truncated.

    Args:
        flexible: whether the header has a section of tagged fields, which is skipped: Kafka defines no such fields, but
            a newer broker may send some.
    """
    try:
        (correlation_id,) = _INT32.unpack_from(frame)
        return correlation_id, frame[skip_tags(frame, _INT32.size) if flexible else _INT32.size :]
    except (struct.error, IndexError, ValueError) as error:
        raise MalformedFrame(f"no response header in {len(frame)} bytes") from error


def prepare_decoding(response: type[ResponsePayload]) -> None:
    """Build and cache the reader of this response class, which takes milliseconds, so that `decode_body` does not have
    to.
    """
    open_reader(response)
    prepare_check(response)


def decode_body(response: type[ResponsePayload], body: bytes | memoryview) -> Any:
    """Decode a response body, with error codes as plain integers. Raises MalformedFrame."""
    read = open_reader(response)
    try:
        data = bytes(body)
        check_message(response, data)
        try:
            entity, _ = read(data, 0)
        except KeyError:
            entity, _ = read(without_unknown_tags(response, data)[0], 0)
    except Exception as error:
        raise MalformedFrame(f"{response.__name__} v{response.__version__}: {error}") from error
    return entity


# Decoding requests and encoding responses, as a broker.

_REQUEST_HEAD = struct.Struct(">hhi")
_INT16 = struct.Struct(">h")
_RESPONSE_HEAD = struct.Struct(">ii")
NO_CLIENT_ID = ""


class RequestHead(NamedTuple):
    """The fields at the start of every request: RequestHeader v1 without the client id."""

    key: int
    version: int
    correlation_id: int


class EncodedBody(NamedTuple):
    """A response body that is already encoded, for responses that would take too long to encode each time."""

    data: bytes


def read_head(frame: bytes) -> RequestHead:
    """Return API key, version and correlation id of a request frame. Raises MalformedFrame if the frame is too
    short.
    """
    if len(frame) < _REQUEST_HEAD.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes has no header")
    return RequestHead(*_REQUEST_HEAD.unpack_from(frame))


def read_client_id(frame: bytes, *, flexible: bool) -> tuple[str, int]:
    """Return the client id of a request frame (``""`` for null), and the offset of the payload. Raises MalformedFrame.
    flexible: whether the header has a section of tagged fields.
    """
    try:
        (length,) = _INT16.unpack_from(frame, _REQUEST_HEAD.size)
        offset = _REQUEST_HEAD.size + _INT16.size
        if length > len(frame) - offset:
            raise MalformedFrame(f"a client id of {length} bytes in a request of {len(frame)}")
        client_id = frame[offset : offset + length].decode("utf-8", "replace") if length > 0 else NO_CLIENT_ID
        offset += max(length, 0)
        return client_id, skip_tags(frame, offset) if flexible else offset
    except MalformedFrame:
        raise
    except (struct.error, IndexError, ValueError) as error:
        raise MalformedFrame(f"the header of a request of {len(frame)} bytes ends too early") from error


def is_flexible(request: Any) -> bool:
    """Return whether requests of this class are flexible: payload and header then have tagged fields."""
    return bool(request.__flexible__)


def decode_request(request: Any, payload: bytes) -> Any:
    """Decode a request's payload by its class. Raises MalformedFrame.

    As in Kafka, bytes of a text that are not UTF-8 become U+FFFD, and unknown tagged fields are skipped.
    """
    check_message(request, payload)
    read = _request_reader(request)
    try:
        try:
            entity, _ = read(payload, 0)
        except (KeyError, InvalidUnicode):  # unknown tags, or bytes that are not UTF-8
            entity, _ = read(without_unknown_tags(request, payload, mend_text=True)[0], 0)
    except Exception as error:  # kio raises errors of several classes
        raise MalformedFrame(f"{request.__name__} v{request.__version__}: {error}") from error
    return entity


@cache
def _request_reader(request: Any) -> Callable[[bytes, int], tuple[Any, int]]:
    reader: Callable[[bytes, int], tuple[Any, int]] = entity_reader(request)
    return reader


@cache
def _response_writer(entity: Any) -> Callable[[BytesIO, Any], None]:
    # The class with open codes takes any number as the error code of a response.
    return entity_writer(with_open_codes(entity))


def encode_body(response: Any, payload: Any) -> bytes:
    """Encode a response body by its class. Error codes may be plain integers."""
    if isinstance(payload, EncodedBody):
        return payload.data
    buffer = BytesIO()
    _response_writer(response)(buffer, payload)
    return buffer.getvalue()


def response_frame(response: Any, correlation_id: int, body: bytes) -> bytes:
    """Return the whole response frame: its length, the response header and the body."""
    tags = b"\x00" if response.__header_schema__.__flexible__ else b""
    return _RESPONSE_HEAD.pack(4 + len(tags) + len(body), correlation_id) + tags + body
