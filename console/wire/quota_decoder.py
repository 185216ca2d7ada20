"""DescribeClientQuotas responses straight into the model: one response has every entity, it can't be paged.

Version 1 is read by hand, in less time than kio's objects and their mapping take: the encodings of components and keys
repeat, so each is decoded once and then found by its bytes. Version 0 (Kafka 2.6 and 2.7) goes through kio.
"""

from __future__ import annotations

from operator import itemgetter
from struct import Struct
from typing import NamedTuple

from kio.serial.readers import (
    read_compact_array_length,
    read_compact_string,
    read_compact_string_nullable,
    read_int16,
    read_int32,
    read_unsigned_varint,
)

from console.model.quota import QuotaEntity, QuotaPart, part_order
from console.wire.frames import MalformedFrame, decode_body
from console.wire.schemas import response_type

_DOUBLE = Struct(">d")
_ONE_BYTE = 0x80  # a varint below this is its one byte

Quotas = dict[QuotaEntity, dict[str, float]]


class QuotaError(NamedTuple):
    """Why a broker described no quotas: Kafka's code and its message, null as ``""``."""

    code: int
    message: str


def decode_quotas(version: int, body: bytes) -> Quotas | QuotaError:
    """The entities of a response body (what follows the response header), or the error of the whole request.

    Raises MalformedFrame for bytes that are no such response.
    """
    if version == 0:
        return _decode_by_kio(version, body)
    try:
        return _decode_by_hand(body)
    except Exception as error:  # kio raises several kinds
        raise MalformedFrame(f"DescribeClientQuotasResponse v{version}: {error}") from error


def _decode_by_kio(version: int, body: bytes) -> Quotas | QuotaError:
    response = decode_body(response_type("describe_client_quotas", version), body)
    if response.error_code:
        return QuotaError(response.error_code, response.error_message or "")
    return {
        QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in response.entries or ()
    }


def _decode_by_hand(body: bytes) -> Quotas | QuotaError:
    _, offset = read_int32(body, 0)  # the throttle time
    code, size = read_int16(body, offset)
    offset += size
    message, size = read_compact_string_nullable(body, offset)
    offset += size
    count, size = read_compact_array_length(body, offset)
    entries, offset = _entries(body, offset + size, count or 0)
    offset = _after_tags(body, offset)
    if offset != len(body):
        raise ValueError(f"{len(body) - offset} bytes too many")
    return QuotaError(code, message or "") if code else entries


def _entries(body: bytes, offset: int, count: int) -> tuple[Quotas, int]:
    """The loop over entities: what is usual (lengths of one byte, no tagged fields) is read in place."""
    result: Quotas = {}
    parts: dict[bytes, tuple[tuple[int, str], QuotaPart]] = {}
    keys: dict[bytes, str] = {}
    entities: dict[tuple[QuotaPart, ...], QuotaEntity] = {}
    double_at = _DOUBLE.unpack_from
    for _ in range(count):
        length, offset = _array_length(body, offset)
        found = []
        for _ in range(length):
            start = offset
            offset += body[start]
            if body[start] < _ONE_BYTE and body[offset] < _ONE_BYTE:
                offset += body[offset] or 1
                part = parts.get(body[start:offset])
            else:
                part = None
            if part is None:
                component, offset = _component(body, start)
                part = part_order(component.type), component
                parts[body[start:offset]] = part
            offset = offset + 1 if body[offset] == 0 else _after_tags(body, offset)
            found.append(part)
        if length > 1:
            found.sort(key=_PLACE)
        length, offset = _array_length(body, offset)
        values = {}
        for _ in range(length):
            start = offset
            offset += body[start]
            key = keys.get(body[start:offset]) if body[start] < _ONE_BYTE else None
            if key is None:
                key, size = read_compact_string(body, start)
                offset = start + size
                keys[body[start:offset]] = key
            values[key] = double_at(body, offset)[0]
            offset += 8
            offset = offset + 1 if body[offset] == 0 else _after_tags(body, offset)
        offset = offset + 1 if body[offset] == 0 else _after_tags(body, offset)
        result[QuotaEntity(tuple([part[1] for part in found]))] = values
    return result, offset


_PLACE = itemgetter(0)


def _component(body: bytes, offset: int) -> tuple[QuotaPart, int]:
    type_, size = read_compact_string(body, offset)
    offset += size
    name, size = read_compact_string_nullable(body, offset)
    return QuotaPart(type_, name), offset + size


def _array_length(body: bytes, offset: int) -> tuple[int, int]:
    length, size = read_compact_array_length(body, offset)
    if length is None:
        raise ValueError("an array is null")
    return length, offset + size


def _after_tags(body: bytes, offset: int) -> int:
    """The offset behind a section of tagged fields; the schema has none, a newer broker may."""
    count, size = read_unsigned_varint(body, offset)
    offset += size
    for _ in range(count):
        _, size = read_unsigned_varint(body, offset)
        offset += size
        length, size = read_unsigned_varint(body, offset)
        offset += size + length
    return offset
