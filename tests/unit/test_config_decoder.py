"""Tests that kac's quick decoder of DescribeConfigs returns the same as kio's decoder, whatever it decoded before."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.model.codes import ConfigSource, ConfigType, ResourceType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, Synonym
from console.wire.bounds_check import MalformedFrame
from console.wire.config_decoder import ConfigDecoder, Described, ResourceError
from console.wire.frames import decode_body
from console.wire.schemas import response_type

quick = settings(max_examples=settings().max_examples // 4)
"""Hypothesis settings with a quarter of the usual number of examples, because the responses are large."""

VERSIONS = (1, 2, 3, 4)
FLEXIBLE = 4


class Wire:
    """Writes the pieces of a response by the protocol's rules, independently of kio's writers."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.flexible = version >= FLEXIBLE

    def text(self, text: str | None) -> bytes:
        data = None if text is None else text.encode()
        if self.flexible:
            return uvarint(0) if data is None else uvarint(len(data) + 1) + data
        return struct.pack(">h", -1) if data is None else struct.pack(">h", len(data)) + data

    def array(self, items: Sequence[bytes]) -> bytes:
        length = uvarint(len(items) + 1) if self.flexible else struct.pack(">i", len(items))
        return length + b"".join(items)

    def tags(self, tags: Sequence[bytes]) -> bytes:
        if not self.flexible:
            return b""
        numbered = (uvarint(100 + number) + uvarint(len(tag)) + tag for number, tag in enumerate(tags))
        return uvarint(len(tags)) + b"".join(numbered)

    def synonym(self, synonym: Synonym, tags: Sequence[bytes]) -> bytes:
        return self.text(synonym.name) + self.text(synonym.value) + struct.pack(">b", synonym.source) + self.tags(tags)

    def entry(self, entry: ConfigEntry, tags: Sequence[bytes]) -> bytes:
        data = self.text(entry.name) + self.text(entry.value)
        data += struct.pack(">?b?", entry.read_only, entry.source, entry.sensitive)
        data += self.array([self.synonym(synonym, tags) for synonym in entry.synonyms])
        if self.version >= 3:
            data += struct.pack(">b", entry.type) + self.text(entry.documentation)
        return data + self.tags(tags)

    def result(self, result: Result) -> bytes:
        data = struct.pack(">h", result.code) + self.text(result.message) + struct.pack(">b", result.type)
        data += self.text(result.name) + self.array([self.entry(entry, result.tags) for entry in result.entries])
        return data + self.tags(result.tags)

    def response(self, results: Sequence[Result]) -> bytes:
        return struct.pack(">i", 0) + self.array([self.result(result) for result in results]) + self.tags([b"end"])


class Result(NamedTuple):
    type: int
    name: str
    entries: tuple[ConfigEntry, ...] = ()
    code: int = 0
    message: str | None = None
    tags: tuple[bytes, ...] = ()


def uvarint(number: int) -> bytes:
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])


def by_kio(version: int, body: bytes) -> list[Described]:
    """Decode a body with kio, and convert each object to kac's form."""
    response: Any = decode_body(response_type("describe_configs", version), body)
    described: list[Described] = []
    for result in response.results:
        resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
        entries = [
            ConfigEntry(
                entry.name,
                entry.value,
                ConfigSource(entry.config_source),
                entry.read_only,
                entry.is_sensitive,
                ConfigType(getattr(entry, "config_type", 0)),
                tuple(Synonym(s.name, s.value, ConfigSource(s.source)) for s in entry.synonyms),
                getattr(entry, "documentation", None),
            )
            for entry in result.configs
        ]
        entries.sort(key=lambda entry: entry.name)
        error = ResourceError(result.error_code, result.error_message or "")
        described.append((resource, error if result.error_code else ConfigSet(tuple(entries))))
    return described


# Few texts, so that encodings repeat. Some need two bytes for their length, others have the same beginning.
texts = st.sampled_from(["", "a", "ab", "retention.ms", "retention", "-1", "ü☃", "x" * 126, "x" * 127, "x" * 300])
maybe_texts = st.none() | texts
numbers = st.integers(-128, 127)
synonyms = st.builds(Synonym, texts, maybe_texts, numbers.map(ConfigSource))
entries = st.builds(
    ConfigEntry,
    texts,
    maybe_texts,
    numbers.map(ConfigSource),
    st.booleans(),
    st.booleans(),
    numbers.map(ConfigType),
    st.lists(synonyms, max_size=3).map(tuple),
    maybe_texts,
)
some_entries = st.lists(entries, min_size=1, max_size=6)
tags = st.lists(st.binary(max_size=4), max_size=2).map(tuple)


@st.composite
def responses(draw: st.DrawFn) -> list[Result]:
    """Draw results whose config sets consist of few different entries, as a real broker's do."""
    pool = draw(some_entries)
    sets = st.lists(st.sampled_from(pool), max_size=4).map(tuple)
    results = st.builds(
        Result, st.sampled_from([2, 4, 99]), texts, sets, st.sampled_from([0, 0, 0, 3, 9999]), maybe_texts, tags
    )
    return draw(st.lists(results, max_size=6))


@pytest.mark.parametrize("version", VERSIONS)
@quick
@given(st.lists(responses(), min_size=1, max_size=3))
def test_the_same_as_kio_says_response_after_response(version: int, several: list[list[Result]]) -> None:
    decoder = ConfigDecoder(version)
    for results in several:
        body = Wire(version).response(results)
        assert decoder.decode(body, {}) == by_kio(version, body)


@quick
@given(responses())
def test_what_is_equal_is_one_object(results: list[Result]) -> None:
    decoder = ConfigDecoder(4)
    sets: dict[ConfigSet, int] = {}
    shared: dict[Any, int] = {}
    for _ in range(2):
        for _, described in decoder.decode(Wire(4).response(results), {}):
            if isinstance(described, ResourceError):
                continue
            assert sets.setdefault(described, id(described)) == id(described)
            for entry in described:
                assert shared.setdefault(entry, id(entry)) == id(entry)
                for synonym in entry.synonyms:
                    assert shared.setdefault(synonym, id(synonym)) == id(synonym)


@pytest.mark.parametrize("version", VERSIONS)
@quick
@given(responses(), st.data())
def test_a_response_cut_short_is_malformed(version: int, results: list[Result], data: st.DataObject) -> None:
    body = Wire(version).response(results)
    cut = data.draw(st.integers(0, len(body) - 1))
    knowing = ConfigDecoder(version)
    knowing.decode(body, {})
    for decoder in (knowing, ConfigDecoder(version)):
        with pytest.raises(MalformedFrame):
            decoder.decode(body[:cut], {})


@pytest.mark.parametrize("version", VERSIONS)
@quick
@given(responses(), st.data())
def test_a_changed_byte_is_never_decoded_otherwise_than_by_kio(
    version: int, results: list[Result], data: st.DataObject
) -> None:
    body = bytearray(Wire(version).response(results))
    decoder = ConfigDecoder(version)
    decoder.decode(bytes(body), {})
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] = data.draw(st.integers(0, 255))
    try:
        described = decoder.decode(bytes(body), {})
    except MalformedFrame:
        return
    assert described == by_kio(version, bytes(body))


@pytest.mark.parametrize("version", VERSIONS)
@quick
@given(st.binary(max_size=60))
def test_garbage_is_malformed(version: int, garbage: bytes) -> None:
    try:
        described = ConfigDecoder(version).decode(garbage, {})
    except MalformedFrame:
        return
    assert described == by_kio(version, garbage)


def test_an_array_without_end_is_malformed() -> None:
    """If an array claims four billion entries, the decoder refuses the response."""
    body = Wire(4).response([])[:4] + uvarint(2**32 - 1)
    with pytest.raises(MalformedFrame):
        ConfigDecoder(4).decode(body, {})


def test_entries_come_sorted_and_resources_are_the_callers_own() -> None:
    asked = ConfigResource(ResourceType(2), "topic")
    found = tuple(ConfigEntry(name, "1", ConfigSource(5)) for name in ("b", "a", "c"))
    body = Wire(4).response([Result(2, "topic", found), Result(2, "other", found)])
    (first, one), (second, other) = ConfigDecoder(4).decode(body, {asked: asked})
    assert first is asked
    assert second == ConfigResource(ResourceType(2), "other")
    assert isinstance(one, ConfigSet)
    assert [entry.name for entry in one] == ["a", "b", "c"]
    assert one is other


def test_after_a_trim_sets_are_others_but_equal() -> None:
    decoder = ConfigDecoder(4)
    entry = ConfigEntry("k", "1", ConfigSource(5))
    ((_, before),) = decoder.decode(Wire(4).response([Result(2, "t", (entry,))]), {})
    many = [Result(2, str(n), (ConfigEntry("k", str(n), ConfigSource(1)),)) for n in range(15_000)]
    decoder.decode(Wire(4).response(many), {})
    decoder.trim()
    ((_, after),) = decoder.decode(Wire(4).response([Result(2, "t", (entry,))]), {})
    assert after == before
    assert after is not before
