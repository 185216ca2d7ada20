"""Fields of records that a context hides: their paths, and the masked form of a key, a value or a header. Pure.

A path has the steps ``.name``, ``['name']``, ``[0]``, ``[-1]`` and ``[*]``, and ``**`` for any number of members and
elements, including zero: ``$.card``, ``$.items[*].price``, ``$.**.email``. A text that is JSON is searched as a
document, and the list of pairs that some serializers make of a map is searched as a map.

Contents that can't be searched for a path are hidden completely: binary values, and texts that are not JSON but have a
``{``, or a masked field's name before a ``=`` or similar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from console.model.record_conditions import decoded_json


class Anything(Enum):
    """The type of the step ``[*]`` of a path: any element."""

    ANY = "*"


ANY = Anything.ANY
_STEP = re.compile(r"""\.\*|\.(?P<name>[^.\[\]'"=!<>\s]+)|\['(?P<quoted>[^']*)'\]|\[(?P<place>-?[0-9]{1,9})\]|\[\*\]""")
Aliases = Mapping[str, frozenset[str]]
"""The name of a field -> its other names in a schema, under which it is masked as well."""
NO_ALIASES: Aliases = {}
_BINARY = re.compile(b"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MOST_TEXTS = 8
"""Maximum depth at which JSON texts within JSON texts are searched; deeper texts are hidden."""
MASKED = "••••"
"""Text in place of a masked field of any type."""


class Deep(Enum):
    """The type of the step ``**`` of a path: any number of members and elements."""

    DEEP = "**"


DEEP = Deep.DEEP
Steps = tuple[str | int | Anything | Deep, ...]


class MaskPath(Struct, frozen=True):
    """The path of a masked field."""

    steps: Steps
    text: str
    """The path as the operator wrote it."""


def mask_path(text: str) -> MaskPath:
    """Parse the path of a masked field.

    Raises:
        ValueError: it is not a path; the message is for the operator.
    """
    if not text.startswith("$"):
        raise ValueError(f"a path begins with $, as $.card or $.**.email, not {text[:40]!r}")
    at, steps = 1, list[str | int | Anything | Deep]()
    while at < len(text):
        if text.startswith(".**", at):
            steps.append(DEEP)
            at += 3
        elif (match := _STEP.match(text, at)) and "*" not in (match["name"] or ""):
            # Refuse a name with an asterisk: it would be meant as a glob, but would mask nothing.
            steps.append(_step_of(match))
            at = match.end()
        else:
            raise ValueError(f"{text[at : at + 40]!r} is no step of a path: .name, ['name'], [0], [*] and .** are")
    if not steps or steps[-1] is DEEP:
        raise ValueError(f"{text[:40]!r} names no field: it ends with one, as $.**.email")
    return MaskPath(tuple(steps), text)


def _step_of(match: re.Match[str]) -> str | int | Anything:
    named = match["name"] if match["name"] is not None else match["quoted"]
    return named if named is not None else int(match["place"]) if match["place"] else ANY


def is_binary(data: bytes) -> bool:
    """Return whether contents are binary: not UTF-8, or with control characters that texts do not have."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return _BINARY.search(data) is not None


def without_masked(data: bytes | None, paths: Sequence[MaskPath], aliases: Aliases = NO_ALIASES) -> bytes | None:
    """Return contents with their masked fields replaced.

    Args:
        data: a key, a value or a header; None for null.
        paths: the paths of the masked fields.
        aliases: other names of fields, from the schema of the contents.

    Returns:
        If no masked field can be in the contents: the same contents. If they are a JSON object, array or string: JSON
        encoded again, in which duplicate members are gone. Otherwise: a text that says only the size.
    """
    last = [path.steps[-1] for path in paths]
    if not data or not paths or (not aliases and _names_none(data, last)):
        return data
    try:
        document = decoded_json(data)
        if isinstance(document, dict | list | str):
            return msgspec.json.encode(masked(document, paths, aliases))
    except (ValueError, RecursionError):
        pass
    return hidden(data) if _may_hold_a_field(data, last) else data


def _names_none(data: bytes, last: Iterable[object]) -> bool:
    """Return whether no path's last step occurs as a name in a text; a quick check, False if unsure. last: the last
    steps of the paths.
    """
    if b"\\" in data or not data.isascii() or _BINARY.search(data) is not None:
        return False
    text = data.lower()
    return all(isinstance(name, str) and name.lower().encode() not in text for name in last)


def masked(document: Any, paths: Iterable[MaskPath], aliases: Aliases = NO_ALIASES) -> Any:
    """Return a decoded document with the fields of the paths replaced by `MASKED`.

    Raises:
        RecursionError: it is nested too deep.
    """
    return _masked(document, _reached(path.steps for path in paths), aliases, 0)


def hidden(data: bytes) -> bytes:
    """Return the text in place of contents that can't be searched; it says only their size."""
    return f"{MASKED} {len(data)} bytes hidden: fields are masked here, and this is no JSON".encode()


def _may_hold_a_field(data: bytes, last: Iterable[object]) -> bool:
    """Return whether contents that are not JSON may have a masked field in another encoding: they are binary, may be
    broken JSON, or have the field's name before a separator. last: the last steps of the paths.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return True
    if "{" in text or text.lstrip("\ufeff \t\r\n").startswith("[") or _BINARY.search(data) is not None:
        return True
    return any(isinstance(name, str) and _given(name).search(text) is not None for name in set(last))


@cache
def _given(name: str) -> re.Pattern[str]:
    """Return a pattern for a field's name before a value in other notations than JSON: ``card=``, ``<card>``."""
    pattern = rf"""(?<!\w){re.escape(name)}["']?(?:\s{{0,20}}[=:>,;|]|\t)"""
    return re.compile(pattern, re.IGNORECASE)


def _reached(states: Iterable[Steps]) -> frozenset[Steps]:
    """Return the given remaining steps of paths. For steps that begin with ``**`` return also the steps after it,
    because ``**`` may match no member.
    """
    found: set[Steps] = set()
    for state in states:
        found.add(state)
        while state and state[0] is DEEP:
            state = state[1:]
            found.add(state)
    return frozenset(found)


def _masked(document: Any, states: frozenset[Steps], aliases: Aliases, texts: int) -> Any:
    """Return a part of a document with its masked fields replaced.

    Args:
        states: the remaining steps of the paths at this part.
        texts: the number of JSON texts that enclose the part.
    """
    if () in states:
        return MASKED
    if not states:
        return document
    if isinstance(document, dict):
        return {key: _masked(each, _after(states, key, 0, aliases), aliases, texts) for key, each in document.items()}
    if isinstance(document, list):
        count = len(document)
        if any(isinstance(state[0], int) for state in states):
            left = [_after(states, place, count, aliases) for place in range(count)]
        else:  # without an index in a path, all elements have the same states; a list may have a million
            left = [_after(states, 0, count, aliases)] * count
        return [_element(each, states, its, aliases, texts) for each, its in zip(document, left, strict=True)]
    return _masked_text(document, states, aliases, texts) if isinstance(document, str) else document


_PAIR = {"key", "value"}
_NOTATION = re.compile('[{\\["=:>,;|\t\x00-\x08\x0b\x0c\x0e-\x1f\x7f]')
"""Matches a character that is in every JSON text, every binary value and every text with named fields, but rarely in
other texts.
"""


def _element(element: Any, states: frozenset[Steps], left: frozenset[Steps], aliases: Aliases, texts: int) -> Any:
    """Return an element of a list with its masked fields replaced. The element may be a key-value pair, Connect's form
    of a map entry: then its value is masked also by paths with its key as a name.

    Args:
        states: the remaining steps of the paths at the list.
        left: the remaining steps at the element.
    """
    if () in left or not isinstance(element, dict) or element.keys() != _PAIR:
        return _masked(element, left, aliases, texts)
    key, value = element["key"], element["value"]
    of_value = _after(left, "value", 0, aliases) | _after(states, str(key), 0, aliases)
    return {
        "key": _masked(key, _after(left, "key", 0, aliases), aliases, texts),
        "value": _masked(value, of_value, aliases, texts),
    }


def _masked_text(text: str, states: frozenset[Steps], aliases: Aliases, texts: int) -> str:
    """Return a text of a document with its masked fields replaced: JSON in the text is encoded again; a text that may
    have a masked field in another notation is replaced by `MASKED`.
    """
    if _NOTATION.search(text) is None:
        return text
    data, last = text.encode(), {state[-1] for state in states}
    if not aliases and _names_none(data, last):
        return text
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[", '"'):
        if texts >= MOST_TEXTS:
            return MASKED
        try:
            document = decoded_json(data)
        except ValueError:
            pass
        else:
            return msgspec.json.encode(_masked(document, states, aliases, texts + 1)).decode()
    return MASKED if _may_hold_a_field(data, last) else text


def _after(states: frozenset[Steps], place: str | int, count: int, aliases: Aliases) -> frozenset[Steps]:
    """Return the remaining steps of the paths after a step to a member or an element.

    Args:
        place: the name of the member, or the index of the element.
        count: the number of elements of the list; 0 for a member.
    """
    names = aliases.get(place, frozenset()) if isinstance(place, str) else frozenset()
    left: list[Steps] = []
    for state in states:
        step = state[0]
        if step is DEEP:
            left.append(state)
        elif step is ANY or step == place or step in names or (isinstance(place, int) and step == place - count):
            left.append(state[1:])
    return _reached(left)
