"""Records of topics as they are read: where to begin, what was found, what can't be decoded, how far they were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from console.model.failure import Failure

MOST_RECORDS = 10_000
"""Most records of one answer."""
MOST_SCANNED = 100_000
"""Most records that are decoded for one answer: a filter reads more than it returns."""
MOST_BYTES = 16 << 20
"""Bytes of record batches that are fetched for one answer; the batch that crosses the limit is still whole."""
MOST_SECONDS = 10.0
"""How long one answer may take, without the descriptions and offsets that are read before."""
DEFAULT_COUNT = 10
"""Records of an answer where nothing else is said."""

NO_TIMESTAMP = -1


class BatchFacts(Struct, frozen=True):
    """What the records of a batch have in common.

    producer_id, producer_epoch, base_sequence, leader_epoch: -1 for none. codec: ``none``, ``gzip``, ``snappy``,
    ``lz4`` or ``zstd``. append_time: the broker set the timestamps (LogAppendTime). magic: the version of the format.
    """

    base_offset: int
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    codec: str = "none"
    append_time: bool = False
    transactional: bool = False
    magic: int = 2


Header = tuple[bytes, bytes | None]
"""A record's header: its key and value as they were sent."""


class Encoding(Struct, frozen=True):
    """What a schema of a registry made of a key or a value.

    form: ``avro``, ``protobuf`` or ``json``; ``""`` where it is not decoded. schema: its subject, version and id. why:
    why it is not decoded. size: bytes as they were sent; sent: these bytes, None where they may not be shown. note:
    what is to be known of the schema although it decodes.
    """

    form: str
    schema: str
    size: int
    why: str = ""
    sent: bytes | None = None
    note: str = ""


class Record(Struct, frozen=True, repr_omit_defaults=True):
    """One record. timestamp: ms since 1970, `NO_TIMESTAMP` for none. key, value: None for null; a null value deletes
    the key in a compacted topic. key_encoding, value_encoding: where they name a schema; then they are JSON, if they
    could be decoded. Its repr has no content, so that none gets into a log."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    batch: BatchFacts
    key_encoding: Encoding | None = None
    value_encoding: Encoding | None = None

    @property
    def sequence(self) -> int:
        """Its sequence number of an idempotent producer, -1 for none."""
        if self.batch.base_sequence < 0:
            return -1
        return (self.batch.base_sequence + self.offset - self.batch.base_offset) % 2**31

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{name}: {'null' if part is None else f'{len(part)} bytes'}"
            for name, part in (("key", self.key), ("value", self.value))
        )
        return f"Record({self.topic}-{self.partition} offset {self.offset}, {sizes})"


class Undecodable(NamedTuple):
    """Offsets, both included, whose records can't be decoded, and why."""

    topic: str
    partition: int
    first: int
    last: int
    why: str

    def __str__(self) -> str:
        span = f"offset {self.first}" if self.last <= self.first else f"offset {self.first}..{self.last}"
        return f"{self.topic}-{self.partition} {span}: can't be decoded: {self.why}"


# -- where to begin ----------------------------------------------------------------------------------------------------


class Last(Struct, frozen=True, tag=True):
    """The newest records. before: partition -> where they end (excluded), for reading further back."""

    before: Mapping[int, int] | None = None


class First(Struct, frozen=True, tag=True):
    """The oldest records."""


class FromOffset(Struct, frozen=True, tag=True):
    """From an offset of the partition on."""

    offset: int


class FromOffsets(Struct, frozen=True, tag=True):
    """From an offset of each partition on, for reading further."""

    offsets: Mapping[int, int]


class FromTime(Struct, frozen=True, tag=True):
    """From the first record at or after a time on, ms since 1970."""

    timestamp: int


class OfGroup(Struct, frozen=True, tag=True):
    """From a group's committed offset on: the first record that it has not committed."""

    group: str


Start = Last | First | FromOffset | FromOffsets | FromTime | OfGroup


class RecordsQuery(Struct, frozen=True):
    """Which records. partition: None for all of the topic. count: 1 to MOST_RECORDS. committed: without the records of
    transactions that are open or were aborted (read_committed)."""

    topic: str
    partition: int | None = None
    start: Start = Last()
    count: int = DEFAULT_COUNT
    committed: bool = True


class Scanned(NamedTuple):
    """How far a partition was read: offsets `first` up to, without, `next`; its log has `start` up to `end`."""

    partition: int
    first: int
    next: int
    start: int
    end: int


class RecordsRead(Struct, frozen=True):
    """What was found.

    records: by time, then partition and offset. scanned: how far each partition was read. scanned_records: those that
    were decoded. bytes: of batches, as they were fetched. stopped: which limit ended the reading (``records``,
    ``bytes``, ``time``), ``""`` for none. more: where to read on, None at the end of the log. notes: what differs from
    what was asked for. problems: partitions that were not read.
    """

    query: RecordsQuery
    records: tuple[Record, ...] = ()
    undecodable: tuple[Undecodable, ...] = ()
    scanned: tuple[Scanned, ...] = ()
    scanned_records: int = 0
    bytes: int = 0
    stopped: str = ""
    more: Start | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[Failure, ...] = ()
