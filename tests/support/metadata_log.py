"""Writes metadata logs byte by byte: records by Kafka's schemas, batches of format v2, control batches. Also reads a
whole log.
"""

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
from crc32c import crc32c

from console.lake import kraft
from console.model.kafka_structs import Field, RecordSchema

_FIXED = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "bool": "?",
}
CONTROL, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER = 0x20, 2, 3, 4


@cache
def schema(name: str, version: int = 0) -> RecordSchema:
    return next(each for each in kraft.known_schemas().values() if (each.name, each.version) == (name, version))


def value(name: str, version: int = 0, /, **fields: Any) -> bytes:
    """Encode a record's value: frame, then fields. name, version: of the record type. fields: uuids as base64 text,
    bytes as bytes; tagged fields may be missing.
    """
    known = schema(name, version)
    return uvarint(1) + uvarint(known.api_key) + uvarint(version) + _struct(known.fields, fields)


def uvarint(number: int) -> bytes:
    """Encode an unsigned varint."""
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*made, number))


def varint(number: int) -> bytes:
    """Encode a signed number as a zigzag varint."""
    return uvarint(number << 1 if number >= 0 else (-number << 1) - 1)


def record(value: bytes, delta: int, later_ms: int = 0, key: bytes | None = None) -> bytes:
    """Encode a record of a batch. delta: its offset minus the batch's base offset. later_ms: its timestamp minus the
    batch's base timestamp. key: None for a record without a key.
    """
    keyed = varint(-1) if key is None else varint(len(key)) + key
    body = b"\0" + varint(later_ms) + varint(delta) + keyed + varint(len(value)) + value + uvarint(0)
    return varint(len(body)) + body


def batch(
    base_offset: int,
    values: Sequence[bytes],
    *,
    epoch: int = 1,
    stamp_ms: int = 1_763_600_000_000,
    attributes: int = 0,
    keys: Sequence[bytes] | None = None,
) -> bytes:
    records = b"".join(record(each, at, key=keys[at] if keys else None) for at, each in enumerate(values))
    last = len(values) - 1
    body = struct.pack(">hiqqqhii", attributes, last, stamp_ms, stamp_ms, -1, -1, -1, len(values)) + records
    head = struct.pack(">qiiBI", base_offset, len(body) + 9, epoch, 2, crc32c(body))
    return head + body


def control(base_offset: int, kind: int, *, epoch: int = 1) -> bytes:
    """Encode a control batch with one record. kind: LEADER_CHANGE, SNAPSHOT_HEADER or SNAPSHOT_FOOTER. epoch: leader
    epoch.
    """
    return batch(base_offset, [b"\0\0\0"], epoch=epoch, attributes=CONTROL, keys=[struct.pack(">hh", 0, kind)])


def _struct(fields: Sequence[Field], given: Mapping[str, Any]) -> bytes:
    placed = b"".join(_field(field, given[field.name]) for field in fields if field.tag is None)
    tagged = sorted(
        (field.tag, _field(field, given[field.name]))
        for field in fields
        if field.tag is not None and field.name in given
    )
    return placed + uvarint(len(tagged)) + b"".join(uvarint(tag) + uvarint(len(raw)) + raw for tag, raw in tagged)


def _field(field: Field, given: Any) -> bytes:
    if not field.is_array:
        return _one(field, given)
    if given is None:
        return uvarint(0)
    return uvarint(len(given) + 1) + b"".join(_one(field, each) for each in given)


def _one(field: Field, given: Any) -> bytes:
    if field.fields:
        return _struct(field.fields, given)
    if field.type == "uuid":
        return base64.urlsafe_b64decode(given + "==")
    if field.type in _FIXED:
        return struct.pack(">" + _FIXED[field.type], given)
    if given is None:
        return uvarint(0)
    raw = given.encode() if isinstance(given, str) else given
    return uvarint(len(raw) + 1) + raw


def read_log(
    folders: Iterable[str], key: bytes | None, report: kraft.Report, **options: Any
) -> tuple[kraft.LogPlan, Iterator[pa.RecordBatch]]:
    """Plan the reading of a metadata log by `plan_log` with these options. Return the plan, and an iterator that reads
    the log.

    key: the lake's key that hides values; None for no such key. report: gets each problem, damaged batches first.
    """
    plan = kraft.plan_log(folders, **options)
    for trouble in plan.troubles:
        report(trouble)
    return plan, kraft.read_splits(plan.splits, key, report)
