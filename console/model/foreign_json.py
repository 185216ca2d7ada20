"""The only reader of untrusted JSON: limited in size and depth, and strict about constructs that parsers interpret
differently. Also runs on Spark's executors: Python 3.10, standard library and msgspec.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeVar

from console.model.built_types import built

DEEPEST = 100
"""Maximum nesting depth of arrays and objects: deeper than any format needs, and below the limits of all parsers."""
LARGEST = 256 << 20
"""Maximum size of a text in bytes, for readers without a limit of their own."""
MOST_DIGITS = 308
"""Maximum number of digits of an integer: a longer one exceeds any double."""
T = TypeVar("T")
_ZEROS, _LONG = bytes.maketrans(b"123456789", b"000000000"), b"0" * (MOST_DIGITS + 1)
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_ROUND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SHOWN = 60


def json_of(text: str | bytes, most: int = LARGEST, *, odd_numbers: bool = False, may_repeat: bool = False) -> Any:
    """Parse a JSON text.

    Args:
        most: maximum bytes of the text in UTF-8.
        odd_numbers: whether to accept ``NaN``, ``Infinity`` and numbers too large for a double, as Python's parser
            does; the caller then has to check each number.
        may_repeat: whether to use the last of duplicate members instead of raising. The check for duplicates doubles
            the time, which matters for thousands of lines.

    Raises:
        ValueError: it is not JSON, too long, nested deeper than `DEEPEST`, has duplicate members, or a number that JSON
            lacks (``NaN``, ``Infinity``) or that is too large for a double (``1e400``).
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
    """Parse a JSON text into a type, as msgspec converts it. If a member occurs twice, the last one is used.

    Args:
        most: maximum bytes of the text in UTF-8.

    Raises:
        ValueError: it is not JSON, too long, nested deeper than `DEEPEST`, or does not match the type.
    """
    import msgspec

    _refuse_unbounded(text.encode("utf-8", "replace") if isinstance(text, str) else text, most)
    return msgspec.json.decode(text, type=built(form))


def deeper_than(text: bytes, levels: int) -> bool:
    """Return whether brackets outside of strings are nested deeper than `levels`, in linear time."""
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    plain = _ESCAPED.sub(b"", text) if b"\\" in text else text
    brackets = b"".join(plain.split(b'"')[::2]).translate(_ROUND, _NO_BRACKETS)
    # Each pass removes the innermost level of nesting.
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
    """Return the object with these members. Raises ValueError for a repeated member, because parsers differ in which of
    its values they use.
    """
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
