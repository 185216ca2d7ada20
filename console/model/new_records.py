"""Records to write: their form as lines of JSON, their partitions and batches, and a hash of each, which a journal may
keep instead of the contents. Pure.

A line has the same members as one of ``kac records --output jsonl``, so that an export can be written again with
identical bytes.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Container, Iterable, Iterator
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from console.model.foreign_json import json_of
from console.model.grouping import grouped
from console.model.numbers import json_text
from console.model.partitioners import java_partition
from console.model.records import NO_TIMESTAMP, Header, Record

MOST_RECORDS = 100_000
"""Maximum number of records that one statement writes: a plan holds all of them in memory, and a line of the journal
has the hash of each.
"""
MOST_BYTES = 256 << 20
"""Maximum size in bytes of the records of one statement, and of a file with them."""
RECORDS_OF_BATCH = 1_000
BYTES_OF_BATCH = 512 << 10
"""Maximum size in bytes of one batch; a larger record is sent in a batch of its own."""
_OF_RECORD, _OF_HEADER = 32, 10
"""Maximum number of bytes in a batch for a record, and for a header, in addition to their contents: lengths and
differences."""
_HASH = 16
"""Number of characters of a record's hash."""
_LATEST_TIME = 2**63 - 1


class NewRecord(Struct, frozen=True, repr_omit_defaults=True):
    """A record to write.

    Attributes:
        key, value: the bytes of the contents; None for null.
        partition: the number of the partition; None for the one that the key determines.
        timestamp: ms since 1970; `NO_TIMESTAMP` for the time at which the record is sent.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp: int = NO_TIMESTAMP

    @property
    def size(self) -> int:
        """The bytes of key, value and headers."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers

    @property
    def most_in_batch(self) -> int:
        """The maximum bytes that the record takes in a batch without compression."""
        return self.size + _OF_RECORD + _OF_HEADER * len(self.headers)

    @property
    def hash(self) -> str:
        """A hash, in hex, of the record's key, value, headers and timestamp."""
        made = sha256()
        for part in (self.key, self.value, *(each for header in self.headers for each in header)):
            made.update(b"-" if part is None else b"%d:" % len(part))
            made.update(part or b"")
        made.update(b"@%d" % self.timestamp)
        return made.hexdigest()[:_HASH]

    def __repr__(self) -> str:
        return f"NewRecord({self.size} bytes)"


# -- JSON lines --------------------------------------------------------------------------------------------------------


class NotARecord(ValueError):
    """Raised for a line that is no record to write. The text is the reason, without the contents of the line."""


def records_of_lines(data: bytes, by_schema: Container[str] = ()) -> tuple[NewRecord, ...]:
    """Return the records of JSON lines; empty lines are ignored.

    Args:
        by_schema: the parts (``key``, ``value``) that are JSON which a schema encodes.

    Raises:
        NotARecord: a line is not a record (the text names the number of the line); or there are more than
            `MOST_RECORDS`.
    """
    made = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            made.append(record_of_line(line, by_schema))
        except NotARecord as error:
            raise NotARecord(f"line {number}: {error}") from None
        if len(made) > MOST_RECORDS:
            raise NotARecord(f"line {number}: more than {MOST_RECORDS:,} records are not written at once")
    return tuple(made)


def record_of_line(line: bytes, by_schema: Container[str] = ()) -> NewRecord:
    """Return the record of a JSON line.

    Args:
        by_schema: the parts (``key``, ``value``) that are JSON which a schema encodes.

    Raises:
        NotARecord: the line is not a JSON object, or the value is missing, or bytes of the key, value or a header can't
            be known from it: they are hidden or decoded.
    """
    try:
        data: Any = json_of(line, may_repeat=True)
    except ValueError:
        raise NotARecord("it is not JSON") from None
    if not isinstance(data, dict):
        raise NotARecord("it is no JSON object")
    if "error" in data and "last_offset" in data:
        raise NotARecord("it stands for offsets that could not be decoded")
    return NewRecord(
        _content(data, "key", by_schema="key" in by_schema, needed=False),
        _content(data, "value", by_schema="value" in by_schema, needed=True),
        _headers(data.get("headers")),
        _number(data, "partition", 2**31 - 1),
        _time(data),
    )


def _content(data: dict[str, Any], name: str, *, by_schema: bool, needed: bool) -> bytes | None:
    """Return a key or a value: the bytes to send or, if a schema encodes the part, its JSON. None for null, and for a
    missing part that is not needed.

    Args:
        data: the JSON object of a line.
        name: the part: ``key`` or ``value``.
        by_schema: whether a schema encodes the part.
        needed: whether a missing part is an error.

    Raises:
        NotARecord: the part is needed and missing, hidden or decoded, occurs in several forms, or has a wrong type.
    """
    found = [each for each in (name, *(f"{name}_{form}" for form in _FORMS)) if each in data]
    if len(found) > 1:
        raise NotARecord(f"it has {' and '.join(found)}: one of them")
    if not found:
        if f"{name}_bytes" in data:
            raise NotARecord(f"its {name} is hidden: export it with --reveal")
        if needed:
            raise NotARecord(f"it has no {name}: write null for none")
        return None
    if f"{name}_encoding" in data and not by_schema and not found[0].endswith("_hex"):
        raise NotARecord(
            f"its {name} was decoded, and its bytes are not in it: export it with --as hex, or name a schema"
        )
    value = data[found[0]]
    if by_schema:
        return _to_encode(value, found[0])
    if found[0] == name:
        if value is not None and not isinstance(value, str):
            raise NotARecord(f"its {name} is no text and not null: write {name}_json for JSON")
        return None if value is None else _encoded(value, name)
    return _FORMS[found[0].removeprefix(f"{name}_")](value, name)


def _to_encode(value: Any, name: str) -> bytes | None:
    """Return the JSON that a schema is to encode, from a member of any form, or from a text that is JSON; None for
    null. Raises NotARecord if the member's name ends with ``_hex`` or ``_base64``.
    """
    if name.endswith(("_hex", "_base64")):
        raise NotARecord(f"it has {name}, and a schema encodes JSON")
    if isinstance(value, str) and not name.endswith("_json"):
        return _encoded(value, name)
    return None if value is None else _json(value)


def _json(value: Any) -> bytes:
    return json_text(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which escapes in JSON can contain
        raise NotARecord(f"its {name} is no valid text: write {name}_base64") from None


def _by_base64(value: Any, name: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (ValueError, TypeError):
        raise NotARecord(f"its {name}_base64 is no base64") from None


def _by_hex(value: Any, name: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (ValueError, TypeError):
        raise NotARecord(f"its {name}_hex is no hex") from None


def _by_json(value: Any, _name: str) -> bytes:
    return _json(value)


_FORMS = {"base64": _by_base64, "hex": _by_hex, "json": _by_json}


def _headers(found: Any) -> tuple[Header, ...]:
    if found is None:
        return ()
    if not isinstance(found, list):
        raise NotARecord("its headers are no list")
    made = []
    for each in found:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise NotARecord("a header has no name")
        made.append((_encoded(each["name"], "header's name"), _content(each, "value", by_schema=False, needed=True)))
    return tuple(made)


def _number(data: dict[str, Any], name: str, highest: int) -> int | None:
    value = data.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= highest:
        raise NotARecord(f"its {name} is no number from 0 on")
    return value


def _time(data: dict[str, Any]) -> int:
    found = _number(data, "timestamp", _LATEST_TIME)
    return NO_TIMESTAMP if found is None else found


def of_record(record: Record) -> NewRecord:
    """Convert a record that was read into a record to write, with the same bytes, headers and timestamp; its key
    determines the partition.
    """
    return NewRecord(record.key, record.value, record.headers, None, record.timestamp)


# -- partitions and batches --------------------------------------------------------------------------------------------


def partition_of(record: NewRecord, count: int) -> int:
    """Return the number of the partition that a record goes to, in a topic with `count` partitions: the record's own
    partition, else the one that Java's partitioner chooses for the key. For a record without a key the hash of the
    value decides, so equal records go to one partition.
    """
    if record.partition is not None:
        return record.partition
    return java_partition(record.value or b"" if record.key is None else record.key, count)


def is_stray(record: NewRecord, count: int) -> bool:
    """Return whether a record with a key names another partition than the one that Java's partitioner chooses for the
    key.
    """
    return record.key is not None and partition_of(record, count) != java_partition(record.key, count)


def by_partition(records: Iterable[NewRecord], count: int) -> dict[int, list[NewRecord]]:
    """Return number of a partition -> the records that go there, in their order. count: the number of partitions of the
    topic.
    """
    return grouped((partition_of(record, count), record) for record in records)


def batched(
    records: Iterable[NewRecord], most: int = BYTES_OF_BATCH, count: int = RECORDS_OF_BATCH
) -> Iterator[list[NewRecord]]:
    """Yield the batches of a partition's records, in their order. A record of more than `most` bytes gets its own
    batch, so that a broker that refuses it refuses no other record.

    Args:
        most: maximum bytes of a batch.
        count: maximum number of records in a batch.
    """
    batch: list[NewRecord] = []
    size = 0
    for record in records:
        its = record.most_in_batch
        if batch and (size + its > most or len(batch) >= count):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += its
    if batch:
        yield batch


def in_partition(records: Iterable[NewRecord], partition: int | None) -> tuple[NewRecord, ...]:
    """Return the records with their partition set to `partition`; unchanged if `partition` is None."""
    if partition is None:
        return tuple(records)
    return tuple(replace(each, partition=partition) for each in records)
