"""Columns of a noun: what the screen, `list` and `describe` say of it, as text, JSON, YAML and CSV.

Each noun has one table of columns (`console.present.topics.TOPICS` and so on; `console.present.kinds` has those of all
kinds that `list` takes). A new column is one entry there: its name, value, type and unit, how it is shown, and the
views in which it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from enum import Enum
from typing import Generic, Literal, NamedTuple, TypeVar

from console.model.numbers import Data, time_of_day
from console.model.rates import Rate
from console.plan.amounts import Unit, duration, size
from console.present.names import NOTHING
from console.present.text import Cell, plain
from widgets.row_source import Column as ScreenColumn

Type = Literal["text", "word", "number", "boolean", "object"]
"""The JSON type of a value; a word is a text of a fixed set, compared without regard to case."""
View = Literal["filter", "data", "list", "detail", "screen"]
"""``KEY=VALUE`` of `list`; the objects of JSON, YAML and CSV; the text of `list`; the object of `describe`; the
screen."""

SCREEN: frozenset[View] = frozenset({"screen"})
LIST: frozenset[View] = frozenset({"list"})
SHOWN: frozenset[View] = frozenset({"list", "screen"})
FILTER: frozenset[View] = frozenset({"filter"})
DATA: frozenset[View] = FILTER | {"data"}
LISTED: frozenset[View] = DATA | {"list"}
EVERYWHERE: frozenset[View] = LISTED | {"screen"}
DETAIL: frozenset[View] = frozenset({"detail"})
OVER_LOOKS: frozenset[View] = DATA | SCREEN
"""Views of what takes two polls: the text of `list` is made of one."""


class Absent(Enum):
    """The value of a column that a row does not have: it passes no filter and is left out of the data."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
R = TypeVar("R")


def _no_value(_row: object) -> Absent:
    return ABSENT


class Column(NamedTuple, Generic[R]):
    """One column of rows of a type.

    name: by which `list` filters. views: where the column stands. value: of type `type`, in `unit`; None is null. key:
    in JSON, the name where it is empty. title: above the text of `list`; numbers stand to the right. cell: on the
    screen, cleaned; text: in `list`; where one of them is missing the other is shown, without both the value. layout:
    the place on the screen. part: whether the number is only a part of the whole, and not more than that: the data say
    it beside it. unknown: whether None stands for what is not known, and not for what is not there.
    """

    name: str
    views: frozenset[View]
    value: Callable[[R], Data | Absent] = _no_value
    type: Type = "text"
    unit: Unit = Unit.NONE
    key: str = ""
    title: str = ""
    cell: Callable[[R], Cell] | None = None
    text: Callable[[R], str] | None = None
    layout: ScreenColumn | None = None
    part: Callable[[R], bool] | None = None
    unknown: bool = False

    def shown(self, row: R) -> str:
        """Return the text of a row in `list`; it is untrusted and not cleaned."""
        if self.text is not None:
            return self.text(row)
        if self.cell is not None:
            return plain(self.cell(row))
        value = self.value(row)
        return "" if value is None or value is ABSENT else str(value)

    def drawn(self, row: R) -> Cell:
        """Return the cell of a row on the screen."""
        return self.shown(row) if self.cell is None else self.cell(row)


class Columns(Generic[R]):
    """The columns of a noun, in the order in which they are shown. data_order, detail_order: names in the order
    of these views, where that differs."""

    def __init__(self, *columns: Column[R], data_order: Sequence[str] = (), detail_order: Sequence[str] = ()) -> None:
        self.all = columns
        self._orders = data_order, detail_order
        self.layout = tuple(c.layout for c in columns if "screen" in c.views and c.layout is not None)
        self._data = self._getters("data", data_order)
        self._detail = self._getters("detail", detail_order)
        self._drawn = tuple(column.drawn for column in self.of("screen"))
        self._shown = tuple(column.shown for column in self.of("list"))

    def _getters(self, view: View, order: Sequence[str]) -> tuple[tuple[str, Callable[[R], Data | Absent]], ...]:
        columns = self.of(view)
        if order:
            columns = tuple(sorted(columns, key=lambda column: order.index(column.name)))
        getters: list[tuple[str, Callable[[R], Data | Absent]]] = []
        for column in columns:
            key = column.key or column.name
            getters.append((key, column.value))
            if column.part is not None:
                getters.append((f"{key}_is_part", column.part))
        return tuple(getters)

    def of(self, view: View) -> tuple[Column[R], ...]:
        """Return the columns of a view, in the order in which they are shown."""
        return tuple(column for column in self.all if view in column.views)

    def without(self, names: Collection[str]) -> Columns[R]:
        """Return these columns without some, for a table in which those are empty.

        Args:
            names: the columns to leave out, by `Column.name`.
        """
        data, detail = ([name for name in order if name not in names] for order in self._orders)
        left = (column for column in self.all if column.name not in names)
        return Columns(*left, data_order=data, detail_order=detail)

    def data(self, row: R) -> dict[str, Data]:
        """Return the object of a row in JSON, YAML and CSV.

        Returns:
            Key -> value, without the columns that the row does not have (`ABSENT`); None is null.
        """
        return {key: value for key, get in self._data if (value := get(row)) is not ABSENT}

    def detail(self, row: R) -> dict[str, Data]:
        """Return the fields of a row in the object of `describe`, in the form of `data`."""
        return {key: value for key, get in self._detail if (value := get(row)) is not ABSENT}

    def cells(self, row: R) -> list[Cell]:
        """Return the cells of a row on the screen, one for each column in `layout`."""
        return [draw(row) for draw in self._drawn]

    def texts(self, row: R) -> tuple[str, ...]:
        """Return the texts of a row in `list`; they are untrusted and not cleaned."""
        return tuple([show(row) for show in self._shown])


def clock(at: datetime | None) -> str:
    """Return the local time of day, ``""`` if it is unknown."""
    return "" if at is None else time_of_day(at)


def overrides_cell(count: int | None) -> Cell:
    """Return the number of configs that an entity sets itself, blank for 0; a dot where they have not been read."""
    return "·" if count is None else (str(count), "override") if count else ""


def changed_cell(at: datetime | None) -> Cell:
    """Return the time of the last change that was seen, blank for none."""
    return (clock(at), "changed") if at else ""


# -- rates -------------------------------------------------------------------------------------------------------------


def rate_value(rate: float | None) -> float | int | None:
    """Return a rate per second, rounded: below 10 to one decimal, else to a whole number."""
    return None if rate is None else round(rate, 1) if abs(rate) < 10 else round(rate)


def bytes_cell(rate: float | None) -> Cell:
    """Return a rate as bytes, ``1.2 MiB``; a dash where it is unknown."""
    return (NOTHING, "muted") if rate is None else size(round(rate))


def records_cell(rate: float | None) -> Cell:
    """Return a rate as a number, ``1,234``; a dash where it is unknown."""
    value = rate_value(rate)
    return (NOTHING, "muted") if value is None else f"{value:,}" if value else "0"


def time_text(seconds: float | None) -> str:
    """Return a duration to three figures, ``""`` for None."""
    return "" if seconds is None else duration(max(1, round(seconds)) * 1000).removeprefix("≈ ")


def rate_order(rate: float | None) -> float:
    """Return the sort key by which the highest rate comes first and unknown ones last."""
    return 1.0 if rate is None else -rate


def rate_columns(
    get: Callable[[R], Rate | Absent], bytes_priority: int, records_priority: int
) -> tuple[Column[R], Column[R]]:
    """Return the columns of a noun's bytes and records per second.

    Args:
        get: the rate of a row; `ABSENT` for a row that has none.
        bytes_priority: of the column on a narrow screen: the higher, the longer it stays.
        records_priority: the same for the other column.
    """

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
            OVER_LOOKS,
            of(lambda rate: rate.bytes),
            "number",
            Unit.BYTES_PER_SECOND,
            unknown=True,
            cell=cell(lambda rate: rate.bytes, bytes_cell),
            layout=ScreenColumn("bytes", "Bytes/s", width=8, align="right", priority=bytes_priority, sort_key="B"),
        ),
        Column(
            "records_per_second",
            OVER_LOOKS,
            of(lambda rate: rate.records),
            "number",
            unknown=True,
            cell=cell(lambda rate: rate.records, records_cell),
            layout=ScreenColumn("records", "Rec/s", width=7, align="right", priority=records_priority, sort_key="S"),
        ),
    )
