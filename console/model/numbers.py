"""Parses and prints numbers in plain form: ASCII digits, without the additional forms of programming languages.

Python's own `int` and `float` also accept ``1_000``, ``nan``, ``inf``, ``٣`` and spaces; Kafka accepts none of them.
Also runs on Spark's executors: Python 3.10, standard library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, TypeVar

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, in ms since 1970: larger numbers are not accepted as times."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_NATURAL = re.compile(r"[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?")
_SHOWN = 60
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
"""The range of a Java long, the widest number of a config (ConfigDef.Type.LONG)."""
N = TypeVar("N", int, float)
Data = str | int | float | bool | None | Sequence["Data"] | Mapping[str, "Data"]
"""A JSON value."""


def known_number(number: int) -> int | None:
    """Return a number from a response; None if it is negative, which means that it is unknown or missing."""
    return None if number < 0 else number


def time_of(milliseconds: int) -> datetime | None:
    """Return the time for milliseconds since 1970; None for a negative number, which means that there is no time, and
    for a time after the year 9999.
    """
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc) if 0 <= milliseconds <= LAST_MS else None


def is_natural(text: str) -> bool:
    """Return whether a text consists of digits: ``0``, ``12``."""
    return _NATURAL.fullmatch(text) is not None


def is_whole(text: str) -> bool:
    """Return whether a text is an integer: ``12``, ``-1``, ``+7``."""
    return _WHOLE.fullmatch(text) is not None


def is_decimal(text: str) -> bool:
    """Return whether a text is a number that a double can hold: ``12``, ``0.5``, ``.5``, ``1e6``."""
    return has_number_form(text) and math.isfinite(float(text))


def has_number_form(text: str) -> bool:
    """Return whether a text is a decimal number in form, even if a double can't hold it: ``1e999``."""
    return _DECIMAL.fullmatch(text) is not None


def natural_number(text: str) -> int:
    """Return the number that a text of digits has.

    Raises:
        ValueError: `is_natural` is False for the text; the message is for the operator.
    """
    if not is_natural(text):
        raise ValueError(f"{_quoted(text)} is not a whole number of 0 or more")
    return int(text)


def whole_number(text: str) -> int:
    """Return the integer that a text has.

    Raises:
        ValueError: `is_whole` is False for the text; the message is for the operator.
    """
    if not is_whole(text):
        raise ValueError(f"{_quoted(text)} is not a whole number")
    return int(text)


def decimal_number(text: str) -> float:
    """Return the decimal number in a text.

    Raises:
        ValueError: the text is no decimal number (`is_decimal`); the message is for the operator.
    """
    if not is_decimal(text):
        raise ValueError(f"{_quoted(text)} is not a number")
    return float(text)


def java_double(value: float) -> str:
    """Return a number as Double.toString writes it: without an exponent from 10⁻³ to 10⁷, else as ``1.0E10``; always
    with a fraction.
    """
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # Return zero before the digits are split: it has a sign in Java, too, and no digit to begin with.
    if value == 0:
        return repr(value)
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The leading zeros of 0.00123 are not digits of the mantissa: count them as a move of the point.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    if not 1e-3 <= abs(value) < 1e7:
        text = f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    elif point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        digits = digits.ljust(point, "0")
        text = f"{digits[:point]}.{digits[point:] or '0'}"
    return f"-{text}" if value < 0 else text


def option(read: Callable[[str], N], lowest: float = 0, highest: float = math.inf) -> Callable[[str], N]:
    """Return a value for argparse's ``type``: a function that parses the number of an option, and raises
    ArgumentTypeError with the reason if it is wrong.

    Args:
        read: the function that parses a text; it raises ValueError for a text that is not a number.
        lowest: the least accepted value.
        highest: the greatest accepted value.
    """

    def number(text: str) -> N:
        from argparse import ArgumentTypeError

        try:
            value = read(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None
        if not lowest <= value <= highest:
            up_to = f" to {highest:g}" if highest < math.inf else " or more"
            raise ArgumentTypeError(f"{_quoted(text)} is not {lowest:g}{up_to}")
        return value

    return number


def long_number(text: str | None) -> int | None:
    """Return the integer in a text from a cluster; None if it is not an integer, or does not fit into a Java long.

    A broker may return any text: `int` also parses hundreds of digits, which no float and no date can represent.
    """
    if text is None or not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if LONG_MIN <= number <= LONG_MAX else None


def commas(ids: Iterable[int]) -> str:
    """Return ids, such as those of a partition's replicas, in the form that Kafka's own tools print: ``3,1,2``."""
    return ",".join(map(str, ids))


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: ``1 topic``, ``4,000 topics``. many: the plural; ``""`` for `one` with an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def first_few(names: Sequence[str], most: int = 3) -> str:
    """Return the first `most` names as text, and how many more there are: ``a, b, c and 9 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def time_of_day(at: datetime) -> str:
    """Return the local time of day, as ``14:02:31``. Unlike an age, the text stays correct on a screen that is not
    redrawn.
    """
    return at.astimezone().strftime("%H:%M:%S")


def json_text(data: object, **options: Any) -> str:
    """Encode data as JSON that any parser accepts.

    Brokers accept NaN and infinities as quotas, but JSON has no such numbers: they become the strings ``nan``, ``inf``
    or ``-inf``, which `float` parses.

    Args:
        options: the options of `json.dumps`.
    """
    import json

    try:
        return json.dumps(data, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_finite(data), allow_nan=False, **options)


def _finite(data: object) -> object:
    if isinstance(data, float) and not math.isfinite(data):
        return str(float(data))
    if isinstance(data, Mapping):
        return {_finite(key): _finite(value) for key, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return [_finite(value) for value in data]
    return data


def _quoted(text: str) -> str:
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[: _SHOWN - 3]}…'"
