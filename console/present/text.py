"""Text of a cell or line: styled text without a screen, with text from a cluster made safe for a terminal.

`widgets.cells` escapes and measures text; this module limits the length of one value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from widgets import cells
from widgets.cells import ELLIPSIS, cell_width
from widgets.row_source import as_spans, natural_width

# Text from a cluster, cleaned for a terminal, and measured in cells.
#
# `widgets.cells` defines the cleaning and the width; this module limits the length of a value.

__all__ = ["ELLIPSIS", "LIMIT", "cell_width", "clean", "fit", "fit_middle", "is_harmless", "pad"]

LIMIT = 2_000
"""Maximum characters of one value on the screen; a config value may have 32,767."""


def clean(text: str, limit: int = LIMIT) -> str:
    """Return `text` on one line with all invisible characters escaped, cut to `limit` characters; see
    `widgets.cells`.
    """
    return cells.clean(text, limit)


def is_harmless(text: str) -> bool:
    """Return whether a text has no invisible characters, so that `clean` escapes nothing and at most cuts it."""
    return cells.clean(text) == text


fit = cells.truncate
"""Returns a text of at most this many cells, with ``…`` at the end if it was cut."""
fit_middle = cells.truncate_middle
"""Returns a text of at most this many cells, cut in its middle, for names that differ at their ends."""
pad = cells.fit
"""Returns a text that is cut, or filled with spaces, to exactly this many cells."""


# Styled text without a screen: the contents of a cell or a line, and the names of meanings.
#
# A meaning is one of `widgets.line_view.STYLE_NAMES`, for which a theme has a style, or `""`. The text is complete
# without its meaning.

Span = tuple[str, str]
"""A text, and the meaning that determines its style."""
Cell = str | Span | list[Span]
"""The contents of a cell: plain text, a styled text, or several of these."""
Line = list[Span]
"""A line of styled text."""


def plain(cell: Cell) -> str:
    """Return the text of a cell, without the meanings."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, tuple):
        return cell[0]
    return "".join(text for text, _ in cell)


def in_columns(rows: Sequence[Sequence[Cell]], right: Collection[int] = ()) -> list[Line]:
    """Return rows as lines, with each column as wide as its widest cell; no cell is cut.

    Args:
        right: the indexes of the columns that are aligned right.
    """
    widths = [max(map(natural_width, column)) for column in zip(*rows, strict=True)]
    lines: list[Line] = []
    for row in rows:
        line: Line = []
        for place, cell in enumerate(row):
            gap = " " * (widths[place] - natural_width(cell))
            before, after = (gap, "") if place in right else ("", gap)
            line += [(("  " if place else "") + before, ""), *as_spans(cell), (after, "")]
        lines.append(joined([span for span in line if span[0]]))
    return lines


def joined(line: Line) -> Line:
    """Return a line in which adjacent spans of the same meaning are one span."""
    spans: Line = []
    for text, meaning in line:
        if spans and spans[-1][1] == meaning:
            spans[-1] = (spans[-1][0] + text, meaning)
        else:
            spans.append((text, meaning))
    return spans
