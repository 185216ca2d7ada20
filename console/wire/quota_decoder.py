"""Decoder of DescribeClientQuotas responses into the model. One response has all entities, since the API has no pages.

The bytes between the names, and those between the values, are equal for all entities with the same component types and
quota keys: they have the same *layout*. The decoder reads the first entity of a layout field by field. A regular
expression then finds the other entities of that layout, whose names and values are decoded together, a column at a
time. That takes half the time of a loop over entities. kio decodes version 0 (Kafka 2.6 and 2.7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from struct import Struct
from typing import NamedTuple

from kio.serial.readers import (
    read_compact_array_length,
    read_compact_string,
    read_compact_string_nullable,
    read_int16,
    read_int32,
)

from console.model.quota import QuotaEntity, QuotaValues, part_order
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body
from console.wire.schemas import response_type
from console.wire.tagged_fields import read_varint, skip_tags

_DOUBLE = Struct(">d")
_NO_TAGS = b"\x00"
_NULL, _EMPTY = b"\x00", b"\x01"  # the encoded lengths of null and of an empty name
_KNOWN = 8  # maximum number of layouts to remember; entities of other layouts are read field by field
_KNOWN_VALUES = 1024
_AT_ONCE = 64 * 1024  # bytes; small enough to keep intermediate objects in the processor's cache
_SAMPLE = 64
_BYTES = "latin-1"  # one character per byte, so that slices of the text need no decoding each
_LENGTHS = bytes(range(1, 0x80)) + bytes(0x81)  # a length in one byte is one more than the length; 0 if it takes two

Quotas = dict[QuotaEntity, QuotaValues]


class QuotaError(NamedTuple):
    """The error of a whole request: Kafka's error code, and the broker's message, ``""`` if it is null."""

    code: int
    message: str


def decode_quotas(version: int, body: bytes) -> Quotas | QuotaError:
    """Return entity -> its quotas, from a DescribeClientQuotas response; or the error of the whole request.

    Args:
        version: the version of the API.
        body: the bytes after the response header.

    Raises:
        MalformedFrame: the bytes are not such a response.
    """
    if version == 0:
        return _decode_by_kio(version, body)
    try:
        try:
            return _Decoder(body, _KNOWN).decode()
        except _NotAName:
            return _Decoder(body, 0).decode()
    except Exception as error:  # kio raises errors of several classes
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
    """Raised if the bytes that the regular expression matched as a name do not have the name's encoded length,
    because the name contains a zero byte.
    """


class _OtherKeys(Exception):
    """Raised if bytes that the regular expression matched as values have a known first quota key, but further keys
    that no known layout has.
    """


class _Names(dict[str | None, str | None]):
    """A cache of the names of one component, by which equal names share one object."""

    def __missing__(self, name: str | None) -> str | None:
        self[name] = name
        return name

    def shared(self, names: Sequence[str | None]) -> Iterable[str | None]:
        """Return the names, as shared objects if a sample of them has repetitions. The names of clients mostly have
        no repetitions, and are returned unchanged.
        """
        some = names[:_SAMPLE]
        if len(set(some)) == len(some) and self.keys().isdisjoint(some):
            return names
        return map(self.__getitem__, names)


class _Types(NamedTuple):
    """The layout of entities with components of these types, in wire order."""

    types: tuple[str, ...]
    before_names: tuple[bytes, ...]
    """For each component, the bytes from the end of the preceding name to its own name."""
    known: tuple[_Names, ...]
    """For each component, the cache of its names."""
    order: tuple[int, ...]
    """The indexes of the components in the order in which the model has them."""

    def entities(self, columns: Sequence[Sequence[str]]) -> Iterator[QuotaEntity]:
        """Return the entities with these names.

        Args:
            columns: two columns for each component, with a text for each entity: the first byte of the name's encoded
                length, and the bytes after it.
        """
        named = [known.shared(_names(*columns[2 * at : 2 * at + 2])) for at, known in enumerate(self.known)]
        parts = chain.from_iterable((repeat(self.types[place]), named[place]) for place in self.order)
        return map(tuple.__new__, repeat(QuotaEntity), zip(*parts, strict=False))


def _names(lengths: Sequence[str], texts: Sequence[str]) -> Sequence[str | None]:
    """Decode the names of one component; None for a null name. Raises _NotAName.

    Args:
        lengths: the first byte of each name's encoded length.
        texts: the bytes after it, up to the end of each name.
    """
    said = "".join(lengths).encode(_BYTES)
    try:
        short = bytes(map(len, texts)).translate(_LENGTHS) == said.replace(_NULL, _EMPTY)
    except ValueError:  # a text has more than 255 bytes
        short = False
    if not short or not "".join(texts).isascii():
        return list(map(_name, lengths, texts))
    return (
        texts
        if 0 not in said
        else [None if length == "\0" else text for length, text in zip(lengths, texts, strict=True)]
    )


def _name(length: str, text: str) -> str | None:
    encoded = (length + text).encode(_BYTES)
    if encoded == _NULL:
        return None
    size, start = read_varint(encoded, 0)
    if start + size - 1 != len(encoded):
        raise _NotAName
    return encoded[start:].decode()


class _Keys(NamedTuple):
    """The layout of values with these quota keys."""

    keys: tuple[str, ...]
    around_values: tuple[bytes, ...]
    """The bytes before, between and after the values (doubles), from the end of the last name to the end of the entity.
    """
    layout: Struct
    """The struct that unpacks an entity's bytes into `around_values` and the doubles between them."""


class _Values(dict[str, QuotaValues]):
    """A cache of decoded values by their bytes: most entities have one of a few combinations of limits."""

    def __init__(self, keys: Sequence[_Keys]) -> None:
        super().__init__()
        self._keys = keys

    def __missing__(self, encoded: str) -> QuotaValues:
        if len(self) >= _KNOWN_VALUES:
            self.clear()
        data = encoded.encode(_BYTES)
        for names, around_values, layout in self._keys:
            if layout.size == len(data) and (fields := layout.unpack(data))[::2] == around_values:
                made = self[encoded] = dict(zip(names, fields[1::2], strict=True))
                return made
        raise _OtherKeys


class _Decoder:
    """A decoder of one response of version 1, which reads its bytes from left to right."""

    def __init__(self, body: bytes, layouts: int) -> None:
        """Prepare to decode a response body. layouts: the maximum number of remembered layouts of names, and of values;
        0 to read each entity field by field.
        """
        self._body, self._view = body, memoryview(body)
        self._layouts = layouts
        self._types: list[_Types] = []
        self._keys: list[_Keys] = []
        self._known_entity: re.Pattern[str] | None = None
        self._is_exact = False
        self._known_values = _Values(self._keys)

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
        """Decode `count` entities; return them and the offset after them. Raises ValueError if more entities than
        `count` were decoded.
        """
        result: Quotas = {}
        while count > 0:
            columns, after = self._known_columns(offset)
            if not columns:
                entity, values, offset = self._field_by_field(offset)
                result[entity] = values
                count -= 1
                continue
            try:
                result.update(zip(self._named(columns), map(self._known_values.__getitem__, columns[-1]), strict=True))
            except _OtherKeys:
                if self._is_exact:
                    raise
                self._is_exact = True
                self._known_entity = _pattern(self._types, self._keys, exact=True)
            else:
                offset = after
                count -= len(columns[-1])
        if count:
            raise ValueError(f"{-count} entities too many")
        return result, offset

    def _known_columns(self, start: int) -> tuple[list[list[str]], int]:
        """Find the consecutive entities of known layouts in the `_AT_ONCE` bytes from `start` on. Return their columns,
        and the offset after these entities; no columns if the first entity has an unknown layout.

        There are two columns for each component of each of `_types`, with None for an entity of another layout, then a
        column of encoded values. Each column has a text for each entity.
        """
        if self._known_entity is None:
            return [], start
        # One split finds all columns without an object for each row. The text between two matches is empty.
        pieces = self._known_entity.split(str(self._view[start : start + _AT_ONCE], _BYTES))
        groups = self._known_entity.groups
        end = min(start + _AT_ONCE, len(self._body))
        if len(pieces) > 1 and pieces[-2]:  # bytes remain after the last entity of a known layout
            end -= len(pieces[-2])
            del pieces[-groups - 1 :]
        columns = [pieces[group :: groups + 1] for group in range(1, groups)]
        return (columns if columns[-1] else []), end

    def _named(self, columns: Sequence[Sequence[str]]) -> Iterable[QuotaEntity]:
        """Return the entities in these columns, in order."""
        if len(self._types) == 1:
            return self._types[0].entities(columns[:-1])
        entities: list[QuotaEntity] = [QuotaEntity()] * len(columns[-1])
        start = 0
        for types in self._types:
            own = columns[start : start + 2 * len(types.types)]
            places = [place for place, length in enumerate(own[0]) if length]
            for place, entity in zip(
                places, types.entities([[column[place] for place in places] for column in own]), strict=True
            ):
                entities[place] = entity
            start += len(own)
        return entities

    def _field_by_field(self, start: int) -> tuple[QuotaEntity, QuotaValues, int]:
        """Decode the entity at an offset field by field, and remember its layout. Return the entity, its quotas and the
        offset after them.
        """
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
        # The regular expression ends a name at the first zero byte, so the text after a name has to begin with one.
        if not all(piece.startswith(_NO_TAGS) for piece in (*before_names[1:], around_values[0])):
            return
        has_types = any(before_names == known.before_names for known in self._types)
        has_keys = any(around_values == known.around_values for known in self._keys)
        if (has_types or len(self._types) < self._layouts) and (has_keys or len(self._keys) < self._layouts):
            if not has_types:
                order = sorted(range(len(types)), key=lambda place: part_order(types[place]))
                self._types.append(_Types(types, before_names, tuple(_Names() for _ in types), tuple(order)))
            if not has_keys:
                layout = Struct(">" + "d".join(f"{len(piece)}s" for piece in around_values))
                self._keys.append(_Keys(keys, around_values, layout))
            if not (has_types and has_keys):
                self._known_entity = _pattern(self._types, self._keys, exact=self._is_exact)

    def _array_length(self, offset: int) -> tuple[int, int]:
        length, size = read_compact_array_length(self._body, offset)
        if length is None:
            raise ValueError("an array is null")
        return length, offset + size


def _pattern(types: Iterable[_Types], keys: Iterable[_Keys], *, exact: bool) -> re.Pattern[str]:
    """Return a regular expression that matches one entity of these layouts: two groups for each name, and one for the
    values. If the bytes begin with an entity of another layout, it matches all remaining bytes, in its last group.

    Args:
        exact: whether the expression matches the values up to their last key. Otherwise it matches only their first
            key, in half the time, and `_Values` compares the other keys.
    """

    def exactly(piece: bytes) -> str:
        return re.escape(piece.decode(_BYTES))

    names = "|".join("".join(exactly(piece) + r"(.)([^\x00]*)" for piece in layout.before_names) for layout in types)
    if exact:
        values = "|".join(".{8}".join(map(exactly, each.around_values)) for each in keys)
    else:
        firsts = {each.around_values[0]: each.layout.size - len(each.around_values[0]) for each in keys}
        values = "|".join(f"{exactly(first)}.{{{rest}}}" for first, rest in firsts.items())
    return re.compile("(?:" + names + ")(" + values + ")|(.+)", re.DOTALL)
