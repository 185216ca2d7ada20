"""The metadata log `__cluster_metadata-0`, on disk or fetched, as rows: the choice of files and byte ranges to read,
the search for whole batches and for damage between them, and the decoding of records of every type, without secrets.
"""

from __future__ import annotations

import json
import pkgutil
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import pyarrow as pa
from crc32c import crc32c

from console.lake.entities import CONFIG_TYPES, id_problem
from console.lake.redact import HIDDEN, Damaged, hmac_hex, is_secret
from console.lake.schema import KRAFT_RECORD, RECORD_COLUMNS, arrow_schema
from console.model.kafka_structs import MalformedRecordError, Read, RecordSchema, schemas_of, uvarint

LOG_FOLDER = "__cluster_metadata-0"
_SEGMENT = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class NoMetadataLogError(ValueError):
    """There is no metadata log, or the id of its cluster is unknown; the text has a remedy."""


@dataclass(frozen=True, order=True)
class LogFile:
    """A segment or a snapshot of a metadata log, on disk or in memory."""

    offset: int
    """The first offset of a segment; the end offset of a snapshot."""
    path: str
    cluster_id: str
    is_snapshot: bool
    then: int | None = None
    """The first offset of the next segment in the folder; None for the last one."""
    data: bytes | None = field(default=None, repr=False, compare=False)
    """The content, if it is in memory; None if it is in the file."""

    def opened(self) -> BinaryIO:
        """Open the file for reading. Raises FileNotFoundError, OSError."""
        return Path(self.path).open("rb") if self.data is None else BytesIO(self.data)


def log_files(folders: Iterable[str], cluster_id: str | None) -> list[LogFile]:
    """Return the files of one or several folders `__cluster_metadata-0`, or of log directories that contain one.

    Args:
        cluster_id: the id of the cluster; None to read it from `meta.properties` next to the folder.

    Raises:
        NoMetadataLogError: a folder has no metadata log.
        OSError: a folder is unreadable.
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
"""Maximum number of bytes read from meta.properties."""


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


# -- choosing bytes: each record once, without damaged and invalid ones ----------------------------------------------

SPLIT_BYTES = 16 << 20
"""Approximate number of bytes that one task reads and decodes at once."""

_ALL = 1 << 62


@dataclass(frozen=True)
class Split:
    """Consecutive whole batches of a file, from the byte position `at` to `end` (excluded)."""

    file: LogFile
    at: int
    end: int
    first: int
    """The first offset of the first batch."""
    last: int
    """The last offset of the last batch."""
    dropped: tuple[Range, ...] = ()
    """Ranges of offsets within the split whose records are not read."""


@dataclass(frozen=True)
class LogPlan:
    """The parts of a metadata log to read."""

    splits: tuple[Split, ...]
    next_offset: int
    """The offset at which the next run starts."""
    open_at: int | None
    """The first offset of an unfinished transaction, from which the next run reads; None if no transaction is
    unfinished.
    """
    troubles: tuple[Trouble, ...]
    """The damaged batches."""


def plan_log(
    folders: Iterable[str],
    *,
    cluster_id: str | None = None,
    start_offset: int = 0,
    end_offset: int | None = None,
    split_bytes: int = SPLIT_BYTES,
) -> LogPlan:
    """Return the parts to read of a cluster's folders `__cluster_metadata-0`. Reads all files, but checks only the
    headers and checksums of their batches.

    No file has the committed offset (`quorum-state` has only the leader and its epoch, a snapshot only its own end
    offset). If the controller may still lose its last records, pass the high watermark that DescribeQuorum returns as
    `end_offset`. With one controller, or in a copy that is a minute old, all records are committed.

    A snapshot is read if its end offset is higher than `start_offset`. An incomplete snapshot is left out: every entity
    that it lacks would seem deleted.

    Args:
        cluster_id: the id of the cluster; None to read it from `meta.properties` next to each folder.
        start_offset: the first offset to read.
        end_offset: the offset after the last one to read; None to read to the last whole batch. Damage between the two
            offsets is reported.
        split_bytes: the approximate size of a split in bytes.

    Raises:
        NoMetadataLogError: a folder has no metadata log, or the folders are of several clusters.
        OSError: a file can't be read.
    """
    files = log_files(folders, cluster_id)
    clusters = sorted({file.cluster_id for file in files})
    if len(clusters) > 1:
        raise NoMetadataLogError(f"the folders are of several clusters, {', '.join(clusters)}: read each by itself")
    return _Plan(start_offset, _ALL if end_offset is None else end_offset, split_bytes).of(files)


def plan_fetched(data: bytes, source: str, cluster_id: str, start: int, end: int, *, is_snapshot: bool) -> LogPlan:
    """Return the parts to read of bytes that were fetched from a controller.

    Args:
        data: whole, committed batches up to the offset `end` (excluded), the first of which may begin before the offset
            `start`; or a whole snapshot with the end offset `end`.
        source: a name that replaces the path of a file, for messages and for the column `file`.
        start: the first offset to read.
        end: the offset after the last one.
    """
    offset = end if is_snapshot else int.from_bytes(data[:8], "big", signed=True)
    plan = _Plan(start, end, SPLIT_BYTES).of([LogFile(offset, source, cluster_id, is_snapshot, data=data)])
    # A later fetch would return the same damage: report it once, and let the next read begin behind it.
    return replace(plan, next_offset=end if plan.open_at is None else max(start, min(plan.open_at, end)))


class _Plan:
    """The plan of one cluster's files, from one folder or from those of several controllers."""

    def __init__(self, start: int, end: int, split_bytes: int) -> None:
        self._start, self._end = start, end
        self._split_bytes = split_bytes
        self._covered: list[Range] = []
        self._splits: list[Split] = []
        self._troubles: list[Trouble] = []
        self._markers: list[Marker] = []
        self._first_seen = _ALL

    def of(self, files: list[LogFile]) -> LogPlan:
        """Scan all files and return the plan."""
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
            return  # the broker has deleted the segment since: a snapshot has its records

    def _cover(self, first: int, last: int) -> bool:
        """Mark the offsets from `first` to `last` as covered, and return True. Return False if a file of another
        controller has covered `first` already, so that each record is read only once.
        """
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
        """Return the splits of a snapshot that has all batches from its header to its footer. For any other snapshot,
        note the damage and return an empty list; the list is also empty if the file was deleted.
        """
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
                    last = part.batches[-1]
                    is_complete = last.is_control and part.of(last)[_FOOTER] == _SNAPSHOT_FOOTER
        except FileNotFoundError:
            return []
        if not is_complete:
            self._trouble(file, 0, "an incomplete snapshot, left out: it has no footer", b"")
            return []
        return _splits(file, batches, self._split_bytes)

    def _trouble(self, file: LogFile, at: int, reason: str, data: bytes) -> None:
        self._troubles.append(Trouble.of(file.cluster_id, file.path, at, reason, data))


def _splits(file: LogFile, batches: list[Batch], size: int) -> list[Split]:
    """Return batches as splits of about `size` bytes each. A split also ends before a gap between batches."""
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
    """Return the split without these ranges of offsets; None if nothing is left."""
    inside = tuple(each for each in dropped if each[0] <= split.last and each[1] >= split.first)
    if any(first <= split.first and split.last <= last for first, last in inside):
        return None
    return replace(split, dropped=inside)


# -- the log's own transactions (KIP-866) ----------------------------------------------------------------------------

_BEGIN, _ABORT = 23, 25
_MARKER = re.compile(rb"\x01.{1,2}\x01[\x17\x18\x19]\x00", re.DOTALL)
"""Matches BeginTransactionRecord, EndTransactionRecord and AbortTransactionRecord: the length of an absent key, the
value's size, the version of its frame, and the number and version of its type.
"""
Marker = tuple[int, int]
"""The begin or end of a transaction in the log: the record's offset, and the number of its type."""


@dataclass(frozen=True)
class Settled:
    """The records of a log that are not read, because their transactions are aborted or unfinished."""

    aborted: tuple[Range, ...]
    """The ranges of aborted transactions, in order."""
    open_at: int | None
    """The first offset of an unfinished transaction; None if no transaction is unfinished."""


def markers(window: Window) -> Iterator[Marker]:
    """Yield the transaction markers in whole batches. Batches that can't contain a marker are not decoded."""
    starts = [batch.at - window.at for batch in window.batches]
    matches = _MARKER.finditer(window.data, starts[0], window.batches[-1].end - window.at)
    suspects = sorted({bisect_right(starts, found.start()) - 1 for found in matches})
    if suspects:
        decoder = Decoder(None, lambda _: None)  # the later read reports unreadable records
        for rows in decoder.rows(b"".join(window.of(window.batches[each]) for each in suspects), Origin("", "")):
            types = zip(rows["log_offset"].to_pylist(), rows["api_key"].to_pylist(), strict=True)
            yield from (each for each in types if _BEGIN <= each[1] <= _ABORT)


def settle(found: Iterable[Marker], first_offset: int) -> Settled:
    """Return the offsets whose records are not read, by the transaction markers of a log.

    Records between a BeginTransactionRecord and an AbortTransactionRecord never take effect. Records after a
    BeginTransactionRecord without an end have not taken effect yet. If the broker has deleted the beginning of a
    transaction, only its end marker is left. If the end of a transaction is damaged, only its begin marker is left;
    nothing proves that the transaction was committed, so its records are not read.

    Args:
        found: the markers, in any order.
        first_offset: the first offset that the log still has.
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
    """Yield the rows of splits. Raises ChangedWhileReadError: a file was deleted or truncated since it was planned;
    OSError.

    Args:
        key: the key of the HMAC of secrets; None to leave `value_hmac` empty.
        report: a function that is called with each unreadable record.
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


# -- record batches of format v2 (KIP-98): headers, checksums, and damage ----------------------------------------------

# The batches of a metadata log are never compressed: only its leader writes them, and it has no setting for compression
# (KafkaRaftClient, RecordsSnapshotWriter).

HEADER_BYTES = 61
LENGTH_AT = 12
"""Number of bytes at the beginning of a batch that its length field does not count: the base offset and the length
itself.
"""

LEAST_LENGTH = HEADER_BYTES - LENGTH_AT

CRC_FROM = 21
MAGIC_AT = 16
MAGIC = 2
COMPRESSION = 0x07
CONTROL = 0x20
MOST_BYTES = 128 << 20
"""Maximum size of a batch in bytes."""

_unpack_header = struct.Struct(">qiiBIhiqq14xi").unpack_from


class Header(NamedTuple):
    """The header of a batch. Timestamps are in milliseconds since 1970."""

    base_offset: int
    length: int
    """The number of bytes after the first twelve."""
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_delta: int
    base_ts: int
    max_ts: int
    records: int


def is_whole(data: bytes | memoryview, at: int, end: int, crc: int) -> bool:
    """Return whether the batch in ``data[at:end]`` has the checksum `crc`, which its header holds."""
    return bool(crc32c(memoryview(data)[at + CRC_FROM : end]) == crc)


def header_at(data: bytes, at: int) -> Header | None:
    """Return the header at a position; None if it is incomplete."""
    return Header._make(_unpack_header(data, at)) if at + HEADER_BYTES <= len(data) else None


# -- the batches of a file, and damage between them ------------------------------------------------------------------

WINDOW = 8 << 20
"""Number of bytes of a file that are in memory at once; a batch with more bytes is in memory as a whole."""

_SHORT = "the file ends within it"
_LENGTH = "wrong length"
_HEADER = "no batch header"
_CHECKSUM = "wrong checksum"
_COMPRESSED = "compressed, as no batch of a metadata log is"


class Batch(NamedTuple):
    """A whole batch: the position of its first byte in the file (`at`) and of the byte after its last one (`end`), and
    its first and last offset.
    """

    at: int
    end: int
    first: int
    last: int
    is_control: bool


@dataclass(frozen=True)
class Window:
    """Consecutive whole batches of a file."""

    at: int
    data: bytes
    """The bytes of the file from `at` on, which contain all of `batches`."""
    batches: list[Batch]

    def of(self, batch: Batch) -> bytes:
        """Return the bytes of a batch in the window."""
        return self.data[batch.at - self.at : batch.end - self.at]


@dataclass(frozen=True)
class Damage:
    """Bytes of a file, from the position `at`, that are not a batch."""

    at: int
    data: bytes
    offset: int
    """The lowest possible offset of the missing record."""
    reason: str | None
    """The reason; None if the file ends within its last batch, as it does during a write. `data` is then the header of
    that batch.
    """


def walk(file: BinaryIO, first_offset: int) -> Iterator[Window | Damage]:
    """Yield the whole batches and the damaged bytes of a file, in order. first_offset: the offset of the file's first
    batch.

    The checksum of a batch covers neither its offset nor its epoch. But the log has no gaps and epochs never decrease,
    so a batch counts as whole only if both fit the batches around it.
    """
    return _Walk(file, first_offset).parts()


class _Walk:
    def __init__(self, file: BinaryIO, first_offset: int) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        self._expected = first_offset
        self._epoch = -(1 << 31)
        self._is_certain = True  # whether `_expected` is the exact next offset, or only the least possible one

    def parts(self) -> Iterator[Window | Damage]:
        at = 0
        while at < self._size:
            window, reason = self._window(at)
            if window.batches:
                yield window
                at = window.batches[-1].end
            if reason is None:
                continue
            found = self._next(at)
            if found is None and reason == _SHORT:
                yield Damage(at, self._read(at, HEADER_BYTES), self._expected, None)
                return
            end = self._size if found is None else found
            yield Damage(
                at, self._read(at, min(end - at, WINDOW)), self._expected, _LENGTH if reason == _SHORT else reason
            )
            self._is_certain = False
            at = end

    def _window(self, start: int) -> tuple[Window, str | None]:
        """Return the whole batches from a position on, at most about `WINDOW` bytes of them; and the reason if the
        next batch is damaged, else None.
        """
        data = self._read(start, WINDOW)
        batches: list[Batch] = []
        at, left = 0, self._size - start
        head = header_at(data, 0)
        while at < left:
            if head is None:
                return Window(start, data, batches), _SHORT if len(data) >= left else None
            end = at + LENGTH_AT + head.length
            if not any(head) or end > left >= end - MOST_BYTES:
                return Window(start, data, batches), _SHORT
            if not _is_plausible(head):
                return Window(start, data, batches), _HEADER
            if end + HEADER_BYTES > len(data) and len(data) < left:
                if batches:
                    break
                data = self._read(start, end + HEADER_BYTES)
            following = header_at(data, end)
            reason = self._misfit(head, following)
            if not is_whole(data, at, end, head.crc):
                reason = _CHECKSUM
            elif head.attributes & COMPRESSION:
                reason = _COMPRESSED
            if reason is not None:
                return Window(start, data, batches), reason
            last = head.base_offset + head.last_delta
            batches.append(Batch(start + at, start + end, head.base_offset, last, head.attributes & CONTROL != 0))
            self._expected, self._epoch, self._is_certain = last + 1, head.leader_epoch, True
            at, head = end, following
        return Window(start, data, batches), None

    def _misfit(self, head: Header, following: Header | None) -> str | None:
        """Return a reason if the header fields that no checksum covers do not fit the batches around this one; None if
        they fit.
        """
        base, epoch = head.base_offset, head.leader_epoch
        if base < self._expected or (self._is_certain and base > self._expected) or head.last_delta < 0:
            return f"offset {base} instead of {self._expected}"
        if epoch < self._epoch:
            return f"epoch {epoch} after epoch {self._epoch}"
        if following is not None and self._epoch <= following.leader_epoch < epoch and _is_plausible(following):
            return f"epoch {epoch} before epoch {following.leader_epoch}"
        return None

    def _next(self, at: int) -> int | None:
        """Return the position of the next whole batch after a damaged one: by the damaged batch's length field, or by a
        search. None if there is no further batch, or if the file ends within the damaged header.
        """
        head = self._header(at)
        if head is None:
            return None
        behind = at + LENGTH_AT + head.length
        if behind > at and self._may_follow(behind, at):
            return behind
        start = at + 1
        while start + HEADER_BYTES <= self._size:
            data = self._read(start, WINDOW)
            magic = data.find(MAGIC, MAGIC_AT)
            while magic >= 0:
                found = start + magic - MAGIC_AT
                if (next_ := self._may_follow(found, at)) and self._is_whole(found, next_):
                    return found
                magic = data.find(MAGIC, magic + 1)
            start += max(len(data) - MAGIC_AT, 1)
        return None

    def _may_follow(self, found: int, damaged: int) -> Header | None:
        """Return the header at the position `found`; None if the bytes there are not a header that may follow the
        damaged batch. A header may follow if its offset leaves no more records missing than there are bytes in
        between, since each record takes at least one byte.
        """
        head = self._header(found)
        fits = head is not None and _is_plausible(head) and 0 <= head.base_offset - self._expected <= found - damaged
        return head if fits else None

    def _is_whole(self, at: int, head: Header) -> bool:
        size = LENGTH_AT + head.length
        return at + size <= self._size and is_whole(self._read(at, size), 0, size, head.crc)

    def _header(self, at: int) -> Header | None:
        return header_at(self._read(at, HEADER_BYTES), 0)

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)


def _is_plausible(head: Header) -> bool:
    return head.magic == MAGIC and LEAST_LENGTH <= head.length <= MOST_BYTES


_FOOTER = slice(HEADER_BYTES + 7, HEADER_BYTES + 9)
"""The bytes of a control batch that hold the number of the record's type. Before them are five fields of one byte
each, and the version with which the record's key begins.
"""
_SNAPSHOT_FOOTER = b"\0\4"


# -- decoding of whole batches into Arrow batches of rows, by the schemas that Kafka ships -----------------------------

# Each version of a record has one reader, which is composed of the readers of its fields.


@cache
def known_schemas() -> Mapping[tuple[int, int], RecordSchema]:
    """Return (number, version) -> the schema, for every version of every record type that the newest known release
    or an older one has.
    """
    # Use pkgutil, as executors import this module from a zip. `tests/support/record_metadata_schemas.py` writes the
    # data.
    return schemas_of(json.loads(pkgutil.get_data(__package__, "kraft_records.json") or ""))


# -- records, without secrets ------------------------------------------------------------------------------------------

HIDDEN_FIELDS = {"ConfigRecord": ("value",), "UserScramCredentialRecord": ("salt", "storedKey", "serverKey")}
"""Record type -> its secret fields; a config's value counts as secret only if its name is sensitive. Delegation tokens
need no entry: the log has only their ids, which authenticate no one without the brokers' own secret.
"""
_encode = msgspec.json.Encoder().encode


@cache
def _readers() -> Mapping[bytes, tuple[RecordSchema, Read]]:
    """Return the reader of each version of a record, by the record's first bytes."""
    schemas = known_schemas().values()
    return {bytes((FRAME_VERSION, each.api_key, each.version)): (each, each.reader()) for each in schemas}


def _decoded(schema: RecordSchema, read: Read, data: bytes) -> tuple[bytes, list[str]]:
    """Return a record's fields as a JSON object, with bytes in base64; and the secrets that `HIDDEN` replaces in it.
    Raises MalformedRecordError: the last field ends before or after the record's end.
    """
    fields, end = read(data, 0)
    if end != len(data):  # don't return a cut value: it may be the beginning of a secret
        raise MalformedRecordError(f"its fields end at byte {end}, the record at byte {len(data)}")
    hidden = []
    for name in HIDDEN_FIELDS.get(schema.name, ()):
        is_open = name == "value" and not is_secret(CONFIG_TYPES.get(fields["resourceType"], ""), fields["name"])
        if fields[name] is not None and not is_open:
            hidden.append(fields[name])
            fields[name] = HIDDEN
    return _encode(fields), hidden


# -- rows -------------------------------------------------------------------------------------------------------------

ROWS = 1 << 15
"""Approximate number of rows in an Arrow batch."""

ROW_SCHEMA: pa.Schema = pa.schema([arrow_schema(KRAFT_RECORD).field(name) for name in RECORD_COLUMNS])
"""The columns of `kraft_record` whose values follow from a record's bytes and position."""

FRAME_VERSION = 1
_MOST_MS = 1 << 50


class ChangedWhileReadError(RuntimeError):
    """The file was changed or deleted between the planning and the read."""


@dataclass(frozen=True)
class Origin:
    """The place of bytes: their cluster, file and position."""

    cluster_id: str
    path: str
    """The path of a file; for fetched bytes, a name that replaces the path."""
    snapshot_end: int | None = None
    """The end offset of the snapshot; None if the bytes are from the log."""
    byte_pos: int = 0
    """The position of the bytes in the file."""


class Trouble(NamedTuple):
    """An unreadable part of a file: `redact.Damaged`, with its cluster and file."""

    cluster_id: str
    file: str
    byte_pos: int
    reason: str
    sha256: str
    sample: str

    @staticmethod
    def of(cluster_id: str, file: str, byte_pos: int, reason: str, data: bytes) -> Trouble:
        """Return the description of unreadable bytes at a position. It keeps only a mask and a hash of the bytes, which
        may hold secrets.
        """
        return Trouble(cluster_id, file, *Damaged.of(byte_pos, data, reason))


Report = Callable[[Trouble], None]
Range = tuple[int, int]
"""A range of offsets: the first and the last, both included."""


class Decoder:
    """A decoder of batches into rows.

    Unreadable records become rows of the type ``UNKNOWN(n)`` with the payload ``{}``; n is -1 if the type itself is
    unreadable, as for the rest of a damaged batch.

    Attributes:
        key: the key of the HMAC of secrets; None to leave `value_hmac` empty.
        report: a function that is called with each unreadable record; for records of a type or version that no known
            release has, only with the first one in a file.
    """

    def __init__(self, key: bytes | None, report: Report) -> None:
        self._report = report
        self._payloads: list[bytes] = []
        self._codes: list[int] = []
        self._offsets: list[int] = []
        self._stamps: list[int] = []
        self._epochs: list[int] = []
        self._key = key
        self._hmacs: dict[int, str] = {}
        self._newer_told: set[tuple[str, int, int]] = set()
        self._types: dict[tuple[str, int, int], int] = {}
        self._heads = {
            head: (self._code(each.name, each.api_key, each.version), each, read)
            for head, (each, read) in _readers().items()
        }

    def rows(self, data: bytes, origin: Origin, dropped: Sequence[Range] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the rows of consecutive whole batches. dropped: ranges of offsets whose records are not read.

        Raises ChangedWhileReadError if a batch is not whole.
        """
        at, size = 0, len(data)
        while at < size:
            header = header_at(data, at)
            end = size + 1 if header is None else at + LENGTH_AT + header.length
            if header is None or header.length < LEAST_LENGTH or end > size or not is_whole(data, at, end, header.crc):
                raise ChangedWhileReadError(
                    f"{origin.path}: the batch at byte {origin.byte_pos + at} changed while it was read: the broker "
                    "truncated its log, or the file was overwritten. Nothing of it was ingested; run it again"
                )
            if not header.attributes & CONTROL:
                self._batch(data, at + HEADER_BYTES, end, header, origin, at)
                self._epochs += [header.leader_epoch] * (len(self._payloads) - len(self._epochs))
                if len(self._payloads) >= ROWS:
                    yield self._flush(origin, dropped)
            at = end
        if self._payloads:
            yield self._flush(origin, dropped)

    def _batch(self, d: bytes, p: int, end: int, header: Header, origin: Origin, batch_at: int) -> None:
        """Add the records in the bytes of `d` from `p` to `end` (excluded) to the rows. A damaged record, and the
        rest of a damaged batch, becomes one row without content.
        """
        heads = self._heads
        base, last_delta = header.base_offset, header.last_delta
        # Replace a timestamp out of the column's range by Kafka's unknown time, -1.
        stamp = header.base_ts if -1 <= header.base_ts < _MOST_MS else -1
        payloads, codes, offsets, stamps = self._payloads, self._codes, self._offsets, self._stamps
        count = header.records
        try:
            while count:
                count -= 1
                size, p = uvarint(d, p)
                stop = p + (size >> 1)
                later, p = uvarint(d, p + 1)
                delta, p = uvarint(d, p)
                key, p = uvarint(d, p)
                value, p = uvarint(d, p + (key >> 1))
                value_end = p + (value >> 1)
                if later > _MOST_MS:
                    raise MalformedRecordError("invalid time of a record")
                if value_end >= stop or stop > end or delta >> 1 > last_delta:
                    raise MalformedRecordError("a record's length or offset does not fit its batch")
                offsets.append(base + (delta >> 1))
                stamps.append(stamp + ((later >> 1) ^ -(later & 1)))
                head = heads.get(d[p : p + 3])
                try:
                    if head is None:
                        raise MalformedRecordError(_newer(d, p, value_end))
                    code, schema, read = head
                    payload, hidden = _decoded(schema, read, d[p + 3 : value_end])
                    if hidden and self._key is not None:
                        self._hmacs[len(payloads)] = hmac_hex(self._key, ":".join(hidden))
                    payloads.append(payload)
                    codes.append(code)
                except MalformedRecordError as reason:
                    self._unreadable(d, p, value_end, origin, batch_at, str(reason))
                except (IndexError, OverflowError, struct.error):
                    self._unreadable(d, p, value_end, origin, batch_at, "its fields run over its end")
                p = stop
            if p != end:
                raise MalformedRecordError("bytes after the last record")
        except (MalformedRecordError, IndexError) as reason:
            # The records before the damage became rows; the rest of the batch becomes one row.
            self._tell(origin, batch_at, f"batch at offset {base}: {reason}", d[p:end])
            offsets.append(min(base + header.records - count - 1, base + last_delta))
            stamps.append(stamp)
            self._nothing_of(-1, -1)

    def _unreadable(self, d: bytes, p: int, end: int, origin: Origin, batch_at: int, reason: str) -> None:
        """Add a row without content for an unreadable record, and report the record; if no known release has its type
        or version, report only the first such record in a file.
        """
        try:
            api_key, version = _type(d, p, end)
        except (MalformedRecordError, IndexError):
            api_key = version = -1
        # Replace numbers that do not fit the column: they are no types or versions of records.
        api_key, version = (each if each < 1 << 15 else -1 for each in (api_key, version))
        newer = (origin.path, api_key, version)
        if newer not in self._newer_told:
            self._tell(origin, batch_at, f"record at offset {self._offsets[-1]}: {reason}", d[p:end])
        if (api_key, version) not in known_schemas():
            self._newer_told.add(newer)
        self._nothing_of(api_key, version)

    def _nothing_of(self, api_key: int, version: int) -> None:
        self._payloads.append(b"{}")
        self._codes.append(self._code(f"UNKNOWN({api_key})", api_key, version))

    def _tell(self, origin: Origin, at: int, reason: str, data: bytes) -> None:
        self._report(Trouble.of(origin.cluster_id, origin.path, origin.byte_pos + at, reason, data))

    def _code(self, name: str, api_key: int, version: int) -> int:
        return self._types.setdefault((name, api_key, version), len(self._types))

    def _flush(self, origin: Origin, dropped: Sequence[Range]) -> pa.RecordBatch:
        rows = len(self._payloads)
        names, keys, versions = zip(*self._types, strict=True)
        codes = pa.array(self._codes, pa.int32())
        offsets = pa.array(self._offsets, pa.int64())
        in_snapshot = origin.snapshot_end is not None
        stamps = pa.array(self._stamps, pa.int64()).cast(pa.timestamp("ms", "UTC"))
        columns = [
            pa.repeat(origin.cluster_id, rows),
            pa.repeat(pa.scalar(origin.snapshot_end, pa.int64()), rows) if in_snapshot else offsets,
            offsets.cast(pa.int32()) if in_snapshot else pa.repeat(pa.scalar(0, pa.int32()), rows),
            pa.repeat(in_snapshot, rows),
            pa.array(self._epochs, pa.int32()),
            stamps.cast(pa.timestamp("us", "UTC"), safe=False),
            pa.array(names, pa.string()).take(codes),
            pa.array(keys, pa.int32()).take(codes),
            pa.array(versions, pa.int32()).take(codes),
            pa.array(self._payloads, pa.string()),
            pa.array(map(self._hmacs.get, range(rows)), pa.string()),
            pa.repeat(origin.path.rpartition("/")[2], rows),
        ]
        made = pa.RecordBatch.from_arrays(columns, schema=ROW_SCHEMA)
        if dropped:
            kept = (not any(first <= offset <= last for first, last in dropped) for offset in self._offsets)
            made = made.filter(pa.array(kept, pa.bool_()))
        for column in (self._payloads, self._codes, self._offsets, self._stamps, self._epochs):
            column.clear()
        self._hmacs.clear()
        return made


def _newer(d: bytes, p: int, end: int) -> str:
    """Return the message for a record whose type or version no known release has."""
    api_key, version = _type(d, p, end)
    name = next((schema.name for known, schema in known_schemas().items() if known[0] == api_key), None)
    form = f"version {version} of {name}" if name else f"record type {api_key} (version {version})"
    return f"{form} is newer than this release of kac; only the first is reported"


def _type(d: bytes, p: int, end: int) -> tuple[int, int]:
    """Return the number and version of a record's type. Raises MalformedRecordError: the frame's version is unknown, or
    the record ends before its fields.
    """
    frame, at = uvarint(d, p)
    if frame != FRAME_VERSION:
        raise MalformedRecordError(f"unknown frame version {frame}")
    api_key, at = uvarint(d, at)
    version, at = uvarint(d, at)
    if at > end:
        raise MalformedRecordError("it ends before its fields")
    return api_key, version
