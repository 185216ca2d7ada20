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

from console.model.quota import QuotaEntity, QuotaPart, QuotaValues, part_order
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body
from console.wire.schemas import response_type

_DOUBLE = Struct(">d")
_ONE_BYTE = 0x80  # a varint below this is one byte
_KNOWN = 8  # patterns tried before an entity is read piece by piece
_KNOWN_VALUES = 1024

Quotas = dict[QuotaEntity, QuotaValues]


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


class _LongName(Exception):
    """A name whose length takes more than one byte."""


class _Names(dict[bytes, QuotaPart]):
    """An encoded name (its length byte included) -> the component of this type."""

    def __init__(self, type_: str) -> None:
        super().__init__()
        self._type = type_

    def __missing__(self, encoded: bytes) -> QuotaPart:
        if encoded[0] >= _ONE_BYTE:
            raise _LongName
        part = self[encoded] = QuotaPart(self._type, encoded[1:].decode() if encoded[0] else None)
        return part


class _Types(NamedTuple):
    """Entities with components of the same types: what stands before each name, its size, and the names seen there.

    backwards: whether the components stand on the wire the other way round than in the model.
    """

    before_names: tuple[tuple[bytes, int, _Names], ...]
    backwards: bool


class _Keys:
    """Values of the same keys: what stands around the doubles from the last name's end to the entity's end.

    Equal values are one object: limits come in a few sizes.
    """

    __slots__ = ("around_values", "keys", "layout", "seen", "size")

    def __init__(self, around_values: list[bytes], keys: list[str]) -> None:
        self.around_values = tuple(around_values)
        self.keys = tuple(keys)
        self.layout = Struct(">" + "d".join(f"{len(piece)}s" for piece in around_values))
        self.size = self.layout.size
        self.seen: dict[bytes, QuotaValues] = {}

    def read(self, encoded: bytes) -> QuotaValues | None:
        """The values in these bytes, None where they are not of these keys."""
        if len(encoded) < self.size:
            return None
        fields = self.layout.unpack(encoded)
        if fields[::2] != self.around_values:
            return None
        values = dict(zip(self.keys, fields[1::2], strict=True))
        if len(self.seen) < _KNOWN_VALUES:
            self.seen[encoded] = values
        return values


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
        entities, offset = self._entities(count or 0, offset + size)
        offset = self._after_tags(offset)
        if offset != len(body):
            raise ValueError(f"{len(body) - offset} bytes too many")
        return QuotaError(code, message or "") if code else entities

    def _entities(self, count: int, offset: int) -> tuple[Quotas, int]:
        """The loop that counts: no calls of our own for an entity like one before."""
        body = self._body
        startswith = body.startswith
        known_types, known_keys = self._types, self._keys
        result: Quotas = {}
        for _ in range(count):
            values: QuotaValues | None = None
            try:
                for types in known_types:
                    at = offset
                    parts = []
                    for piece, size, names in types.before_names:
                        if not startswith(piece, at):
                            break
                        at += size
                        name_end = at + (body[at] or 1)
                        parts.append(names[body[at:name_end]])
                        at = name_end
                    else:
                        if types.backwards:
                            parts.reverse()
                        for keys in known_keys:
                            size = keys.size
                            encoded = body[at : at + size]
                            values = keys.seen.get(encoded) or keys.read(encoded)
                            if values is not None:
                                break
                        break
            except _LongName:
                pass
            if values is None:
                entity, values, offset = self._piece_by_piece(offset)
                result[entity] = values
            else:
                result[QuotaEntity(parts)] = values
                offset = at + size
        return result, offset

    def _piece_by_piece(self, start: int) -> tuple[QuotaEntity, QuotaValues, int]:
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
        if short and 0 < count == len(parts) <= 2 and value_count == len(values):
            self._remember(list(parts), before_names, list(values), around_values)
        return QuotaEntity.of(parts), values, offset

    def _remember(
        self, types: list[str], before_names: list[bytes], keys: list[str], around_values: list[bytes]
    ) -> None:
        pieces = tuple((piece, len(piece), _Names(type_)) for piece, type_ in zip(before_names, types, strict=True))
        if len(self._types) < _KNOWN and all(
            before_names != [p[0] for p in known.before_names] for known in self._types
        ):
            self._types.append(_Types(pieces, backwards=types != sorted(types, key=part_order)))
        if len(self._keys) < _KNOWN and all(tuple(around_values) != known.around_values for known in self._keys):
            self._keys.append(_Keys(around_values, keys))

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
