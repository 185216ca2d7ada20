"""Filters for records: by a text, by key, by a path in their JSON. Pure.

A small path language: ``$`` is the value, ``.name`` or ``['name']`` a member, ``[N]`` an element (from the end if it is
negative), ``[*]`` any element or member. A path alone requires that it exists; ``PATH=VALUE`` and ``PATH!=VALUE``
compare with a text (a number, true, false and null as in JSON), ``> >= < <=`` compare numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from console.model.foreign_json import json_as
from console.model.numbers import has_number_form
from console.model.records import Record

LARGEST_JSON = 4 << 20
"""Maximum bytes of a value that are decoded as JSON; a larger value has no paths."""

STEP = re.compile(r"""\.\*|\.(?P<name>[^.\[\]'"=!<>\s]+)|\['(?P<quoted>[^']*)'\]|\[(?P<place>-?[0-9]{1,9})\]|\[\*\]""")
_OPERATOR = re.compile(r"!=|>=|<=|=|>|<")


class Anything(Enum):
    """The step ``[*]``."""

    ANY = "*"


ANY = Anything.ANY
Step = str | int | Anything

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


class JsonCondition(Struct, frozen=True):
    """A condition on JSON. operator: ``""`` if the path only has to exist. text: the original text."""

    steps: tuple[Step, ...]
    operator: str
    value: str
    text: str

    def holds(self, document: Any) -> bool:
        """Return whether the condition holds for any value at the path in a decoded document."""
        found = _at(document, self.steps)
        if not self.operator:
            return next(found, _MISSING) is not _MISSING
        if self.operator == "=":
            return any(_json_text(each) == self.value for each in found)
        if self.operator == "!=":
            return any(_json_text(each) != self.value for each in found)
        compare, wanted = _COMPARE[self.operator], float(self.value)
        return any(compare(each, wanted) for each in found if isinstance(each, int | float) and each is not True)


_MISSING = object()


@cache
def json_condition(text: str) -> JsonCondition:
    """Parse a condition.

    Raises:
        ValueError: it is not a condition; the message is for the operator.
    """
    if not text.startswith("$"):
        raise ValueError(f"a path begins with $, for example $.order.items[0].price>10, not {_short(text)}")
    at, steps = 1, list[Step]()
    while match := STEP.match(text, at):
        steps.append(step_of(match))
        at = match.end()
    rest = text[at:]
    if not rest:
        return JsonCondition(tuple(steps), "", "", text)
    operator = _OPERATOR.match(rest)
    if operator is None:
        raise ValueError(f"{_short(rest)} is no step of a path: .name, ['name'], [0], [-1] and [*] are")
    value = rest[operator.end() :]
    if operator[0] in _COMPARE and not has_number_form(value):
        raise ValueError(f"{operator[0]} compares numbers, and {_short(value)} is not one")
    return JsonCondition(tuple(steps), operator[0], value, text)


def step_of(match: re.Match[str]) -> Step:
    """Return the step that `STEP` matched."""
    named = match["name"] if match["name"] is not None else match["quoted"]
    return named if named is not None else int(match["place"]) if match["place"] else ANY


def _at(document: Any, steps: Sequence[Step]) -> Iterator[Any]:
    """Yield all values at a path."""
    if not steps:
        yield document
        return
    step, rest = steps[0], steps[1:]
    if step is ANY:
        inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
        for each in inner:
            yield from _at(each, rest)
    elif isinstance(step, int):
        if isinstance(document, list) and -len(document) <= step < len(document):
            yield from _at(document[step], rest)
    elif isinstance(document, dict) and step in document:
        yield from _at(document[step], rest)


def _json_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


class RecordFilter(Struct, frozen=True):
    """Conditions that must all hold. text: in the key, the value or a header. key: a glob (``order-*``) for the whole
    key. json: of the value. An empty condition holds for every record."""

    text: str = ""
    key: str = ""
    json: str = ""

    def __bool__(self) -> bool:
        return bool(self.text or self.key or self.json)

    def matches(self, record: Record) -> bool:
        """Return whether a record passes the filter."""
        if self.text and not _contains(record, self.text.encode()):
            return False
        if self.key and (record.key is None or not fnmatchcase(record.key.decode(errors="replace"), self.key)):
            return False
        return not self.json or _json_holds(record, json_condition(self.json))


def _contains(record: Record, text: bytes) -> bool:
    parts = (record.key, record.value, *(part for header in record.headers for part in header))
    return any(text in part for part in parts if part is not None)


def _json_holds(record: Record, condition: JsonCondition) -> bool:
    try:
        return condition.holds(decoded_json(record.value))
    except (ValueError, RecursionError):
        return False


def decoded_json(data: bytes | None) -> Any:
    """Return the decoded JSON of a key or value.

    Raises:
        ValueError: it is null, not JSON, larger than `LARGEST_JSON`, or nested too deep.
    """
    if data is None:
        raise ValueError("null")
    return json_as(data, object, LARGEST_JSON)
