"""Tests of record filters: which records pass by texts, keys and conditions; no value makes a filter raise an exception
or take long.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import record_conditions
from console.model.partitioners import java_partition, librdkafka_partition, likely_partitions, murmur2
from console.model.record_conditions import LARGEST_JSON, condition, decoded_json
from console.model.record_filter import RecordFilter
from console.model.records import BatchFacts, Encoding, Record

DOCUMENT = {
    "order": {"id": 7, "state": "open", "total": 12.5, "items": [{"price": 3}, {"price": 40}], "a b": None},
    "ok": True,
    "tags": ["x", "y"],
    "huge": 2**70,
}


def record(value: bytes | None, key: bytes | None = b"order-7", headers: tuple[Any, ...] = ()) -> Record:
    return Record("t", 3, 41, 1_767_225_600_000, key, value, headers, BatchFacts(0))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("value.order.id == 7", True),
        ("value.order.id == 7.0", True),
        ("value.order.id != 8", True),
        ("value.order.id == 8", False),
        ("value.order.total > 12", True),
        ("value.order.total < 12.5", False),
        ("value.order.items[0].price == 3", True),
        ("value.order.items[2].price == 3", False),
        ("value.order.items.exists(each, each.price > 39)", True),
        ("value.order.items.all(each, each.price > 39)", False),
        ('value.order["a b"] == null', True),
        ("value.order.missing != 1", False),
        ("has(value.order.missing)", False),
        ("!has(value.order.missing)", True),
        ("value.order.missing == 1 || value.ok", True),
        ("value.ok > 0", False),
        ('"x" in value.tags', True),
        ('value.order.state.startsWith("op") && value.order.state.endsWith("en")', True),
        ('value.order.state.contains("pe")', True),
        ('value.order.id.contains("7")', False),
        ('value.order.state.matches("^o.*n$")', True),
        ("value.huge > 1", True),
        ('key == "order-7"', True),
        ('headers.trace == "abc" && headers["trace"] != "x"', True),
        ("headers.none == null", True),
        ("partition == 3 && offset >= 41", True),
        ('time >= timestamp("2026-01-01T00:00:00Z") && time < timestamp("2026-01-01T00:00:01Z")', True),
        ("size > 100 && size < 300", True),
        ('schema == ""', True),
        ("value", False),
        ("1", False),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    one = record(json.dumps(DOCUMENT).encode(), headers=((b"trace", b"abc"), (b"none", None)))
    assert RecordFilter(where=text).matches(one) is holds


@pytest.mark.parametrize(
    ("data", "value", "key"),
    [
        (b"17", 17, "17"),
        (b'"a"', "a", "a"),
        (b'{"a":1}', {"a": 1}, {"a": 1}),
        (b"[1]", [1], [1]),
        (b"text", "text", "text"),
        (b"\xff", "\ufffd", "\ufffd"),
        (b"", "", ""),
        (None, None, None),
    ],
)
def test_contents_are_json_if_they_are_and_keys_of_digits_are_texts(data: bytes | None, value: Any, key: Any) -> None:
    assert (record_conditions.value_of(data), record_conditions.key_of(data)) == (value, key)


def test_the_size_and_the_schema_are_those_of_what_was_sent() -> None:
    decoded = Encoding("avro", "orders-value version 2, id 7", 1_000)
    one = Record("t", 0, 1, -1, b"k", b"{}", (), BatchFacts(0), value_encoding=decoded)
    assert RecordFilter(where='size == 1001 && schema.startsWith("orders-value")').matches(one)
    assert not RecordFilter(where='time > timestamp("2000-01-01T00:00:00Z")').matches(one)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("value.a ==", "character 11"),
        ("value.a = 3", "character 9"),
        ("valu.a == 1", "character 1: valu is no field: value, key"),
        ("value.a == 1 && foo(value.a)", "character 17: foo is no function"),
        ("", ".+"),
        ("(" * 3_000, ".+"),
        ("value.a == 1" + " " * 5_000, "at most 4,096"),
        ("value.a ==\n\n= 1", "character"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_position(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        condition(text)


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ('value.a == "x"', [b"x"]),
        ("'x' == value.a[0][\"b c\"] && key.contains('y')", [b"x", b"y"]),
        ('value.a.startsWith("x") && value.n > 3 && headers.h.endsWith("/z")', [b"x", b"/z"]),
        ('value.a == "x" || value.b == "y"', []),
        ('(value.a == "x" || value.b == "y") && key == "k"', [b"k"]),
        ('value.a == "x" ? true : false', []),
        ('!(value.a == "x")', []),
        ('!value.a.contains("x")', []),
        ('value.a != "x"', []),
        ('value.a == "x" == false', []),
        ('value.a + "x" == "yx"', []),
        ('value.items.exists(i, i == "x")', []),
        ('value.a == "\\x41"', []),
        ('value.a == r"x"', []),
        ("value.a == 'say \"x\"'", []),
        ('value.a == "Ä"', []),
        ('value.a == ""', []),
        ('value.a == "x" // && key == "k"', []),
        ('partition == 3 && schema == "x"', []),
        ('value.a == "x && y"', [b"x && y"]),
    ],
)
def test_the_texts_that_a_record_must_hold(text: str, literals: list[bytes]) -> None:
    assert [each.text for each in condition(text).literals] == literals


@pytest.mark.parametrize(
    ("data", "may"),
    [(b"abc", True), (b"ab", False), (b"ab\\n", False), (b"\\u0061bc", True), (b"\\u4e00 ab", False), (b"\\/", False)],
)
def test_bytes_that_may_spell_a_text(data: bytes, may: bool) -> None:
    assert record_conditions.Literal(b"abc").may_be_in(data) is may
    assert record_conditions.Literal(b"abc", is_escapable=False).may_be_in(data) is (b"abc" in data)


def test_a_slash_has_an_escape_of_its_own() -> None:
    assert record_conditions.Literal(b"a/b").may_be_in(b'"a\\/b"')
    assert not record_conditions.Literal(b"a/b", is_escapable=False).may_be_in(b'"a\\/b"')


@given(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=20), st.text(min_size=1, max_size=4))
def test_any_bytes_pass_or_do_not(value: bytes | None, key: bytes | None, text: str) -> None:
    one = record(value, key)
    for wanted in (RecordFilter(text=text), RecordFilter(key=text), RecordFilter(where="value.a[0] > 1 || key.a")):
        assert wanted.matches(one) in (True, False)
    assert RecordFilter(text=text).matches(one) == any(text.encode() in (part or b"") for part in (value, key))


def test_texts_and_keys() -> None:
    one = record(b"some value", b"order-7", ((b"trace", b"abc-1"),))
    assert RecordFilter(text="value").matches(one)
    assert RecordFilter(text="abc-").matches(one)
    assert RecordFilter(text="trace").matches(one)
    assert not RecordFilter(text="Value").matches(one)
    assert RecordFilter(key="order-*").matches(one)
    assert RecordFilter(key="order-7").matches(one)
    assert not RecordFilter(key="order").matches(one)
    assert not RecordFilter(key="*").matches(record(b"", None))
    assert not RecordFilter(text="value", key="x").matches(one)
    assert RecordFilter(without="value").matches(record(None))
    assert not RecordFilter(without="key").matches(one)


@pytest.mark.parametrize(
    "value",
    [
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b"9" * 1_000_000,
        b'"\xff"',
        b"NaN",
        b" " * (LARGEST_JSON + 1),
        b'{"a":1} {"a":1}',
    ],
)
def test_json_that_is_none_too_deep_or_too_large_is_an_error_of_its_own(value: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decoded_json(value)
    assert not RecordFilter(where="value.a == 1").matches(record(value))


def test_a_pattern_that_takes_others_ages_takes_none() -> None:
    one = record(b'"' + b"a" * 50_000 + b'b"')
    assert not RecordFilter(where='value.matches("^(a+)+$")').matches(one)


# -- partitioners: the hashes are those of the tests of Kafka and librdkafka ------------------------------------------


@pytest.mark.parametrize(
    ("key", "made"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536), (b"abc", 479470107)],
)
def test_murmur2_is_that_of_java(key: bytes, made: int) -> None:
    assert murmur2(key) == made & 0xFFFFFFFF


def test_likely_partitions() -> None:
    assert librdkafka_partition(b"123456789", 1_000_003) == 0xCBF43926 % 1_000_003
    assert likely_partitions(b"foobar", 1) == (0,)
    assert set(likely_partitions(b"foobar", 12)) == {java_partition(b"foobar", 12), librdkafka_partition(b"foobar", 12)}
