"""The one reader of JSON that others wrote, or that lies where others may write: bounded in size and depth, and strict
about what parsers read differently. Runs on executors too: Python 3.10, standard library and msgspec.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeVar

DEEPEST = 100
"""Levels of arrays and objects: more than any format has that is read here, and fewer than any parser takes."""
LARGEST = 256 << 20
"""Bytes of a text, where its reader has no bound of its own."""
MOST_DIGITS = 308
"""Digits of a whole number: with more no double can hold it."""
T = TypeVar("T")
_ZEROS, _LONG = bytes.maketrans(b"123456789", b"000000000"), b"0" * (MOST_DIGITS + 1)
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_ROUND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SHOWN = 60


def json_of(text: str | bytes, most: int = LARGEST, *, odd_numbers: bool = False, may_repeat: bool = False) -> Any:
    """Return the data of a JSON text.

    Args:
        most: bytes, or characters, that it may have.
        odd_numbers: numbers that JSON lacks are read as Python's: the reader looks at each by itself.
        may_repeat: of a member that an object has twice the last counts. To look for them takes twice the time, which
            is felt where thousands of lines are read.

    Raises:
        ValueError: it is no JSON, too long, nested deeper than `DEEPEST`, names a member of an object twice, or has a
            number that JSON lacks (``NaN``, ``Infinity``) or that is too large for a double (``1e400``).
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    _refuse_unbounded(data, most)
    hooks: dict[str, Any] = {} if may_repeat else {"object_pairs_hook": _once}
    if not odd_numbers:
        hooks |= {"parse_constant": _no_number, "parse_float": _finite_number}
        if _LONG in data.translate(_ZEROS):
            hooks["parse_int"] = _whole_number
    return json.loads(text, **hooks)


def json_as(text: str | bytes, form: type[T], most: int = LARGEST) -> T:
    """Return the data of a JSON text in a form, as msgspec converts it. Of two members of one name the last counts.

    Args:
        most: bytes, or characters, that it may have.

    Raises:
        ValueError: it is no JSON, too long, nested deeper than `DEEPEST`, or of another form.
    """
    import msgspec

    _refuse_unbounded(text.encode("utf-8", "replace") if isinstance(text, str) else text, most)
    return msgspec.json.decode(text, type=form)


def deeper_than(text: bytes, levels: int) -> bool:
    """Return whether brackets outside of strings are nested deeper than `levels`; in time by the length of the text."""
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    plain = _ESCAPED.sub(b"", text) if b"\\" in text else text
    brackets = b"".join(plain.split(b'"')[::2]).translate(_ROUND, _NO_BRACKETS)
    # Each pass takes the innermost level away.
    while brackets and levels >= 0:
        outer = brackets.replace(b"[]", b"")
        if len(outer) == len(brackets):
            break
        brackets, levels = outer, levels - 1
    return levels < 0 or brackets.count(b"[") > levels


def _refuse_unbounded(text: bytes, most: int) -> None:
    if len(text) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    if deeper_than(text, DEEPEST):
        raise ValueError(f"it is nested too deep: more than {DEEPEST} levels")


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Which of two members of one name counts is up to each parser: so neither does."""
    made = dict(members)
    if len(made) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:_SHOWN]!r} is there twice")
    return made


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text[:_SHOWN])


def _whole_number(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{text[:_SHOWN]}… is too large a number")
    return int(text)
