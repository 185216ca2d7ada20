"""The journal's records as lines, and back: `console.model.journal_lines` has the format, `codes` that of edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from console.journal.records import Answered, Closed, Decided, Ended, Entry, Intent, Note, Settled
from console.model.changes import Status
from console.model.failure import Failure
from console.model.journal_lines import (
    ClosedLine,
    DecidedLine,
    EditLine,
    EndedLine,
    IntentLine,
    Json,
    Mended,
    OutcomeLine,
    Sending,
    SettledLine,
    Told,
    encoded,
    line_of,
    read_line,
)
from console.plan.edit_json import edit_json, edit_of, was_json, was_of
from console.plan.staged import Place, Staged


class Numbered(NamedTuple):
    """An intent and the number under which it was written."""

    number: int
    intent: Intent


def intent_line(number: int, intent: Intent) -> bytes:
    """The line of a change that is about to be sent."""
    edits = tuple(map(_edit_line, intent.entries))
    return encoded(IntentLine(number, intent.at, intent.context, intent.who, intent.origin, edits, intent.requests))


def note_line(note: Note) -> bytes:
    """The line of anything else."""
    match note:
        case Answered(change, request, at, edits):
            return encoded(
                OutcomeLine(change, request, at, {place: _ended_line(each) for place, each in edits.items()})
            )
        case Settled(change, at, edits, topic_ids):
            return encoded(SettledLine(change, at, _texts(edits), topic_ids))
        case Decided(change, at, edits, who, why):
            return encoded(DecidedLine(change, at, _texts(edits), who, why))
        case Closed(place, at, why):
            return encoded(ClosedLine(place, at, why))
        case Sending() | Told() | Mended():
            return encoded(note)


def record(line: bytes) -> Numbered | Note:
    """What a line says. Raises BadLine."""
    return read_line(line, _record)


def _record(data: Json) -> Numbered | Note:
    match line_of(data):
        case IntentLine(change, at, context, who, origin, edits, requests):
            return Numbered(change, Intent(at, context, who, origin, tuple(map(_entry, edits)), requests))
        case OutcomeLine(change, request, at, edits):
            return Answered(change, request, at, {place: _ended(each) for place, each in edits.items()})
        case SettledLine(change, at, edits, topic_ids):
            return Settled(change, at, _statuses(edits), topic_ids)
        case DecidedLine(change, at, edits, who, why):
            return Decided(change, at, _statuses(edits), who, why)
        case ClosedLine(place, at, why):
            return Closed(Place(*place), at, why)
        case note:
            return note


def _edit_line(entry: Entry) -> EditLine:
    staged = entry.staged
    edit, was = edit_json(staged.edit, entry.secret), was_json(staged.edit, staged.was)
    reverts = None if staged.reverts is None else (staged.reverts.change, staged.reverts.edit)
    return EditLine(
        edit, was, staged.lasts_ms, entry.until, reverts, staged.topic_id, entry.overridden, entry.overrides
    )


def _entry(line: EditLine) -> Entry:
    edit = edit_of(dict(line.edit))
    reverts = None if line.reverts is None else Place(*line.reverts)
    staged = Staged(edit, was_of(edit, line.was), line.lasts_ms, reverts, line.topic_id)
    return Entry(staged, line.until, line.overridden, line.overrides, secret=bool(line.edit.get("secret")))


def _ended_line(ended: Ended) -> EndedLine:
    failure = ended.failure
    error = None if failure is None else (failure.name, failure.message, failure.remedy)
    return EndedLine(ended.status.value, error, ended.topic_id)


def _ended(line: EndedLine) -> Ended:
    return Ended(Status(line.status), None if line.error is None else Failure(*line.error), line.topic_id)


def _texts(edits: Mapping[int, Status]) -> dict[int, str]:
    return {place: status.value for place, status in edits.items()}


def _statuses(edits: Mapping[int, str]) -> dict[int, Status]:
    return {place: Status(status) for place, status in edits.items()}
