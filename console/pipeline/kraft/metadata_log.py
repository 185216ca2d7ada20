"""A metadata log, on disk or fetched: its files, which bytes of them are read, and their records as Arrow batches."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from console.pipeline.entities import id_problem
from console.pipeline.kraft.batches import HEADER_BYTES, Batch, Window, walk
from console.pipeline.kraft.decoder import ChangedWhileReadError, Decoder, Origin, Range, Report, Trouble

LOG_FOLDER = "__cluster_metadata-0"
_SEGMENT = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class NoMetadataLogError(ValueError):
    """There is no metadata log, or the id of its cluster is unknown; the text says what to do."""


@dataclass(frozen=True, order=True)
class LogFile:
    """A segment or a snapshot. offset: of a segment its first record's, of a snapshot the one that it ends at. then:
    where the next segment of its folder begins; None: it is the last. data: of what is in memory and in no file."""

    offset: int
    path: str
    cluster_id: str
    is_snapshot: bool
    then: int | None = None
    data: bytes | None = field(default=None, repr=False, compare=False)

    def opened(self) -> BinaryIO:
        """Open the file's bytes. FileNotFoundError, OSError."""
        return Path(self.path).open("rb") if self.data is None else BytesIO(self.data)


def log_files(folders: Iterable[str], cluster_id: str | None) -> list[LogFile]:
    """Return the files of one or several folders `__cluster_metadata-0`, or of log directories that contain one.

    cluster_id: None reads it from `meta.properties` beside. Raises NoMetadataLogError; OSError for an unreadable
    folder.
    """
    return [file for folder in folders for file in _files_in(Path(folder), cluster_id)]


def _files_in(folder: Path, cluster_id: str | None) -> list[LogFile]:
    if (folder / LOG_FOLDER).is_dir():
        folder /= LOG_FOLDER
    elif not folder.is_dir():
        raise NoMetadataLogError(
            f"{folder} is not a folder: give the folder {LOG_FOLDER} of a controller, or a copy of it"
        )
    names = sorted(each.name for each in folder.iterdir())
    segments = [(int(found[1]), name) for name in names if (found := _SEGMENT.fullmatch(name))]
    snapshots = [(int(found[1]), name) for name in names if (found := _SNAPSHOT.fullmatch(name))]
    if not segments and not snapshots:
        raise NoMetadataLogError(
            f"{folder} has no segments (00000000000000000000.log) and no snapshots (….checkpoint): give the folder "
            f"{LOG_FOLDER} of a controller's metadata.log.dir, or a copy of it"
        )
    cluster = cluster_id or _cluster_id(folder)
    if problem := id_problem(cluster):
        raise NoMetadataLogError(f"{folder}: {problem}")
    then = dict(pairwise(offset for offset, _ in segments))
    of_log = [LogFile(offset, str(folder / name), cluster, False, then.get(offset)) for offset, name in segments]
    return of_log + [LogFile(offset, str(folder / name), cluster, True) for offset, name in snapshots]


_LARGEST_PROPERTIES = 64 << 10
"""Bytes that are read of meta.properties."""


def _cluster_id(folder: Path) -> str:
    told = folder.parent / "meta.properties"
    try:
        with told.open("rb") as file:
            lines = file.read(_LARGEST_PROPERTIES).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        lines = []
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == "cluster.id" and value.strip():
            return value.strip()
    raise NoMetadataLogError(
        f"the cluster of {folder} is unknown: {told} has no cluster.id. Copy that file along, or name the cluster"
    )


# -- which bytes are read: each record once, without damaged ones and those that do not count ------------------------

SPLIT_BYTES = 16 << 20
"""Approximate bytes that are read at once, and by one task."""

_FOOTER = slice(HEADER_BYTES + 7, HEADER_BYTES + 9)
"""Where a control batch has the type of its record: in the key, behind its version and five numbers of a byte each."""
_SNAPSHOT_FOOTER = b"\0\4"
_ALL = 1 << 62


@dataclass(frozen=True)
class Split:
    """Whole batches of a file that follow one another.

    first, last: their offsets. dropped: offsets that are left out.
    """

    file: LogFile
    at: int
    end: int
    first: int
    last: int
    dropped: tuple[Range, ...] = ()


@dataclass(frozen=True)
class LogPlan:
    """What is read of a log. next_offset: where the next run begins. open_at: where an unfinished transaction begins:
    the next run reads from there. troubles: damaged batches."""

    splits: tuple[Split, ...]
    next_offset: int
    open_at: int | None
    troubles: tuple[Trouble, ...]


def plan_log(
    folders: Iterable[str],
    *,
    cluster_id: str | None = None,
    start_offset: int = 0,
    end_offset: int | None = None,
    split_bytes: int = SPLIT_BYTES,
) -> LogPlan:
    """Scan the files of a cluster's folders `__cluster_metadata-0`: headers and checksums alone.

    start_offset: the first offset that is read. end_offset: the first that is not; None: to the end of the whole
    batches. Damage between them is reported. No file says what is committed (`quorum-state` has only the leader and its
    epoch, a snapshot only its own end): give the high watermark, as DescribeQuorum reports it, as `end_offset` if the
    log is of a controller that may yet lose its last records. With one controller, or in a copy that is a minute old,
    everything is committed.

    Snapshots are read if they end behind `start_offset`. An incomplete one is left out: whatever it lacks would seem
    deleted. Raises NoMetadataLogError, OSError.
    """
    files = log_files(folders, cluster_id)
    clusters = sorted({file.cluster_id for file in files})
    if len(clusters) > 1:
        raise NoMetadataLogError(f"the folders are of several clusters, {', '.join(clusters)}: read each by itself")
    return _Plan(start_offset, _ALL if end_offset is None else end_offset, split_bytes).of(files)


def plan_fetched(data: bytes, source: str, cluster_id: str, start: int, end: int, *, is_snapshot: bool) -> LogPlan:
    """Plan bytes that were fetched for the offset `start`: whole batches, all of them committed, up to the offset
    `end`, the first of which may begin before; or a whole snapshot that ends there. source: of which listener, for
    messages and for the column `file`.
    """
    offset = end if is_snapshot else int.from_bytes(data[:8], "big", signed=True)
    plan = _Plan(start, end, SPLIT_BYTES).of([LogFile(offset, source, cluster_id, is_snapshot, data=data)])
    # What is damaged there is so the next time, too: it is reported once, and what follows it is read.
    return replace(plan, next_offset=end if plan.open_at is None else max(start, min(plan.open_at, end)))


class _Plan:
    """The plan of a cluster's files, of one folder or of several controllers'."""

    def __init__(self, start: int, end: int, split_bytes: int) -> None:
        self._start, self._end = start, end
        self._split_bytes = split_bytes
        self._covered: list[Range] = []
        self._splits: list[Split] = []
        self._troubles: list[Trouble] = []
        self._markers: list[Marker] = []
        self._first_seen = _ALL

    def of(self, files: list[LogFile]) -> LogPlan:
        """Return the plan, by a pass through all files."""
        for segment in sorted(file for file in files if not file.is_snapshot):
            if segment.then is None or segment.then > self._start:
                self._segment(segment)
        settled = settle(self._markers, self._first_seen)
        end = self._end if settled.open_at is None else min(self._end, settled.open_at)
        dropped = [(-1, self._start - 1), *settled.aborted, (end, _ALL)]
        snapshots: dict[int, list[Split]] = {}
        for file in sorted(file for file in files if file.is_snapshot):
            is_wanted = file.offset <= end and (file.offset > self._start or not self._start)
            if is_wanted and not snapshots.get(file.offset):
                snapshots[file.offset] = self._snapshot(file)
        read_to = max([self._start, *(split.last + 1 for split in self._splits)])
        told_by_snapshots = (offset for offset, splits in snapshots.items() if splits)
        splits = [split for whole in self._splits if (split := _without(whole, dropped))]
        return LogPlan(
            (*(split for whole in snapshots.values() for split in whole), *splits),
            max([self._start, min(read_to, end), *told_by_snapshots]),
            settled.open_at,
            tuple(self._troubles),
        )

    def _segment(self, file: LogFile) -> None:
        try:
            with file.opened() as opened:
                for part in walk(opened, file.offset):
                    if isinstance(part, Window):
                        fresh = [batch for batch in part.batches if self._cover(batch.first, batch.last)]
                        if fresh:
                            self._take(file, Window(part.at, part.data, fresh))
                    elif not self._start <= part.offset < self._end:
                        continue
                    elif part.reason is not None:
                        self._trouble(file, part.at, f"batch at offset {part.offset}: {part.reason}", part.data)
                    elif file.then is not None:
                        reason = "the file ends within a batch, though the log continues in the next file"
                        self._trouble(file, part.at, reason, part.data)
        except FileNotFoundError:
            return  # the broker has deleted it since: a snapshot has its records

    def _cover(self, first: int, last: int) -> bool:
        """Note these offsets as covered; returns whether they were not before, by another controller's file."""
        at = bisect_right(self._covered, (first, _ALL))
        begun, end = self._covered[at - 1] if at else (first, -1)
        if end >= first:
            return False
        if end == first - 1 and at:
            self._covered[at - 1] = (begun, last)
        else:
            self._covered.insert(at, (first, last))
        return True

    def _take(self, file: LogFile, window: Window) -> None:
        self._first_seen = min(self._first_seen, window.batches[0].first)
        self._markers += markers(window)
        wanted = [batch for batch in window.batches if batch.last >= self._start and batch.first < self._end]
        self._splits += _splits(file, wanted, self._split_bytes)

    def _snapshot(self, file: LogFile) -> list[Split]:
        """Return the splits of a snapshot that is whole from its header to its footer; none of any other."""
        batches: list[Batch] = []
        is_complete = False
        try:
            with file.opened() as opened:
                for part in walk(opened, 0):
                    if not isinstance(part, Window):
                        reason = part.reason or "the file ends within a batch"
                        self._trouble(file, part.at, f"an incomplete snapshot, left out: {reason}", part.data)
                        return []
                    batches += part.batches
                    is_complete = _is_footer(part, part.batches[-1])
        except FileNotFoundError:
            return []
        if not is_complete:
            self._trouble(file, 0, "an incomplete snapshot, left out: it has no footer", b"")
            return []
        return _splits(file, batches, self._split_bytes)

    def _trouble(self, file: LogFile, at: int, reason: str, data: bytes) -> None:
        self._troubles.append(Trouble.of(file.cluster_id, file.path, at, reason, data))


def _splits(file: LogFile, batches: list[Batch], size: int) -> list[Split]:
    """Return batches as splits of about a size, cut where batches do not follow one another too."""
    made: list[Split] = []
    first = 0
    for at, batch in enumerate(batches):
        following = batches[at + 1] if at + 1 < len(batches) else None
        is_full = batch.end - batches[first].at >= size
        if following is None or is_full or following.at != batch.end or following.first != batch.last + 1:
            made.append(Split(file, batches[first].at, batch.end, batches[first].first, batch.last))
            first = at + 1
    return made


def _without(split: Split, dropped: list[Range]) -> Split | None:
    """Return the split without ranges of offsets; None if nothing is left."""
    inside = tuple(each for each in dropped if each[0] <= split.last and each[1] >= split.first)
    if any(first <= split.first and split.last <= last for first, last in inside):
        return None
    return replace(split, dropped=inside)


def _is_footer(window: Window, batch: Batch) -> bool:
    """Return whether it is the control batch that ends a snapshot."""
    return batch.is_control and window.of(batch)[_FOOTER] == _SNAPSHOT_FOOTER


# -- the log's own transactions (KIP-866) ----------------------------------------------------------------------------

_BEGIN, _ABORT = 23, 25
_MARKER = re.compile(rb"\x01.{1,2}\x01[\x17\x18\x19]\x00", re.DOTALL)
"""BeginTransactionRecord, EndTransactionRecord and AbortTransactionRecord: no key, the value's size, the version of its
frame, the number and the version of its type."""
Marker = tuple[int, int]
"""Where a transaction begins or ends: the offset, and the number of the record's type."""


@dataclass(frozen=True)
class Settled:
    """Records that do not count. aborted: in order. open_at: where an unfinished transaction begins."""

    aborted: tuple[Range, ...]
    open_at: int | None


def markers(window: Window) -> Iterator[Marker]:
    """Yield the beginnings and ends of transactions in whole batches. Batches that can have none are not decoded."""
    starts = [batch.at - window.at for batch in window.batches]
    matches = _MARKER.finditer(window.data, starts[0], window.batches[-1].end - window.at)
    suspects = sorted({bisect_right(starts, found.start()) - 1 for found in matches})
    if suspects:
        decoder = Decoder(None, lambda _: None)  # what is unreadable is reported when it is read
        for rows in decoder.rows(b"".join(window.of(window.batches[each]) for each in suspects), Origin("", "")):
            types = zip(rows["log_offset"].to_pylist(), rows["api_key"].to_pylist(), strict=True)
            yield from (each for each in types if _BEGIN <= each[1] <= _ABORT)


def settle(found: Iterable[Marker], first_offset: int) -> Settled:
    """Return which records do not count, by the markers of a log. first_offset: the first offset that the log still
    has.

    Records between a BeginTransactionRecord and an AbortTransactionRecord never counted; those behind a
    BeginTransactionRecord without an end do not count yet. Of a transaction whose beginning the broker has deleted only
    the end is left. Of one whose end is damaged only the beginning is: nothing proves that it counts, so it does not.
    """
    aborted: list[Range] = []
    begun: int | None = None
    is_first = True
    for offset, kind in sorted(found):
        if kind == _BEGIN:
            if begun is not None:
                aborted.append((begun, offset - 1))
            begun = offset
        else:
            since = begun if begun is not None else first_offset if is_first else offset
            if kind == _ABORT:
                aborted.append((since, offset))
            begun = None
        is_first = False
    return Settled(tuple(aborted), begun)


# -- reading, without Spark ------------------------------------------------------------------------------------------


def read_splits(splits: Iterable[Split], key: bytes | None, report: Report) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some splits, by one decoder, which remembers recurring values. key: for the HMAC of secrets,
    None: no HMAC. report: gets unreadable data. Raises ChangedWhileReadError, OSError.
    """
    decoder = Decoder(key, report)
    for split in splits:
        file = split.file
        origin = Origin(file.cluster_id, file.path, file.offset if file.is_snapshot else None, split.at)
        yield from decoder.rows(_bytes_of(split), origin, split.dropped)


def _bytes_of(split: Split) -> bytes:
    try:
        with split.file.opened() as file:
            file.seek(split.at)
            data = file.read(split.end - split.at)
    except FileNotFoundError as gone:
        raise ChangedWhileReadError(
            f"{split.file.path} was deleted before it was read, as brokers do with old segments. "
            "Nothing of it was ingested; run it again: a snapshot has its records"
        ) from gone
    if len(data) < split.end - split.at:
        raise ChangedWhileReadError(
            f"{split.file.path} was truncated while it was read. Nothing of it was ingested; run it again"
        )
    return data
