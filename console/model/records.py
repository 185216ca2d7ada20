"""Reads of records of topics: the start, the records, undecodable parts, and how far partitions were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from console.model.failure import Failure

MOST_RECORDS = 10_000
"""Maximum records of one response."""
MOST_SCANNED = 100_000
"""Maximum records that are decoded for one response: a filter reads more than it returns."""
MOST_BYTES = 16 << 20
"""Bytes of record batches that are fetched for one response; the batch that crosses the limit is still included."""
MOST_SECONDS = 10.0
"""Maximum seconds of one response, without the descriptions and offsets that are read before."""
DEFAULT_COUNT = 10
"""Default number of records of a response."""

NO_TIMESTAMP = -1


class BatchFacts(Struct, frozen=True):
    """The common properties of the records of a batch.

    producer_id, producer_epoch, base_sequence, leader_epoch: -1 for none. codec: ``none``, ``gzip``, ``snappy``,
    ``lz4`` or ``zstd``. append_time: whether the broker set the timestamps (LogAppendTime). magic: the format version.
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
    """The result of decoding a key or a value.

    form: ``avro``, ``protobuf``, ``json``, ``kafka`` (a record of Kafka's own), ``number`` or ``command``; ``""`` if it
    is not decoded. schema: its subject, version and id in a registry, or another name of its schema. why: the
    reason if it is not decoded. size: original bytes; sent: the original bytes, None if they may not be shown. note: a
    remark on the schema of a decoded value.
    """

    form: str
    schema: str
    size: int
    why: str = ""
    sent: bytes | None = None
    note: str = ""


class Record(Struct, frozen=True, repr_omit_defaults=True):
    """One record. timestamp: ms since 1970, `NO_TIMESTAMP` for none. key, value: None for null; a null value deletes
    the key in a compacted topic. key_encoding, value_encoding: if they refer to a schema; then they are JSON, if they
    could be decoded. The repr has no content, so that no log gets any."""

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
        """The sequence number of an idempotent producer, -1 for none."""
        if self.batch.base_sequence < 0:
            return -1
        return (self.batch.base_sequence + self.offset - self.batch.base_offset) % 2**31

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{name}: {'null' if part is None else f'{len(part)} bytes'}"
            for name, part in (("key", self.key), ("value", self.value))
        )
        return f"Record({self.topic}-{self.partition} offset {self.offset}, {sizes})"


class NewestBatches(NamedTuple):
    """What producers wrote to a topic lately, by the newest batches of some of its partitions. Zeros if nothing was
    read.
    """

    largest: int = 0
    """The bytes of the largest batch, as max.message.bytes limits them."""
    records: int = 0
    keyless: int = 0
    """How many of the records have no key."""


class Undecodable(NamedTuple):
    """Offsets, both included, whose records can't be decoded, and the reason."""

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
    """The newest records. before: partition -> the end (excluded), to read further back."""

    before: Mapping[int, int] | None = None


class First(Struct, frozen=True, tag=True):
    """The oldest records."""


class FromOffset(Struct, frozen=True, tag=True):
    """Start at an offset of the partition."""

    offset: int


class FromOffsets(Struct, frozen=True, tag=True):
    """Start at an offset of each partition, to read on."""

    offsets: Mapping[int, int]


class FromTime(Struct, frozen=True, tag=True):
    """Start at the first record at or after a time, ms since 1970."""

    timestamp: int


class OfGroup(Struct, frozen=True, tag=True):
    """Start at a group's committed offset: the first record that it has not committed."""

    group: str


Start = Last | First | FromOffset | FromOffsets | FromTime | OfGroup


class RecordsQuery(Struct, frozen=True):
    """A request for records. partition: None for all of the topic. count: 1 to MOST_RECORDS. committed: whether to
    leave out the records of transactions that are open or were aborted (read_committed)."""

    topic: str
    partition: int | None = None
    start: Start = Last()
    count: int = DEFAULT_COUNT
    committed: bool = True


class Scanned(NamedTuple):
    """The read range of a partition: `first` up to `next`, excluded. start, end: of its log."""

    partition: int
    first: int
    next: int
    start: int
    end: int


class RecordsRead(Struct, frozen=True):
    """The result of a read.

    records: by time, then partition and offset. scanned: the range that was read of each partition. scanned_records:
    number of decoded records. bytes: of batches, as fetched. stopped: the limit that ended the read (``records``,
    ``bytes``, ``time``), ``""`` for none. more: the start of the next read, None at the end of the log. notes:
    differences from the request. problems: partitions that were not read.
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
