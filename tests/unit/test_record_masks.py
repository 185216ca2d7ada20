"""Tests of the fields that a context masks: which fields a path matches, and that no part of their values remains."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.record_masks import MASKED, MOST_TEXTS, mask_path, without_masked

CARD = "4111-1111"


def shown(data: bytes, *paths: str) -> bytes:
    found = without_masked(data, [mask_path(path) for path in paths])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "document", "left"),
    [
        ("$.card", {"card": CARD, "id": 1}, {"card": MASKED, "id": 1}),
        ("$.card", {"card": {"number": CARD}}, {"card": MASKED}),
        ("$.a.card", {"card": 1, "a": {"card": [CARD]}}, {"card": 1, "a": {"card": MASKED}}),
        ("$.**.card", {"card": CARD, "a": [{"card": CARD}]}, {"card": MASKED, "a": [{"card": MASKED}]}),
        ("$.a.**.card", {"card": 1, "a": {"b": [{"card": CARD}]}}, {"card": 1, "a": {"b": [{"card": MASKED}]}}),
        ("$.items[*].card", {"items": [{"card": CARD}, 7]}, {"items": [{"card": MASKED}, 7]}),
        ("$.items[0]", {"items": [CARD, 2]}, {"items": [MASKED, 2]}),
        ("$.items[-1]", {"items": [1, CARD]}, {"items": [1, MASKED]}),
        ("$['the card']", {"the card": CARD}, {"the card": MASKED}),
        ("$.*.card", {"a": {"card": CARD}, "card": 1}, {"a": {"card": MASKED}, "card": 1}),
        ("$.**.a.**.card", {"a": {"x": {"card": CARD}}, "card": 2}, {"a": {"x": {"card": MASKED}}, "card": 2}),
        ("$.card", {"card": None}, {"card": MASKED}),
        # Some serializers write a map as a list of pairs.
        ("$.tags.card", {"tags": [{"key": "card", "value": CARD}]}, {"tags": [{"key": "card", "value": MASKED}]}),
        ("$.**.card", [{"key": "card", "value": [CARD]}], [{"key": "card", "value": MASKED}]),
        ("$.tags[*].value", {"tags": [{"key": "x", "value": CARD}]}, {"tags": [{"key": "x", "value": MASKED}]}),
        (
            "$.tags.x.card",
            {"tags": [{"key": "x", "value": {"card": 1}}]},
            {"tags": [{"key": "x", "value": {"card": MASKED}}]},
        ),
        ("$.tags.card", {"tags": [{"key": "id", "value": 7}]}, {"tags": [{"key": "id", "value": 7}]}),
        ("$.*.card", {"m": {"a": 1, "card": CARD}}, {"m": {"a": 1, "card": MASKED}}),
        # A text that holds a document is searched as that document.
        ("$.**.card", {"x": '{"card":"4111"}'}, {"x": f'{{"card":"{MASKED}"}}'}),
        ("$.x.card", {"x": '{"card":1,"id":2}'}, {"x": f'{{"card":"{MASKED}","id":2}}'}),
        ("$.x[*]", {"x": "[1,2]"}, {"x": f'["{MASKED}","{MASKED}"]'}),
        ("$.y.card", {"x": '{"card":1}'}, {"x": '{"card":1}'}),
        ("$.**.card", {"x": "Hello {name}"}, {"x": "Hello {name}"}),
        ("$.**.card", {"x": "[card: 4111"}, {"x": MASKED}),
        ("$.**.card", {"x": "card=4111"}, {"x": MASKED}),
        ("$.**.card", {"x": '{"card": "41'}, {"x": MASKED}),
    ],
)
def test_what_a_path_masks(path: str, document: Any, left: Any) -> None:
    assert json.loads(shown(json.dumps(document).encode(), path)) == left


@pytest.mark.parametrize(
    "data",
    [
        b'{"card": "%s", "card": 1}',  # a reader takes the last one; the first is in the bytes all the same
        b'{"a": {"card": "%s"}, "a": 5, "card": 2}',
        b'{"\\u0063ard": "%s"}',  # the name, escaped
        b'{"card": "%s"',  # broken, but still to be read
        b'{"card": "%s"} {"card": "%s"}',
        b'\xef\xbb\xbf{"card": "%s"}',
        b'INFO {"card": "%s"}',
        b'"{\\"card\\": \\"%s\\"}"',
        b"\x00\x00\x00\x00\x07\x12%s",  # framed by a schema: the places of fields are unknown
        b"[" * 5_000 + b'{"card": "%s"}' + b"]" * 5_000,
        b"id=7&card=%s",
        b"card: %s\n",
        b"<Card>%s</Card>",
        b"card\t%s",
        b'"card, %s"',
        b'{"x": "{\\"card\\": \\"%s\\"}"}',
        b'{"x": "{\\"a\\": {\\"card\\": \\"%s\\"}, \\"a\\": 5}"}',  # a reader takes the last one
        b'{"x": "{\\"\\\\u0063ard\\": \\"%s\\"}"}',  # the name, escaped
        b'{"x": "\\"{\\\\\\"card\\\\\\": \\\\\\"%s\\\\\\"}\\""}',
    ],
)
def test_nothing_of_a_masked_field_is_left_whatever_holds_it(data: bytes) -> None:
    found = shown(data.replace(b"%s", CARD.encode()), "$.card", "$.**.card")
    assert CARD.encode() not in found


@pytest.mark.parametrize(
    "data",
    [b"order-7", b"7", b"1.50", b"[main] started", b"card-7", b"discard=7", b'{"id": 1.50}', b'"x"', "grün".encode()],
)
def test_what_can_hold_no_masked_field_stays_as_it_is(data: bytes) -> None:
    assert shown(data, "$.card") == data


@pytest.mark.parametrize("levels", [1, 2, 7, 8, 9, 12])
def test_documents_in_texts_are_looked_through_as_deep_as_they_are(levels: int) -> None:
    text = json.dumps({"card": CARD, "id": 1})
    for _ in range(levels):
        text = json.dumps({"x": text})
    found = shown(text.encode(), "$.**.card")
    assert CARD.encode() not in found
    assert (b"id" in found) == (levels <= MOST_TEXTS)


def test_another_name_that_a_schema_has_for_a_field_is_masked_and_nothing_is_nothing() -> None:
    aliases = {"cc": frozenset({"card", "number"}), "id": frozenset({"key"})}
    found = without_masked(b'{"a":{"cc":"4111","id":1}}', [mask_path("$.**.card")], aliases)
    assert found == '{"a":{"cc":"••••","id":1}}'.encode()
    assert without_masked(b'{"cc":1}', [mask_path("$.cc")], aliases) == '{"cc":"••••"}'.encode()
    assert without_masked(None, [mask_path("$.card")]) is None
    assert without_masked(b"", [mask_path("$.card")]) == b""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("card", "begins with \\$"),
        ("", "begins with \\$"),
        ("$", "names no field"),
        ("$.**", "names no field"),
        ("$.card.", "no step"),
        ("$..card", "no step"),
        ("$.card[", "no step"),
        ("$.card=7", "no step"),
        ("$.card*", "no step"),
        ("$.**card", "no step"),
        ("$.a b", "no step"),
    ],
)
def test_what_is_no_path_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mask_path(text)


DOCUMENTS = st.recursive(
    st.just(CARD) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "card", "é"]), inner, max_size=3),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_no_field_of_the_name_is_left_anywhere(document: Any) -> None:
    left = json.loads(shown(json.dumps(document).encode(), "$.**.card"))
    assert set(map(str, fields_named("card", left))) <= {MASKED}


def fields_named(name: str, part: Any) -> list[Any]:
    """Return the values of all members with this name in a JSON value, also of nested ones."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    own = [part[name]] if isinstance(part, dict) and name in part else []
    return own + [found for each in inner for found in fields_named(name, each)]
