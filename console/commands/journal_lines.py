"""What a start says of the journal: changes that ended in the middle, what is due, what the clock contradicts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from console.journal.history import Change, Due, State
from console.plan.amounts import duration_text
from console.present import names
from console.present.failures import how_to_settle
from console.present.text import clean

CLOCK_SLACK = timedelta(seconds=5)
"""How far ahead of the clock a record may be dated without a word: clocks are set right by so much."""
LISTED = 40
"""Edits of one kind that a start names of a change that ended in the middle."""


def local(at: datetime) -> str:
    """A time as this host's clock shows it, with its offset."""
    return at.astimezone().isoformat(sep=" ", timespec="seconds")


_OPEN_STATES = (
    (State.APPLIED, "applied"),
    (State.FAILED, "failed"),
    (State.NOT_APPLIED, "not applied"),
    (State.UNKNOWN, "outcome unknown"),
    (State.NOT_SENT, "never sent"),
)


def open_lines(change: Change) -> Iterable[str]:
    """A change that ended in the middle, or whose outcome is unknown: how many of its edits stand how, and which."""
    of_state = {word: change.in_state(state) for state, word in _OPEN_STATES}
    counts = ", ".join(f"{len(places)} {word}" for word, places in of_state.items() if places)
    unknown = bool(of_state["outcome unknown"])
    head = f"{'outcome unknown' if unknown else 'unfinished'}: change {change.number} of {local(change.intent.at)}"
    yield f"{head}: {counts}" + (f"; {how_to_settle(change.number)}" if unknown else "")
    for word, places in of_state.items():
        if places:
            edits = [change.entries[place].staged.edit for place in places[:LISTED]]
            named = ", ".join(f"{names.target(edit.target)} {clean(edit.key, 80)}".rstrip() for edit in edits)
            more = f" and {len(places) - LISTED:,} more: kac history --journal" if len(places) > LISTED else ""
            yield f"  change {change.number}, {word}: {named}{more}"


def ahead_lines(changes: Iterable[Change], now: datetime) -> list[str]:
    """A line if changes are dated later than this host's clock, which was set back since, or was wrong then."""
    ahead = [change for change in changes if change.intent.at - now > CLOCK_SLACK]
    if not ahead:
        return []
    latest = max(ahead, key=lambda change: change.intent.at)
    some = f"change {latest.number} is" if len(ahead) == 1 else f"{len(ahead):,} changes up to {latest.number} are"
    seconds = int((latest.intent.at - now).total_seconds())
    by = duration_text((seconds if seconds < 120 else seconds // 60 * 60) * 1000)
    return [
        f"{some} dated up to {by} ahead of this host's clock ({local(latest.intent.at)}): the clock was set back; "
        "check it, and what is to be taken back at a time"
    ]


def due_line(due: Due, now: datetime) -> str:
    """An edit that holds for a time."""
    edit = due.entry.staged.edit
    what = f"{names.target(edit.target)} {clean(edit.key, 80)}".strip()
    word = "due since" if due.until <= now else "due at"
    return f"{word} {local(due.until)}: {what} of change {due.place.change} is to be taken back"
