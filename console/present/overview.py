"""The last half hour as lines of blocks: a row for each measure, with the time from left to right.

The drawing does not scroll: each column stands for the same seconds of every half hour, and a gap follows the newest
one. So at most one column is redrawn when the clock fills it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from itertools import groupby
from typing import NamedTuple

from console.model import half_hour
from console.plan.amounts import size
from console.present import columns as noun_columns
from console.present.names import NOTHING
from console.present.text import Line, cell_width, clean, pad

BLOCKS = "▁▂▃▄▅▆▇█"
"""The first block for 0, then by height: a value above 0 is never drawn as 0."""
GAP, MANY, ONE = "│", "!", "┆"
MARK_EVERY = 600
"""Seconds between two times on the axis."""
WIDTHS = ((220, 180), (125, 90), (0, 45))
"""The least width of a screen, in cells, and the number of columns; each divides the half hour."""
LEAST: Mapping[str, float] = {"behind": 5.0, "throttled": 1.0}
"""Measure -> the least value that is drawn: a healthy group lags by the seconds between its commits, and most clients
are not throttled."""
ALMOST_FULL = 0.9
"""Used share of a disk above which it is in danger."""
TITLE = "Last 30 min"
LEAST_TITLE, NOW_WIDTH, GAPS = 16, 9, 5
"""Cells of a line next to its graph: the least title, the newest value, and the blanks before and between them."""
_ORDER = ("under-replicated", "offline", "written", "read", "behind", "throttled", "disk")
_OTHERS = {
    "written": "written to {} more",
    "read": "read from {} more ≈",
    "behind": "lag of {} more",
    "throttled": "throttled: {} more",
    "disk": "disk of {} more",
}
MORE = "…"
"""Key of the line that marks omitted lines."""
MOST_OF_A_KIND = (8, 4, 2, 1)
"""Most brokers, groups, clients or disks with lines of their own, by the room on the screen."""
_SCALES = (1, 2, 5)


class Shown(NamedTuple):
    """The data of the drawing. samples: the earliest first; without one there are no lines. events: times of changes.
    full_in: broker -> seconds until its first disk is full, of those that fill. usage: throttled pair in a lake -> slot
    -> requests a minute."""

    samples: Sequence[half_hour.Sample]
    events: Sequence[datetime] = ()
    full_in: Mapping[int, float] = {}
    usage: Mapping[str, Mapping[int, float]] = {}


class OverviewRow(NamedTuple):
    """A line of the drawing. measure: None for the axis and the events. graph: one character for each column. now: the
    newest value."""

    key: str
    title: str
    now: str
    graph: str
    meaning: str = ""
    measure: half_hour.Measure | None = None


OVERVIEW: noun_columns.Columns[OverviewRow] = noun_columns.Columns(
    noun_columns.Column(
        "what",
        noun_columns.SCREEN,
        lambda row: row.title,
        cell=lambda row: (clean(row.title), "muted" if row.measure is None else ""),
        layout=noun_columns.on_screen(TITLE, flex=1, min_width=LEAST_TITLE, max_width=60),
    ),
    noun_columns.Column(
        "now",
        noun_columns.SCREEN,
        cell=lambda row: (row.now, row.meaning),
        layout=noun_columns.on_screen(width=NOW_WIDTH, align="right", priority=90),
    ),
    noun_columns.Column(
        "graph",
        noun_columns.SCREEN,
        cell=lambda row: (row.graph, row.meaning or "muted"),
        layout=noun_columns.on_screen(noun_columns.BLANK, min_width=45, max_width=180, priority=95),
    ),
)


def own_rows(
    samples: Sequence[half_hour.OwnSample],
    kind: half_hour.Kind,
    name: str,
    readers: Collection[str] = (),
    full_in: Mapping[int, float] = {},
) -> tuple[OverviewRow, ...]:
    """Return the lines of one topic, group or broker, a column for each sample; empty before two samples of it.

    Args:
        samples: the earliest first.
        name: of the topic or the group, or the broker's id.
        readers: the groups that read the topic; the one with the longest lag has a line.
        full_in: broker -> seconds until its first disk is full.
    """
    found = dict(half_hour.own_values(samples, kind, name))
    behind: dict[int, float] = {}
    for group in readers:
        for slot, seconds in half_hour.own_values(samples, "group", group).get("behind", {}).items():
            behind[slot] = max(seconds, behind.get(slot, 0.0))
    if behind:
        found["readers behind"] = behind
    # A single sample shows no trend.
    if not any(len(values) > 1 for values in found.values()):
        return ()
    last = samples[-1].slot
    axis = OverviewRow(
        "axis",
        "",
        noun_columns.clock(_time(last * half_hour.OWN_EVERY // half_hour.EVERY)),
        _axis(last + 1, half_hour.OWN_SLOTS),
    )
    left = full_in.get(int(name)) if kind == "broker" else None
    lines = (
        OverviewRow(
            what,
            f"disk full in {noun_columns.time_text(left)}" if what == "disk" and left is not None else what,
            _own_now(what, values.get(last)),
            _graph(values, 1.0 if what == "disk" else _scale(max(values.values())), last + 1, half_hour.OWN_SLOTS),
            _own_meaning(what, values.get(last, 0.0)),
        )
        for what, values in found.items()
    )
    return (axis, *lines)


def _own_now(what: str, value: float | None) -> str:
    if value is None:
        return NOTHING
    if what in ("bytes in", "written", "read ≈"):
        return f"{size(round(value))}/s"
    if what == "records in":
        return f"{value:,.0f}/s"
    if what == "disk":
        return f"{100 * value:.0f} %"
    return noun_columns.time_text(value) if "behind" in what else f"{value:,.0f}"


def _own_meaning(what: str, value: float) -> str:
    if what == "disk":
        return "danger" if value > ALMOST_FULL else ""
    return "failed" if what == "out of sync" and value else ""


def columns_for(width: int) -> int:
    """Return the number of columns of the drawing on a screen of this width in cells."""
    return next(columns for least, columns in WIDTHS if width >= least)


def drawn(rows: Sequence[OverviewRow], width: int) -> list[Line]:
    """Return the lines for a place next to other contents, without a cursor.

    Args:
        rows: the rows, whose graphs have as many columns as `columns_beside` returns for the width.
        width: in cells.
    """
    if not rows:
        return []
    longest = max(LEAST_TITLE, *(cell_width(clean(row.title)) for row in rows))
    room = max(0, min(longest, width - len(rows[0].graph) - NOW_WIDTH - GAPS))
    return [
        [
            (f" {pad(clean(row.title) or TITLE, room)}", "muted" if row.measure is None else ""),
            (f"  {row.now:>{NOW_WIDTH}}", row.meaning),
            (f"  {row.graph}", row.meaning or "muted"),
        ]
        for row in rows
    ]


def columns_beside(width: int) -> int:
    """Return the number of columns of a drawing of this width in cells; 0 if not even the fewest fit."""
    room = width - LEAST_TITLE - NOW_WIDTH - GAPS
    return next((columns for _, columns in WIDTHS if room >= columns), 0)


def overview_rows(shown: Shown, columns: int, room: int | None = None) -> tuple[OverviewRow, ...]:
    """Return the lines of the drawing, those of the cluster first.

    If there are many brokers, disks or groups, those with the highest values have lines of their own, and the others
    share one.

    Args:
        columns: of the drawing, a divisor of `SLOTS`.
        room: most lines; None for no limit.
    """
    samples = shown.samples
    if not samples:
        return ()
    newest, each_has = samples[-1].slot, half_hour.SLOTS // columns
    last = newest // each_has
    known_of = _known(shown)
    measures = [each for each in _in_order(known_of) if max(known_of[each].values()) >= LEAST.get(each.what, 0.0)]
    kinds = [[*each] for _, each in groupby(measures, key=lambda measure: measure.what)]
    several = _with_several_disks(measures)
    axis = OverviewRow("axis", "", noun_columns.clock(_time(last * each_has)), _axis(last, columns))

    def row(
        key: str, title: str, measure: half_hour.Measure, known: Mapping[int, float], *, is_least: bool
    ) -> OverviewRow:
        top = 1.0 if measure.what == "disk" else _scale(max(known.values()))
        by_column: dict[int, float] = {}
        for slot, value in known.items():
            by_column[slot // each_has] = max(value, by_column.get(slot // each_has, 0.0))
        now = known.get(newest)
        graph = _graph(by_column, top, last, columns)
        return OverviewRow(key, title, _now(measure, now, is_least), graph, _meaning(measure, now), measure)

    found = [axis, _event_row(shown.events, last, columns)]
    for mine in kinds:
        highest, others = _highest(mine, known_of, _most(kinds, room))
        for each in highest:
            title = _title(each, shown.full_in, several)
            found.append(row(" ".join(each), title, each, known_of[each], is_least=each in samples[-1].least))
        if others:
            together = _together(others[0].what, [known_of[each] for each in others])
            is_least = any(each in samples[-1].least for each in others)
            title = _OTHERS[others[0].what].format(len(others))
            found.append(row(f"{others[0].what} …", title, others[0], together, is_least=is_least))
    if room is not None and len(found) > room:
        # The last line that fits marks the omitted ones.
        found[room - 1 :] = [OverviewRow(MORE, "… more: ^G", "", NOTHING_KNOWN * columns)]
    return tuple(found)


def _most(kinds: Sequence[Sequence[half_hour.Measure]], room: int | None) -> int:
    """Return the most lines of each kind that fit, in addition to one for its others."""
    if room is None:
        return MOST_OF_A_KIND[0]
    fits = (most for most in MOST_OF_A_KIND if 2 + sum(min(len(mine), most + 1) for mine in kinds) <= room)
    return next(fits, MOST_OF_A_KIND[-1])


def _highest(
    mine: Sequence[half_hour.Measure], known_of: Mapping[half_hour.Measure, Mapping[int, float]], most: int
) -> tuple[Sequence[half_hour.Measure], Sequence[half_hour.Measure]]:
    """Return the measures of a kind with lines of their own, in their order, and the others."""
    if len(mine) <= most + 1:
        return mine, ()
    highest = frozenset(nlargest(most, mine, key=lambda measure: max(known_of[measure].values())))
    return [each for each in mine if each in highest], [each for each in mine if each not in highest]


def _together(what: str, known: Iterable[Mapping[int, float]]) -> Mapping[int, float]:
    """Return the combined value of several at each slot: the sum of rates, otherwise the highest."""
    found: dict[int, float] = {}
    for each in known:
        for slot, value in each.items():
            before = found.get(slot, 0.0)
            found[slot] = before + value if what in ("written", "read", "throttled") else max(before, value)
    return found


def _known(shown: Shown) -> Mapping[half_hour.Measure, Mapping[int, float]]:
    """Return slot -> value for each measure, in the half hour of the samples."""
    found: dict[half_hour.Measure, dict[int, float]] = {}
    for each in shown.samples:
        for measure, value in each.values.items():
            found.setdefault(measure, {})[each.slot] = value
    newest = shown.samples[-1].slot
    for about, by_slot in shown.usage.items():
        if values := {slot: value for slot, value in by_slot.items() if newest - half_hour.SLOTS < slot <= newest}:
            found[half_hour.Measure("throttled", about)] = values
    return found


def _in_order(known: Mapping[half_hour.Measure, Mapping[int, float]]) -> list[half_hour.Measure]:
    """Return the measures in the order of the lines; lags and throttled pairs with the worst first."""

    def place(measure: half_hour.Measure) -> tuple[int, float, tuple[int, str]]:
        number, _, rest = measure.about.partition(" ")
        by_value = -max(known[measure].values()) if measure.what in LEAST else 0.0
        return _ORDER.index(measure.what), by_value, (int(number), rest) if number.isdecimal() else (0, measure.about)

    return sorted(known, key=place)


def _graph(values: Mapping[int, float], top: float, last: int, columns: int) -> str:
    """Return a line of blocks. values: column, counted from 1970, -> its value. last: the column being filled, drawn as
    the gap."""
    return "".join(
        GAP if at == last else NOTHING_KNOWN if at not in values else _block(values[at], top)
        for at in _places(last, columns)
    )


NOTHING_KNOWN = " "


def _places(last: int, columns: int) -> Iterator[int]:
    """Yield the column at each place of the drawing, from the left."""
    for place in range(columns):
        yield last - (last - place) % columns


def _block(value: float, top: float) -> str:
    if value <= 0:
        return BLOCKS[0]
    return BLOCKS[min(len(BLOCKS) - 1, 1 + int((len(BLOCKS) - 1) * value / top))]


def _scale(highest: float) -> float:
    """Return the value of the highest block: 1, 2 or 5 and zeros, so that it seldom changes."""
    unit = 1.0
    while unit * 10 <= highest:
        unit *= 10
    return next((unit * each for each in _SCALES if unit * each >= highest), unit * 10)


def _axis(last: int, columns: int) -> str:
    """Return the times of day, each at the beginning of its column."""
    seconds = half_hour.SLOTS * half_hour.EVERY // columns
    line = [" "] * columns
    for place, at in enumerate(_places(last, columns)):
        if at * seconds % MARK_EVERY < seconds:
            moment = _time(at * seconds // half_hour.EVERY - at * seconds % MARK_EVERY // half_hour.EVERY)
            text = f"{moment.astimezone():%H:%M}"
            line[place : place + len(text)] = text
    return "".join(line[:columns])


def _event_row(events: Iterable[datetime], last: int, columns: int) -> OverviewRow:
    seconds = half_hour.SLOTS * half_hour.EVERY // columns
    counted: dict[int, int] = {}
    for each in events:
        at = int(each.timestamp() // seconds)
        if last - columns < at <= last:
            counted[at] = counted.get(at, 0) + 1
    marks = (
        GAP if at == last else NOTHING_KNOWN if not (count := counted.get(at)) else ONE if count < 5 else MANY
        for at in _places(last, columns)
    )
    total = sum(counted.values())
    return OverviewRow("events", "events", str(total) if total else "", "".join(marks))


def _with_several_disks(measures: Iterable[half_hour.Measure]) -> frozenset[int]:
    """Return the brokers with several disks, whose titles need the path."""
    disks = Counter(int(each.about.partition(" ")[0]) for each in measures if each.what == "disk")
    return frozenset(broker for broker, count in disks.items() if count > 1)


def _title(measure: half_hour.Measure, full_in: Mapping[int, float], several: Collection[int]) -> str:
    match measure.what:
        case "under-replicated" | "offline":
            return measure.what
        case "written":
            return f"written to {measure.about}"
        case "read":
            return f"read from {measure.about} ≈"
        case "behind":
            return f"lag {measure.about}"
        case "throttled":
            return f"throttled {measure.about}"
        case "disk":
            number, _, path = measure.about.partition(" ")
            left = full_in.get(int(number))
            full = f" full in {noun_columns.time_text(left)}" if left is not None else ""
            return f"disk {number}{full}{f' {path}' if int(number) in several else ''}"


def _now(measure: half_hour.Measure, value: float | None, is_least: bool) -> str:
    if value is None:
        return NOTHING
    match measure.what:
        case "under-replicated" | "offline":
            return f"{value:,.0f}"
        case "written" | "read":
            return f"{size(round(value))}/s"
        case "behind":
            return f"≥ {noun_columns.time_text(value)}" if is_least else noun_columns.time_text(value)
        case "throttled":
            return f"{value:,.0f}/min"
        case "disk":
            return f"{100 * value:.0f} %"


def _meaning(measure: half_hour.Measure, value: float | None) -> str:
    if measure.what in ("under-replicated", "offline") and value:
        return "failed"
    return "danger" if measure.what == "disk" and (value or 0) > ALMOST_FULL else ""


def _time(slot: int) -> datetime:
    return datetime.fromtimestamp(slot * half_hour.EVERY, UTC)
