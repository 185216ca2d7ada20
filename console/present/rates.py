"""Rates of writing as columns: bytes and records a second of a topic, a partition, and a broker as leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from console.model.numbers import Data
from console.model.rates import Rate
from console.plan.amounts import Unit, duration, size
from console.present.columns import ABSENT, DATA, SHOWN, Absent, Column
from console.present.names import NOTHING
from console.present.text import Cell
from widgets.row_source import Column as ScreenColumn

R = TypeVar("R")


def rate_value(rate: float | None) -> float | int | None:
    """A rate of a second, with a digit after the point where it is small."""
    return None if rate is None else round(rate, 1) if abs(rate) < 10 else round(rate)


def bytes_cell(rate: float | None) -> Cell:
    """``1.2 MiB``; a dash for what is unknown."""
    return (NOTHING, "muted") if rate is None else size(round(rate))


def records_cell(rate: float | None) -> Cell:
    """``1,234``; a dash for what is unknown."""
    value = rate_value(rate)
    return (NOTHING, "muted") if value is None else f"{value:,}" if value else "0"


def time_text(seconds: float | None) -> str:
    """To three figures; a blank for no time."""
    return "" if seconds is None else duration(max(1, round(seconds)) * 1000).removeprefix("≈ ")


def order(rate: float | None) -> float:
    """What sorts most first, and what is unknown last."""
    return 1.0 if rate is None else -rate


def rate_columns(
    get: Callable[[R], Rate | Absent], bytes_priority: int, records_priority: int
) -> tuple[Column[R], Column[R]]:
    """The two columns of a noun. get: the rate of a row; `ABSENT` for a row that has none."""

    def of(field: Callable[[Rate], float | None]) -> Callable[[R], Data | Absent]:
        def value(row: R) -> Data | Absent:
            rate = get(row)
            return ABSENT if isinstance(rate, Absent) else rate_value(field(rate))

        return value

    def cell(field: Callable[[Rate], float | None], draw: Callable[[float | None], Cell]) -> Callable[[R], Cell]:
        return lambda row: "" if isinstance(rate := get(row), Absent) else draw(field(rate))

    return (
        Column(
            "bytes_per_second",
            _SEEN,
            of(lambda rate: rate.bytes),
            "number",
            Unit.BYTES_PER_SECOND,
            cell=cell(lambda rate: rate.bytes, bytes_cell),
            layout=ScreenColumn(
                "bytes", "Bytes/s", width=8, align="right", priority=bytes_priority, sort_key=BYTES_KEY
            ),
        ),
        Column(
            "records_per_second",
            _SEEN,
            of(lambda rate: rate.records),
            "number",
            cell=cell(lambda rate: rate.records, records_cell),
            layout=ScreenColumn(
                "records", "Rec/s", width=7, align="right", priority=records_priority, sort_key=RECORDS_KEY
            ),
        ),
    )


BYTES_KEY, RECORDS_KEY = "B", "S"
"""The keys that sort by them."""
_SEEN = DATA | (SHOWN - {"list"})
"""The text of `list` is one look, which can't know them."""
