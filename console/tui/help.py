"""The keys of a view, in words, as `?` shows them and the documentation lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from console.present.text import Line
from console.tui.chrome import signs
from console.tui.conditions import State, reason
from console.tui.keymap import EVERYWHERE, Key
from widgets.cells import cell_width

MOVES = (
    ("j k ↓ ↑", "Move; PgUp PgDn (^↑ ^↓) by a window, ^U ^D by half of one"),
    ("g G", "First and last line; Home and End too"),
    ("h l ← →", "Columns that do not fit; in a tree, close and open, and < > (⇧← ⇧→) for the columns"),
    ("⏎", "Go in"),
    ("Space", "Mark; x and e then mean all that is marked and shown, until it is applied"),
)
LINE = (
    ("Tab ⇧Tab", "Complete, forwards and backwards; → or ^F at the end takes what is offered"),
    ("↑ ↓", "Older and newer entries that begin as the line does"),
    ("⏎ Esc", "Enter the line; take the completion back, or close the line"),
    ("← → ^B", "By a character; ^← ^→ (Alt+← Alt+→, Alt+B Alt+F) by a word"),
    ("^A ^E", "Start and end of the line; Home and End too"),
    ("⌫ Del", "Delete to the left (^H) and to the right (^D)"),
    ("^W", "Delete the word to the left; Alt+⌫ and Alt+D a word to the left and to the right"),
    ("^U ^K", "Delete to the start and to the end"),
)
QUESTIONS = (
    ("y", "Yes, where no name is asked for; Enter never is"),
    ("n Esc ^C", "No"),
    ("⏎", "Enter the name that is asked for"),
)
TEXTS = (
    ("j k", "Scroll; all keys for moving work"),
    ("y", "Copy the text to the terminal's clipboard (OSC 52)"),
    ("Esc q ⏎", "Close"),
)
COLUMNS = (
    (
        "URP",
        "under-replicated: partitions with fewer in-sync replicas than replicas; of a broker, replicas out of sync",
    ),
    ("Off", "partitions without a leader: they can neither be read nor written"),
    ("Over", "overrides: how many configs are set here, and not inherited"),
    ("Part RF", "partitions; replication factor"),
    ("Memb Coord", "members of the group; the broker that coordinates it"),
    ("▴ ▾", "sorted by this column: the smallest or first on top, the largest or latest"),
    ("‹ ›", "there are more columns on that side"),
    ("▸ » +", "the cursor, on a marked row; a marked row"),
    ("· – ?", "not read yet; none, or unknown; not all of it could be read"),
    ("12k #", "rounded, because the number does not fit; not even that fits: widen the terminal"),
)
STATES = (
    ("live", "answers arrive; paused: nothing is read; connecting: nothing has been answered yet"),
    ("! STALE", "no broker answers since then: what is shown, without colours, was so at that time"),
    ("as of", "when a part was read that is older than a tick"),
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
    for title, legend in (
        ("Letters in front of a row", LETTERS),
        ("Columns", COLUMNS),
        ("In the header", STATES),
        ("In a line that is typed", LINE),
    ):
        lines += [[], [(title, "header")], *(_line(sign, text, "") for sign, text in legend)]
    return lines


def _line(sign: str, text: str, why_not: str) -> Line:
    line: Line = [("  " + sign + " " * max(1, 12 - cell_width(sign)), "strong" if not why_not else "muted")]
    line.append((text, "muted" if why_not else ""))
    if why_not:
        line.append((f"  ({why_not})", "muted"))
    return line
