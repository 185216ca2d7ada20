"""Compares the text of a cell on the screen with the value in JSON."""

import math
from typing import Any

from console.plan.amounts import SIZES, TIMES, Unit
from console.present.columns import Column
from console.present.names import HIDDEN, NOTHING
from console.present.text import clean
from console.present.values import EMPTY

UNKNOWN = ("", "·", NOTHING)


def says(column: Column[Any], text: str, value: Any) -> bool:
    """Return whether a cell's text shows the value of its column in JSON.

    A number with a unit must be right to within 1 % or half of its last figure. An unknown or absent value must be
    blank, a dash or a dot. A flag must be true exactly if the cell has a text. Columns of objects and of words are not
    compared: the result is True.
    """
    if column.type == "number":
        return _says_number(column, text.removesuffix(" ?").removeprefix("≈ ").removeprefix("≥ "), value)
    if column.type in ("object", "word"):
        return True
    if column.type == "boolean":
        return bool(text) is bool(value)
    if value is None:
        return text in (*UNKNOWN, HIDDEN)
    shown = clean(str(value))
    # A config's value is followed by its human-readable form.
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
