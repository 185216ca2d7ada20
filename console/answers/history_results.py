"""The journal as text for a terminal, and as data for JSON output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from console.answers.plan_results import conflict_table, failure_columns, side_data, with_source
from console.answers.results import Row, Table, row_of, titles
from console.journal.entries import Entry
from console.journal.history import Change, Decision, Due, History, State
from console.language.statements import Entity
from console.model.config import ConfigEntry, ConfigResource, ConfigSet
from console.model.failure import Failure
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.amounts import duration_text
from console.plan.conflicts import Conflict
from console.plan.diff import after, before
from console.plan.effective_values import EffectiveValue
from console.plan.staged import subject
from console.present import names
from console.present.columns import LIST, OBJECT, TOLD, Column, Columns
from console.present.failures import failure_text, how_to_settle
from console.present.text import clean

# The lines that a start prints: changes that were interrupted, due reverts, and times that contradict the clock.

CLOCK_SLACK = timedelta(seconds=5)
"""Maximum time by which a change may be ahead of this host's clock without a warning, because corrections of a clock
may be that large.
"""
LISTED = 40
"""When kac starts, it lists the edits of an interrupted change: at most this many of them in each state."""


def local(at: datetime) -> str:
    """Return a time as text in this host's time zone, with its offset."""
    return at.astimezone().isoformat(sep=" ", timespec="seconds")


_OPEN_STATES = (
    (State.APPLIED, "applied"),
    (State.FAILED, "failed"),
    (State.NOT_APPLIED, "not applied"),
    (State.UNKNOWN, "outcome unknown"),
    (State.NOT_SENT, "never sent"),
)


def open_lines(change: Change) -> Iterable[str]:
    """Yield lines on a change that was interrupted, or whose outcome is unknown: the number of its edits in each state,
    and their names.
    """
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
    """Return a line if changes have times more than 5 s (`CLOCK_SLACK`) ahead of this host's clock; empty otherwise.
    Either the clock was wrong when the changes were made, or it was set back later.
    """
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
    """Return a line on an edit that is to be reverted at a certain time."""
    edit = due.entry.staged.edit
    what = f"{names.target(edit.target)} {clean(edit.key, 80)}".strip()
    word = "due since" if due.until <= now else "due at"
    return f"{word} {local(due.until)}: {what} of change {due.place.change} is to be taken back"


# The journal as text for a terminal, and as data for JSON output.

MOST = 500
"""Maximum number of edits that are shown as text; JSON output has all."""


def who_text(change: Change) -> str:
    """Return the author of a change as text: the principal on the brokers, and the user on the host, as ``alice (root
    by sudo of bob, from 10.0.0.7)``.
    """
    who = change.intent.who
    sudo = f" by sudo of {clean(who.sudo_user, 60)}" if who.sudo_user else ""
    ssh = f" from {clean(who.ssh_client, 60)}" if who.ssh_client else ""
    return f"{clean(who.principal, 60)} ({clean(who.os_user, 60)}{sudo}{ssh})"


def history_table(
    latest: Iterable[Change],
    past: History,
    entity: Entity | None = None,
    text: str = "",
    *,
    all_: bool = False,
    between: tuple[datetime | None, datetime | None] = (None, None),
) -> Table:
    """Return the changes of the journal as a table, the latest first, with a row for each edit.

    Args:
        latest: the changes, the latest first; iterated only as far as needed.
        past: the open changes, and the problems of the journal.
        entity: the entity whose edits are shown; None for all.
        text: a text that rows must contain; ``""`` for all rows.
        all_: whether to show more than `MOST` edits.
        between: start (included) and end (excluded) of the time; None for no limit.
    """
    matches = _filter(text)
    since, until = between
    now = datetime.now(UTC)
    ahead: list[Change] = []
    found = (
        row
        for change in _and_ahead(latest, now, ahead)
        if (since is None or change.intent.at >= since) and (until is None or change.intent.at < until)
        for place, entry in enumerate(change.entries)
        if entity is None or subject(entry.staged.edit.target) == subject(entity.subject)
        if matches(row := row_of(JOURNAL, journal_row(change, place, entry)))
    )
    rows = tuple(found) if all_ else tuple(islice(found, MOST))
    notes = [f"! {problem}" for problem in (*past.problems, *ahead_lines(ahead, now))]
    unknown = past.unfinished()[-LISTED:]
    notes += [f"! change {change.number}: outcome unknown; {how_to_settle(change.number)}" for change in unknown]
    if next(found, None) is not None:
        notes.append("older edits are not shown; --output json has them all")
    return Table("history", titles(JOURNAL), rows, empty="no changes in the journal", notes=tuple(notes))


def _and_ahead(changes: Iterable[Change], now: datetime, ahead: list[Change]) -> Iterator[Change]:
    """Yield the changes unchanged; append to `ahead` each change whose time is later than this host's clock."""
    for change in changes:
        if change.intent.at - now > CLOCK_SLACK:
            ahead.append(change)
        yield change


def _filter(text: str) -> Callable[[Row], bool]:
    wanted = text.casefold()
    return lambda row: not wanted or any(wanted in cell.casefold() for cell in row.cells)


class JournalRow(NamedTuple):
    """One edit of a change, with the values before and after it."""

    change: Change
    place: int
    """The index of the edit in its change."""
    entry: Entry
    old: EffectiveValue
    new: EffectiveValue


def journal_row(change: Change, place: int, entry: Entry) -> JournalRow:
    """Return the row for one edit of a change. place: the index of the edit."""
    edit, was, inheritance = entry.staged.edit, entry.staged.was, _inheritance(entry)
    return JournalRow(change, place, entry, before(edit, was, inheritance), after(edit, was, inheritance))


def _inheritance(entry: Entry) -> Inheritance:
    """Return an `Inheritance` that knows only the config entry that the journal stored as the value before the edit. It
    knows no entry if the journal stored none, or if the edit is not about a config.
    """
    edit, was = entry.staged.edit, entry.staged.was
    if isinstance(edit.target, ConfigResource) and isinstance(was, ConfigEntry):
        return Inheritance(Snapshot(configs={edit.target: ConfigSet((was,))}))
    return Inheritance(Snapshot())


def _state(row: JournalRow) -> str:
    change, place, entry = row.change, row.place, row.entry
    words = [change.state(place).value]
    if (offset := _offset(row)) is not None:
        words.append(f"from offset {offset}")
    if place in change.decided:
        decision = change.decided[place]
        words.append(f"as {clean(decision.who.os_user, 60)} says: {clean(decision.why, 120)}")
    if place in change.undone:
        words.append(f"taken back by {change.undone[place].change}")
    elif place in change.closed:
        words.append(f"stays: {clean(change.closed[place], 80)}")
    elif entry.until is not None:
        words.append(f"until {local(entry.until)}")
    if entry.overridden:
        words.append("went over another's change")
    if (failure := change.failure(place)) is not None:
        words.append(failure_text(failure))
    return ", ".join(words)


def _by_decision(get: Callable[[Decision], str]) -> Callable[[JournalRow], str | None]:
    return lambda row: get(decided) if (decided := row.change.decided.get(row.place)) is not None else None


def _why_failed(row: JournalRow) -> Failure | None:
    return row.change.failure(row.place)


def _offset(row: JournalRow) -> int | None:
    """Return the offset of the first record that an edit wrote; None if it wrote no records, or has no outcome."""
    ended = row.change.ended.get(row.place)
    return ended.offset if ended is not None else None


def _taken_back_by(row: JournalRow) -> int | None:
    return row.change.undone[row.place].change if row.place in row.change.undone else None


JOURNAL: Columns[JournalRow] = Columns(
    Column("change", TOLD, lambda row: row.change.number, "number", left=True),
    Column(
        "at",
        TOLD,
        lambda row: row.change.intent.at.isoformat(),
        title="When",
        text=lambda row: local(row.change.intent.at),
    ),
    Column("context", OBJECT, lambda row: row.change.intent.context),
    Column("who", LIST, text=lambda row: who_text(row.change)),
    Column("principal", OBJECT, lambda row: row.change.intent.who.principal),
    Column("os_user", OBJECT, lambda row: row.change.intent.who.os_user),
    Column("sudo_user", OBJECT, lambda row: row.change.intent.who.sudo_user or None),
    Column("ssh_client", OBJECT, lambda row: row.change.intent.who.ssh_client or None),
    Column("host", OBJECT, lambda row: row.change.intent.origin.host),
    Column("door", OBJECT, lambda row: row.change.intent.origin.door),
    Column("entity", TOLD, lambda row: names.target(row.entry.staged.edit.target)),
    Column("key", TOLD, lambda row: row.entry.staged.edit.key),
    Column(
        "was",
        TOLD,
        lambda row: side_data(row.old),
        "object",
        text=lambda row: with_source(row.entry.staged.edit.target, row.entry.staged.edit.key, row.old),
    ),
    Column(
        "became",
        TOLD,
        lambda row: side_data(row.new),
        "object",
        text=lambda row: with_source(row.entry.staged.edit.target, row.entry.staged.edit.key, row.new),
    ),
    Column("state", TOLD, lambda row: row.change.state(row.place).value, "word", text=_state),
    *failure_columns(_why_failed)[:2],
    Column("until", OBJECT, lambda row: row.entry.until.isoformat() if row.entry.until else None),
    Column("overridden", OBJECT, lambda row: row.entry.overridden, "boolean"),
    Column("settled_by", OBJECT, _by_decision(lambda decision: decision.who.os_user)),
    Column("settled_why", OBJECT, _by_decision(lambda decision: decision.why)),
    Column("taken_back_by", OBJECT, _taken_back_by, "number"),
    Column("offset", OBJECT, _offset, "number"),
)
"""The columns of the journal; each edit has a row. In text, the state also shows later events, such as a revert."""


def journal_texts(row: Row) -> Mapping[str, str]:
    """Return name of a column -> the text in a row of the journal's table."""
    return dict(zip((column.name for column in JOURNAL.of("list")), row.cells, strict=True))


def revert_tables(stage: Table, lost: Iterable[str], moved: Sequence[Conflict]) -> Iterable[Table]:
    """Yield the tables of a revert: the staged edits with what they do not restore, and later changes by other
    clients.
    """
    yield replace(stage, notes=(*stage.notes, *(f"! {note}" for note in lost)))
    if moved:
        note = "apply stops here unless it is given --force"
        yield conflict_table("moved", moved, "not as that change left it:", note, was="Left")
