"""The cursor's position, saved as keys before the lines change, and restored afterwards. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol

NEIGHBOURS = 32
"""Number of lines on each side of the cursor that it may move to if its own line is gone."""


class KeyedLines(Protocol):
    """Lines by index, with a look-up by key."""

    def line_count(self) -> int:
        """Return the number of lines."""
        ...

    def key_at(self, index: int) -> Hashable:
        """Return the key of a line."""
        ...

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of `key`; None if no line has it."""
        ...


class CursorAnchor(NamedTuple):
    """A saved position of the cursor.

    Attributes:
        keys: the keys of the lines to which the cursor may return, in order of preference: its own, then its
            neighbours.
        line: the index of the cursor's line.
        screen_row: the cursor's row, counted from the first visible line.
        top_key: the key of the first visible line if the cursor was scrolled out of view; otherwise None.
    """

    keys: tuple[Hashable, ...]
    line: int
    screen_row: int
    top_key: Hashable | None


def hold(lines: KeyedLines, cursor: int, screen: range, wanted: Hashable | None) -> CursorAnchor:
    """Return the position of the cursor, to be saved before the lines change.

    Args:
        lines: the present lines.
        cursor: the index of the cursor's line.
        screen: the indexes of the visible lines.
        wanted: the key that the user last moved to, which may be filtered out now; None if the user has not moved.
    """
    count = lines.line_count()
    if not count:
        return CursorAnchor(() if wanted is None else (wanted,), 0, 0, None)
    near = [cursor]
    for distance in range(1, NEIGHBOURS):
        near += [index for index in (cursor + distance, cursor - distance) if 0 <= index < count]
    first = () if wanted is None else (wanted,)
    keys = (*first, *(lines.key_at(index) for index in near))
    top_key = None if cursor in screen else lines.key_at(screen.start)
    return CursorAnchor(keys, cursor, cursor - screen.start, top_key)


def find_again(place: CursorAnchor, lines: KeyedLines) -> tuple[int, int]:
    """Return the index of the cursor's line among the new lines, and the index of the line to show first, which may be
    out of range; (0, 0) if there are no lines.
    """
    count = lines.line_count()
    if not count:
        return 0, 0
    found = next((index for key in place.keys if (index := lines.index_of(key)) is not None), None)
    cursor = min(place.line, count - 1) if found is None else found
    top = None if place.top_key is None else lines.index_of(place.top_key)
    return cursor, cursor - place.screen_row if top is None else top
