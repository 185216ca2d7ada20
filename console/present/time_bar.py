"""The time line of a replay: the time shown, the changes, and how far the record is diagnosed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from console.present.columns import clock
from console.present.text import Line
from widgets.cells import cell_width

TURN, CHANGE, QUIET, UNKNOWN, HERE = "!", "┆", "─", "·", "█"


class Span(NamedTuple):
    """The first and the last time of a record, milliseconds since 1970."""

    begins: int
    ends: int
    known: int
    """The time up to which the record is diagnosed so far, milliseconds since 1970."""


def time_bar(span: Span, at_ms: int, turns: Iterable[int], changes: Iterable[int], speed: int, width: int) -> Line:
    """Return the time line of a record.

    Args:
        span: the first and the last time of the record.
        at_ms: the time shown, milliseconds since 1970.
        turns: times at which the verdict changed, milliseconds since 1970.
        changes: times at which anything else changed, milliseconds since 1970.
        speed: how many times as fast as real time the replay plays; 0 while paused.
        width: the maximum number of cells.
    """
    state = f" ×{speed}" if speed else " paused"
    first, last = (f" {clock(_time(span.begins))} ", f" {clock(_time(span.ends))}")
    cells = max(1, width - cell_width(first) - cell_width(last) - len(" paused") - 1)
    scale = max(1, span.ends - span.begins)

    def place(moment: int) -> int:
        return min(cells - 1, max(0, (moment - span.begins) * cells // scale))

    # Draw the most important signs last, as they overwrite others: the current position, and before it the turns of the
    # verdict.
    signs = [(QUIET, "muted") if n <= place(span.known) else (UNKNOWN, "muted") for n in range(cells)]
    for moment in changes:
        signs[place(moment)] = CHANGE, "muted"
    for moment in turns:
        signs[place(moment)] = TURN, "failed"
    signs[place(at_ms)] = HERE, "strong"
    line: Line = [(first, "muted")]
    for sign, meaning in signs:
        if len(line) > 1 and line[-1][1] == meaning:
            line[-1] = (line[-1][0] + sign, meaning)
        else:
            line.append((sign, meaning))
    return [*line, (last, "muted"), (state, "pending" if speed else "muted")]


def _time(at_ms: int) -> datetime:

    return datetime.fromtimestamp(at_ms / 1000, UTC)
