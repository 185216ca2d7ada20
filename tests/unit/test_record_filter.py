"""Which records a filter leaves: texts, keys, places in JSON; no value makes it fail or take long."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.record_filter import LARGEST_JSON, RecordFilter, decoded_json, json_condition
from console.model.records import BatchFacts, Record

DOCUMENT = {
    "order": {"id": 7, "state": "open", "total": 12.5, "items": [{"price": 3}, {"price": 40}], "a b": None},
    "ok": True,
    "tags": ["x", "y"],
}


def record(value: bytes | None, key: bytes | None = b"order-7", headers: tuple[Any, ...] = ()) -> Record:
    return Record("t", 0, 1, 2, key, value, headers, BatchFacts(0))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("$", True),
        ("$.order", True),
        ("$.order.id=7", True),
        ("$.order.id=8", False),
        ("$.order.id!=8", True),
        ("$.order.id!=7", False),
        ("$.order.state=open", True),
        ("$.order.total>12", True),
        ("$.order.total>=12.5", True),
        ("$.order.total<12.5", False),
        ("$.order.total<=12.5", True),
        ("$.order.items[0].price=3", True),
        ("$.order.items[-1].price=40", True),
        ("$.order.items[2]", False),
        ("$.order.items[*].price>39", True),
        ("$.order.items[*].price>40", False),
        ("$.order['a b']=null", True),
        ("$['order']['a b']", True),
        ("$.order.missing", False),
        ("$.order.missing!=1", False),
        ("$.ok=true", True),
        ("$.ok>0", False),
        ("$.tags[1]=y", True),
        ("$.*[0]=x", True),
        ("$.order.state>5", False),
    ],
)
def test_places_in_json(condition: str, holds: bool) -> None:
    value = json.dumps(DOCUMENT).encode()
    assert RecordFilter(json=condition).matches(record(value)) is holds


@pytest.mark.parametrize(
    "condition", ["", "order", ".a", "$order", "$.a[b]", "$.a[", "$.a>x", "$.", "$..a", "$.a=>=1x<"]
)
def test_what_is_no_condition_is_refused_with_words(condition: str) -> None:
    if condition == "$.a=>=1x<":
        assert json_condition(condition).value == ">=1x<"
        return
    with pytest.raises(ValueError, match=r"path|numbers"):
        json_condition(condition)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def places(draw: st.DrawFn) -> tuple[Any, str, Any]:
    """A document, a path in it, and what is there."""
    document = found = draw(JSON)
    path = "$"
    while isinstance(found, dict | list) and found and draw(st.booleans()):
        if isinstance(found, dict):
            name = draw(st.sampled_from(sorted(found)))
            path, found = f"{path}.{name}" if draw(st.booleans()) else f"{path}['{name}']", found[name]
        else:
            place = draw(st.integers(-len(found), len(found) - 1))
            path, found = f"{path}[{place}]", found[place]
    return document, path, found


@given(places())
def test_a_path_finds_what_is_there(case: tuple[Any, str, Any]) -> None:
    document, path, found = case
    one = record(json.dumps(document).encode())
    assert RecordFilter(json=path).matches(one)
    if not isinstance(found, dict | list):
        text = found if isinstance(found, str) else json.dumps(found)
        assert RecordFilter(json=f"{path}={text}").matches(one)
        assert not RecordFilter(json=f"{path}!={text}").matches(one)


@given(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=20), st.text(min_size=1, max_size=4))
def test_any_bytes_pass_or_do_not(value: bytes | None, key: bytes | None, text: str) -> None:
    one = record(value, key)
    for wanted in (RecordFilter(text=text), RecordFilter(key=text), RecordFilter(json="$.a[0]>1")):
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
    assert not RecordFilter(json="$.a").matches(record(value))
