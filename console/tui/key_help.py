"""The text about keys that `?` shows, and the page docs/keys.md (``python -m console.tui.key_help`` prints it)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from console.present.text import Line
from console.terminal import put
from console.tui import keymap
from console.tui.frame import signs
from console.tui.panes import sort_columns
from widgets.cells import cell_width
from widgets.columns import ColumnView
from widgets.line_view import LineView

INDENT = 14
"""Width in cells of the column of keys, to the left of their descriptions."""
MOTIONS = (
    ("j k ↓ ↑", "Move by a line; PgUp PgDn (^↑ ^↓) by a window, ^U ^D by half a window"),
    ("g G", "Go to the first and the last line; also Home and End"),
    ("h l ← →", "Show hidden columns; in a tree close and open a branch, and < > ⇧← ⇧→ show columns"),
    ("⏎", "Open the row"),
    ("Space", "Mark the row; x and e then apply to all marked rows on the screen, until the next apply"),
    ("*", "Mark all shown rows, or unmark them"),
)
LINE_KEYS = (
    ("Tab ⇧Tab", "Take the next or the previous candidate; → or ^F at the end takes the suggestion"),
    ("↑ ↓", "Show older and newer entries of the history that begin like the line"),
    ("⏎ Esc", "⏎ enters the line; Esc undoes the completion, or closes the line"),
    ("← → ^B", "Move by a character; ^← ^→ (Alt+← Alt+→, Alt+B Alt+F) by a word"),
    ("^A ^E", "Go to the start and the end of the line; also Home and End"),
    ("⌫ Del", "Delete the character to the left (also ^H) or to the right (also ^D)"),
    ("^W", "Delete the word to the left; Alt+⌫ and Alt+D delete a word to the left and to the right"),
    ("^U ^K", "Delete to the start or to the end of the line"),
    (
        "⇧← ⇧→",
        "Select text (also ⇧Home, ⇧End and the mouse); ^X cuts and ^C copies the selection; ^V pastes it, or the text "
        "that y copied",
    ),
)
QUESTIONS = (
    ("y", "Yes, if the question asks for no name; Enter never means yes"),
    ("n Esc ^C", "No"),
    ("⏎", "Enter the name that the question asks for"),
)
TEXTS = (
    ("j k", "Scroll; all keys for moving work"),
    ("y", "Copy the text to the clipboard (OSC 52, tmux)"),
    ("Esc q ⏎", "Close"),
)
COLUMNS = (
    (
        "URP",
        "under-replicated partitions: fewer in-sync replicas than replicas; for a broker its replicas out of sync",
    ),
    ("Off", "partitions without a leader: clients can neither read nor write them"),
    ("Over", "overrides: configs that are set on the entity, not inherited"),
    ("Part RF", "Part: number of partitions; RF: replication factor"),
    ("Memb Coord", "Memb: number of members; Coord: the broker that coordinates the group"),
    ("▴ ▾", "sorted by this column: ▴ the smallest or first at the top; ▾ the largest or latest at the top"),
    ("‹ ›", "there are more columns on that side"),
    ("▸ » +", "▸: the cursor; »: the cursor on a marked row; +: a marked row"),
    ("· – ?", "·: not read yet; –: no value, or unknown; ?: read only in part"),
    ("12k #", "12k: rounded, because the number does not fit; #: the column is too narrow, widen the terminal"),
)
STATES = (
    ("live", "live: answers arrive; paused: kac reads nothing; connecting: no answer yet"),
    ("! STALE", "no broker has answered since this time: the screen shows the state of then, without colours"),
    ("as of", "the time of a read that is older than one refresh"),
    ("3 newer ↑", "the number of new rows above the screen; in Events the first row follows the newest"),
)
LETTERS = (
    ("O D", "O: override, set on the entity; D: default, inherited or not set"),
    ("* !", "*: pending in the plan; !: in trouble, or refused by the brokers"),
    ("S R", "S: sensitive; R: read-only by the broker's report, which may be wrong, so check it"),
    ("+ -", "+: to be created; -: to be deleted"),
    ("R J", "author: R from the only request that fits; J from kac's own journal"),
    ("? -", "author: ? several requests fit, and kac names all authors; - unknown"),
    ("H M L", "drift of high, medium and low severity"),
    ("! ~", "usage: ! throttled, or above the limit; ~ near the limit. History: ~ not polled"),
)


def sorts_of(lines: LineView) -> list[tuple[str, str]]:
    """Return, for each column that a key sorts by, the key and the column's label; empty for a view without sort
    keys.
    """
    columns = lines.columns if isinstance(lines, ColumnView) else ()
    return [(column.sort_key, column.label) for column in columns if column.sort_key]


def help_lines(
    keys: Iterable[keymap.Key], state: keymap.KeyState, keys_of: Callable[[str], str], sorts: Sequence[tuple[str, str]]
) -> list[Line]:
    """Return the help of a view: its keys, the global keys, moving, sorting, and the letters before rows.

    Args:
        keys: the keys of the view and the global keys.
        state: decides which keys are active; the others show the reason why not.
        keys_of: returns the configured keys of an action.
        sorts: pairs of a key and the label of the column that it sorts by.
    """
    lines: list[Line] = []
    here = [key for key in keys if keymap.EVERYWHERE not in key.where]
    everywhere = [key for key in keys if keymap.EVERYWHERE in key.where]
    for title, group in (("Here", here), ("Everywhere", everywhere)):
        if group:
            lines.append([(title, "header")])
            lines += [_help_line(signs(keys_of(key.id)), key.help, keymap.reason(key, state)) for key in group]
            lines.append([])
    lines.append([("Moving", "header")])
    lines += [_help_line(sign, text, "") for sign, text in MOTIONS]
    if sorts:
        lines += [[], [("Sorting: a second time reverses the order, a third time ends it", "header")]]
        lines.append([("  " + "   ".join(f"{sign} {column.lower()}" for sign, column in sorts), "")])
    for title, legend in (
        ("Letters in front of a row", LETTERS),
        ("Columns", COLUMNS),
        ("In the header", STATES),
        ("In a line that you type", LINE_KEYS),
    ):
        lines += [[], [(title, "header")], *(_help_line(sign, text, "") for sign, text in legend)]
    return lines


def _help_line(sign: str, text: str, why_not: str) -> Line:
    line: Line = [("  " + sign + " " * max(1, INDENT - 2 - cell_width(sign)), "strong" if not why_not else "muted")]
    line.append((text, "muted" if why_not else ""))
    if why_not:
        line.append((f"  ({why_not})", "muted"))
    return line


_INTRODUCTION = """\
# Keys

`python -m console.tui.key_help` makes this page from the keymap; do not edit it by hand. `?` shows the keys of the open
view. If a key does nothing there, `?` shows the reason.

`^` means Ctrl, and `⇧` means Shift. *In the command bar* means that the key types the command into the command bar. You
complete the command, and press Enter.

You can give other keys to an action by its name:

```toml
[settings.keys]
refresh = "f5"
quit = ["ctrl+q"]
```
"""


def keys_page() -> str:
    """Return the Markdown of the page docs/keys.md."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    yield from _table("Moving", ((f"`{keys}`", text, "") for keys, text in MOTIONS))
    for view, (title, _) in keymap.VIEWS.items():
        rows = [(f"`{signs(key.keys)}`", _sentence(key), f"`{key.id}`") for key in keymap.KEYS if view in key.where]
        if rows:
            yield from _table(title, iter(rows))
    yield from _table("Sorting: a second time reverses the order, a third time ends it", iter(_sorting()))
    for title, legend in (
        ("A line that you type: commands, filters, names", LINE_KEYS),
        ("Questions", QUESTIONS),
        ("Texts: details, help, answers", TEXTS),
        ("Letters in front of a row", LETTERS),
        ("Columns", COLUMNS),
        ("In the header", STATES),
    ):
        yield from _table(title, ((f"`{letters}`", text, "") for letters, text in legend))


def _sorting() -> Iterator[tuple[str, str, str]]:
    """Yield, for each view with sort keys, a row of the page's table: the keys with the labels of their columns; the
    view's title; and ``""`` for the last column, which has the action's id in other tables.
    """
    for view, (title, _) in keymap.VIEWS.items():
        columns = sort_columns(view) if view != keymap.EVERYWHERE else []
        if columns:
            yield ", ".join(f"`{column.sort_key}` {column.label.lower()}" for column in columns), title, ""


def _sentence(key: keymap.Key) -> str:
    return key.help.replace("|", "\\|")


def _table(title: str, rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    listed = list(rows)
    named = any(action for _, _, action in listed)
    yield f"## {title}\n"
    yield "| key | does | action |\n|---|---|---|" if named else "| | |\n|---|---|"
    for keys, text, action in listed:
        yield f"| {keys} | {text} | {action} |" if named else f"| {keys} | {text} |"
    yield ""


if __name__ == "__main__":
    put(keys_page())
