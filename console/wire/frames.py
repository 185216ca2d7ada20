"""Frames without their length: request header and payload, response header and body (KIP-482 for the flexible ones)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from console.wire.bounds_check import check_message
from console.wire.malformed import MalformedFrame as MalformedFrame
from console.wire.open_codes import open_reader
from console.wire.unknown_tags import without_unknown_tags

if TYPE_CHECKING:
    from kio.static.primitive import i32


class Unencodable(ValueError):
    """A request holds something that its format cannot carry: a number out of range, text that is not Unicode."""


@cache
def _writer(entity: type[Entity]) -> Callable[[BytesIO, Entity], None]:
    return entity_writer(entity)


def encode_header(payload: RequestPayload, correlation_id: int, client_id: str) -> bytes:
    """The request header that goes before this payload."""
    header = payload.__header_schema__(
        request_api_key=payload.__api_key__,
        request_api_version=payload.__version__,
        correlation_id=cast("i32", correlation_id),
        client_id=client_id,
    )
    return _encode(header)


def encode_payload(payload: RequestPayload) -> bytes:
    """The payload, as its version is written. Raises Unencodable."""
    try:
        return _encode(payload)
    except (SerialError, ValueError, TypeError, AttributeError, struct.error) as error:
        raise Unencodable(f"{type(payload).__name__} v{payload.__version__}: {error}") from error


def _encode(entity: Entity) -> bytes:
    buffer = BytesIO()
    _writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def split_response(response: type[ResponsePayload], frame: bytes) -> tuple[int, memoryview]:
    """The correlation id and the body of a response frame; raises MalformedFrame where there is no whole header."""
    header = response.__header_schema__
    try:
        try:
            told, size = entity_reader(header)(frame, 0)
        except KeyError:  # tagged fields: none is defined, and kio does not pass over them
            known, size = without_unknown_tags(header, frame)
            told, _ = entity_reader(header)(known, 0)
    except Exception as error:  # kio raises several kinds, none of them ours
        raise MalformedFrame(f"no response header in {len(frame)} bytes") from error
    return told.correlation_id, memoryview(frame)[size:]


def decode_body(response: type[ResponsePayload], body: bytes | memoryview) -> Any:
    """The response in the body, with error codes as plain integers; raises MalformedFrame where it can't be read."""
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
