"""The records of the journal, and their conversion to lines of JSON; `model.journal_lines` defines the format of
lines.
"""

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
    """An edit of a change, in the form that the journal records."""

    staged: Staged
    """The edit, the state of its target immediately before the request, and the id of its topic. A secret is recorded
    as set, without its value, and is empty when it is read.
    """
    until: datetime | None = None
    """The time at which the edit is to be reverted, UTC; None if it is permanent."""
    overridden: bool = False
    """Whether the edit overwrote another client's change."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """For the deletion of a topic: the configs that the topic itself had set, key -> value."""
    secret: bool = False
    """Whether the edit has a value that is not recorded, because it is secret."""


class Intent(Struct, frozen=True):
    """A complete change, recorded before its first request is sent."""

    at: datetime
    context: str
    who: journal_lines.Who
    origin: journal_lines.Origin
    entries: tuple[Entry, ...]
    requests: tuple[journal_lines.Request, ...]
    operation: int | None = None
    """The number of the operation of which the change is a step; None for other changes."""


class Ended(NamedTuple):
    """The outcome of one edit of a change."""

    status: Status
    failure: Failure | None = None
    topic_id: str | None = None
    """The id of the topic that the edit created; None for other edits, and if unknown."""
    offset: int | None = None
    """The offset of the first record that the edit wrote; None for other edits, and if unknown."""


class Answered(Struct, frozen=True):
    """The outcomes of the edits of one request: index of an edit -> its outcome."""

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
"""All records of the journal except intents."""


# -- this process and its operator -------------------------------------------------------------------------------------


def this_operator(principal: str, environ: Mapping[str, str]) -> journal_lines.Who:
    """Return the person who runs this process. principal: the principal on the brokers."""
    uid = os.geteuid()
    try:
        os_user = pwd.getpwuid(uid).pw_name
    except KeyError:
        os_user = str(uid)
    client = environ.get("SSH_CONNECTION", "").split(" ")[0]
    return journal_lines.Who(principal, os_user, environ.get("SUDO_USER", ""), client)


def this_process(front_end: str) -> journal_lines.Origin:
    """Return the identity of this process. front_end: the front end of kac that runs in it, such as ``shell``."""
    pid = os.getpid()
    return journal_lines.Origin(socket.gethostname(), front_end, pid, _started(pid))


def still_runs(origin: journal_lines.Origin, *, elsewhere: bool = False) -> bool:
    """Return whether the process that wrote a record still runs, so that it may still write the outcome. elsewhere:
    the result for a process on another host, because this host can't see whether it runs.
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
    """Return when a process started, as the kernel reports it, with the id of the boot. This distinguishes processes
    that had the same process id. ``""`` if it is unknown, for example because the process has ended.
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
    """An intent and the number of its change."""

    number: int
    intent: Intent


def intent_line(number: int, intent: Intent) -> bytes:
    """Return the journal's line for an intent. number: the number of the change."""
    edits = tuple(map(_edit_line, intent.entries))
    of = intent.operation
    return journal_lines.encoded(
        journal_lines.IntentLine(
            number, intent.at, intent.context, intent.who, intent.origin, edits, intent.requests, of
        )
    )


def note_line(note: Note) -> bytes:
    """Return the line of a record that is no intent."""
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
    """Return the record that a line contains. Raises BadLine if the line is no record."""
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
"""Maximum number of characters that are recorded of a broker's message, so that a line with the messages of 10,000
edits is shorter than `LONGEST_LINE`.
"""


@lru_cache(64)
def _kept(message: str) -> str:
    """Return a broker's message shortened and without secrets. Results are cached, since most edits of a plan fail with
    the same message.
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
