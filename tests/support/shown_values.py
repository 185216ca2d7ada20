"""What a cell on the screen says, read back as the value that JSON has."""

import math
from typing import Any

from console.plan.amounts import SIZES, TIMES, Unit
from console.present.columns import Column
from console.present.names import HIDDEN, NOTHING
from console.present.text import clean
from console.present.values import EMPTY

UNKNOWN = ("", "·", NOTHING)


def says(column: Column[Any], text: str, value: Any) -> bool:
    """Whether a cell's text says the value of its column: a number to its last figure where it has a unit; blank, a
    dash or a dot where it is unknown or none; a flag by being there. Objects and words are not read back."""
    if column.type == "number":
        return _says_number(column, text.removesuffix(" ?").removeprefix("≈ ").removeprefix("≥ "), value)
    if column.type in ("object", "word"):
        return True
    if column.type == "boolean":
        return bool(text) is bool(value)
    if value is None:
        return text in (*UNKNOWN, HIDDEN)
    shown = clean(str(value))
    # A value of a config has its human form behind it.
    return text == shown or text.startswith(f"{shown}  ") or (value == "" and text.startswith(EMPTY))


def _says_number(column: Column[Any], text: str, value: Any) -> bool:
    if text in UNKNOWN:
        return value is None or value <= 0
    amount, _, unit = text.replace(",", "").partition(" ")
    if column.unit is Unit.NONE:
        return math.isclose(float(amount), float(value), rel_tol=0.01)
    factor = TIMES[unit] / 1000 if column.unit is Unit.SECONDS else SIZES[unit.removesuffix("/s").lower()]
    half_of_last_figure = 0.5 / 10 ** len(amount.partition(".")[2]) * factor
    return math.isclose(float(amount) * factor, value, rel_tol=0.01, abs_tol=half_of_last_figure)
