"""A timeline of changes as rows: time, entity, old and new value, author, source. The changes come from the lake, from
this host's journal, and from the events that this console saw.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import datetime
from typing import NamedTuple

from console.lake.reader import Change
from console.present.columns import SCREEN, Column, Columns, letter_column, on_screen
from console.present.events import EVENTS, side, what_text
from console.present.events import who_text as author_text
from console.present.lake import how_sure
from console.present.lake_rows import change_texts
from console.present.text import Cell, clean
from console.present.values import config_value
from console.triage.events import Event

_STATES = {"applied": ("✓", "ok"), "failed": ("✗", "failed")}


class PastRow(NamedTuple):
    """A change as a row. One of `change`, `number` and `event` is set, by the source of the row; the other two are
    None.
    """

    key: Hashable
    when: str
    what: str
    old: str
    new: str
    who: str
    sure: tuple[str, str]
    """A letter and the meaning of its colour: for the certainty of the author, for the outcome of a change in the
    journal, or for trouble that an event caused.
    """
    change: Change | None
    """The change in the lake; None if the row has another source."""
    number: int | None
    """The number of the change in the journal; None if the row has another source."""
    is_first_seen: bool = False
    """Whether the first poll of the cluster found the value, so that the time of the change is unknown."""
    is_unknown: bool = False
    """Whether the outcome of the change is unknown."""
    event: Event | None = None
    """The event that this console saw; None if the row has another source."""


def event_row(event: Event, when: str) -> PastRow:
    """Return the row of an event that this console saw.

    Args:
        event: the event.
        when: its local time as text, ``2026-11-22 03:11:48``, with or without an offset from UTC.
    """
    was, became = (side(event, value) for value in (event.was, event.became))
    mark = ("!", "danger") if event.trouble else ("·", "muted")
    key = ("event", event.until, event.place)
    return PastRow(key, when[5:16], what_text(event), was, became, author_text(event), mark, None, None, event=event)


def change_row(change: Change, first_poll: datetime | None = None) -> PastRow:
    """Return the row of a change from the lake.

    Args:
        change: the change.
        first_poll: time of the cluster's first poll; values that it found are older than the poll. None if it is
            unknown.
    """
    words = change_texts(change, first_poll, _lately)
    letter, _ = how_sure(change)
    sure = (letter, "muted" if letter in "RJ" else "pending")
    # Mark the unknown time: the change happened in a gap between polls, so neither time nor author may ever be known.
    if change.is_gap:
        sure = ("~", "pending")
    elif words.is_first_seen:
        sure = ("·", "muted")
    return PastRow(
        change.place,
        _lately(change.valid_from),
        f"{words.entity} {words.key}" if words.key else words.entity,
        _short(change, words.old),
        _short(change, words.new),
        "" if words.is_first_seen else words.who,
        sure,
        change,
        None,
        words.is_first_seen,
    )


def _lately(at: datetime) -> str:
    return f"{at.astimezone():%m-%d %H:%M}"


def _short(change: Change, side: str) -> str:
    """Return the old or new value of a change as text with its unit only (``7 d``), if it has a unit."""
    raw, bracket, human = side.rpartition(" (")
    if bracket and config_value(change.attr, raw) == human.removesuffix(")"):
        return human.removesuffix(")")
    return side


def journal_row(texts: Mapping[str, str], place: int) -> PastRow:
    """Return the row of a line in the journal's table.

    Args:
        texts: the texts of the line, by the names of the table's columns: change, at, who, entity, key, was, became,
            state.
        place: the index of the line in the table, which distinguishes the lines of one change.
    """
    shown = {name: clean(text, 200) for name, text in texts.items()}
    word = shown["state"].partition(",")[0]
    sure = _STATES.get(word, ("?", "failed"))
    if "taken back" in shown["state"]:
        sure = ("↶", "muted")
    return PastRow(
        ("journal", shown["change"], place),
        shown["at"][5:16],
        f"{shown['entity']} {shown['key']}".rstrip(),
        shown["was"],
        shown["became"],
        shown["who"],
        sure,
        None,
        int(shown["change"]),
        is_unknown=word == "unknown",
    )


PAST: Columns[PastRow] = Columns(
    letter_column("sure", lambda row: row.sure, width=2),
    Column("when", SCREEN, cell=lambda row: (row.when, "muted"), layout=on_screen(11)),
    Column("what", SCREEN, layout=on_screen((24, 90), flex=3, priority=95)),
    Column(
        "change",
        SCREEN,
        cell=lambda row: [(f"{row.old} → ", "muted"), (row.new, "")] if row.old else [(row.new, "muted")],
        layout=on_screen((16, 80), "Was → became", flex=2, priority=90),
    ),
    Column("who", SCREEN, cell=lambda row: (row.who, "muted"), layout=on_screen((6, 10), priority=96)),
)
"""The columns of the timeline on the screen, one row for each change."""


def as_event(row: PastRow) -> list[Cell]:
    """Return the cells of a change from the lake, for the table of events, which shows it below newer events."""
    cells: dict[str, Cell] = {
        "trouble": row.sure,
        "at": (row.when, "muted"),
        "what": row.what,
        "was": (row.old, "muted"),
        "became": row.new,
        "who": (row.who, "muted"),
    }
    return [cells.get(column.id, "") for column in EVENTS.layout]
