"""Graphs over one time axis: time runs from left to right, and the right edge is now. Pure.

A graph has one to six lines of block characters; its scale and its newest value are on the left. When a column is
added, all earlier ones move to the left. The terminal itself moves them (`widgets.terminal_diff`), so that kac sends
some 30 bytes for each line, whatever the line's width. Between two columns nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from console.model.half_hour import EVERY, SLOTS, Measure
from console.plan.amounts import size
from console.present.columns import clock, time_text
from console.present.names import NOTHING
from console.present.text import Line, clean, pad
from widgets.cells import fit_number, wrapped

BLOCKS = "▁▂▃▄▅▆▇█"
"""The characters for heights of 1 to 8 eighths of a line. The first is only for 0, so that a higher value never looks
like 0.
"""
TALLEST = 6
"""Maximum number of lines of a graph."""
CHANGE, TROUBLE, MOMENT, TICK = "┆", "!", "│", "╷"
"""Signs for a change, for a change that is trouble, for the time that the cursor is on, and for a time that the axis
names."""
COLUMN_SECONDS = (10, 20, 30, 40)
"""Possible lengths of a column in seconds: from the interval of the cluster's samples to that of a topic's samples."""
LEAST_DRAWN = 1500
"""Minimum seconds of the last half hour that a chart covers, unless the screen is too narrow."""
LABELS, LABEL_CELLS = (300, 600), 9
"""Seconds between two times on the axis, and the number of cells that such a time needs."""
VALUE_CELLS, AROUND = 10, 3
"""Number of cells of the newest value and the scale, and of the blanks around the titles and these."""
TITLES = ((150, 30), (80, 22), (0, 16))
"""Minimum width of a chart in cells -> width of its titles in cells. It does not depend on the titles themselves, so
that the graphs do not move when a title changes.
"""
ALMOST_FULL = 0.9
"""Used share of a disk, 0 to 1, above which the disk counts as nearly full."""

_RATES = frozenset({"written", "read", "read ≈", "bytes in"})
_TIMES = frozenset({"behind", "readers behind"})
_FAILURES = frozenset({"under-replicated", "offline", "out of sync"})
_STEPS = tuple(ten * each for ten in (1, 10, 100) for each in (1, 2, 3, 4, 6, 8))
_TIME_STEPS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000, 43_200, 86_400)


class Axis(NamedTuple):
    """The time axis of a chart. A column's number is the number of columns since 1970."""

    seconds: int
    """The number of seconds that a column covers."""
    columns: int
    """The number of columns on the axis."""
    last: int
    """The number of the newest column."""

    @property
    def first(self) -> int:
        """The number of the oldest column."""
        return self.last - self.columns + 1

    def begins(self, column: int) -> datetime:
        """Return the time at which a column begins, UTC."""
        return datetime.fromtimestamp(column * self.seconds, UTC)


class Moment(NamedTuple):
    """The marked column of a time axis, which the operator moves with keys (the cursor in time). The graphs show its
    values instead of the newest.
    """

    at: int
    """The time at which the column begins, Unix seconds."""
    seconds: int
    """The number of seconds that the column covers."""

    @property
    def begins(self) -> datetime:
        """The time at which the column begins, UTC."""
        return datetime.fromtimestamp(self.at, UTC)

    @property
    def ends(self) -> datetime:
        """The time at which the next column begins, UTC."""
        return datetime.fromtimestamp(self.at + self.seconds, UTC)

    def column(self, axis: Axis) -> int | None:
        """Return the number of the column on an axis; None if the axis does not show it."""
        column = self.at // axis.seconds
        return column if axis.first <= column <= axis.last else None

    def moved(self, step: int, seconds: int, newest: int) -> Moment:
        """Return the column that is `step` columns later, but not outside of the last half hour.

        Args:
            step: number of columns; negative for earlier ones.
            seconds: the seconds that a column covers.
            newest: a time in the newest column, Unix seconds.
        """
        last = newest // seconds
        column = max(last - SLOTS * EVERY // seconds + 1, min(last, self.at // seconds + step))
        return Moment(column * seconds, seconds)


class Mark(NamedTuple):
    """A change of the cluster, marked on the time axis."""

    at: datetime
    """The time, with its zone."""
    is_trouble: bool = False


class Graph(NamedTuple):
    """The values of one quantity over time."""

    key: str
    title: str
    what: str
    """The quantity, such as ``written`` or ``disk``. It determines the unit, the scale, and which values are bad."""
    values: Mapping[int, float]
    """Number of a sample or column since 1970 -> value; unknown values are missing."""
    every: int = EVERY
    """The number of seconds that a sample or column covers."""
    is_least: bool = False
    """Whether the true newest value may be larger."""
    measure: Measure | None = None
    """The measure of the cluster that the graph shows; None for a quantity of one topic, group or broker."""
    top: float = 0.0
    """The value at the upper edge of the graph; 0.0 until `chart_of` sets it."""

    @property
    def is_flat(self) -> bool:
        """Whether the values differ by less than an eighth of the scale, so that one line shows them as well as six."""
        values = self.values.values()
        return (max(values, default=0) - min(values, default=0)) * len(BLOCKS) < self.top


class Chart(NamedTuple):
    """The graphs over one time axis, and the changes below them."""

    axis: Axis
    graphs: tuple[Graph, ...]
    changes: Mapping[int, int] = {}
    """Column -> number of changes."""
    trouble: frozenset[int] = frozenset()
    """The columns that have a change which is trouble."""


def title_cells(width: int) -> int:
    """Return the width of the titles, in cells, in a chart of this width in cells."""
    return next(cells for least, cells in TITLES if width >= least)


def seconds_for(width: int) -> int:
    """Return the seconds that a column covers in a chart of this width in cells: the smallest of `COLUMN_SECONDS`
    with which the chart covers `LEAST_DRAWN` seconds; the largest if the chart is too narrow for that.
    """
    room = _room(width)
    return next((each for each in COLUMN_SECONDS if room * each >= LEAST_DRAWN), COLUMN_SECONDS[-1])


def chart_of(graphs: Sequence[Graph], marks: Iterable[Mark], now: int, width: int) -> Chart | None:
    """Return the chart that fits into a width; None if fewer than eight columns fit.

    Args:
        graphs: the graphs with their samples.
        marks: the changes; those after `now` are left out, so a new change appears only with a
            later sample.
        now: the start of the newest sample, Unix seconds; it is in the last column.
        width: the width in cells.
    """
    seconds, room = seconds_for(width), _room(width)
    columns = min(room, SLOTS * EVERY // seconds)
    if columns < len(BLOCKS):
        return None
    axis = Axis(seconds, columns, now // seconds)
    found = []
    for each in graphs:
        values = {at: value for at, value in resampled(each.values, each.every, seconds).items() if axis.first <= at}
        top = scale(each.what, max(values.values(), default=0.0))
        found.append(each._replace(values=values, every=seconds, top=top))
    changes: dict[int, int] = {}
    trouble = set()
    for mark in marks:
        at = int(mark.at.timestamp() // seconds)
        if axis.first <= at and mark.at.timestamp() <= now:
            changes[at] = changes.get(at, 0) + 1
            if mark.is_trouble:
                trouble.add(at)
    return Chart(axis, tuple(found), changes, frozenset(trouble))


def resampled(values: Mapping[int, float], every: int, seconds: int) -> dict[int, float]:
    """Return column -> the highest value of the samples that it overlaps. A column without samples is missing.

    Args:
        values: number of a sample since 1970 -> value.
        every: the seconds that a sample covers.
        seconds: the seconds that a column covers.
    """
    found: dict[int, float] = {}
    for slot, value in values.items():
        for column in range(slot * every // seconds, ((slot + 1) * every - 1) // seconds + 1):
            found[column] = max(value, found.get(column, value))
    return found


def heights(graphs: Sequence[Graph], room: int) -> list[int]:
    """Return the number of lines of each graph, at most `TALLEST`, so that all together take at most `room` lines. A
    flat graph has one line; if `room` is too small, each graph has one line.
    """
    tall = [not each.is_flat for each in graphs]
    spare = max(0, room - len(graphs))
    each_has, more = divmod(spare, sum(tall)) if any(tall) else (0, 0)
    found = []
    for is_tall in tall:
        found.append(1 + (min(TALLEST - 1, each_has + (more > 0)) if is_tall else 0))
        more -= is_tall
    return found


# -- lines -------------------------------------------------------------------------------------------------------------


def axis_line(chart: Chart, width: int, moment: int | None = None) -> Line:
    """Return the line with the times of day. moment: the number of the marked column (`Moment`); None if no column
    is marked.
    """
    axis = chart.axis
    every = next((each for each in LABELS if each // axis.seconds >= LABEL_CELLS), LABELS[-1])
    line = [" "] * axis.columns
    for place in range(axis.columns):
        begins = (axis.first + place) * axis.seconds
        if -begins % every < axis.seconds:
            text = f"{TICK}{datetime.fromtimestamp(begins + -begins % every, UTC).astimezone():%H:%M}"
            # Draw only the tick if the right edge leaves no space for the text of the time.
            text = text if place + len(text) <= axis.columns else TICK
            line[place : place + len(text)] = text
    drawn = "".join(line)
    title = f"Last {axis.columns * axis.seconds // 60} min to"
    at = clock(axis.begins(axis.last if moment is None else moment))
    cursor = None if moment is None else moment - axis.first
    spans: Line = [(drawn, "muted")]
    if cursor is not None:
        spans = [(drawn[:cursor], "muted"), (MOMENT, "strong"), (drawn[cursor + 1 :], "muted")]
        return [*_gutter("at the cursor", at, width, "strong", "strong"), *spans]
    return [*_gutter(title, at, width, "muted", "muted"), *spans]


def changes_line(chart: Chart, width: int, moment: int | None = None) -> Line:
    """Return the line that marks the columns with changes, and the number of changes: in the column `moment`, or in all
    for None.
    """
    counts = chart.changes
    count = sum(counts.values()) if moment is None else counts.get(moment, 0)
    signs = (_mark(chart, at, moment, TROUBLE) for at in range(chart.axis.first, chart.axis.last + 1))
    return [*_gutter("changes", f"{count:,}" if count else "", width), *_joined(signs)]


def graph_lines(chart: Chart, graph: Graph, rows: int, width: int, moment: int | None = None) -> list[Line]:
    """Return the lines of one graph. With two lines or more it has a scale; with one line, its newest value is next to
    the title.

    Args:
        rows: the number of lines.
        width: the width in cells.
        moment: the number of the marked column (`Moment`), whose value is shown instead of the newest; None if no
            column is marked.
    """
    at = chart.axis.last if moment is None else moment
    value = graph.values.get(at)
    text = value_text(graph.what, value, is_least=graph.is_least and moment is None)
    bad = meaning(graph.what, value) if value else ""
    bad = "" if bad == "graph" else bad
    drawn = [_blocks(chart, graph, row, rows, moment) for row in reversed(range(rows))]
    title = clean(graph.title)
    if rows == 1:
        return [[*_gutter(title, text, width, "", bad or ("strong" if moment is not None else "")), *drawn[0]]]
    cells = title_cells(width)
    titles = ["".join(part for part, _ in piece) for piece in wrapped([(title, "")], cells, cells)]
    titles = titles if len(titles) < rows else [title]
    left = [*((each, "") for each in titles), *[("", "")] * (rows - 1 - len(titles)), (text, bad or "strong")]
    right = [value_text(graph.what, graph.top), *[""] * (rows - 2), "0"]
    return [
        [*_gutter(title, scale_, width, name, "muted"), *blocks]
        for (title, name), scale_, blocks in zip(left, right, drawn, strict=True)
    ]


def laid_out(
    chart: Chart, room: int, width: int, more: str = "", cursor: Moment | None = None
) -> list[tuple[Line, Graph | None]]:
    """Return the lines of a whole chart, each with its graph; None for the axis and the changes. Empty if `room` is
    below two.

    Args:
        room: the largest number of lines. The last graphs are left out if not all fit.
        width: the width in cells.
        more: the key that shows the graphs that were left out; a last line has it and their number. ``""`` for no such
            line.
        cursor: the marked column, whose values are shown instead of the newest; None if no column is marked.
    """
    if room < 2:
        return []
    moment = cursor.column(chart.axis) if cursor is not None else None
    found: list[tuple[Line, Graph | None]] = [(axis_line(chart, width, moment), None)]
    if chart.changes and room > len(chart.graphs) + 1:
        found.append((changes_line(chart, width, moment), None))
    graphs, space = chart.graphs, room - len(found)
    if len(graphs) > space:
        graphs = graphs[: space - bool(more)]
    for graph, rows in zip(graphs, heights(graphs, space), strict=True):
        found += [(line, graph) for line in graph_lines(chart, graph, rows, width, moment)]
    if more and (left := len(chart.graphs) - len(graphs)):
        found.append(([(f"… {left} more: {more}", "muted")], None))
    return [([(" ", ""), *line], graph) for line, graph in found]


def _gutter(left: str, right: str, width: int, left_name: str = "", right_name: str = "") -> Line:
    cells = title_cells(width)
    return [(pad(left, cells), left_name), (f" {fit_number(right, VALUE_CELLS):>{VALUE_CELLS}} ", right_name)]


def _room(width: int) -> int:
    return width - title_cells(width) - VALUE_CELLS - AROUND


def _blocks(chart: Chart, graph: Graph, row: int, rows: int, moment: int | None) -> Line:
    """Return one line of a graph. row: its number, from the lowest; rows: the height of the graph; moment: the
    number of the marked column, None if no column is marked.
    """

    def sign(at: int) -> tuple[str, str]:
        value = graph.values.get(at)
        filled = 0 if value is None else eighths(value, graph.top, rows) - row * len(BLOCKS)
        if value is None or filled <= 0:
            # Mark only the first of adjacent columns with changes: marks in all of them would hide the graph.
            return _mark(chart, at, moment, CHANGE) if at - 1 not in chart.changes or at == moment else (" ", "")
        name = "strong" if at == moment else meaning(graph.what, value)
        return BLOCKS[min(filled, len(BLOCKS)) - 1], name

    return _joined(map(sign, range(chart.axis.first, chart.axis.last + 1)))


def _mark(chart: Chart, at: int, moment: int | None, trouble: str) -> tuple[str, str]:
    """Return the character of a column in which no block is drawn: the sign of the marked column, the mark of a
    change, or a blank. trouble: the character for a change that is trouble.
    """
    is_trouble = at in chart.trouble
    if at == moment:
        return MOMENT, "strong"
    if at not in chart.changes:
        return " ", ""
    return (trouble, "failed") if is_trouble else (CHANGE, "muted")


def _joined(signs: Iterable[tuple[str, str]]) -> Line:
    return [("".join(sign for sign, _ in run), name) for name, run in groupby(signs, key=lambda each: each[1])]


# -- values ------------------------------------------------------------------------------------------------------------


def eighths(value: float, top: float, rows: int) -> int:
    """Return the height of a value, in eighths of a line: 1 for 0, at least 2 for a value above 0.

    Args:
        top: the value at the upper edge.
        rows: the height of the graph in lines.
    """
    most = rows * len(BLOCKS)
    return 1 if value <= 0 else min(most, 2 + int((most - 1) * value / top))


def scale(what: str, highest: float) -> float:
    """Return the value at the upper edge of a graph whose highest value is given: a round number in the quantity's
    unit, so that it seldom changes.
    """
    if what == "disk":
        return 1.0
    return next(each for each in _rounds(what) if each >= highest)


def _rounds(what: str) -> Iterator[float]:
    if what in _TIMES:
        yield from _TIME_STEPS
    base = 1024 if what in _RATES else 1000
    unit = _TIME_STEPS[-1] if what in _TIMES else 1
    while True:
        yield from (float(unit * each) for each in _STEPS)
        unit *= base


def value_text(what: str, value: float | None, *, is_least: bool = False) -> str:
    """Return a value with its unit; ``–`` for None, an unknown value. is_least: whether the true value may be
    larger.
    """
    if value is None:
        return NOTHING
    if what in _RATES:
        text = f"{size(round(value))}/s"
    elif what in _TIMES:
        text = time_text(value)
    elif what == "disk":
        text = f"{100 * value:.0f} %"
    else:
        text = f"{value:,.0f}{'/min' if what == 'throttled' else '/s' if what == 'records in' else ''}"
    return f"≥ {text}" if is_least else text


def meaning(what: str, value: float | None) -> str:
    """Return the meaning of the colour of a value: ``failed`` or ``danger`` for a bad one, ``muted`` for 0 and None,
    else ``graph``.
    """
    if not value:
        return "muted"
    if what in _FAILURES:
        return "failed"
    return "danger" if what == "disk" and value > ALMOST_FULL else "graph"
