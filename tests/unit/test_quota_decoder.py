"""Tests of the fast decoder of DescribeClientQuotas: it returns the same quotas as kio's decoder for every response."""

import struct
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.quota import QuotaEntity
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body
from console.wire.quota_decoder import QuotaError, Quotas, decode_quotas
from console.wire.schemas import response_type
from tests.unit.test_config_decoder import Wire, quick, uvarint


class Entry(NamedTuple):
    parts: tuple[tuple[str, str | None], ...]
    values: tuple[tuple[str, float], ...]
    tags: tuple[bytes, ...] = ()


def response(version: int, entries: Sequence[Entry] | None, code: int = 0, message: str | None = None) -> bytes:
    """Return the bytes of a response of version 0 or 1. entries: None for a null array. code, message: the error; 0 and
    None for no error.
    """
    wire = Wire(4 if version else 3)

    def entry(entry: Entry) -> bytes:
        tags = wire.tags(entry.tags)
        parts = [wire.text(type_) + wire.text(name) + tags for type_, name in entry.parts]
        values = [wire.text(key) + struct.pack(">d", value) + tags for key, value in entry.values]
        return wire.array(parts) + wire.array(values) + tags

    head = struct.pack(">ih", 0, code) + wire.text(message)
    null = uvarint(0) if version else struct.pack(">i", -1)
    return head + (null if entries is None else wire.array(list(map(entry, entries)))) + wire.tags([b"end"])


def by_kio(version: int, body: bytes) -> Quotas | QuotaError:
    decoded: Any = decode_body(response_type("describe_client_quotas", version), body)
    if decoded.error_code:
        return QuotaError(decoded.error_code, decoded.error_message or "")
    return {
        QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in decoded.entries or ()
    }


types = st.sampled_from(["user", "client-id", "ip", "client-id-prefix", "", "t" * 130])
names = st.none() | st.sampled_from(
    ["", "alice", "al", "<default>", "ü☃", "n" * 126, "n" * 127, "n" * 300, "a\0b", "\0", "a\0\x05userb", "\x01" * 9]
)
keys = st.sampled_from(["producer_byte_rate", "consumer_byte_rate", "k", "", "k" * 200])
values = st.sampled_from([0.0, 1.0, 1048576.0, -1.5, 1e300]) | st.floats(allow_nan=False)
all_entries = st.builds(
    Entry,
    st.lists(st.tuples(types, names), max_size=3).map(tuple),
    st.lists(st.tuples(keys, values), max_size=3).map(tuple),
    st.lists(st.binary(max_size=3), max_size=1).map(tuple),
)
shapes = st.sampled_from([("user",), ("client-id",), ("client-id", "user"), ("user", "client-id"), ("ip",)])
usual_entries = st.builds(
    lambda shape, some, values: Entry(tuple(zip(shape, some, strict=False)), values),
    shapes,
    st.tuples(names, names),
    st.lists(st.tuples(keys, values), max_size=2).map(tuple),
)
entry_lists = st.lists(usual_entries, max_size=20) | st.lists(all_entries | usual_entries, max_size=20)


@pytest.mark.parametrize("version", [0, 1])
@quick
@given(entry_lists)
def test_the_same_as_kio_says(version: int, entries: list[Entry]) -> None:
    body = response(version, entries)
    assert decode_quotas(version, body) == by_kio(version, body)


@pytest.mark.parametrize("version", [0, 1])
@quick
@given(st.none() | entry_lists, st.sampled_from([29, 42, 9999]), st.none() | st.just("why"))
def test_an_error_of_the_whole_request(
    version: int, entries: list[Entry] | None, code: int, message: str | None
) -> None:
    assert decode_quotas(version, response(version, entries, code, message)) == QuotaError(code, message or "")


def test_no_entries_at_all_are_none_and_equal_values_are_one_object() -> None:
    for version in (0, 1):
        assert decode_quotas(version, response(version, None)) == {}
        assert decode_quotas(version, response(version, [])) == {}
    entries = [Entry((("user", f"u{number}"),), (("producer_byte_rate", float(number % 3)),)) for number in range(30)]
    quotas = decode_quotas(1, response(1, entries))
    assert isinstance(quotas, dict)
    # The first entry is read piece by piece, before its shape is known.
    assert len({id(values) for values in quotas.values()}) <= 3 + 1


@quick
@given(entry_lists, st.data())
def test_a_response_cut_short_is_malformed(entries: list[Entry], data: st.DataObject) -> None:
    body = response(1, entries)
    with pytest.raises(MalformedFrame):
        decode_quotas(1, body[: data.draw(st.integers(0, len(body) - 1))])


@quick
@given(entry_lists, st.data())
def test_a_changed_byte_is_never_decoded_otherwise_than_by_kio(entries: list[Entry], data: st.DataObject) -> None:
    body = bytearray(response(1, entries))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] = data.draw(st.integers(0, 255))
    try:
        quotas = decode_quotas(1, bytes(body))
    except MalformedFrame:
        return
    assert repr(quotas) == repr(by_kio(1, bytes(body)))  # compares texts, because a NaN does not equal itself


@quick
@given(st.binary(max_size=60))
def test_garbage_is_malformed(garbage: bytes) -> None:
    try:
        quotas = decode_quotas(1, garbage)
    except MalformedFrame:
        return
    assert repr(quotas) == repr(by_kio(1, garbage))


def test_more_shapes_than_are_remembered() -> None:
    """The decoder returns the same quotas as kio for more combinations of entity types than it caches; each combination
    occurs again after more others than the cache holds. Kafka itself lacks these types.
    """
    kinds = [f"kind-{number}" for number in range(12)]
    entries = [
        Entry(((one, "a"), (other, None)), ((f"key-{number}", float(number)),))
        for number in range(3)
        for one in kinds
        for other in kinds
        if one != other
    ]
    body = response(1, entries)
    quotas = decode_quotas(1, body)
    assert quotas == by_kio(1, body)
    assert len(quotas) == 12 * 11


def test_a_million_bytes_of_all_kinds() -> None:
    """The decoder returns the same quotas as kio for a response that is longer than the pieces it decodes at once, with
    repeated and unique names and limits, and entities in every order.
    """
    rng = Random(7)
    kinds = [("user",), ("client-id",), ("client-id", "user"), ("user", "client-id"), ("ip",)]
    limits = [("producer_byte_rate",), ("producer_byte_rate", "consumer_byte_rate"), ("request_percentage",)]
    some = [f"name-{number}" for number in range(50)]

    def name() -> str | None:
        return rng.choice([None, rng.choice(some), "x" * rng.randrange(300), f"{rng.random()}"])

    entries = [
        Entry(
            tuple((kind, name()) for kind in rng.choice(kinds)),
            tuple((key, rng.choice([1.0, rng.random()])) for key in rng.choice(limits)),
        )
        for _ in range(12_000)
    ]
    body = response(1, entries)
    assert len(body) > 1_000_000
    assert decode_quotas(1, body) == by_kio(1, body)
    tricky = [*entries[:6_000], Entry((("user", "a\0\x05userb"), ("client-id", "c\0")), ()), *entries[6_000:]]
    assert decode_quotas(1, response(1, tricky)) == by_kio(1, response(1, tricky))


@pytest.mark.parametrize("size", [1, 63, 64, 65, 5_000])
def test_names_that_come_again_are_one_object(size: int) -> None:
    entries = [
        Entry((("client-id", f"client-{number}"), ("user", f"user-{number % 20}")), (("k", 1.0),))
        for number in range(size)
    ]
    quotas = decode_quotas(1, response(1, entries))
    assert isinstance(quotas, dict)
    assert quotas == by_kio(1, response(1, entries))
    users = [entity.name_of("user") for entity in quotas]
    assert len(set(map(id, users))) <= 20 + 1  # the first entry is read field by field
    assert len(quotas) == size


@pytest.mark.parametrize("other", ["consumer_byte_rata", "k", "controller_mutation_rate"])
def test_keys_that_begin_alike_are_told_apart(other: str) -> None:
    """The decoder returns the same quotas as kio if the second key of some entries is another one of the same, a
    smaller or a larger length.
    """
    entries = [
        Entry(
            (("user", f"u{number}"),),
            (("producer_byte_rate", 1.0), (other if number % 700 == 650 else "consumer_byte_rate", float(number % 9))),
        )
        for number in range(3_000)
    ]
    body = response(1, entries)
    assert decode_quotas(1, body) == by_kio(1, body)
