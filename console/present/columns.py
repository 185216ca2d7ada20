"""Columns of a noun on the screen, in `list` and in `describe`, as text, JSON, YAML and CSV.

Each noun has one table of columns (`console.present.topics.TOPICS` and so on; `console.present.kinds` has those of all
kinds that `list` takes). A new column is one entry there: its name, value, type and unit, its display and sort order,
and the views that show it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from enum import Enum
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from console.model.numbers import Data, time_of_day
from console.model.rates import Rate
from console.plan.amounts import Unit, measured_time, size
from console.present.names import NOTHING
from console.present.text import Cell, clean, plain
from widgets.cells import Align
from widgets.row_source import Column as ScreenColumn

if TYPE_CHECKING:
    from console.model.time_lag import Behind

Type = Literal["text", "word", "number", "boolean", "object", "names"]
"""The JSON type of a value. A word is a text of a fixed set, compared without regard to case; names are a list of
texts, and a filter has to match one of them."""
View = Literal["filter", "data", "list", "detail", "screen"]
"""Where a column appears: in ``KEY=VALUE`` of `list`; in the objects of JSON, YAML and CSV; in the text of `list`; in
the object of `describe`; on the screen."""

SCREEN: frozenset[View] = frozenset({"screen"})
LIST: frozenset[View] = frozenset({"list"})
SHOWN: frozenset[View] = frozenset({"list", "screen"})
FILTER: frozenset[View] = frozenset({"filter"})
DATA: frozenset[View] = FILTER | {"data"}
LISTED: frozenset[View] = DATA | {"list"}
EVERYWHERE: frozenset[View] = LISTED | {"screen"}
DETAIL: frozenset[View] = frozenset({"detail"})
OBJECT: frozenset[View] = frozenset({"data"})
"""Views of columns that are only data, for nouns without filters."""
TOLD: frozenset[View] = OBJECT | LIST
"""Views of columns that text and data share."""
OVER_POLLS: frozenset[View] = DATA | SCREEN
"""Views of values that need two polls; the text of `list` has only one poll."""


class Absent(Enum):
    """The value of a column that does not apply to a row: it passes no filter and is left out of the data."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
R = TypeVar("R")

BLANK = " "
"""The label of a screen's column without a label."""


def on_screen(width: int | tuple[int, int | None] | None = None, label: str = "", **more: Any) -> ScreenColumn:
    """Return the place of a column on the screen. Its id, and by default its label, is the name of the column.

    Args:
        width: in cells; two numbers are the least and the most for a column as wide as its rows, None is no limit.
        more: the other fields of the widget's column.
    """
    if not isinstance(width, tuple):
        return ScreenColumn("", label, width, **more)
    least, most = width
    return ScreenColumn("", label, min_width=least, max_width=most, **more)


class Column(NamedTuple, Generic[R]):
    """One column of rows of a type."""

    name: str
    """The key by which `list` filters."""
    views: frozenset[View] = frozenset()
    """The views that show it. Default: the views of its table."""
    get: Callable[[R], Data | Absent] | None = None
    """Returns the value of a row, of type `type` and in `unit`; None becomes null. Default: the row's field of this
    name."""
    type: Type = "text"
    unit: Unit = Unit.NONE
    key: str = ""
    """The key in JSON. Default: the name of the column."""
    title: str | None = None
    """The header in `list`. Default: the header on the screen, else the name. Numbers are aligned right."""
    cell: Callable[[R], Cell] | None = None
    """Returns the cell on the screen, cleaned. Default: `text`, then the value."""
    text: Callable[[R], str] | None = None
    """Returns the text in `list`. Default: `cell`, then the value."""
    layout: ScreenColumn | None = None
    """The place on the screen; None if it is not on the screen."""
    order: Callable[[R], Any] | None = None
    """Returns the sort key on the screen; the smallest is first. Default: the value, with the largest number or the
    first text first."""
    part: Callable[[R], bool] | None = None
    """Returns whether the number covers only a part; the data then report it under a second key; None for a number that
    is always whole."""
    unknown: bool = False
    """Whether None means unknown rather than absent."""
    left: bool = False
    """Whether its numbers are aligned left."""

    @property
    def value(self) -> Callable[[R], Data | Absent]:
        """The function that returns the value of a row, or `ABSENT`."""
        return self.get or (lambda row: getattr(row, self.name, ABSENT))

    @property
    def _words(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def heading(self) -> str:
        """The header of the column in `list`."""
        if self.title is not None:
            return self.title
        return (self.layout.label if self.layout is not None else "") or self._words

    def placed(self, layout: ScreenColumn) -> ScreenColumn:
        """Return the column's place on the screen, with its id and its label; numbers are aligned right."""
        label = layout.label or ("" if layout.gutter else self._words)
        align: Align = "right" if self.type == "number" and not self.left else layout.align
        return layout._replace(id=self.name, label=label, align=align)

    def shown(self, row: R) -> str:
        """Return the text of a row in `list`; it is untrusted and not cleaned."""
        if self.text is not None:
            return self.text(row)
        if self.cell is not None:
            return plain(self.cell(row))
        # Show a missing value as a blank: a zero or a dash would look like an answer.
        value = self.value(row)
        return "" if value is None or value is ABSENT else str(value)

    def drawn(self, row: R) -> Cell:
        """Return the cell of a row on the screen; text from a cluster is cleaned."""
        return clean(self.shown(row)) if self.cell is None else self.cell(row)

    def by_value(self) -> Callable[[R], Any]:
        """Return the default sort key: the largest number first, an unknown one last."""
        get = self.value
        # Treat a missing text as the empty text, so that texts are compared only with texts.
        if self.type in ("text", "word"):
            return lambda row: value if isinstance(value := get(row), str) else ""
        return lambda row: -value if isinstance(value := get(row), int | float) else inf


class Columns(Generic[R]):
    """The columns of a noun, in their order on the screen.

    Attributes:
        orders: the names of columns in the order of a view, if that differs; columns that it does not name come last.
        tie: the sort key of rows that are equal in the sorted column; None to keep their order.
        lead: the sort key that comes before that of any column, smallest first.
        views: the views of the columns that name none.
    """

    def __init__(
        self,
        *columns: Column[R],
        orders: Mapping[View, Sequence[str]] = MappingProxyType({}),
        tie: Callable[[R], Any] | None = None,
        lead: Callable[[R], Any] | None = None,
        views: frozenset[View] = EVERYWHERE,
    ) -> None:
        self.all = tuple(column if column.views else column._replace(views=views) for column in columns)
        self._orders, self._tie, self._lead = orders, tie, lead
        self.layout = tuple(c.placed(c.layout) for c in self.all if "screen" in c.views and c.layout is not None)
        # Collect these once per noun, not for each of 100,000 rows.
        self._data = self._getters("data")
        self._detail = self._getters("detail")
        self._drawn = tuple(column.drawn for column in self.of("screen"))
        self._shown = tuple(column.shown for column in self.of("list"))

    def _getters(self, view: View) -> tuple[tuple[str, Callable[[R], Data | Absent]], ...]:
        getters: list[tuple[str, Callable[[R], Data | Absent]]] = []
        for column in self.of(view):
            key = column.key or column.name
            getters.append((key, column.value))
            if column.part is not None:
                getters.append((f"{key}_is_part", column.part))
        return tuple(getters)

    def of(self, view: View) -> tuple[Column[R], ...]:
        """Return the columns of a view, in its order."""
        columns = [column for column in self.all if view in column.views]
        # Columns that are missing in the view's order come last, in their own order.
        places = {name: place for place, name in enumerate(self._orders.get(view, ()))}
        return tuple(sorted(columns, key=lambda column: places.get(column.name, len(places))))

    def without(self, names: Collection[str]) -> Columns[R]:
        """Return the columns without some that are empty in a table.

        Args:
            names: the columns to leave out, by `Column.name`.
        """
        left = (column for column in self.all if column.name not in names)
        return Columns(*left, orders=self._orders, tie=self._tie, lead=self._lead)

    def sort_key(self, name: str) -> Callable[[R], Any]:
        """Return the sort key of a column by its name, with the lead before it and the tie after it."""
        column = next(c for c in self.all if c.layout is not None and c.name == name)
        # The lead precedes any column: the cluster default stays above the brokers.
        keys = tuple(key for key in (self._lead, column.order or column.by_value(), self._tie) if key is not None)
        return keys[0] if len(keys) == 1 else lambda row: tuple([key(row) for key in keys])

    def data(self, row: R) -> dict[str, Data]:
        """Return the object of a row in JSON, YAML and CSV.

        Returns:
            Key -> value, without columns that don't apply to the row (`ABSENT`); None is null.
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


def highest_first(value: float | None) -> float:
    """Return a sort key with the highest number first and an unknown one last."""
    return inf if value is None else -value


def letter_column(name: str, cell: Callable[[R], Cell], width: int = 1) -> Column[R]:
    """Return a column of the screen without a title, whose cells are single letters: a state or a staged edit.

    Args:
        width: the width in cells.
    """
    return Column(name, SCREEN, cell=cell, layout=on_screen(width, gutter=True))


def overrides_column(
    get: Callable[[R], int | None], priority: int, order: Callable[[R], Any] | None = None
) -> Column[R]:
    """Return the column with the number of configs that an entity sets itself: blank for 0, a dot if they were not
    read.

    Args:
        get: the number; None if they were not read.
        priority: the priority of the column on a narrow screen.
        order: the sort key; None to sort by the number.
    """

    def cell(row: R) -> Cell:
        count = get(row)
        return "·" if count is None else (str(count), "override") if count else ""

    layout = on_screen(5, "Over", priority=priority, sort_key="O")
    return Column("overrides", SCREEN, get, "number", cell=cell, order=order, layout=layout)


def changed_column(get: Callable[[R], datetime | None]) -> Column[R]:
    """Return the column with the time of an entity's last seen change, blank if none was seen; sorted by the latest."""

    def value(row: R) -> Data:
        return at.isoformat() if (at := get(row)) is not None else None

    def cell(row: R) -> Cell:
        return (clock(at), "changed") if (at := get(row)) is not None else ""

    def order(row: R) -> float:
        return -at.timestamp() if (at := get(row)) is not None else 0

    layout = on_screen(8, priority=30, sort_key="C")
    return Column("changed", SCREEN, value, cell=cell, order=order, layout=layout)


# -- rates -------------------------------------------------------------------------------------------------------------


def rate_value(rate: float | None) -> float | int | None:
    """Return a rate per second, rounded: below 10 to one decimal, else to a whole number. None if the rate is
    unknown.
    """
    return None if rate is None else round(rate, 1) if abs(rate) < 10 else round(rate)


def bytes_cell(rate: float | None) -> Cell:
    """Return a rate as bytes, ``1.2 MiB``; a dash if it is unknown."""
    return (NOTHING, "muted") if rate is None else size(round(rate))


def records_cell(rate: float | None) -> Cell:
    """Return a rate as a number, ``1,234``; a dash if it is unknown."""
    value = rate_value(rate)
    # 0.0 would look like a rounded rate: show 0.
    return (NOTHING, "muted") if value is None else f"{value:,}" if value else "0"


def time_text(seconds: float | None) -> str:
    """Return a measured duration, ``""`` for None."""
    return "" if seconds is None else measured_time(seconds)


def behind_text(behind: Behind) -> str:
    """Return a lag as a time: ``43 min``, ``≥ 28 min`` if it may be longer, ``0 s`` for no lag; ``·`` if unknown."""
    if behind.seconds is None:
        return "·"
    text = time_text(behind.seconds) if round(behind.seconds) else "0 s"
    return f"≥ {text}" if behind.least else text


def rate_columns(
    get: Callable[[R], Rate | Absent], bytes_priority: int, records_priority: int
) -> tuple[Column[R], Column[R]]:
    """Return the columns of a noun's bytes and records per second.

    Args:
        get: the rate of a row; `ABSENT` for a row without one.
        bytes_priority: the priority of the column of bytes on a narrow screen: the higher, the longer it stays.
        records_priority: the priority of the column of records.
    """

    def of(field: Callable[[Rate], float | None]) -> Callable[[R], Data | Absent]:
        def value(row: R) -> Data | Absent:
            rate = get(row)
            return ABSENT if isinstance(rate, Absent) else rate_value(field(rate))

        return value

    def cell(field: Callable[[Rate], float | None], draw: Callable[[float | None], Cell]) -> Callable[[R], Cell]:
        return lambda row: "" if isinstance(rate := get(row), Absent) else draw(field(rate))

    def order(field: Callable[[Rate], float | None]) -> Callable[[R], float]:
        return lambda row: inf if isinstance(rate := get(row), Absent) else highest_first(field(rate))

    return (
        Column(
            "bytes_per_second",
            OVER_POLLS,
            of(lambda rate: rate.bytes),
            "number",
            Unit.BYTES_PER_SECOND,
            unknown=True,
            cell=cell(lambda rate: rate.bytes, bytes_cell),
            order=order(lambda rate: rate.bytes),
            layout=on_screen(8, "Bytes/s", priority=bytes_priority, sort_key="B"),
        ),
        Column(
            "records_per_second",
            OVER_POLLS,
            of(lambda rate: rate.records),
            "number",
            unknown=True,
            cell=cell(lambda rate: rate.records, records_cell),
            order=order(lambda rate: rate.records),
            layout=on_screen(7, "Rec/s", priority=records_priority, sort_key="S"),
        ),
    )
