"""Styled text in pieces that fit a width, broken at blanks where there are any."""

from __future__ import annotations

import re
from collections.abc import Sequence

from widgets.cells import cell_width
from widgets.row_source import Span


def wrapped(line: Sequence[Span], width: int, below: int) -> list[list[Span]]:
    """Pieces of which the first has `width` cells and all others `below`, two at least, so that any character fits."""
    lines: list[list[Span]] = [[]]
    room = width
    for text, meaning in line:
        for word in re.findall(r" +|[^ ]+", text):
            rest = word
            while rest:
                wide = cell_width(rest)
                if wide <= room:
                    if lines[-1] or len(lines) == 1 or not rest.isspace():
                        lines[-1].append((rest, meaning))
                        room -= wide
                    break
                head = "" if rest.isspace() or (lines[-1] and wide <= below) else _head(rest, room)
                if head:
                    lines[-1].append((head, meaning))
                rest = "" if rest.isspace() else rest[len(head) :]
                lines.append([])
                room = below
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    return lines


def _head(text: str, width: int) -> str:
    """The longest beginning of a text that takes at most `width` cells."""
    used = 0
    for place, char in enumerate(text):
        used += cell_width(char)
        if used > width:
            return text[:place]
    return text
