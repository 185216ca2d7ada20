"""The lines around a view: the panes with the plan's count, and the keys that work here now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from console.present.text import Line
from console.tui.keymap import Key
from console.tui.places import SHORT_TITLES, SHORTEST_TITLES, TITLES
from widgets.cells import cell_width

_KEY_SIGNS = {
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "⇧Tab",
    "enter": "⏎",
    "colon": ":",
    "slash": "/",
    "question_mark": "?",
    "minus": "-",
    "plus": "+",
    "space": "Space",
}


def sign(key: str) -> str:
    """How a key of Textual is written for people: ``slash`` is ``/``, ``ctrl+r`` is ``^R``."""
    if key.startswith("ctrl+"):
        return "^" + key[5:].upper()
    return _KEY_SIGNS.get(key, key)


def signs(keys: str) -> str:
    """All keys of an action: ``r or ^R``."""
    return " or ".join(sign(key.strip()) for key in keys.split(","))


def tabs(current: int, staged: int, width: int) -> Line:
    """``1 Brokers  2 Topics …  7 Plan*3 …``, shorter where it is narrow, so that every pane is there: three spans for
    each, of which the second has its words."""
    ways = ((TITLES, " ", " "), (SHORT_TITLES, " ", ""), (SHORT_TITLES, "", ""), (SHORTEST_TITLES, "", ""))
    lines = (_tabs(titles, current, staged, between, gap) for titles, between, gap in ways)
    *longer, shortest = lines
    return next((line for line in longer if sum(cell_width(text) for text, _ in line) <= width), shortest)


def _tabs(titles: Sequence[str], current: int, staged: int, between: str, gap: str) -> Line:
    """between: what parts a pane's key from its title. gap: more blanks behind it."""
    line: Line = []
    for number, title in enumerate(titles, 1):
        count = f"*{staged}" if TITLES[number - 1] == "Plan" and staged else ""
        meaning = "strong" if number == current else "pending" if count else "muted"
        line += [(" ", ""), (f"{number % 10}{between}{title}{count}", meaning), (gap, "")]
    return line


def tab_at(piece: int | None) -> int | None:
    """Which pane the piece of `tabs` belongs to."""
    return piece // 3 + 1 if piece is not None and piece // 3 < len(TITLES) else None


class Hint(NamedTuple):
    """A key of the footer: what to press, what it does, which action that is."""

    sign: str
    label: str
    action: str
    rank: int


def hints(keys: Iterable[Key], enter: str, keys_of: Callable[[str], str]) -> list[Hint]:
    """The footer's keys in their order; `enter` says what Enter does here, ``""`` for nothing, and stands for a key
    that does the same. keys_of: action -> its keys as they are set."""
    shown = [Hint(sign(keys_of(key.id).split(",")[0]), key.label, key.id, key.rank) for key in keys if key.rank]
    if enter:
        same = next((hint.action for hint in shown if hint.label == enter), "")
        shown = [Hint("⏎", enter, same, 1), *(hint for hint in shown if hint.label != enter)]
    return sorted(shown, key=lambda hint: hint.rank)


def footer(shown: Sequence[Hint], width: int) -> tuple[Line, tuple[str, ...]]:
    """As many hints as fit, `?` always among them, and the action of each span of the line."""
    last = next((hint for hint in shown if hint.action == "help"), None)
    kept: list[Hint] = []
    used = 1 + (_width(last) if last else 0)
    for hint in shown:
        if hint is not last and used + _width(hint) <= width:
            kept.append(hint)
            used += _width(hint)
    line: Line = [(" ", "")]
    actions = [""]
    for hint in [*kept, *([last] if last else [])]:
        line += [(hint.sign, "strong"), (f" {hint.label}  ", "muted")]
        actions += [hint.action, hint.action]
    return line, tuple(actions)


def _width(hint: Hint) -> int:
    return cell_width(hint.sign) + cell_width(hint.label) + 3
