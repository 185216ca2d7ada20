"""DescribeClientQuotas responses straight into the model: one response has every entity, it can't be paged.

20,000 entities take a third of the time that kio's objects and their mapping take. The bytes between the names, and
those between the values, are the same for all entities of the same types and keys; so an entity is read piece by piece
once, and those like it by comparing what has to be there and picking out names and values. Version 0 (Kafka 2.6 and
2.7) goes through kio.
"""

from __future__ import annotations

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
_ONE_BYTE = 0x80  # a varint below this is one byte
_KNOWN = 8  # patterns tried before an entity is read piece by piece

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
        return _Decoder(body).decode()
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


class _Names(dict[bytes, QuotaPart]):
    """An encoded name (its length byte included) -> the component of this type."""

    def __init__(self, type_: str) -> None:
        super().__init__()
        self._type = type_

    def __missing__(self, encoded: bytes) -> QuotaPart:
        part = self[encoded] = QuotaPart(self._type, encoded[1:].decode() if encoded[0] else None)
        return part


class _Types:
    """Entities with components of the same types: what stands before each name, and which order the model has."""

    __slots__ = ("names", "order", "pieces")

    def __init__(self, pieces: list[bytes], types: list[str]) -> None:
        self.pieces = [(piece, len(piece)) for piece in pieces]
        self.names = [_Names(type_) for type_ in types]
        self.order = sorted(range(len(types)), key=lambda place: part_order(types[place]))

    def read(self, body: bytes, offset: int) -> tuple[QuotaEntity, int] | None:
        """The entity and where its last name ends; None where it is not like this."""
        names = []
        for piece, size in self.pieces:
            if not body.startswith(piece, offset):
                return None
            offset += size
            length = body[offset]
            if length >= _ONE_BYTE:
                return None
            end = offset + (length or 1)
            names.append(body[offset:end])
            offset = end
        parts = [known[name] for known, name in zip(self.names, names, strict=True)]
        return QuotaEntity(tuple([parts[place] for place in self.order])), offset


class _Keys:
    """Values of the same keys, from the last name's end to the entity's end: what stands around each double."""

    __slots__ = ("expected", "keys", "size", "unpack")

    def __init__(self, pieces: list[bytes], keys: list[str]) -> None:
        layout = Struct(">" + "d".join(f"{len(piece)}s" for piece in pieces))
        self.unpack = layout.unpack_from
        self.size = layout.size
        self.expected = tuple(pieces)
        self.keys = keys

    def read(self, body: bytes, offset: int) -> tuple[dict[str, float], int] | None:
        """The values and where the entity ends; None where they are not like this."""
        if offset + self.size > len(body):
            return None
        fields = self.unpack(body, offset)
        if fields[::2] != self.expected:
            return None
        return dict(zip(self.keys, fields[1::2], strict=True)), offset + self.size


class _Decoder:
    """One response of version 1, read from left to right."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._types: list[_Types] = []
        self._keys: list[_Keys] = []

    def decode(self) -> Quotas | QuotaError:
        body = self._body
        _, offset = read_int32(body, 0)  # the throttle time
        code, size = read_int16(body, offset)
        offset += size
        message, size = read_compact_string_nullable(body, offset)
        offset += size
        count, size = read_compact_array_length(body, offset)
        offset += size
        result: Quotas = {}
        for _ in range(count or 0):
            entity, values, offset = self._known(offset) or self._piece_by_piece(offset)
            result[entity] = values
        offset = self._after_tags(offset)
        if offset != len(body):
            raise ValueError(f"{len(body) - offset} bytes too many")
        return QuotaError(code, message or "") if code else result

    def _known(self, start: int) -> tuple[QuotaEntity, dict[str, float], int] | None:
        """An entity like one before; None where there was none like it."""
        body = self._body
        for place, types in enumerate(self._types):
            found = types.read(body, start)
            if found is not None:
                break
        else:
            return None
        if place:
            self._types.insert(0, self._types.pop(place))
        entity, offset = found
        for place, keys in enumerate(self._keys):
            read = keys.read(body, offset)
            if read is not None:
                if place:
                    self._keys.insert(0, self._keys.pop(place))
                return entity, *read
        return None

    def _piece_by_piece(self, start: int) -> tuple[QuotaEntity, dict[str, float], int]:
        """Any entity. Remembers how it looks, for those that come after."""
        body = self._body
        parts: dict[str, str | None] = {}
        before_names: list[bytes] = []
        short = True
        mark = start
        count, offset = self._array_length(start)
        for _ in range(count):
            type_, size = read_compact_string(body, offset)
            offset += size
            before_names.append(body[mark:offset])
            short = short and body[offset] < _ONE_BYTE
            parts[type_], size = read_compact_string_nullable(body, offset)
            mark = offset + size
            offset = self._after_tags(mark)
        values: dict[str, float] = {}
        around_values: list[bytes] = []
        value_count, offset = self._array_length(offset)
        for _ in range(value_count):
            key, size = read_compact_string(body, offset)
            offset += size
            around_values.append(body[mark:offset])
            values[key] = _DOUBLE.unpack_from(body, offset)[0]
            mark = offset + _DOUBLE.size
            offset = self._after_tags(mark)
        offset = self._after_tags(offset)
        around_values.append(body[mark:offset])
        if short and 0 < count == len(parts) and value_count == len(values):
            if not any(types.read(body, start) for types in self._types):
                self._types.insert(0, _Types(before_names, list(parts)))
                del self._types[_KNOWN:]
            self._keys.insert(0, _Keys(around_values, list(values)))
            del self._keys[_KNOWN:]
        return QuotaEntity.of(parts), values, offset

    def _array_length(self, offset: int) -> tuple[int, int]:
        length, size = read_compact_array_length(self._body, offset)
        if length is None:
            raise ValueError("an array is null")
        return length, offset + size

    def _after_tags(self, offset: int) -> int:
        """The offset behind a section of tagged fields; the schema has none, a newer broker may."""
        count, size = read_unsigned_varint(self._body, offset)
        offset += size
        for _ in range(count):
            _, size = read_unsigned_varint(self._body, offset)
            offset += size
            length, size = read_unsigned_varint(self._body, offset)
            offset += size + length
        if offset > len(self._body):
            raise ValueError("a tagged field ends behind the response")
        return offset
