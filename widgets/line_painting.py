"""From a line's spans to what Textual writes, in as few escape sequences as will do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from widgets.cells import cell_width
from widgets.row_source import Span


class Line(NamedTuple):
    """What stands on one line of the screen; equal lines are painted the same."""

    spans: tuple[Span, ...]
    state: str = ""


def to_strip(line: Line, style_of: Callable[[str, str], Style], width: int) -> Strip:
    """Return `line` as a strip of exactly `width` cells; `style_of(name, state)` gives a span's style.

    Blanks take the style of a neighbour on the same ground: every change of style costs up to 45 bytes.
    """
    ground = style_of("", line.state)
    segments: list[Segment] = []
    text, style = "", ground
    for part, name in line.spans:
        if not part:
            continue
        next_style = style_of(name, line.state)
        if next_style is style or (part.isspace() and _same_ground(next_style, style)):
            text += part
        elif (not text or text.isspace()) and _same_ground(next_style, style):
            text, style = text + part, next_style
        else:
            if text:
                segments.append(Segment(text, style))
            text, style = part, next_style
    segments.append(Segment(text, style))
    return Strip(segments).adjust_cell_length(width, style if _same_ground(style, ground) else ground).simplify()


def differing(old: Line, new: Line, width: int) -> tuple[int, int]:
    """Return the first and the last-plus-one cell in which the lines may differ."""
    if old.state != new.state:
        return 0, width
    ahead, start = 0, 0
    shorter = min(len(old.spans), len(new.spans))
    while ahead < shorter and old.spans[ahead] == new.spans[ahead]:
        start += cell_width(new.spans[ahead][0])
        ahead += 1
    behind = 0
    while behind < shorter - ahead and old.spans[-1 - behind] == new.spans[-1 - behind]:
        behind += 1
    old_end, new_end = (
        sum(cell_width(text) for text, _ in line.spans[: len(line.spans) - behind]) for line in (old, new)
    )
    return (start, min(width, new_end)) if old_end == new_end else (start, width)


def _same_ground(first: Style, second: Style) -> bool:
    """Tell whether blanks look the same in both styles."""
    return first.bgcolor == second.bgcolor and not (
        first.underline or second.underline or first.reverse or second.reverse or first.strike or second.strike
    )
