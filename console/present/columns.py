"""Columns of a noun (topics, groups and so on) on the screen, in `list` and in `describe`, as text, JSON, YAML and CSV.

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
"""The JSON type of a value. A word is a text from a fixed set, compared without regard to case; names are a list of
texts, and a filter matches if one of them does.
"""
View = Literal["filter", "data", "list", "detail", "screen"]
"""Where a column appears: ``filter``: in ``KEY=VALUE`` of `list`; ``data``: in the objects of JSON, YAML and CSV;
``list``: in the text of `list`; ``detail``: in the object of `describe`; ``screen``: on the screen.
"""

SCREEN: frozenset[View] = frozenset({"screen"})
LIST: frozenset[View] = frozenset({"list"})
SHOWN: frozenset[View] = frozenset({"list", "screen"})
FILTER: frozenset[View] = frozenset({"filter"})
DATA: frozenset[View] = FILTER | {"data"}
LISTED: frozenset[View] = DATA | {"list"}
EVERYWHERE: frozenset[View] = LISTED | {"screen"}
DETAIL: frozenset[View] = frozenset({"detail"})
OBJECT: frozenset[View] = frozenset({"data"})
"""Views of a column that appears only in data, for nouns without filters."""
TOLD: frozenset[View] = OBJECT | LIST
"""Views of a column that appears in the text of `list` and in data."""
OVER_POLLS: frozenset[View] = DATA | SCREEN
"""Views of a column whose value needs two polls; the text of `list` has only one poll."""


class Absent(Enum):
    """The value of a column that does not apply to a row: no filter matches it, and the data leave it out."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
R = TypeVar("R")

BLANK = " "
"""The label of a column on the screen that shows no label."""


def on_screen(width: int | tuple[int, int | None] | None = None, label: str = "", **more: Any) -> ScreenColumn:
    """Return the fields of a column on the screen. Its id, and by default its label, is the name of the column.

    Args:
        width: in cells; None for as wide as its texts; two numbers for as wide as its texts, but not below the first
            number and not above the second (None: no maximum).
        label: the header; ``""`` for the name.
        more: the other fields of the widget's column.
    """
    if not isinstance(width, tuple):
        return ScreenColumn("", label, width, **more)
    least, most = width
    return ScreenColumn("", label, min_width=least, max_width=most, **more)


class Column(NamedTuple, Generic[R]):
    """One column of a table whose rows are of type R."""

    name: str
    """The name: the key by which `list` filters, and the default key in JSON."""
    views: frozenset[View] = frozenset()
    """The views that show the column; if empty, the views of its table."""
    get: Callable[[R], Data | Absent] | None = None
    """Returns the value of a row, of type `type` and in `unit`; None becomes null in JSON. By default the row's field
    with this column's name.
    """
    type: Type = "text"
    unit: Unit = Unit.NONE
    key: str = ""
    """The key in JSON; ``""`` for the name of the column."""
    title: str | None = None
    """The header in `list`, where numbers are aligned right; None for the header on the screen or, if there is none,
    the name.
    """
    cell: Callable[[R], Cell] | None = None
    """Returns the cell on the screen, with invisible characters escaped; None to show `text` or, if that is None
    too, the value.
    """
    text: Callable[[R], str] | None = None
    """Returns the text in `list`; None to print `cell` or, if that is None too, the value."""
    layout: ScreenColumn | None = None
    """The fields of the column on the screen; None if it is not on the screen."""
    order: Callable[[R], Any] | None = None
    """Returns the sort key on the screen; rows with the smallest one come first. None to sort by the value: the largest
    number first, or texts in ascending order.
    """
    part: Callable[[R], bool] | None = None
    """Returns whether the number is incomplete, because some data are unknown; the data then report it under another
    key. None for a number that is always complete.
    """
    unknown: bool = False
    """Whether None as a value means unknown, not absent."""
    left: bool = False
    """Whether numbers are aligned left instead of right."""

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
        """Return the fields on the screen, completed with the column's id and label; numbers are aligned right."""
        label = layout.label or ("" if layout.gutter else self._words)
        align: Align = "right" if self.type == "number" and not self.left else layout.align
        return layout._replace(id=self.name, label=label, align=align)

    def shown(self, row: R) -> str:
        """Return the text of a row in `list`. It is untrusted: the caller must escape invisible characters."""
        if self.text is not None:
            return self.text(row)
        if self.cell is not None:
            return plain(self.cell(row))
        # Show a missing value as a blank: a zero or a dash would look like an answer.
        value = self.value(row)
        return "" if value is None or value is ABSENT else str(value)

    def drawn(self, row: R) -> Cell:
        """Return the cell of a row on the screen, with invisible characters escaped."""
        return clean(self.shown(row)) if self.cell is None else self.cell(row)

    def by_value(self) -> Callable[[R], Any]:
        """Return the default function for sort keys: the largest number first, an unknown number last; texts in
        ascending order.
        """
        get = self.value
        # Treat a missing text as the empty text, so that texts are compared only with texts.
        if self.type in ("text", "word"):
            return lambda row: value if isinstance(value := get(row), str) else ""
        return lambda row: -value if isinstance(value := get(row), int | float) else inf


class Columns(Generic[R]):
    """The columns of a noun, in their order on the screen.

    Attributes:
        orders: view -> names of columns, if the order of the view differs; columns that it does not name come last.
        tie: returns the sort key of rows that are equal in the sorted column; None to keep their order.
        lead: returns a sort key that takes precedence over that of any column, smallest first; None for no such key.
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
        # Look up the functions of columns once per noun, not for each of 100,000 rows.
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
        """Return the columns that a view shows, in its order."""
        columns = [column for column in self.all if view in column.views]
        # Columns that are missing in the view's order come last, in their own order.
        places = {name: place for place, name in enumerate(self._orders.get(view, ()))}
        return tuple(sorted(columns, key=lambda column: places.get(column.name, len(places))))

    def without(self, names: Collection[str]) -> Columns[R]:
        """Return a table without some columns.

        Args:
            names: the columns to leave out, by `Column.name`.
        """
        left = (column for column in self.all if column.name not in names)
        return Columns(*left, orders=self._orders, tie=self._tie, lead=self._lead)

    def sort_key(self, name: str) -> Callable[[R], Any]:
        """Return the function for sort keys of a column, by its name: `lead` before, and `tie` after the column's own
        key.
        """
        column = next(c for c in self.all if c.layout is not None and c.name == name)
        # Sort by `lead` first, whatever the column: the cluster default, for example, stays above the brokers.
        keys = tuple(key for key in (self._lead, column.order or column.by_value(), self._tie) if key is not None)
        return keys[0] if len(keys) == 1 else lambda row: tuple([key(row) for key in keys])

    def data(self, row: R) -> dict[str, Data]:
        """Return the object of a row in JSON, YAML and CSV.

        Returns:
            Key -> value, without columns that don't apply to the row (`ABSENT`); a value of None becomes null.
        """
        return {key: value for key, get in self._data if (value := get(row)) is not ABSENT}

    def detail(self, row: R) -> dict[str, Data]:
        """Return the fields of a row in the object of `describe`, as `data` does."""
        return {key: value for key, get in self._detail if (value := get(row)) is not ABSENT}

    def cells(self, row: R) -> list[Cell]:
        """Return the cells of a row on the screen, one for each column in `layout`."""
        return [draw(row) for draw in self._drawn]

    def texts(self, row: R) -> tuple[str, ...]:
        """Return the texts of a row in `list`. They are untrusted: the caller must escape invisible characters."""
        return tuple([show(row) for show in self._shown])


def clock(at: datetime | None) -> str:
    """Return the local time of day as ``09:41:07``; ``""`` for None."""
    return "" if at is None else time_of_day(at)


def highest_first(value: float | None) -> float:
    """Return a sort key that puts the highest number first and None, an unknown number, last."""
    return inf if value is None else -value


def letter_column(name: str, cell: Callable[[R], Cell], width: int = 1) -> Column[R]:
    """Return a column of the screen without a header, whose cells are single letters: a state or a staged edit.

    Args:
        name: the name of the column.
        cell: returns the letter of a row.
        width: the width in cells.
    """
    return Column(name, SCREEN, cell=cell, layout=on_screen(width, gutter=True))


def overrides_column(
    get: Callable[[R], int | None], priority: int, order: Callable[[R], Any] | None = None
) -> Column[R]:
    """Return the column with the number of configs that an entity overrides: blank for 0, a dot if its configs were not
    read.

    Args:
        get: returns the number; None if the configs were not read.
        priority: the priority of the column on a narrow screen: the higher, the longer it stays.
        order: returns the sort key; None to sort by the number.
    """

    def cell(row: R) -> Cell:
        count = get(row)
        return "·" if count is None else (str(count), "override") if count else ""

    layout = on_screen(5, "Over", priority=priority, sort_key="O")
    return Column("overrides", SCREEN, get, "number", cell=cell, order=order, layout=layout)


def changed_column(get: Callable[[R], datetime | None]) -> Column[R]:
    """Return the column with the time at which kac last saw a change of an entity; blank if it saw none. Sorted by the
    latest.
    """

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
    """Return a rate per second for data: below 10 rounded to one decimal, else to a whole number. None if it is
    unknown.
    """
    return None if rate is None else round(rate, 1) if abs(rate) < 10 else round(rate)


def bytes_cell(rate: float | None) -> Cell:
    """Return a rate in bytes/s as text, ``1.2 MiB``; a dash if it is unknown."""
    return (NOTHING, "muted") if rate is None else size(round(rate))


def records_cell(rate: float | None) -> Cell:
    """Return a rate in records/s as text, ``1,234``; a dash if it is unknown."""
    value = rate_value(rate)
    # 0.0 would look like a rounded rate: show 0.
    return (NOTHING, "muted") if value is None else f"{value:,}" if value else "0"


def time_text(seconds: float | None) -> str:
    """Return a measured duration as text, such as ``43 min``; ``""`` for None."""
    return "" if seconds is None else measured_time(seconds)


def behind_text(behind: Behind) -> str:
    """Return the time for which the next record has waited: ``43 min``, ``≥ 28 min`` if it may be longer, ``0 s`` if no
    record waits, ``·`` if it is unknown.
    """
    if behind.seconds is None:
        return "·"
    text = time_text(behind.seconds) if round(behind.seconds) else "0 s"
    return f"≥ {text}" if behind.least else text


def rate_columns(
    get: Callable[[R], Rate | Absent], bytes_priority: int, records_priority: int
) -> tuple[Column[R], Column[R]]:
    """Return two columns of a noun: bytes per second and records per second.

    Args:
        get: returns the rate of a row; `ABSENT` for a row that has no rate.
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
