"""Styled text without a screen: what stands in a cell or a line, and the names of its meanings.

A meaning is a name that a theme gives a look; the text says the same without it.
"""

from __future__ import annotations

MEANINGS = (
    "override",
    "default",
    "sensitive",
    "read-only",
    "pending",
    "failed",
    "changed",
    "danger",
    "ok",
    "muted",
    "strong",
    "header",
)
"""The meanings; ``""`` is plain text."""
Span = tuple[str, str]
"""A text and its meaning."""
Cell = str | Span | list[Span]
"""What stands in one cell: a plain text, a styled one, or several."""
Line = list[Span]
"""A line of styled text."""


def plain(cell: Cell) -> str:
    """The text of a cell without its meanings."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, tuple):
        return cell[0]
    return "".join(text for text, _ in cell)


def joined(line: Line) -> Line:
    """The same line with neighbours of one meaning in one piece."""
    spans: Line = []
    for text, meaning in line:
        if spans and spans[-1][1] == meaning:
            spans[-1] = (spans[-1][0] + text, meaning)
        else:
            spans.append((text, meaning))
    return spans
