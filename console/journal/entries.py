"""The journal's records, and their JSON lines; `model.journal_lines` has the format itself."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from console.model import journal_lines
from console.model.changes import Status
from console.model.failure import Failure
from console.plan.edit_json import edit_json, edit_of, was_json, was_of
from console.plan.staged import Staged
from console.sensitive import without_secrets

# The contents of the journal as values, with times in UTC, and the process that writes them.


class Entry(Struct, frozen=True):
    """An edit of a change, as the journal records it."""

    staged: Staged
    """The edit, based on the state right before it was sent, and the topic that it was bound to. A secret is written
    only as set, and is not read back."""
    until: datetime | None = None
    """The time at which the edit is to be reverted; None if it stays."""
    overridden: bool = False
    """Whether the edit overwrote another client's change."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """The configs of a deleted topic."""
    secret: bool = False
    """Whether the edit has a value that is not written because it is secret."""


class Intent(Struct, frozen=True):
    """A change that is about to be sent, as a whole."""

    at: datetime
    context: str
    who: journal_lines.Who
    origin: journal_lines.Origin
    entries: tuple[Entry, ...]
    requests: tuple[journal_lines.Request, ...]
    operation: int | None = None
    """The number of the operation that the change is a step of; None for other changes."""


class Ended(NamedTuple):
    """The outcome of one edit of a change."""

    status: Status
    failure: Failure | None = None
    topic_id: str | None = None
    """The id of the topic that the edit created; None if unknown."""
    offset: int | None = None
    """The offset of the first record that the edit wrote; None if unknown."""


class Answered(Struct, frozen=True):
    """The outcome of a request of a change, by the places of its edits."""

    change: int
    request: int
    at: datetime
    edits: Mapping[int, Ended]


Note = (
    journal_lines.Sending
    | Answered
    | journal_lines.Settled
    | journal_lines.Decided
    | journal_lines.Told
    | journal_lines.Closed
    | journal_lines.Mended
    | journal_lines.OperationLine
)
"""The records of the journal except for intents."""


# -- this process and its operator -------------------------------------------------------------------------------------


def this_operator(principal: str, environ: Mapping[str, str]) -> journal_lines.Who:
    """Return the operator. principal: the brokers' name for the user."""
    uid = os.geteuid()
    try:
        os_user = pwd.getpwuid(uid).pw_name
    except KeyError:
        os_user = str(uid)
    client = environ.get("SSH_CONNECTION", "").split(" ")[0]
    return journal_lines.Who(principal, os_user, environ.get("SUDO_USER", ""), client)


def this_process(front_end: str) -> journal_lines.Origin:
    """Return the identity of this process on this host."""
    pid = os.getpid()
    return journal_lines.Origin(socket.gethostname(), front_end, pid, _started(pid))


def still_runs(origin: journal_lines.Origin, *, elsewhere: bool = False) -> bool:
    """Return whether the process that wrote a record still runs, and so may still write the outcome. elsewhere: the
    answer for a process on another host, which is unknown.
    """
    if origin.host != socket.gethostname():
        return elsewhere
    try:
        os.kill(origin.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # the process exists, but belongs to another user
    return origin.started == _started(origin.pid)


def _started(pid: int) -> str:
    """Return the kernel's start time of a process, which distinguishes processes with the same id; ``""`` if it is
    unknown, for example after the process has ended.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return f"{boot[:8]}-{stat.rpartition(')')[2].split()[19]}"


# The conversion of records to lines and back: `console.model.journal_lines` defines the format of lines, and
# `plan.edit_json` that of edits.


class Numbered(NamedTuple):
    """An intent and its number."""

    number: int
    intent: Intent


def intent_line(number: int, intent: Intent) -> bytes:
    """Return the line of a change that is about to be sent."""
    edits = tuple(map(_edit_line, intent.entries))
    of = intent.operation
    return journal_lines.encoded(
        journal_lines.IntentLine(
            number, intent.at, intent.context, intent.who, intent.origin, edits, intent.requests, of
        )
    )


def note_line(note: Note) -> bytes:
    """Return the line of any other record."""
    match note:
        case Answered(change, request, at, edits):
            return journal_lines.encoded(
                journal_lines.OutcomeLine(
                    change, request, at, {place: _ended_line(each) for place, each in edits.items()}
                )
            )
        case _:
            return journal_lines.encoded(note)


def record(line: bytes) -> Numbered | Note:
    """Return the record in a line. Raises BadLine for a line that is no record."""
    return journal_lines.read_line(line, record_of)


def record_of(data: journal_lines.Json) -> Numbered | Note:
    """Return the record for the JSON of a line. Raises BadLine for an unknown kind; KeyError, TypeError or ValueError
    for data that is not in the journal's form.
    """
    match journal_lines.line_of(data):
        case journal_lines.IntentLine(change, at, context, who, origin, edits, requests, operation):
            return Numbered(change, Intent(at, context, who, origin, tuple(map(_entry, edits)), requests, operation))
        case journal_lines.OutcomeLine(change, request, at, edits):
            return Answered(change, request, at, {place: _ended(each) for place, each in edits.items()})
        case note:
            return note


def _edit_line(entry: Entry) -> journal_lines.EditLine:
    staged = entry.staged
    was = was_json(staged.edit, staged.was)
    edit = edit_json(staged.edit)
    if entry.secret and "value" in edit:
        edit["value"] = None
    return journal_lines.EditLine(
        edit, was, staged.lasts_ms, entry.until, staged.reverts, staged.topic_id, entry.overridden, entry.overrides
    )


def _entry(line: journal_lines.EditLine) -> Entry:
    edit = edit_of(dict(line.edit))
    staged = Staged(edit, was_of(edit, line.was), line.lasts_ms, line.reverts, line.topic_id)
    return Entry(staged, line.until, line.overridden, line.overrides, secret=edit.holds_secret)


MOST_MESSAGE = 500
"""Maximum characters of a broker's message: a line with the messages of 10,000 edits stays below `LONGEST_LINE`."""


@lru_cache(64)
def _kept(message: str) -> str:
    """Return a broker's message, shortened and without secrets. Cached, since most of a plan's edits fail with the same
    message.
    """
    return without_secrets(message[: 2 * MOST_MESSAGE], "…")[:MOST_MESSAGE]


def _ended_line(ended: Ended) -> journal_lines.EndedLine:
    error = None
    if (failure := ended.failure) is not None:
        error = (failure.name, _kept(failure.message), failure.remedy)
    return journal_lines.EndedLine(ended.status.value, error, ended.topic_id, ended.offset)


def _ended(line: journal_lines.EndedLine) -> Ended:
    failure = None if line.error is None else Failure(*line.error)
    return Ended(Status(line.status), failure, line.topic_id, line.offset)
