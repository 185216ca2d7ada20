"""A timeline as rows: when, what, from what to what, who, how that is known; of a lake, or of this host's journal."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from typing import NamedTuple

from console.history.reader.rows import Change
from console.present.lake import (
    FIRST_SEEN,
    HIDDEN,
    NOTHING,
    attr_text,
    entity_text,
    how_sure,
    sides,
    who_text,
)
from console.present.sanitize import clean
from console.present.spans import Cell, Line
from console.present.units import config_value

_STATES = {"applied": ("✓", "ok"), "failed": ("✗", "failed")}


class PastRow(NamedTuple):
    """A change. sure: a letter for how it is known who, or how it went, and its meaning. change: the lake's row.
    number: of the journal's change; one of them is None. is_first_seen: the first look showed it. is_unknown: the
    outcome is."""

    key: Hashable
    when: str
    what: str
    old: str
    new: str
    who: str
    sure: tuple[str, str]
    change: Change | None
    number: int | None
    is_first_seen: bool = False
    is_unknown: bool = False


def of_change(change: Change, first_look: datetime | None = None) -> PastRow:
    """A row of a lake's timeline. first_look: when somebody first looked at the cluster."""
    when = f"{change.valid_from.astimezone():%m-%d %H:%M}"
    if change.is_gap:
        until = f"until {change.valid_to.astimezone():%m-%d %H:%M}" if change.valid_to is not None else "until now"
        return PastRow(change.place, when, "nobody looked", "", until, "", ("~", "pending"), change, None)
    letter, _ = how_sure(change)
    meaning = "muted" if letter in "RJ" else "pending"
    old, new = (_short(change, side) for side in sides(change)[:2])
    what = f"{entity_text(change.entity_type, change.entity_key)} {attr_text(change.attr)}"
    if change.is_first_seen(first_look):
        return PastRow(change.place, when, what, FIRST_SEEN, new, "", ("·", "muted"), change, None, True)
    return PastRow(change.place, when, what, old, new, who_text(change.principal), (letter, meaning), change, None)


def _short(change: Change, side: str) -> str:
    """A value's human form alone, where it has one."""
    raw, bracket, human = side.rpartition(" (")
    if bracket and config_value(change.attr, raw) == human.removesuffix(")"):
        return human.removesuffix(")")
    return side


def of_journal(cells: tuple[str, ...], place: int) -> PastRow:
    """A row of the journal's table: number, when, who, entity, key, was, became, state."""
    number, when, who, entity, key, was, became, state = (clean(cell, 200) for cell in cells)
    word = state.partition(",")[0]
    sure = _STATES.get(word, ("?", "failed"))
    if "taken back" in state:
        sure = ("↶", "muted")
    what = f"{entity} {key}".rstrip()
    return PastRow(
        ("journal", number, place),
        when[5:16],
        what,
        was,
        became,
        who,
        sure,
        None,
        int(number),
        is_unknown=word == "unknown",
    )


def past_cells(row: PastRow) -> list[Cell]:
    """How sure, when, what, old → new, who."""
    change: Line = [(f"{row.old} → ", "muted"), (row.new, "")] if row.old else [(row.new, "muted")]
    return [row.sure, (row.when, "muted"), row.what, list(change), (row.who, "muted")]


def change_lines(change: Change) -> list[Line]:
    """All about a change, below its title."""
    if change.is_gap:
        return [[("What changed in this time is seen only as of its end, and who did it may never be known.", "")]]
    old, new, hidden = sides(change)
    lines: list[Line] = [[(new, "strong"), ("   was ", "muted"), (old, "")]]
    if hidden:
        lines = [[(HIDDEN, "sensitive"), ("   the value is a secret: the lake knows only that it was set", "muted")]]
    since = _full(change.valid_from)
    until = "and still is" if change.is_current else f"until {_full(change.valid_to)}" if change.valid_to else ""
    lines.append([(f"since {since} {until}", "")])
    letter, words = how_sure(change)
    who = who_text(change.principal)
    lines.append([("nobody knows who" if who == NOTHING else who, "strong"), (f"   {letter} {words}", "muted")])
    lines.append([(f"told by {clean(change.source, 40).replace('_', ' ')}", "muted")])
    return lines


def _full(at: datetime | None) -> str:
    return "" if at is None else at.astimezone().isoformat(sep=" ", timespec="seconds")
