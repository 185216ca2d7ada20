"""Decodes whole batches of the metadata log into Arrow batches of rows, by the schemas that Kafka ships: of each
version of a record a reader is made once, out of those of its fields. Secrets are replaced here.
"""

from __future__ import annotations

import json
import pkgutil
import struct
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import isfinite, isnan
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from console.pipeline.entities import CONFIG_TYPES
from console.pipeline.kraft.batches import CONTROL, HEADER_BYTES, LEAST_LENGTH, LENGTH_AT, Header, header_at, is_whole
from console.pipeline.redact import HIDDEN, Damaged, hmac_hex, is_secret
from console.pipeline.schema import KRAFT_RECORD, RECORD_COLUMNS, arrow_schema

# -- schemas ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """A field in one version of its record. name: as in Kafka's JSON. type: Kafka's name of it, of an array its
    elements' (`is_array`). tag: None for a field without one. fields: of a struct."""

    name: str
    type: str
    is_array: bool
    nullable: bool
    tag: int | None
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class RecordSchema:
    """One version of a record's schema."""

    name: str
    api_key: int
    version: int
    fields: tuple[Field, ...]


@cache
def known_schemas() -> Mapping[tuple[int, int], RecordSchema]:
    """Return every version of every record type, by its number and version, of the newest release that is known. It has
    all that older ones have, too.
    """
    # pkgutil, since executors import this from a zip. `tests/support/record_metadata_schemas.py` writes the data.
    return schemas_of(json.loads(pkgutil.get_data(__package__, "records.json") or ""))


def schemas_of(records: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int], RecordSchema]:
    """Return the schemas of these record types, by number and version. records: each as Kafka's JSON has it."""
    return {
        (record["apiKey"], version): RecordSchema(
            record["name"], record["apiKey"], version, _fields(record["fields"], version)
        )
        for record in records
        for version in _versions(record["validVersions"])
    }


def _fields(raw: Iterable[Mapping[str, Any]], version: int) -> tuple[Field, ...]:
    return tuple(
        Field(
            name=each["name"],
            type=each["type"].removeprefix("[]"),
            is_array=each["type"].startswith("[]"),
            nullable=version in _versions(each.get("nullableVersions")),
            tag=each["tag"] if version in _versions(each.get("taggedVersions")) else None,
            fields=_fields(each.get("fields", ()), version),
        )
        for each in raw
        if version in _versions(each["versions"])
    )


def _versions(text: str | None) -> range:
    """Return the versions that ``2+``, ``1-3`` or ``4`` includes; None includes none."""
    if text is None:
        return range(0)
    first, _, last = text.rstrip("+").partition("-")
    return range(int(first), 1 << 15 if text.endswith("+") else int(last or first) + 1)


# -- values, as Kafka's own JSON converters write them ----------------------------------------------------------------

NUMBERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
"""Kafka's whole numbers, by their letters in `struct`."""
_LETTERS = NUMBERS | {"bool": "?", "float64": "d", "uuid": "16s"}

Read = Callable[[bytes, int], tuple[Any, int]]
"""Gets a record's bytes and where in them a value begins; returns it, and where it ends: behind the record, if it is
cut short. Raises MalformedRecordError, IndexError, struct.error."""


class MalformedRecordError(ValueError):
    """The bytes do not fit the record's schema."""


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned varint of up to 64 bits, and where it ends. Raises MalformedRecordError, IndexError."""
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedRecordError("a varint of more than ten bytes")


def _text(raw: bytes) -> str:
    """Return bytes as text; invalid ones become U+FFFD, as in Java. Nothing is remembered: it may be a secret."""
    return raw.decode("utf-8", "replace")


@lru_cache(1 << 15)
def _uuid(raw: bytes) -> str:
    """Return 16 bytes as Kafka writes uuids: base64 for URLs without its padding."""
    return urlsafe_b64encode(raw).decode()[:-2]


def _real(number: float) -> float | str:
    """Return a float64; infinities and NaN become strings, as Jackson writes them."""
    if isfinite(number):
        return number
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


_SIZED: Mapping[str, Callable[[bytes], str]] = {"string": _text, "bytes": lambda raw: b64encode(raw).decode()}
"""What is made of bytes that follow their size."""
_SHOWN: Mapping[str, Callable[[Any], Any]] = {"uuid": _uuid, "float64": _real}
"""What is made of values of a fixed size that are not written as they are."""


def _struct(fields: Sequence[Field]) -> Read:
    """Return a function that reads a struct as a dict: its fields in order, then those with tags."""
    placed = [(field.name, _reader(field)) for field in fields if field.tag is None]
    tagged = {field.tag: (field.name, _reader(field)) for field in fields if field.tag is not None}

    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        made: dict[str, Any] = {}
        for name, value in placed:
            made[name], at = value(data, at)
        count, at = uvarint(data, at) if data[at] else (0, at + 1)
        for _ in range(count):
            tag, at = uvarint(data, at)
            size, at = uvarint(data, at)
            end = at + size
            if tag in tagged:
                name, value = tagged[tag]
                made[name], at = value(data, at)
                if at != end:
                    raise MalformedRecordError(f"its tag {tag} has the wrong size")
            at = end
        return made, at

    return read


def _reader(field: Field) -> Read:
    if not field.is_array:
        return _of_size(field) if field.type in _LETTERS else _sized(field, _SIZED[field.type])
    if field.type in NUMBERS:
        return _numbers(field)
    element = _struct(field.fields) if field.fields else _reader(replace(field, is_array=False, nullable=False))

    def read(data: bytes, at: int) -> tuple[list[Any] | None, int]:
        count, at = _size(field, data, at)
        made = []
        for _ in range(count):  # each takes a byte at least, so that too many end with the record
            value, at = element(data, at)
            made.append(value)
        return (None if count < 0 else made), at

    return read


def _of_size(field: Field) -> Read:
    """Return a function that reads a value of a fixed size."""
    form, shown = struct.Struct(f">{_LETTERS[field.type]}"), _SHOWN.get(field.type)
    unpack, size = form.unpack_from, form.size

    def read(data: bytes, at: int) -> tuple[Any, int]:
        (value,) = unpack(data, at)
        return (shown(value) if shown else value), at + size

    return read


def _sized(field: Field, shown: Callable[[bytes], str]) -> Read:
    """Return a function that reads bytes that follow their size."""

    def read(data: bytes, at: int) -> tuple[str | None, int]:
        size, at = _size(field, data, at)
        return (None, at) if size < 0 else (shown(data[at : at + size]), at + size)

    return read


def _numbers(field: Field) -> Read:
    """Return a function that reads an array of whole numbers."""
    letter, width = NUMBERS[field.type], struct.calcsize(f">{NUMBERS[field.type]}")

    def read(data: bytes, at: int) -> tuple[Sequence[int] | None, int]:
        count, at = _size(field, data, at)
        return (None, at) if count < 0 else (struct.unpack_from(f">{count}{letter}", data, at), at + count * width)

    return read


def _size(field: Field, data: bytes, at: int) -> tuple[int, int]:
    """Return how many bytes or elements follow, and where; -1: none, the value is null."""
    size, at = (data[at], at + 1) if data[at] < 0x80 else uvarint(data, at)
    if not size and not field.nullable:
        raise MalformedRecordError(f"{field.name} must not be null")
    return size - 1, at


# -- records, without secrets ------------------------------------------------------------------------------------------

HIDDEN_FIELDS = {"ConfigRecord": ("value",), "UserScramCredentialRecord": ("salt", "storedKey", "serverKey")}
"""By record, the fields that are secret; of a config, if its name is. Of delegation tokens the log has only ids, which
authenticate no one without the brokers' own secret."""
_encode = msgspec.json.Encoder().encode


@cache
def _readers() -> Mapping[bytes, tuple[RecordSchema, Read]]:
    """Return the functions that read the fields of each version of a record, by the bytes that it begins with."""
    schemas = known_schemas().values()
    return {bytes((FRAME_VERSION, each.api_key, each.version)): (each, _struct(each.fields)) for each in schemas}


def _decoded(schema: RecordSchema, read: Read, data: bytes) -> tuple[bytes, list[str]]:
    """Return a record's fields as a JSON object, bytes in base64; and the secrets in whose place it has `HIDDEN`."""
    fields, end = read(data, 0)
    if end != len(data):  # a cut value may be the beginning of a secret
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


class Trouble(NamedTuple):
    """Unreadable data: `redact.Damaged`, and where it is."""

    cluster_id: str
    file: str
    byte_pos: int
    reason: str
    sha256: str
    sample: str

    @staticmethod
    def of(cluster_id: str, file: str, byte_pos: int, reason: str, data: bytes) -> Trouble:
        """Return the trouble of unreadable bytes, of which only their mask and their hash are kept."""
        return Trouble(cluster_id, file, *Damaged.of(byte_pos, data, reason))


Report = Callable[[Trouble], None]
Range = tuple[int, int]
"""Offsets, both ends included."""


class Decoder:
    """Makes rows of batches. key: for the HMAC of secrets; None leaves `value_hmac` empty. report: called for
    unreadable records; of a file's records of a newer version only for the first. They become rows of the type
    ``UNKNOWN(n)`` with the payload ``{}``; n is -1 if not even the type can be read, as for the rest of a batch."""

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
        """Yield the rows of whole batches that follow one another. dropped: offsets that are left out.

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
        """Decode records between two bytes; short names, since this runs for every record."""
        heads = self._heads
        base, last_delta = header.base_offset, header.last_delta
        # A time that no column can hold is Kafka's unknown time.
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
            # The records before it became rows; the rest becomes one.
            self._tell(origin, batch_at, f"batch at offset {base}: {reason}", d[p:end])
            offsets.append(min(base + header.records - count - 1, base + last_delta))
            stamps.append(stamp)
            self._nothing_of(-1, -1)

    def _unreadable(self, d: bytes, p: int, end: int, origin: Origin, batch_at: int, reason: str) -> None:
        """Add a row that only reports that a record was there."""
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
    """Return the message of a record whose type or version is in no known release."""
    api_key, version = _type(d, p, end)
    name = next((schema.name for known, schema in known_schemas().items() if known[0] == api_key), None)
    form = f"version {version} of {name}" if name else f"record type {api_key} (version {version})"
    return f"{form} is newer than this release of kac; only the first is reported"


def _type(d: bytes, p: int, end: int) -> tuple[int, int]:
    """Return the number and version of the type of a record's value."""
    frame, at = uvarint(d, p)
    if frame != FRAME_VERSION:
        raise MalformedRecordError(f"unknown frame version {frame}")
    api_key, at = uvarint(d, at)
    version, at = uvarint(d, at)
    if at > end:
        raise MalformedRecordError("it ends before its fields")
    return api_key, version
