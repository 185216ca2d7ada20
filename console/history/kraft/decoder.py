"""Decodes whole batches of the metadata log into Arrow batches of rows."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from console.history.kraft.batches import CONTROL, HEADER_BYTES, LEAST_LENGTH, LENGTH_AT, Header, header_at, is_whole
from console.history.kraft.schemas import Decode, MalformedRecordError, decoders, known_schemas, uvarint
from console.history.redact import hmac_hex, mask
from console.history.schema import KRAFT_RECORD, RECORD_COLUMNS, arrow_schema

ROWS = 1 << 15
"""Approximate rows in an Arrow batch."""

ROW_SCHEMA: pa.Schema = pa.schema([arrow_schema(KRAFT_RECORD).field(name) for name in RECORD_COLUMNS])
"""The columns of `kraft_record` that follow from a record's bytes."""

FRAME_VERSION = 1
_MOST_MS = 1 << 50


class ChangedWhileReadError(RuntimeError):
    """The file has changed since the read was planned."""


@dataclass(frozen=True)
class Origin:
    """Where bytes are from. path: of a file, or a name in its place. snapshot_end: the offset that a snapshot ends
    at, None for the log. byte_pos: where in the file the bytes begin."""

    cluster_id: str
    path: str
    snapshot_end: int | None = None
    byte_pos: int = 0


@dataclass(frozen=True)
class Trouble:
    """Unreadable data, as a row of the table `quarantine` without its run."""

    cluster_id: str
    file: str
    byte_pos: int
    reason: str
    sha256: str
    sample: str

    @staticmethod
    def of(cluster_id: str, file: str, byte_pos: int, reason: str, data: bytes) -> Trouble:
        """data: the unreadable bytes; only their mask and their hash are kept."""
        sample = mask(data[:200].decode("latin-1"))
        return Trouble(cluster_id, file, byte_pos, reason, hashlib.sha256(data).hexdigest(), sample)


Report = Callable[[Trouble], None]
Range = tuple[int, int]
"""Offsets, both ends included."""


class Decoder:
    """Makes rows of batches. key: for the HMAC of secrets; None leaves `value_hmac` empty. report: called for
    unreadable records; of a file's records of a newer version only for the first. They become rows of the type
    ``UNKNOWN(n)`` with the payload ``{}``; n is -1 if not even the type can be read, as for the rest of a batch."""

    def __init__(self, key: bytes | None, report: Report) -> None:
        self._report = report
        self._payloads: list[str] = []
        self._codes: list[int] = []
        self._offsets: list[int] = []
        self._stamps: list[int] = []
        self._epochs: list[int] = []
        self._key = key
        self._hidden: list[str] = []
        self._hmacs: dict[int, str] = {}
        self._newer_told: set[tuple[str, int, int]] = set()
        self._types: dict[tuple[str, int, int], int] = {}
        self._heads: dict[bytes, tuple[int, Decode]] = {
            bytes((FRAME_VERSION, each.api_key, each.version)): (
                self._code(each.name, each.api_key, each.version),
                decode,
            )
            for each, decode in decoders(self._hidden)
        }

    def rows(self, data: bytes, origin: Origin, dropped: Sequence[Range] = ()) -> Iterator[pa.RecordBatch]:
        """The rows of whole batches that follow one another. dropped: offsets that are left out.

        Raises ChangedWhileReadError if they are not whole.
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
        """Decodes records between two bytes; short names and no calls, since this runs for every record."""
        heads, hidden = self._heads, self._hidden
        base, last_delta = header.base_offset, header.last_delta
        # A time that no column can hold is Kafka's unknown time.
        stamp = header.base_ts if -1 <= header.base_ts < _MOST_MS else -1
        payloads, codes, offsets, stamps = self._payloads, self._codes, self._offsets, self._stamps
        count = header.records
        try:
            while count:
                count -= 1
                size = d[p]
                if size < 128:
                    p += 1
                else:
                    size, p = uvarint(d, p)
                stop = p + (size >> 1)
                later = d[p + 1]
                if later < 128:
                    p += 2
                else:
                    later, p = uvarint(d, p + 1)
                    if later > _MOST_MS:
                        raise MalformedRecordError("invalid time of a record")
                delta = d[p]
                if delta < 128:
                    p += 1
                else:
                    delta, p = uvarint(d, p)
                if d[p] == 1:  # no key, as always in this log
                    p += 1
                else:
                    key, p = uvarint(d, p)
                    p += key >> 1
                value = d[p]
                if value < 128:
                    p += 1
                else:
                    value, p = uvarint(d, p)
                value_end = p + (value >> 1)
                if value_end >= stop or stop > end or delta >> 1 > last_delta:
                    raise MalformedRecordError("a record's length or offset does not fit its batch")
                offsets.append(base + (delta >> 1))
                stamps.append(stamp + ((later >> 1) ^ -(later & 1)))
                head = heads.get(d[p : p + 3])
                try:
                    if head is None:
                        raise MalformedRecordError(_newer(d, p, value_end))
                    payload = head[1](d, p + 3, value_end)
                    if hidden:
                        self._note_hidden()
                    payloads.append(payload)
                    codes.append(head[0])
                except MalformedRecordError as reason:
                    self._unreadable(d, p, value_end, origin, batch_at, str(reason))
                except (IndexError, struct.error):
                    self._unreadable(d, p, value_end, origin, batch_at, "its fields run over its end")
                p = stop
            if p != end:
                raise MalformedRecordError("bytes after the last record")
        except (MalformedRecordError, IndexError) as reason:
            # The records before it became rows; the rest becomes one.
            self._tell(origin, batch_at, f"batch at offset {base}: {reason}", d[p:end])
            offsets.append(min(base + header.records - count - 1, base + last_delta))
            stamps.append(stamp)
            self._nothing_of(-1, -1)

    def _note_hidden(self) -> None:
        """Keeps the HMAC of what was hidden of the next row; of several secrets that of all, joined by colons."""
        if self._key is not None:
            self._hmacs[len(self._payloads)] = hmac_hex(self._key, ":".join(self._hidden))
        self._hidden.clear()

    def _unreadable(self, d: bytes, p: int, end: int, origin: Origin, batch_at: int, reason: str) -> None:
        """Adds a row that only reports that a record was there."""
        self._hidden.clear()
        try:
            api_key, version = _type(d, p, end)
        except (MalformedRecordError, IndexError):
            api_key = version = -1
        # A number that does not fit the column is no type.
        api_key, version = (each if each < 1 << 15 else -1 for each in (api_key, version))
        newer = (origin.path, api_key, version)
        if newer not in self._newer_told:
            self._tell(origin, batch_at, f"record at offset {self._offsets[-1]}: {reason}", d[p:end])
        if (api_key, version) not in known_schemas():
            self._newer_told.add(newer)
        self._nothing_of(api_key, version)

    def _nothing_of(self, api_key: int, version: int) -> None:
        self._payloads.append("{}")
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
    """What is said of a record whose type or version is in no known release."""
    api_key, version = _type(d, p, end)
    name = next((schema.name for known, schema in known_schemas().items() if known[0] == api_key), None)
    form = f"version {version} of {name}" if name else f"record type {api_key} (version {version})"
    return f"{form} is newer than this release of kac; only the first is reported"


def _type(d: bytes, p: int, end: int) -> tuple[int, int]:
    """The number and version of the type of a record's value."""
    frame, at = uvarint(d, p)
    if frame != FRAME_VERSION:
        raise MalformedRecordError(f"unknown frame version {frame}")
    api_key, at = uvarint(d, at)
    version, at = uvarint(d, at)
    if at > end:
        raise MalformedRecordError("it ends before its fields")
    return api_key, version
