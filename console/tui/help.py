"""The keys of a view, in words, as `?` shows them and the documentation lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from console.present.sanitize import cell_width
from console.present.spans import Line
from console.tui.chrome import signs
from console.tui.conditions import State, reason
from console.tui.keymap import EVERYWHERE, Key

MOVES = (
    ("j k ↓ ↑", "Move; PgUp PgDn by a window, ^U ^D by half of one"),
    ("g G", "First and last line"),
    ("h l ← →", "Columns that do not fit; in a tree, close and open"),
    ("⏎", "Go in"),
    ("Space", "Mark; x and e then mean all that is marked"),
)
LETTERS = (
    ("O D", "override: set here; default: inherited, or nobody set it"),
    ("* !", "pending in the plan; trouble, or refused by the brokers"),
    ("S R", "sensitive; read-only as the broker says, which it may get wrong: check tells"),
    ("+ -", "to be created; to be deleted"),
    ("R J", "who: one request fits; kac's own journal says so"),
    ("? -", "who: several requests fit, all are named; nothing tells"),
    ("H M L", "drift: severe, middling, slight"),
    ("! ~", "usage: throttled, or over the limit; near it. History: ~ nobody looked"),
)


def help_lines(
    keys: Iterable[Key], state: State, keys_of: Callable[[str], str], sorts: Sequence[tuple[str, str]]
) -> list[Line]:
    """The view's own keys, those that work everywhere, moving, sorting, and the letters in front of rows.

    sorts: pairs of a key and the column that it sorts by; once more turns the order round, a third time ends it.
    """
    lines: list[Line] = []
    here = [key for key in keys if EVERYWHERE not in key.where]
    everywhere = [key for key in keys if EVERYWHERE in key.where]
    for title, group in (("Here", here), ("Everywhere", everywhere)):
        if group:
            lines.append([(title, "header")])
            lines += [_line(signs(keys_of(key.id)), key.help, reason(key, state)) for key in group]
            lines.append([])
    lines.append([("Moving", "header")])
    lines += [_line(sign, text, "") for sign, text in MOVES]
    if sorts:
        lines += [[], [("Sorting: once more turns it round, a third time ends it", "header")]]
        lines.append([("  " + "   ".join(f"{sign} {column.lower()}" for sign, column in sorts), "")])
    lines += [[], [("Letters in front of a row", "header")]]
    lines += [_line(sign, text, "") for sign, text in LETTERS]
    return lines


def _line(sign: str, text: str, why_not: str) -> Line:
    line: Line = [("  " + sign + " " * max(1, 12 - cell_width(sign)), "strong" if not why_not else "muted")]
    line.append((text, "muted" if why_not else ""))
    if why_not:
        line.append((f"  ({why_not})", "muted"))
    return line
