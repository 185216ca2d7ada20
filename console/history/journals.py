"""Reads kac's journals as rows of the tables `journal` and `quarantine`.

A change's end may be written long after its beginning, and into another segment: a journal in which anything is new is
read from its beginning, and `merge_journal` finds what of its rows is new.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from console.history.journal_edits import Setting, principal_of, settings_of
from console.history.redact import mask
from console.history.schema import JOURNAL, QUARANTINE, Table, arrow_schema
from console.model.journal_lines import (
    APPLIED,
    FINAL,
    SUFFIX,
    BadLine,
    DecidedLine,
    IntentLine,
    Json,
    Line,
    Mended,
    OutcomeLine,
    Sending,
    SettledLine,
    cluster_of,
    final_status,
    line_of,
    read_line,
    segment_folder,
    segment_number,
)

Note = Sending | OutcomeLine | SettledLine | DecidedLine
"""Lines that report how a change ended."""


# -- how edits ended, as rows --------------------------------------------------------------------------------------


class Ending(NamedTuple):
    """How an edit ended. at: when that became known. error, message: from the brokers."""

    status: str
    at: datetime | None = None
    error: str | None = None
    message: str | None = None


def endings(intent: IntentLine, notes: Iterable[Note]) -> Iterator[Ending]:
    """How each edit ended, in their order (`console.model.journal_lines.final_status`)."""
    answered: dict[int, Ending] = {}
    found: dict[int, Ending] = {}
    sent: set[int] = set()
    for note in notes:
        if isinstance(note, Sending):
            sent |= {place for request in intent.requests[note.request : note.request + 1] for place in request.edits}
        elif isinstance(note, OutcomeLine):
            for place, ended in note.edits.items():
                name, message, _ = ended.error or (None, None, None)
                answered[place] = Ending(ended.status, note.at, name, message)
        else:
            # A read proves only that an edit was applied; an operator may also declare that it was not.
            proves = FINAL if isinstance(note, DecidedLine) else {APPLIED}
            found |= {place: Ending(status, note.at) for place, status in note.edits.items() if status in proves}
    for place in range(len(intent.edits)):
        answer, later = answered.get(place), found.get(place)
        if answer is None or answer.status not in FINAL:
            answered_as, found_as = (None if each is None else each.status for each in (answer, later))
            status = final_status(answered_as, found_as, place in sent) or "not sent"
            at, said = None if later is None else later.at, answer or Ending(status)
            answer = said._replace(status=status, at=at)
        yield answer


def _change_rows(cluster_id: str, change: _Change) -> Iterator[dict[str, Any]]:
    """The change as rows of the table `journal` without `run_id`. The brokers' message is left out where a secret was
    set: it may quote the secret."""
    intent, who = change.intent, change.intent.who
    ends = endings(intent, change.notes)
    for place, (edit, settings, end) in enumerate(zip(intent.edits, change.settings, ends, strict=True)):
        for setting in settings:
            words = end.message if end.message and not setting.is_sensitive else None
            yield {
                "cluster_id": cluster_id,
                "change_id": intent.change,
                "edit": place,
                "host": intent.origin.host,
                "intent_ts": intent.at,
                "end_ts": end.at,
                "status": end.status,
                **setting._asdict(),
                "principal": principal_of(who.principal),
                "os_user": f"{who.os_user} (by {who.sudo_user})" if who.sudo_user else who.os_user,
                "client_host": who.ssh_client or None,
                "door": intent.origin.door,
                "reverts": None if edit.reverts is None else edit.reverts[0],
                "error": f"{end.error}: {words}" if end.error and words else end.error,
            }


# -- reading -------------------------------------------------------------------------------------------------------

Remembered = Mapping[str, Any]
"""By a journal's path: size and time of the last change of each segment when all of it was read, for JSON."""
_CHANGE = ("cluster_id", "host", "intent_ts", "change_id")


def read_journals(paths: Iterable[str | Path], remembered: Remembered) -> tuple[pa.Table, pa.Table, dict[str, Any]]:
    """Returns the rows of `journal` and of `quarantine`, both without `run_id`, and what the next call has to be given.

    paths: ``CLUSTER-ID.jsonl``, with its further segments beside it, or folders of such files. remembered: from the
    last call: journals in which nothing is new are left out. A missing journal is skipped and stays remembered. Raises
    OSError for one that can't be read."""
    known = dict(remembered)
    rows: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    for path in _journals(paths):
        segments = _segments(path)
        stats = [segment.stat() for segment in segments]
        seen = [[stat.st_size, stat.st_mtime_ns] for stat in stats]
        if known.pop(str(path), None) != seen:
            reading = _Reading(cluster_of(path))
            is_whole = reading.read(segments)
            rows += (row for change in reading.changes.values() for row in _change_rows(reading.cluster_id, change))
            bad += reading.bad
            if not is_whole:
                continue
        known[str(path)] = seen
    return _table(rows, JOURNAL), _table(bad, QUARANTINE), known


def merge_journal(old: pa.Table, read: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Of `old` the rows that stay, of `read` those of changes that are new, or ended otherwise than in `old`. Both have
    the columns of `journal`."""
    names = [name for name in read.column_names if name != "run_id"]
    known = set(_rows(old, names))
    changes = list(_rows(read, _CHANGE))
    other = {change for change, row in zip(changes, _rows(read, names), strict=True) if row not in known}
    kept = [change not in other for change in _rows(old, _CHANGE)]
    new = [change in other for change in changes]
    return old.filter(pa.array(kept, pa.bool_())), read.filter(pa.array(new, pa.bool_()))


def _rows(table: pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def _journals(paths: Iterable[str | Path]) -> Iterator[Path]:
    for each in map(Path, paths):
        if each.is_dir():
            yield from sorted(each.glob(f"*{SUFFIX}"))
        elif each.exists():
            yield each


def _segments(first: Path) -> list[Path]:
    others = segment_folder(first).glob(f"*{SUFFIX}") if first.name.endswith(SUFFIX) else ()
    return [first, *sorted(path for path in others if segment_number(path.name) is not None)]


class _Change(NamedTuple):
    """A change. settings: of each of its edits."""

    intent: IntentLine
    settings: tuple[tuple[Setting, ...], ...]
    notes: list[Note]


class _Reading:
    """One journal, while it is read."""

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.changes: dict[int, _Change] = {}
        self.bad: list[dict[str, Any]] = []

    def read(self, segments: Sequence[Path]) -> bool:
        """Fills `changes` and `bad`; returns whether that is all: the last line may be one that is being written."""
        with segments[-1].open("rb") as last:
            alone = _locked(last)
            for path in segments:
                with path.open("rb") as file:
                    at = bad_until = 0
                    for line in file:
                        try:
                            if not line.endswith(b"\n"):
                                if path == segments[-1] and not alone:
                                    return False
                                raise BadLine("its last line was cut short")
                            if self._take(line) and bad_until == at:
                                self.bad[-1]["reason"] = "it was cut short, and ended by hand"
                        except BadLine as error:
                            self._bad(path, at, line.removesuffix(b"\n"), str(error))
                            bad_until = at + len(line)
                        at += len(line)
        return True

    def _take(self, line: bytes) -> bool:
        """Takes a line; returns whether it reports that the line before was cut. Raises BadLine."""
        found, settings = read_line(line, _decoded)
        if isinstance(found, IntentLine):
            if found.change in self.changes:
                raise BadLine(f"change {found.change} occurs twice; the first counts")
            self.changes[found.change] = _Change(found, settings, [])
        elif isinstance(found, Sending | OutcomeLine | SettledLine | DecidedLine) and found.change in self.changes:
            self.changes[found.change].notes.append(found)
        return isinstance(found, Mended)

    def _bad(self, path: Path, at: int, line: bytes, reason: str) -> None:
        self.bad.append(
            {
                "cluster_id": self.cluster_id,
                "source": "journal",
                "file": str(path),
                "byte_pos": at,
                "reason": reason,
                "sha256": hashlib.sha256(line).hexdigest(),
                "sample": mask(line.decode("utf-8", "replace")),
            }
        )


def _decoded(data: Json) -> tuple[Line, tuple[tuple[Setting, ...], ...]]:
    line = line_of(data)
    edits = line.edits if isinstance(line, IntentLine) else ()
    return line, tuple(settings_of(each.edit, each.was) for each in edits)


def _locked(file: BinaryIO) -> bool:
    """Takes the journal's lock, shared, until the file is closed; returns whether it was free, so that no line is half
    written."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _table(rows: list[dict[str, Any]], table: Table) -> pa.Table:
    schema = arrow_schema(table)
    return pa.Table.from_pylist(rows, schema=schema.remove(schema.get_field_index("run_id")))
