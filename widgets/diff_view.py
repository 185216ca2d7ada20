"""A view of changes by group: old value → new value, each with a status letter, and texts below it."""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from widgets.cells import cell_width, clean, truncate
from widgets.columns import FOLDED_FROM, MOST_LINES, fold
from widgets.line_view import LineView
from widgets.row_source import Cell, Span, as_spans, natural_width

SAMPLE = 200
NAME_MAX = 40
MEASURED = 1_000
"""Number of changes whose values are measured to find the widths of the columns."""
ARROW = "  →  "
BELOW_INDENT = 7


class DiffLine(NamedTuple):
    """One change: `status` is a letter, `note` is at the right edge, `below` are wrapped texts below the change.

    If `arrow` is False there is no old value: the line is an addition or a removal. If the two values do not fit next
    to the name, they are also shown below, in full.
    """

    key: Hashable
    name: str
    old: Cell = ""
    new: Cell = ""
    status: Cell = ""
    note: Cell = ""
    below: Sequence[Span] = ()
    arrow: bool = True


class DiffGroup(NamedTuple):
    """The changes of one entity: `title` is drawn above them, `note` at the right edge of the title's line. The key of
    the group and the keys of its lines are unique in the whole view.
    """

    key: Hashable
    title: Cell
    lines: Sequence[DiffLine]
    note: Cell = ""


class _Spot(NamedTuple):
    """The content of a screen line: a group's title (`line` None), a change (`below` None), or text below a change."""

    group: DiffGroup
    line: DiffLine | None
    below: Span | None


class DiffView(LineView):
    """A scrolling list of changes, with a cursor over groups and changes."""

    def __init__(self, groups: Sequence[DiffGroup] = (), *, empty: str = "", markable: bool = True) -> None:
        """Create a view of `groups`."""
        super().__init__(empty=empty, markable=markable)
        self._groups: Sequence[DiffGroup] = ()
        self._places: dict[Hashable, tuple[int, int]] | None = None
        self._put(groups)

    # -- methods for owners ---------------------------------------------------------------------------------------

    @property
    def groups(self) -> Sequence[DiffGroup]:
        """The visible groups."""
        return self._groups

    def set_groups(self, groups: Sequence[DiffGroup]) -> None:
        """Show these groups instead; the cursor stays on its key."""
        held = self._hold()
        self._put(groups)
        self._restore(held)

    # -- lines ----------------------------------------------------------------------------------------------------

    def line_count(self) -> int:
        """Return the number of lines: titles, changes, and texts below changes."""
        return self._ends[-1] if self._ends else 0

    def key_at(self, index: int) -> Hashable:
        """Return the key of the group or the change on a line; for a text below a change, the key of the change."""
        spot = self._spot(index)
        return spot.group.key if spot.line is None else spot.line.key

    def index_of(self, key: Hashable) -> int | None:
        """Return the line of the group or the change with a key; None if the view has no such key."""
        if self._places is None:
            self._places = {
                place_key: (number, position)
                for number, group in enumerate(self._groups)
                for position, place_key in enumerate((group.key, *(line.key for line in group.lines)))
            }
        place = self._places.get(key)
        if place is None:
            return None
        number, position = place
        return self._first(number) + (0 if position == 0 else 1 + self._line_starts(number)[position - 1])

    def can_rest(self, index: int) -> bool:
        """Return whether the cursor may be on a line: True for a title or a change, False for a text below a change."""
        return self._spot(index).below is None

    def lines_below(self, index: int) -> int:
        """Return the number of lines of the texts below a change."""
        line = self._spot(index).line
        return 0 if line is None else self._height_below(line)

    def _below(self, line: DiffLine) -> Sequence[Span]:
        """Return the lines of text below a change: both values if the line is too short for them, then its `below`."""
        if not line.arrow:
            return line.below
        if natural_width(line.old) <= self._old_width and natural_width(line.new) <= self._new_width:
            return line.below
        sides = (clean("".join(text for text, _ in as_spans(side))) for side in (line.old, line.new))
        return [(" → ".join(sides), "muted"), *line.below]

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return the content of a line: a title, a change, or a text below a change."""
        return self.pieces(index, width, 1)[0]

    def pieces(self, index: int, width: int, most: int) -> Sequence[Sequence[Span]]:
        """Return a line's content as at most `most` screen lines; the second and later ones continue a name or title
        that is too long for one.
        """
        spot, most = self._spot(index), min(most, MOST_LINES)
        if spot.below is not None:
            return [[(" " * BELOW_INDENT, ""), (truncate(spot.below[0], width - BELOW_INDENT), spot.below[1])]]
        if spot.line is None:
            title = [(text, name or "strong") for text, name in as_spans(spot.group.title)]
            first, *rest = _fold(title, width - 2, most)
            start: list[Span] = [("  ", "")]
            return [_with_note([*start, *first], spot.group.note, width), *_beside(start, rest)]
        line = spot.line
        start = [*_cut(as_spans(line.status), 3, pad=True), (" ", "")]
        if not line.arrow:
            first, *rest = _fold(as_spans(line.name or line.new), width - 4, most)
            return [_with_note([*start, *first], line.note, width), *_beside(start, rest)]
        first, *rest = _fold([(line.name, "")], self._name_width, most)
        name = _cut(first, self._name_width, pad=True)
        old = _cut(as_spans(line.old), self._old_width, pad=True, right=True)
        new = _cut(as_spans(line.new), self._new_width)
        whole = _with_note([*start, *name, ("  ", ""), *old, (ARROW, "muted"), *new], line.note, width)
        return [whole, *_beside(start, rest)]

    def is_cut(self, width: int) -> bool:
        """Return whether at least one name or title is wider than its space in a view of `width` cells, so that it is
        folded.
        """
        return any(len(self.pieces(index, width, MOST_LINES)) > 1 for index in range(self.line_count()))

    # -- places ---------------------------------------------------------------------------------------------------

    def _put(self, groups: Sequence[DiffGroup]) -> None:
        self._groups = groups
        self._places = None
        step = max(1, len(groups) // SAMPLE)
        sample = [line for group in groups[::step] for line in group.lines[:SAMPLE] if line.arrow]
        self._name_width = min(NAME_MAX, max((cell_width(line.name) for line in sample), default=0))
        self._sides = Counter((natural_width(line.old), natural_width(line.new)) for line in sample[:MEASURED])
        self._number()

    def _number(self) -> None:
        """Compute for each group the number of lines from the top of the view to the group's end. It depends on the
        width, since texts are wrapped.
        """
        self._numbered_for = self.size.width
        room = max(2, self.size.width - 1 - 4 - self._name_width - 2 - len(ARROW))
        self._old_width = _best_width(self._sides, room)
        self._new_width = max(1, room - self._old_width)
        self._ends = list(accumulate(map(self._height, self._groups)))
        self._starts: dict[int, list[int]] = {}

    def _height(self, group: DiffGroup) -> int:
        return 1 + sum(1 + self._height_below(line) for line in group.lines)

    def _height_below(self, line: DiffLine) -> int:
        return sum(len(_wrapped(text, self._below_width)) for text, _ in self._below(line))

    @property
    def _below_width(self) -> int:
        return max(20, self._numbered_for - BELOW_INDENT - 2)

    def _first(self, number: int) -> int:
        return self._ends[number - 1] if number else 0

    def _spot(self, index: int) -> _Spot:
        number = bisect_right(self._ends, index)
        group = self._groups[number]
        left = index - self._first(number)
        if left == 0:
            return _Spot(group, None, None)
        starts = self._line_starts(number)
        position = bisect_right(starts, left - 1) - 1
        line = group.lines[position]
        left -= 1 + starts[position]
        if left == 0:
            return _Spot(group, line, None)
        below = [(part, name) for text, name in self._below(line) for part in _wrapped(text, self._below_width)]
        return _Spot(group, line, below[left - 1])

    def _line_starts(self, number: int) -> list[int]:
        """Return for each change of a group the number of lines between the group's title and the change."""
        starts = self._starts.get(number)
        if starts is None:
            heights = (1 + self._height_below(line) for line in self._groups[number].lines)
            starts = self._starts[number] = list(accumulate(heights, initial=0))
            starts.pop()
        return starts

    def on_resize(self) -> None:
        """Wrap the texts again if the width has changed."""
        if self._numbered_for != self.size.width:
            held = self._hold()
            self._number()
            self._restore(held)
        super().on_resize()


def _best_width(sides: Mapping[tuple[int, int], int], room: int) -> int:
    """Return the width, in cells, to reserve for old values: the one at which the largest number of changes have room
    for both values. If no change has room for both, return the width of the longest old value, but at most half of
    `room`.

    Args:
        sides: (width of the old value, width of the new value) -> number of changes with these widths.
        room: cells for both values together.
    """

    def fitting(width: int) -> int:
        return sum(count for (old, new), count in sides.items() if old <= width and new <= room - width)

    widths = sorted({old for old, new in sides if old + new <= room})
    return max(widths, key=fitting, default=min(room // 2, max((old for old, _ in sides), default=0)))


@lru_cache(4096)
def _wrapped(text: str, width: int) -> tuple[str, ...]:
    """Return the lines of a text, wrapped to at most `width` characters. Results are cached."""
    lines = [part for line in text.splitlines() for part in textwrap.wrap(clean(line), width) or [""]]
    return tuple(lines) or ("",)


def _cut(spans: Sequence[Span], width: int, *, pad: bool = False, right: bool = False) -> list[Span]:
    """Return `spans` with invisible characters escaped, cut to at most `width` cells; with `pad` also padded to
    `width`, on the left if `right` is set.
    """
    cut: list[Span] = []
    left = width
    for text, name in spans:
        part = truncate(clean(text), left)
        cut.append((part, name))
        left -= cell_width(part)
    if not pad or left <= 0:
        return cut
    return [(" " * left, ""), *cut] if right else [*cut, (" " * left, "")]


def _fold(spans: Sequence[Span], width: int, most: int) -> list[list[Span]]:
    """Return spans in at most `most` parts of `width` cells, one below the other; the last part is cut if it is too
    long.
    """
    cleaned = [(clean(text), name) for text, name in spans]
    parts = fold(cleaned, width, most) if most > 1 and width >= FOLDED_FROM else [cleaned]
    return [_cut(part, width) for part in parts]


def _beside(start: Sequence[Span], parts: Sequence[Sequence[Span]]) -> list[list[Span]]:
    """Return the parts, each indented by the width of `start` in cells."""
    blank = " " * sum(cell_width(text) for text, _ in start)
    return [[(blank, ""), *part] for part in parts]


def _with_note(spans: list[Span], note: Cell, width: int) -> list[Span]:
    """Append `note` at the right edge of a line of `width` cells, if it fits; otherwise return the line without it."""
    if not note:
        return spans
    used = sum(cell_width(text) for text, _ in spans)
    wide = natural_width(note)
    gap = width - 1 - used - wide
    if gap < 2:
        return spans
    return [*spans, (" " * gap, ""), *_cut([(text, name or "muted") for text, name in as_spans(note)], wide)]
