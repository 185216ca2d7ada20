"""What stands below the line of a command bar: candidates with their help, or an error under its column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from widgets.cells import cell_width, clean, fit, truncate
from widgets.line_editor import LineEditor
from widgets.line_painting import Line
from widgets.row_source import Span

ROWS = 6
"""How many candidates are shown at once."""


class Candidate(NamedTuple):
    """One way to go on: `text` goes where `start` to `end` stands. `meta` stands beside it, `help` on a line below."""

    start: int
    end: int
    text: str
    display: str = ""
    meta: str = ""
    help: str = ""


class Completion(NamedTuple):
    """The candidates for a text, and which of them is put in already (-1: none)."""

    base: LineEditor
    candidates: Sequence[Candidate] = ()
    chosen: int = -1


def candidate_lines(completion: Completion, column: int, width: int) -> list[Line]:
    """Return a window of the candidates with what is beside each, and the help of the chosen (or first) one.

    `column` is the cell under which they stand, where they fit there.
    """
    _, candidates, chosen = completion
    first = max(0, min(chosen - ROWS + 1, len(candidates) - ROWS)) if chosen >= ROWS else 0
    shown = candidates[first : first + ROWS]
    names = [clean(candidate.display or candidate.text) for candidate in shown]
    metas = [clean(candidate.meta) for candidate in shown]
    wide = min(max(map(cell_width, names)), width - 4)
    meta_wide = min(max(map(cell_width, metas)), max(0, width - wide - 6))
    column = max(1, min(column, width - wide - meta_wide - 4))
    lines: list[Line] = []
    for number, (name, meta) in enumerate(zip(names, metas, strict=True), first):
        is_chosen = number == chosen
        style = "chosen" if is_chosen else ""
        spans: list[Span] = [(" " * (column - 1), ""), (">" if is_chosen else " ", style), (fit(name, wide), style)]
        if meta_wide:
            spans.append(("  " + fit(meta, meta_wide), style or "meta"))
        lines.append(Line((*spans, (" ", style))))
    more = f"{max(0, chosen) + 1}/{len(candidates)}" if len(candidates) > ROWS else ""
    text = truncate(clean(candidates[max(0, chosen)].help), width - 4 - len(more))
    if text or more:
        gap = " " * (width - 3 - cell_width(text) - len(more))
        lines.append(Line((("  " + text + gap + more, "help"),)))
    return lines


def error_lines(message: str, column: int | None, width: int) -> list[Line]:
    """Return `message` with a caret at cell `column`: beside the caret where it fits, or else on a line below."""
    text = clean(message)
    told = Line(((" " + truncate(text, width - 2), "error"),))
    if column is None:
        return [told]
    place = max(1, min(column, width - 2))
    if place + 2 + cell_width(text) < width:
        return [Line(((" " * place + "^ " + text, "error"),))]
    if cell_width(text) + 2 < place:
        return [Line(((" " * (place - 1 - cell_width(text)) + text + " ^", "error"),))]
    return [Line(((" " * place + "^", "error"),)), told]
