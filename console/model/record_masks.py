"""Fields of records that a context hides: paths, and what is left of a key, a value or a header. Pure.

A path is as in `console.model.record_filter`, and ``**`` stands for any number of members and elements, none too:
``$.card``, ``$.items[*].price``, ``$.**.email``. What can't be looked through for a path is hidden as a whole: a
binary value, and a text that is no JSON and has a ``{``, or a masked field's name before a ``=`` or the like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from console.model.record_filter import ANY, STEP, Anything, decoded_json, step_of

_BINARY = re.compile(b"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MASKED = "••••"
"""In place of a masked field, whatever its type."""


class Deep(Enum):
    """``**``."""

    DEEP = "**"


DEEP = Deep.DEEP
Steps = tuple[str | int | Anything | Deep, ...]


class MaskPath(Struct, frozen=True):
    """The path of a field that is masked. text: as it was written."""

    steps: Steps
    text: str


def mask_path(text: str) -> MaskPath:
    """Return the path that a text describes.

    Raises:
        ValueError: it is no path; the message is for the operator.
    """
    if not text.startswith("$"):
        raise ValueError(f"a path begins with $, as $.card or $.**.email, not {text[:40]!r}")
    at, steps = 1, list[str | int | Anything | Deep]()
    while at < len(text):
        if text.startswith(".**", at):
            steps.append(DEEP)
            at += 3
        elif (match := STEP.match(text, at)) and "*" not in (match["name"] or ""):
            # A name with a star in it would be meant as a glob, and would mask nothing.
            steps.append(step_of(match))
            at = match.end()
        else:
            raise ValueError(f"{text[at : at + 40]!r} is no step of a path: .name, ['name'], [0], [*] and .** are")
    if not steps or steps[-1] is DEEP:
        raise ValueError(f"{text[:40]!r} names no field: it ends with one, as $.**.email")
    return MaskPath(tuple(steps), text)


def without_masked(data: bytes | None, paths: Sequence[MaskPath]) -> bytes | None:
    """Return contents with their masked fields replaced.

    Returns:
        JSON that is written again, so that nothing is left of a member that is there twice; a text that can hold no
        masked field as it is; a text about the size of everything else.
    """
    if not data or not paths or _names_none(data, paths):
        return data
    try:
        document = decoded_json(data)
        if isinstance(document, dict | list):
            return msgspec.json.encode(masked(document, paths))
    except (ValueError, RecursionError):
        pass
    return hidden(data) if _may_hold_a_field(data, paths) else data


def _names_none(data: bytes, paths: Sequence[MaskPath]) -> bool:
    """Return whether a text has no masked field's name in it, which is most quickly found out."""
    last = [path.steps[-1] for path in paths]
    if b"\\" in data or not data.isascii() or _BINARY.search(data) is not None:
        return False
    text = data.lower()
    return all(isinstance(name, str) and name.lower().encode() not in text for name in last)


def masked(document: Any, paths: Iterable[MaskPath]) -> Any:
    """Return a decoded document in which the fields of some paths are `MASKED`.

    Raises:
        RecursionError: it is nested too deep.
    """
    return _masked(document, _reached(path.steps for path in paths))


def hidden(data: bytes) -> bytes:
    """Return the text in place of contents that can't be looked through."""
    return f"{MASKED} {len(data)} bytes hidden: fields are masked here, and this is no JSON".encode()


def _may_hold_a_field(data: bytes, paths: Iterable[MaskPath]) -> bool:
    """Return whether contents that are no JSON may have a masked field in some encoding: binary, broken JSON, a text
    that gives one by its name.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return True
    if "{" in text or text.lstrip("\ufeff \t\r\n").startswith("[") or _BINARY.search(data) is not None:
        return True
    names = {path.steps[-1] for path in paths}
    return any(isinstance(name, str) and _given(name).search(text) is not None for name in names)


@cache
def _given(name: str) -> re.Pattern[str]:
    """Return what finds a name with what other notations have between it and its value: ``card=``, ``<card>``."""
    pattern = rf"""(?<!\w){re.escape(name)}["']?(?:\s{{0,20}}[=:>,;|]|\t)"""
    return re.compile(pattern, re.IGNORECASE)


def _reached(states: Iterable[Steps]) -> frozenset[Steps]:
    """Return the steps that are left, with those that begin after a ``**`` of no members."""
    found: set[Steps] = set()
    for state in states:
        found.add(state)
        while state and state[0] is DEEP:
            state = state[1:]
            found.add(state)
    return frozenset(found)


def _masked(document: Any, states: frozenset[Steps]) -> Any:
    if () in states:
        return MASKED
    if not states:
        return document
    if isinstance(document, dict):
        return {key: _masked(each, _after(states, key, 0)) for key, each in document.items()}
    if isinstance(document, list):
        count = len(document)
        return [_masked(each, _after(states, place, count)) for place, each in enumerate(document)]
    return document


def _after(states: frozenset[Steps], place: str | int, count: int) -> frozenset[Steps]:
    """Return what is left of the steps behind a member, or an element of `count`."""
    left: list[Steps] = []
    for state in states:
        step = state[0]
        if step is DEEP:
            left.append(state)
        elif step is ANY or step == place or (isinstance(place, int) and step == place - count):
            left.append(state[1:])
    return _reached(left)
