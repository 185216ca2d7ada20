"""Decodes DescribeClientQuotas responses into the model. One response has all entities: it can't be paged.

The bytes between the names, and those between the values, are the same for all entities with the same types and keys.
So the first entity of a layout is read field by field; the others are found by a regular expression, and their names
and values are decoded column by column. That takes half the time of a loop over entities. Version 0 (Kafka 2.6 and 2.7)
is decoded by kio.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import itemgetter
from struct import Struct
from typing import NamedTuple

from kio.serial.readers import (
    read_compact_array_length,
    read_compact_string,
    read_compact_string_nullable,
    read_int16,
    read_int32,
)

from console.model.quota import QuotaEntity, QuotaPart, QuotaValues, part_order
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body
from console.wire.schemas import response_type
from console.wire.tagged_fields import read_varint, skip_tags

_DOUBLE = Struct(">d")
_ONE_BYTE = 0x80  # a varint below this is one byte
_NO_TAGS = b"\x00"
_NULL = b"\x00"
_KNOWN = 8  # layouts that are remembered; entities of other layouts are read field by field
_KNOWN_VALUES = 1024
_AT_ONCE = 256 * 1024  # bytes; small enough for intermediate objects to stay in the processor's cache

Quotas = dict[QuotaEntity, QuotaValues]


class QuotaError(NamedTuple):
    """Why a broker described no quotas: Kafka's error code and the message, null as ``""``."""

    code: int
    message: str


def decode_quotas(version: int, body: bytes) -> Quotas | QuotaError:
    """Return the entities of a response body (the bytes after the response header), or the error of the whole request.

    Raises MalformedFrame for bytes that are not such a response.
    """
    if version == 0:
        return _decode_by_kio(version, body)
    try:
        try:
            return _Decoder(body, _KNOWN).decode()
        except _NotAName:
            return _Decoder(body, 0).decode()
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


class _NotAName(Exception):
    """Bytes that were matched as a name do not have the length that they begin with: the name contains a zero byte."""


class _Types(NamedTuple):
    """A layout of entities: components of these types, in wire order.

    before_names: the bytes before each name. parts: for each type, the components by their encoded names, as far as
    decoded. order: indexes of the components in the model's order.
    """

    types: tuple[str, ...]
    before_names: tuple[bytes, ...]
    parts: tuple[dict[bytes, QuotaPart], ...]
    order: tuple[int, ...]

    def entities(self, columns: Sequence[Sequence[bytes]]) -> Iterator[QuotaEntity]:
        """Return the entities with these encoded names: a column for each component."""
        decoded = list(map(_parts, self.types, self.parts, columns))
        ordered = zip(*(decoded[place] for place in self.order), strict=True)
        return map(tuple.__new__, repeat(QuotaEntity), ordered)


def _parts(type_: str, known: dict[bytes, QuotaPart], column: Sequence[bytes]) -> Iterable[QuotaPart]:
    """Return the components of a type with these encoded names. Equal ones are one object if they are near one
    another."""
    distinct = set(column)
    if len(distinct) == len(column):
        return map(tuple.__new__, repeat(QuotaPart), zip(repeat(type_), _names(column)))
    new = list(distinct.difference(known))
    known.update(zip(new, map(tuple.__new__, repeat(QuotaPart), zip(repeat(type_), _names(new))), strict=False))
    return map(known.__getitem__, column)


def _names(encoded: Sequence[bytes]) -> Iterable[str | None]:
    """Decode names, each of which starts with its length. Raises _NotAName."""
    lengths = list(map(len, encoded))
    if lengths == list(map(itemgetter(0), encoded)) and max(lengths, default=0) < _ONE_BYTE:
        return [text[1:] for text in map(bytes.decode, encoded)]
    return list(map(_name, encoded))


def _name(encoded: bytes) -> str | None:
    if encoded == _NULL:
        return None
    length, size = read_varint(encoded, 0)
    if size + length - 1 != len(encoded):
        raise _NotAName
    return encoded[size:].decode()


class _Keys(NamedTuple):
    """A layout of values: these keys. around_values: the bytes around the doubles, from the end of the last name to the
    end of the entity. layout: of these bytes and the doubles."""

    keys: tuple[str, ...]
    around_values: tuple[bytes, ...]
    layout: Struct


class _Decoder:
    """One response of version 1, read from left to right."""

    def __init__(self, body: bytes, layouts: int) -> None:
        """Make one. layouts: how many are remembered, of entities and of values each."""
        self._body = body
        self._layouts = layouts
        self._types: list[_Types] = []
        self._keys: list[_Keys] = []
        self._known_entity: re.Pattern[bytes] | None = None
        self._known_values: dict[bytes, QuotaValues] = {}

    def decode(self) -> Quotas | QuotaError:
        body = self._body
        _, offset = read_int32(body, 0)  # the throttle time
        code, size = read_int16(body, offset)
        offset += size
        message, size = read_compact_string_nullable(body, offset)
        offset += size
        count, size = read_compact_array_length(body, offset)
        entities, offset = self._entities(count or 0, offset + size)
        offset = skip_tags(body, offset)
        if offset != len(body):
            raise ValueError(f"{len(body) - offset} bytes too many")
        return QuotaError(code, message or "") if code else entities

    def _entities(self, count: int, offset: int) -> tuple[Quotas, int]:
        """Return so many entities, and the offset after them."""
        result: Quotas = {}
        while count > 0:
            columns, offset = self._known_columns(offset)
            if columns:
                result.update(zip(self._named(columns), self._values(columns[-1]), strict=True))
                count -= len(columns[-1])
            else:
                entity, values, offset = self._field_by_field(offset)
                result[entity] = values
                count -= 1
        if count:
            raise ValueError(f"{-count} entities too many")
        return result, offset

    def _known_columns(self, start: int) -> tuple[list[list[bytes]], int]:
        """Return the consecutive entities of known layouts from here on, at most `_AT_ONCE` bytes, and the offset after
        them.

        Columns: the encoded names for each of `_types`, None where the entity has another layout; the encoded values.
        No columns where there is no such entity.
        """
        if self._known_entity is None:
            return [], start
        # Split into columns at once: a row is never an object. What is between matches is empty.
        pieces = self._known_entity.split(self._body[start : start + _AT_ONCE])
        groups = self._known_entity.groups
        end = min(start + _AT_ONCE, len(self._body))
        if len(pieces) > 1 and pieces[-2]:  # the bytes after the last entity of a known layout
            end -= len(pieces[-2])
            del pieces[-groups - 1 :]
        columns = [pieces[group :: groups + 1] for group in range(1, groups)]
        return (columns if columns[-1] else []), end

    def _named(self, columns: Sequence[Sequence[bytes]]) -> Iterable[QuotaEntity]:
        """Return the entities of these columns, in the same order."""
        if len(self._types) == 1:
            return self._types[0].entities(columns[:-1])
        entities: list[QuotaEntity] = [QuotaEntity()] * len(columns[-1])
        start = 0
        for types in self._types:
            own = columns[start : start + len(types.types)]
            places = [place for place, name in enumerate(own[0]) if name]
            for place, entity in zip(
                places, types.entities([[column[place] for place in places] for column in own]), strict=True
            ):
                entities[place] = entity
            start += len(types.types)
        return entities

    def _values(self, column: Iterable[bytes]) -> Iterable[QuotaValues]:
        """Return values, equal ones as one object: most entities have one of a few limits."""
        known = self._known_values
        if len(known) > _KNOWN_VALUES:
            known.clear()
        by_size: dict[int, list[_Keys]] = {}
        for keys in self._keys:
            by_size.setdefault(keys.layout.size, []).append(keys)
        for encoded in set(column).difference(known):
            for names, around_values, layout in by_size[len(encoded)]:
                fields = layout.unpack(encoded)
                if fields[::2] == around_values:
                    known[encoded] = dict(zip(names, fields[1::2], strict=True))
                    break
        return map(known.__getitem__, column)

    def _field_by_field(self, start: int) -> tuple[QuotaEntity, QuotaValues, int]:
        """Read an entity of any layout field by field, and remember the layout."""
        body = self._body
        parts: dict[str, str | None] = {}
        before_names: list[bytes] = []
        mark = start
        count, offset = self._array_length(start)
        for _ in range(count):
            type_, size = read_compact_string(body, offset)
            offset += size
            before_names.append(body[mark:offset])
            parts[type_], size = read_compact_string_nullable(body, offset)
            mark = offset + size
            offset = skip_tags(body, mark)
        values: dict[str, float] = {}
        around_values: list[bytes] = []
        value_count, offset = self._array_length(offset)
        for _ in range(value_count):
            key, size = read_compact_string(body, offset)
            offset += size
            around_values.append(body[mark:offset])
            values[key] = _DOUBLE.unpack_from(body, offset)[0]
            mark = offset + _DOUBLE.size
            offset = skip_tags(body, mark)
        offset = skip_tags(body, offset)
        around_values.append(body[mark:offset])
        if 0 < count == len(parts) <= 2 and value_count == len(values):
            self._remember(tuple(parts), tuple(before_names), tuple(values), tuple(around_values))
        return QuotaEntity.of(parts), values, offset

    def _remember(
        self,
        types: tuple[str, ...],
        before_names: tuple[bytes, ...],
        keys: tuple[str, ...],
        around_values: tuple[bytes, ...],
    ) -> None:
        # The regular expression ends a name at the first zero byte.
        if not all(piece.startswith(_NO_TAGS) for piece in (*before_names[1:], around_values[0])):
            return
        has_types = any(before_names == known.before_names for known in self._types)
        has_keys = any(around_values == known.around_values for known in self._keys)
        if (has_types or len(self._types) < self._layouts) and (has_keys or len(self._keys) < self._layouts):
            if not has_types:
                order = sorted(range(len(types)), key=lambda place: part_order(types[place]))
                self._types.append(_Types(types, before_names, tuple({} for _ in types), tuple(order)))
            if not has_keys:
                layout = Struct(">" + "d".join(f"{len(piece)}s" for piece in around_values))
                self._keys.append(_Keys(keys, around_values, layout))
            if not (has_types and has_keys):
                self._known_entity = _pattern(self._types, self._keys)

    def _array_length(self, offset: int) -> tuple[int, int]:
        length, size = read_compact_array_length(self._body, offset)
        if length is None:
            raise ValueError("an array is null")
        return length, offset + size


def _pattern(types: Iterable[_Types], keys: Iterable[_Keys]) -> re.Pattern[bytes]:
    """Match an entity of these layouts: a group for each name, one for the values; or all remaining bytes."""
    names = b"|".join(
        b"".join(re.escape(piece) + rb"([^\x00]+|\x00)" for piece in layout.before_names) for layout in types
    )
    values = b"|".join(b".{8}".join(map(re.escape, layout.around_values)) for layout in keys)
    return re.compile(b"(?:" + names + b")(" + values + b")|(.+)", re.DOTALL)
