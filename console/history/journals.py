"""Reads kac's journals as rows of the tables `journal` and `quarantine`, from where the last run stopped.

A change's end may be written long after its beginning. A change that is not over is remembered by the places of its
lines, and all its rows are made again when more is known: `merge_journal` replaces the older ones.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from console.history.journal_edits import Intent, Note, record
from console.history.redact import mask
from console.history.schema import JOURNAL, QUARANTINE, arrow_schema
from console.model.journal_lines import (
    APPLIED,
    FINAL,
    SUFFIX,
    BadLine,
    DecidedLine,
    Mended,
    OutcomeLine,
    Sending,
    SettledLine,
    cluster_of,
    final_status,
    segment_folder,
    segment_number,
)


class Segments(io.RawIOBase):
    """The segments of a journal, read as one file. Lines are only added to the last one, so positions stay valid.

    first: the journal's first segment. paths, sizes: of all segments, in bytes at the time of opening. Raises OSError.
    """

    def __init__(self, first: Path) -> None:
        super().__init__()
        others = segment_folder(first).glob(f"*{SUFFIX}") if first.name.endswith(SUFFIX) else ()
        self.paths = [first, *sorted(path for path in others if segment_number(path.name) is not None)]
        self._files = [path.open("rb") for path in self.paths]
        self.sizes = [file.seek(0, io.SEEK_END) for file in self._files]
        self._starts = [sum(self.sizes[:place]) for place in range(len(self.sizes))]
        self._at = 0

    def place(self, at: int) -> tuple[Path, int]:
        """The segment of a byte's position, and the position in that segment."""
        segment = bisect_right(self._starts, at) - 1
        return self.paths[segment], at - self._starts[segment]

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a position."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: sum(self.sizes)}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Reads up to the end of a segment; 0 at the end of the last."""
        for start, size, file in zip(self._starts, self.sizes, self._files, strict=True):
            if start <= self._at < start + size:
                file.seek(self._at - start)
                data = file.read(min(len(buffer), start + size - self._at))
                buffer[: len(data)] = data
                self._at += len(data)
                return len(data)
        return 0

    def fileno(self) -> int:
        """The last segment's, which a console locks while it writes."""
        return self._files[-1].fileno()

    def close(self) -> None:
        """Closes all segments."""
        for file in self._files if not self.closed else ():
            file.close()
        super().close()


# -- how edits ended, as rows --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ending:
    """How an edit ended. at: when that became known. error, message: from the brokers. is_settled: reported by a later
    read of the cluster or by an operator, who may declare otherwise later."""

    status: str
    at: datetime | None = None
    error: str | None = None
    message: str | None = None
    is_settled: bool = False


def endings(intent: Intent, notes: Iterable[Note]) -> tuple[Ending, ...]:
    """How each edit ended, by its place (`console.model.journal_lines.final_status`)."""
    answered: dict[int, Ending] = {}
    found: dict[int, Ending] = {}
    sent: set[int] = set()
    for note in notes:
        if isinstance(note, Sending):
            sent.add(note.request)
        elif isinstance(note, OutcomeLine):
            for place, ended in note.edits.items():
                name, message, _ = ended.error or (None, None, None)
                answered[place] = Ending(ended.status, note.at, name, message)
        else:
            # A read proves only that an edit was applied; an operator may also declare that it was not.
            proves = FINAL if isinstance(note, DecidedLine) else {APPLIED}
            found |= {place: Ending(status, note.at) for place, status in note.edits.items() if status in proves}
    return tuple(
        _ending(answered.get(place), found.get(place), edit.request in sent) for place, edit in enumerate(intent.edits)
    )


def _ending(answered: Ending | None, found: Ending | None, sent: bool) -> Ending:
    answer, later = (None if each is None else each.status for each in (answered, found))
    status = final_status(answer, later, sent) or "not sent"
    if answered is not None and answered.status in FINAL:
        return answered
    error = answered or found or Ending(status)
    return Ending(status, None if found is None else found.at, error.error, error.message, found is not None)


def change_rows(cluster_id: str, intent: Intent, ends: Iterable[Ending]) -> Iterator[dict[str, Any]]:
    """The change as rows of the table `journal` without `run_id`. The brokers' message is left out where a secret was
    set: it may quote the secret."""
    for place, (edit, end) in enumerate(zip(intent.edits, ends, strict=True)):
        for setting in edit.settings:
            words = end.message if end.message and not setting.is_sensitive else None
            yield {
                "cluster_id": cluster_id,
                "change_id": intent.change,
                "edit": place,
                "host": intent.host,
                "intent_ts": intent.at,
                "end_ts": end.at,
                "status": end.status,
                **setting._asdict(),
                "principal": intent.principal,
                "os_user": intent.os_user,
                "client_host": intent.client_host,
                "door": intent.door,
                "reverts": edit.reverts,
                "error": f"{end.error}: {words}" if end.error and words else end.error,
            }


def is_over(ends: Iterable[Ending]) -> bool:
    """Whether no later line can change any ending."""
    return all(end.status in FINAL and not end.is_settled for end in ends)


# -- reading -------------------------------------------------------------------------------------------------------

HEAD = 4096
"""Bytes by which a journal is recognised: they never change, since lines are only added."""
OPEN_FOR = timedelta(days=30)
"""How long a change without final endings is remembered."""

Remembered = Mapping[str, Mapping[str, Any]]
"""By a journal's path: bytes read, sizes of its segments, hash of its head, number of the last change, and positions
of the lines of open changes."""


def read_journals(
    paths: Iterable[str | Path], remembered: Remembered
) -> tuple[pa.Table, pa.Table, dict[str, dict[str, Any]]]:
    """Returns the rows of `journal` and of `quarantine`, both without `run_id`, and what the next call has to be given.

    paths: ``CLUSTER-ID.jsonl``, with its further segments beside it, or folders of such files. remembered: from the
    last call; {} reads everything. A missing journal is skipped and stays remembered. Raises OSError for one that
    can't be read."""
    known = {path: dict(each) for path, each in remembered.items()}
    rows: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    for path in _journals(paths):
        reading = _JournalReader(path, known.get(str(path), {}))
        reading.read()
        rows += reading.rows
        bad += reading.bad
        known[str(path)] = reading.remembered
    return _table(rows, JOURNAL), _table(bad, QUARANTINE), known


def merge_journal(old: pa.Table, new: pa.Table) -> pa.Table:
    """The table's rows, with those of changes that are also in `new` replaced; columns as in `old`."""
    if not new.num_rows:
        return old
    keys = ["cluster_id", "host", "intent_ts", "change_id"]
    changed = new.select(keys).group_by(keys).aggregate([])
    changed = changed.append_column("newer", pa.repeat(True, changed.num_rows))
    kept = old.join(changed, keys, join_type="left outer").filter(pc.is_null(pc.field("newer")))
    return pa.concat_tables([kept.select(old.column_names), new.select(old.column_names)])


def _journals(paths: Iterable[str | Path]) -> Iterator[Path]:
    for each in map(Path, paths):
        if each.is_dir():
            yield from sorted(each.glob(f"*{SUFFIX}"))
        elif each.exists():
            yield each


class _JournalReader:
    """Reads one journal, from where the last run stopped."""

    def __init__(self, path: Path, remembered: Mapping[str, Any]) -> None:
        self.path = path
        self.cluster_id = cluster_of(path)
        self.rows: list[dict[str, Any]] = []
        self.bad: list[dict[str, Any]] = []
        self.remembered: dict[str, Any] = dict(remembered)
        self._lines: dict[int, list[int]] = {}
        self._intents: dict[int, Intent] = {}
        self._notes: dict[int, list[Note]] = {}
        self._touched: set[int] = set()
        self._last = 0
        self._start = 0

    def read(self) -> None:
        """Fills `rows` and `bad`, and updates `remembered`."""
        with Segments(self.path) as segments, io.BufferedReader(segments) as file, _shared(segments) as alone:
            self._segments = segments
            if not self._is_the_same(file):
                self.remembered = {}
            self._start = int(self.remembered.get("bytes", 0))
            self._last = int(self.remembered.get("last", 0))
            self._recall(file)
            end = self._read_on(file, alone)
            file.seek(0)
            head = file.read(min(HEAD, end))
        self.bad.sort(key=lambda row: (len(row["file"]), row["file"], int(row["byte_pos"])))
        for change in sorted(self._touched & self._intents.keys()):
            intent = self._intents[change]
            ends = endings(intent, self._notes.get(change, []))
            self.rows += change_rows(self.cluster_id, intent, ends)
        self.remembered |= {
            "bytes": end,
            "head": hashlib.sha256(head).hexdigest(),
            "head_bytes": len(head),
            "last": self._last,
            "segments": segments.sizes,
            "open": {str(change): self._lines[change] for change in sorted(self._intents) if self._is_open(change)},
        }

    def _is_open(self, change: int) -> bool:
        intent = self._intents[change]
        over = is_over(endings(intent, self._notes.get(change, [])))
        return not over and intent.at > datetime.now(timezone.utc) - OPEN_FOR

    def _is_the_same(self, file: BinaryIO) -> bool:
        """Whether it is the file that was read before, perhaps longer, and not another of the same name."""
        size = int(self.remembered.get("head_bytes", 0))
        sizes, known = self._segments.sizes, self.remembered.get("segments", [])
        if sum(sizes) < int(self.remembered.get("bytes", 0)) or sizes[: len(known) - 1] != known[:-1]:
            return False
        return not size or hashlib.sha256(file.read(size)).hexdigest() == self.remembered["head"]

    def _recall(self, file: BinaryIO) -> None:
        """Reads the lines of the open changes again."""
        for places in self.remembered.get("open", {}).values():
            for place in places:
                file.seek(place)
                self._take(file.readline(), place)
        self._touched.clear()

    def _read_on(self, file: BinaryIO, alone: bool) -> int:
        """Takes every whole line; returns where the next one begins. alone: no process writes to the journal."""
        file.seek(self._start)
        place = self._start
        bad: tuple[bytes, int, str] | None = None
        for line in file:
            if not line.endswith(b"\n"):
                if alone and self.remembered.get("cut") != place:
                    self._bad(line, place, "its last line was cut short")
                    self.remembered["cut"] = place
                break
            ended_by_hand = False
            worse: tuple[bytes, int, str] | None = None
            try:
                ended_by_hand = self._take(line, place)
            except BadLine as error:
                worse = line[:-1], place, str(error)
            if bad is not None:
                self._bad(*bad[:2], "it was cut short, and ended by hand" if ended_by_hand else bad[2])
            bad = worse if worse is not None and self.remembered.get("cut") != place else None
            place += len(line)
        if bad is not None:
            self._bad(*bad)
        return place

    def _take(self, line: bytes, place: int) -> bool:
        """Takes a line; returns whether it reports that the line before was cut. Raises BadLine."""
        found = record(line)
        if isinstance(found, Intent):
            if found.change in self._intents or (found.change <= self._last and place >= self._start):
                raise BadLine(f"change {found.change} occurs twice; the first counts")
            self._intents[found.change] = found
            self._last = max(self._last, found.change)
        elif isinstance(found, Sending | OutcomeLine | SettledLine | DecidedLine):
            self._notes.setdefault(found.change, []).append(found)
        else:
            return isinstance(found, Mended)
        self._lines.setdefault(found.change, []).append(place)
        self._touched.add(found.change)
        return False

    def _bad(self, line: bytes, place: int, reason: str) -> None:
        path, byte_pos = self._segments.place(place)
        self.bad.append(
            {
                "cluster_id": self.cluster_id,
                "source": "journal",
                "file": str(path),
                "byte_pos": byte_pos,
                "reason": reason,
                "sha256": hashlib.sha256(line).hexdigest(),
                "sample": mask(line.decode("utf-8", "replace")),
            }
        )


@contextmanager
def _shared(file: io.RawIOBase) -> Iterator[bool]:
    """Holds the journal's lock, shared; yields whether it was free, so that no line is half written."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def _table(rows: list[dict[str, Any]], table: Any) -> pa.Table:
    schema = arrow_schema(table)
    schema = schema.remove(schema.get_field_index("run_id"))
    return pa.Table.from_pylist(rows, schema=schema)
