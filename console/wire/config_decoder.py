"""Decoder of DescribeConfigs responses into the model. It decodes equal bytes only once.

A broker describes thousands of topics with the same few encodings. An encoded config entry contains its own lengths, so
no encoding is a proper prefix of another: bytes that begin with a known encoding have the known value. The decoder
first compares the bytes of a resource's whole set of entries with known sets, then those of single entries with known
entries; kio decodes only entries with unknown bytes. Equal sets, entries and strings become one shared object, within a
response and across responses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

from kio.serial import entity_reader
from kio.serial.readers import (
    read_compact_array_length,
    read_compact_string,
    read_compact_string_nullable,
    read_int8,
    read_int16,
    read_int32,
    read_legacy_array_length,
    read_legacy_string,
    read_nullable_legacy_string,
)

from console.model.codes import ConfigSource, ConfigType, ResourceType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, Synonym
from console.wire.bounds_check import MalformedFrame, check_message
from console.wire.tagged_fields import skip_tags, without_unknown_tags

_FLEXIBLE_FROM = 4
_KNOWN_SETS = 32
_KNOWN_ENTRIES = 4
_KEPT_ENTRIES = 20_000


class ResourceError(NamedTuple):
    """The error of a resource: Kafka's error code, and the broker's message, ``""`` if it is null."""

    code: int
    message: str


Described = tuple[ConfigResource, ConfigSet | ResourceError]


class _Seen:
    """The recently decoded entry sets of one resource type, by their bytes; the most recently used first."""

    __slots__ = ("entries", "sets")

    def __init__(self) -> None:
        self.sets: list[tuple[bytes, ConfigSet]] = []
        self.entries: list[list[tuple[bytes, ConfigEntry]]] = []


class ConfigDecoder:
    """A decoder of DescribeConfigs responses of one version (1 to 4), with a cache of decoded entries and sets.

    Not thread-safe. Its caller calls `trim` after each listing of all resources, which limits the size of the cache.
    """

    def __init__(self, version: int) -> None:
        """Create an empty cache. Raises ModuleNotFoundError for a version that kio lacks."""
        schema = import_module(f"kio.schema.describe_configs.v{version}.response")
        self.version = version
        self._flexible = version >= _FLEXIBLE_FROM
        self._entry_type = schema.DescribeConfigsResourceResult
        self._read_entry: Callable[[bytes, int], tuple[Any, int]] = entity_reader(self._entry_type)
        self._forget()

    def _forget(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._texts: dict[str, str] = {}
        self._synonyms: dict[Synonym, Synonym] = {}
        self._entries: dict[ConfigEntry, ConfigEntry] = {}
        self._sets: dict[tuple[int, ...], ConfigSet] = {}

    def trim(self) -> None:
        """Clear the cache if it has more than `_KEPT_ENTRIES` entries and sets. Later results are then equal to earlier
        ones, but no longer the same objects.
        """
        if len(self._entries) + len(self._sets) > _KEPT_ENTRIES:
            self._forget()

    def decode(self, body: bytes, asked: Mapping[tuple[int, str], ConfigResource]) -> list[Described]:
        """Return each resource of a response with its config set, or with its error.

        Args:
            body: the bytes after the response header.
            asked: (resource type, name) -> the resource object to use in the result; a new one is created for a
                resource that it lacks.

        Raises:
            MalformedFrame: the bytes are not a DescribeConfigs response of this version.
        """
        try:
            return self._results(body, asked)
        except Exception as error:  # kio raises errors of several classes
            raise MalformedFrame(f"DescribeConfigsResponse v{self.version}: {error}") from error

    def _results(self, body: bytes, asked: Mapping[tuple[int, str], ConfigResource]) -> list[Described]:
        _, offset = read_int32(body, 0)  # the throttle time
        count, size = self._length(body, offset)
        offset += size
        results: list[Described] = []
        for _ in range(count):
            resource, code, message, offset = self._header(body, offset, asked)
            config_set, offset = self._set(body, offset, resource.type)
            results.append((resource, ResourceError(code, message) if code else config_set))
        offset = self._skip_tags(body, offset)
        if offset != len(body):
            raise ValueError(f"{len(body) - offset} bytes too many")
        return results

    def _header(
        self, body: bytes, offset: int, asked: Mapping[tuple[int, str], ConfigResource]
    ) -> tuple[ConfigResource, int, str, int]:
        """Read the fields of a result before its entries. Return the resource, Kafka's error code, the error message
        and the offset of the entries.
        """
        code, size = read_int16(body, offset)
        offset += size
        if self._flexible:
            message, size = read_compact_string_nullable(body, offset)
            offset += size
            type_, size = read_int8(body, offset)
            offset += size
            name, size = read_compact_string(body, offset)
        else:
            message, size = read_nullable_legacy_string(body, offset)
            offset += size
            type_, size = read_int8(body, offset)
            offset += size
            name, size = read_legacy_string(body, offset)
        resource = asked.get((type_, name)) or ConfigResource(ResourceType(type_), name)
        return resource, code, message or "", offset + size

    def _set(self, body: bytes, offset: int, type_: int) -> tuple[ConfigSet, int]:
        """Return the config set of a result, and the offset after its tagged fields. A set with known bytes comes from
        the cache, another set is read entry by entry.
        """
        seen = self._seen.get(type_)
        if seen is None:
            seen = self._seen[type_] = _Seen()
        startswith = body.startswith
        for index, known in enumerate(seen.sets):
            if startswith(known[0], offset):
                if index:
                    seen.sets.insert(0, seen.sets.pop(index))
                return known[1], offset + len(known[0])
        start = offset
        entries, offset = self._entry_by_entry(body, offset, seen.entries)
        offset = self._skip_tags(body, offset)
        entries.sort(key=attrgetter("name"))
        identity = tuple(map(id, entries))
        config_set = self._sets.get(identity)
        if config_set is None:
            config_set = self._sets[identity] = ConfigSet(tuple(entries))
        seen.sets.insert(0, (body[start:offset], config_set))
        del seen.sets[_KNOWN_SETS:]
        return config_set, offset

    def _entry_by_entry(
        self, body: bytes, offset: int, seen: list[list[tuple[bytes, ConfigEntry]]]
    ) -> tuple[list[ConfigEntry], int]:
        """Return the entries of a set in wire order, and the offset after them. The bytes at each index are first
        compared with the known entries at this index of other sets. seen: index -> known entries with their bytes.
        """
        startswith = body.startswith
        count, size = self._length(body, offset)
        offset += size
        entries: list[ConfigEntry] = []
        for place in range(count):
            if place == len(seen):
                seen.append([])
            here = seen[place]
            for index, known in enumerate(here):
                if startswith(known[0], offset):
                    if index:
                        here.insert(0, here.pop(index))
                    entries.append(known[1])
                    offset += len(known[0])
                    break
            else:
                raw, size = self._raw_entry(body, offset)
                entry = self._shared_entry(raw)
                entries.append(entry)
                here.insert(0, (body[offset : offset + size], entry))
                del here[_KNOWN_ENTRIES:]
                offset += size
        return entries, offset

    def _raw_entry(self, body: bytes, offset: int) -> tuple[Any, int]:
        """Return the entry at this offset as decoded by kio, and its size in bytes."""
        check_message(self._entry_type, body, offset)
        try:
            return self._read_entry(body, offset)
        except KeyError:  # a tagged field: Kafka defines none here, and kio can't skip unknown ones
            known, size = without_unknown_tags(self._entry_type, memoryview(body)[offset:])
            return self._read_entry(known, 0)[0], size

    def _shared_entry(self, raw: Any) -> ConfigEntry:
        """Convert kio's entry to the model's; equal entries return the same object."""
        entry = ConfigEntry(
            self._shared_text(raw.name),
            None if raw.value is None else self._shared_text(raw.value),
            ConfigSource(raw.config_source),
            raw.read_only,
            raw.is_sensitive,
            ConfigType(getattr(raw, "config_type", 0)),
            tuple([self._shared_synonym(synonym) for synonym in raw.synonyms]),
            getattr(raw, "documentation", None),
        )
        return self._entries.setdefault(entry, entry)

    def _shared_synonym(self, raw: Any) -> Synonym:
        value = None if raw.value is None else self._shared_text(raw.value)
        synonym = Synonym(self._shared_text(raw.name), value, ConfigSource(raw.source))
        return self._synonyms.setdefault(synonym, synonym)

    def _shared_text(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def _length(self, body: bytes, offset: int) -> tuple[int, int]:
        """Return the array length at this offset, and the size in bytes of its encoding. Raises ValueError for a null
        array.
        """
        length: int | None
        length, size = (read_compact_array_length if self._flexible else read_legacy_array_length)(body, offset)
        if length is None or length < 0:
            raise ValueError("an array is null")
        return length, size

    def _skip_tags(self, body: bytes, offset: int) -> int:
        """Return the offset after a section of tagged fields; `offset` itself in a non-flexible version, which has no
        such sections. Kafka defines no tagged fields here, but a newer broker may send some.
        """
        return skip_tags(body, offset) if self._flexible else offset
