"""Decodes whole batches of the metadata log into Arrow batches of rows, by the schemas that Kafka ships: decoders from
bytes to JSON text are Python source, generated from the schema of each record version.

A decoder that walks a schema for each record takes several times as long. Text, uuids, arrays and, where records of a
type differ in their first fields alone, all the rest are looked up by their bytes (`Memo`). Secrets are replaced here.
"""

from __future__ import annotations

import hashlib
import json
import pkgutil
import struct
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from json.encoder import encode_basestring
from math import isfinite, isnan
from types import CodeType
from typing import Any, Generic, TypeVar

import pyarrow as pa

from console.history.entities import CONFIG_TYPES
from console.history.kraft.batches import CONTROL, HEADER_BYTES, LEAST_LENGTH, LENGTH_AT, Header, header_at, is_whole
from console.history.redact import HIDDEN, hmac_hex, is_secret, mask
from console.history.schema import KRAFT_RECORD, RECORD_COLUMNS, arrow_schema

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
    """Every version of every record type, by its number and version, of the newest release that is known. It has all
    that older ones have, too."""
    # pkgutil, since executors import this from a zip. `tests/support/record_metadata_schemas.py` writes the data.
    return schemas_of(json.loads(pkgutil.get_data(__package__, "records.json") or ""))


def schemas_of(records: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int], RecordSchema]:
    """The same of these record types. records: each as Kafka's JSON has it."""
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
    """The versions that ``2+``, ``1-3`` or ``4`` includes; None includes none."""
    if text is None:
        return range(0)
    first, _, last = text.rstrip("+").partition("-")
    return range(int(first), 1 << 15 if text.endswith("+") else int(last or first) + 1)


# -- values as JSON text, as Kafka's own JSON converters write them ---------------------------------------------------

BOOLEANS = ("false", "true")
NUMBERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
"""Kafka's whole numbers, by their letters in `struct`."""


class MalformedRecordError(ValueError):
    """The bytes do not fit the record's schema."""


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint of up to 64 bits, and where it ends. Raises MalformedRecordError, IndexError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedRecordError("a varint of more than ten bytes")


def skip_tags(data: bytes, at: int) -> int:
    """Where the tagged fields that begin here end."""
    count, at = uvarint(data, at)
    for _ in range(count):
        _, at = uvarint(data, at)
        size, at = uvarint(data, at)
        at += size
    return at


def quoted(raw: bytes) -> str:
    """UTF-8 as a JSON string; invalid bytes become U+FFFD, as in Java."""
    return encode_basestring(raw.decode("utf-8", "replace"))


def uuid(raw: bytes) -> str:
    """16 bytes as Kafka writes uuids: base64 for URLs without its padding."""
    return f'"{urlsafe_b64encode(raw).decode()[:-2]}"'


def real(number: float) -> str:
    """A float64; infinities and NaN become strings, as Jackson writes them."""
    if isfinite(number):
        return repr(number)
    return '"NaN"' if isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'


def whole_numbers(letter: str) -> Callable[[bytes], str]:
    """Returns a function that makes JSON of the bytes of an array of whole numbers."""
    width = struct.calcsize(f">{letter}")

    def made(raw: bytes) -> str:
        return f"[{','.join(map(str, struct.unpack(f'>{len(raw) // width}{letter}', raw)))}]"

    return made


def uuids(raw: bytes) -> str:
    """The bytes of an array of uuids as JSON."""
    return f"[{','.join(uuid(raw[at : at + 16]) for at in range(0, len(raw), 16))}]"


# -- decoders ---------------------------------------------------------------------------------------------------------

LIMIT = 1 << 15
_K = TypeVar("_K")
_V = TypeVar("_V")


class Memo(dict[_K, _V], Generic[_K, _V]):
    """A dict that makes missing values, and forgets all of them beyond LIMIT entries, so that memory stays flat."""

    def __init__(self, make: Callable[[_K], _V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _K) -> _V:
        made = self._make(key)
        if len(self) >= LIMIT:
            self.clear()
        self[key] = made
        return made


HIDDEN_FIELDS: dict[str, dict[str, str]] = {
    "ConfigRecord": {"value": "is_secret[{resourceType}, {name}]"},
    "UserScramCredentialRecord": {"salt": "True", "storedKey": "True", "serverKey": "True"},
}
"""By record and field, the condition under which the field is hidden; {…} is a field before it. Of delegation tokens
the log has only ids, which authenticate no one without the brokers' own secret."""

Decode = Callable[[bytes, int, int], str]
"""Gets bytes and where in them a record's fields begin and end; returns them as a JSON object. Raises
MalformedRecordError, IndexError, struct.error."""

_FIXED = NUMBERS | {"bool": "?", "float64": "d", "uuid": "16s"}
_SHOWN = {"bool": "BOOLEANS[{}]", "uuid": "uuid[{}]", "float64": "real({})"}
"""The JSON of values of a fixed size that are not written as they are."""
_SIZED = {
    "string": ("{}.decode('utf-8', 'replace')", "text[{}]"),
    "bytes": ("b64encode({}).decode()", "'\"' + b64encode({}).decode() + '\"'"),
}
"""The text and the JSON of bytes that follow their size."""
_VARYING = {"PartitionRecord": 2, "PartitionChangeRecord": 2, "ClientQuotaRecord": 1}
"""The number of first fields that differ from record to record, where the rest recurs."""


def decoders(hidden: list[str]) -> Iterator[tuple[RecordSchema, Decode]]:
    """A decoder for each version of a record; they share their memos. hidden: gets the secrets of a record, of which
    its JSON has `HIDDEN`; bytes (SCRAM: salt, storedKey and serverKey) in base64."""

    def hide(value: str) -> str:
        hidden.append(value)
        return f'"{HIDDEN}"'

    shared: dict[str, Any] = {
        "BOOLEANS": BOOLEANS,
        "Memo": Memo,
        "Malformed": MalformedRecordError,
        "b64encode": b64encode,
        "hide": hide,
        "is_secret": Memo(_is_secret_config),
        "real": real,
        "skip_tags": skip_tags,
        "text": Memo(quoted),
        "uuid": Memo(uuid),
        "uuids": Memo(uuids),
        "uvarint": uvarint,
        **{f"{name}s": Memo(whole_numbers(letter)) for name, letter in NUMBERS.items()},
    }
    for schema in known_schemas().values():
        code, structs = _compiled(schema)
        names = shared | structs
        exec(code, names)  # noqa: S102
        yield schema, names["decode"]


def _is_secret_config(config: tuple[int, bytes]) -> bool:
    """Whether a config is secret. config: its resource's type by number, its name. Unknown names are secret."""
    type_, name = config
    return is_secret(CONFIG_TYPES.get(type_, ""), name.decode("utf-8", "replace"))


@cache
def _compiled(schema: RecordSchema) -> tuple[CodeType, dict[str, Any]]:
    """A module with the function `decode`, and the structs that it uses by their names in it."""
    placed = [field for field in schema.fields if field.tag is None]
    varying = _VARYING.get(schema.name, 0)
    writer = _Writer(HIDDEN_FIELDS.get(schema.name, {}))
    head = _joined(writer.fields(placed[:varying]))
    lines, writer.lines = writer.lines, []
    body = _joined(writer.fields(placed[varying:]))
    tags = writer.tags([field for field in schema.fields if field.tag is not None])
    writer.line("if p != e: raise Malformed(f'its fields end at byte {p}, the record at byte {e}')")
    if varying:
        lines = [
            "def decode_rest(d, p, e):",
            *writer.lines,
            f"    return f'{body and ','}{body}{{{tags}}}}}}}'",
            "rests = Memo(lambda rest: decode_rest(rest, 0, len(rest)))",
            "def decode(d, p, e):",
            *lines,
            f"    return f'{{{{{head}' + rests[d[p:e]]",
        ]
    else:
        shown = f"{body}{{{tags}}}" if body else f"{{{tags}[1:]}}"
        lines = ["def decode(d, p, e):", *writer.lines, f"    return f'{{{{{shown}}}}}'"]
    return compile("\n".join(lines), f"<{schema.name} v{schema.version}>", "exec"), writer.structs


def _joined(pieces: Sequence[tuple[str, str]]) -> str:
    return ",".join(f'"{name}":{{{value}}}' for name, value in pieces)


class _Writer:
    """Writes statements that read fields of the bytes `d` at `p`, up to `e`, into variables."""

    def __init__(self, hidden: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.structs: dict[str, Any] = {}
        self._hidden = hidden
        self._depth = 1
        self._variables = 0

    def line(self, *statements: str) -> None:
        """Adds statements."""
        self.lines += ["    " * self._depth + each for each in statements]

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        """What is added within it is the statement's block."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fields(self, fields: Sequence[Field]) -> list[tuple[str, str]]:
        """Reads fields; returns the name of each and the expression of its JSON."""
        pieces: list[tuple[str, str]] = []
        known: dict[str, str] = {}
        for is_fixed, group in groupby(fields, lambda field: field.type in _FIXED and not field.is_array):
            if is_fixed:
                pieces += self._fixed(list(group), known)
            else:
                pieces += [(field.name, self._value(field, known)) for field in group]
        return pieces

    def tags(self, fields: Sequence[Field]) -> str:
        """Reads the section of tagged fields; returns the variable with their JSON, each after a comma."""
        made, count, tag, size, end = (self._variable() for _ in range(5))
        self.line(f"{made} = ''", "if not d[p]: p += 1")
        if not fields:
            self.line("else: p = skip_tags(d, p)")
            return made
        with self._block("else:"):
            self.line(f"{count}, p = uvarint(d, p)")
            with self._block(f"while {count}:"):
                self.line("if p >= e: raise Malformed('its tagged fields run over its end')", f"{count} -= 1")
                self.line(f"{tag}, p = uvarint(d, p)", f"{size}, p = uvarint(d, p)", f"{end} = p + {size}")
                for at, field in enumerate(fields):
                    with self._block(f"{'elif' if at else 'if'} {tag} == {field.tag}:"):
                        self.line(f"{made} += f',{_joined(self.fields([field]))}'")
                self.line(f"else: p = {end}")
                self.line(f"if p != {end}: raise Malformed(f'its tag {{{tag}}} has the wrong size')")
        return made

    def _fixed(self, fields: Sequence[Field], known: dict[str, str]) -> list[tuple[str, str]]:
        """Reads consecutive fields of a fixed size with one call."""
        letters = "".join(_FIXED[field.type] for field in fields)
        reader, name = struct.Struct(f">{letters}"), f"unpack_{letters.replace('?', 't')}"
        self.structs[name] = reader.unpack_from
        variables = [self._variable() for _ in fields]
        known.update(zip((field.name for field in fields), variables, strict=True))
        self.line(f"{', '.join(variables)}, = {name}(d, p)", f"p += {reader.size}")
        shown = [_SHOWN.get(field.type, "{}").format(each) for field, each in zip(fields, variables, strict=True)]
        return list(zip((field.name for field in fields), shown, strict=True))

    def _value(self, field: Field, known: dict[str, str]) -> str:
        """Reads one field that begins with its size; returns the expression of its JSON."""
        made, size, raw = (self._variable() for _ in range(3))
        null = f"{made} = 'null'" if field.nullable else f"raise Malformed('{field.name} must not be null')"
        self.line(f"{size} = d[p]", f"if {size} < 128: p += 1", f"else: {size}, p = uvarint(d, p)")
        self.line(f"if not {size}: {null}")
        with self._block("else:"):
            if field.is_array and (field.fields or field.type not in _FIXED):
                self._array(field, made, size)
                return made
            width = struct.calcsize(f">{_FIXED[field.type]}") if field.is_array else 1
            # `p` behind the end shows that they are cut short.
            self.line(f"end = p + ({size} - 1) * {width}", f"{raw} = d[p:end]", "p = end")
            known[field.name] = raw
            if field.is_array:
                self.line(f"{made} = {field.type}s[{raw}]")
                return made
            text, shown = (each.format(raw) for each in _SIZED[field.type])
            if rule := self._hidden.get(field.name):
                # A cut value may be the beginning of a secret.
                self.line("if p > e: raise Malformed('its fields run over its end')")
                shown = f"hide({text}) if {rule.format(**known)} else {shown}"
            self.line(f"{made} = {shown}")
        return made

    def _array(self, field: Field, made: str, size: str) -> None:
        """Reads an array of structs or of strings."""
        parts = self._variable()
        self.line(f"if {size} - 1 > e - p: raise Malformed('{field.name} has more than the record can hold')")
        self.line(f"{parts} = []")
        with self._block(f"for _ in range({size} - 1):"):
            if field.fields:
                body = _joined(self.fields([each for each in field.fields if each.tag is None]))
                tags = self.tags([each for each in field.fields if each.tag is not None])
                self.line(f"{parts}.append(f'{{{{{body}{{{tags}}}}}}}')")
            else:
                self.line(f"{parts}.append({self._value(replace(field, is_array=False, nullable=False), {})})")
        self.line(f"{made} = '[' + ','.join({parts}) + ']'")

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"


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
