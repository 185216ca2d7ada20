"""Searches for records of topics: the start, the end, the records, undecodable parts, and the progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from console.model.failure import Failure

DEFAULT_COUNT = 10
"""The number of records of a statement without a start."""

NO_TIMESTAMP = -1


class BatchFacts(Struct, frozen=True):
    """The common properties of the records of a batch."""

    base_offset: int
    leader_epoch: int = -1
    """The epoch of the partition's leader; -1 without one."""
    producer_id: int = -1
    """The id of the producer; -1 without one."""
    producer_epoch: int = -1
    """The epoch of the producer; -1 without one."""
    base_sequence: int = -1
    """The producer's sequence number of the first record; -1 without one."""
    codec: str = "none"
    """The compression: ``none``, ``gzip``, ``snappy``, ``lz4`` or ``zstd``."""
    append_time: bool = False
    """Whether the broker set the timestamps (LogAppendTime)."""
    transactional: bool = False
    magic: int = 2
    """The version of the format."""
    size: int = 0
    """The size in bytes that max.message.bytes limits; 0 for a message of an old set."""
    claimed: int = 1
    """The number of records according to the header."""


Header = tuple[bytes, bytes | None]
"""The key and value of a record's header, as they were sent."""


class Encoding(Struct, frozen=True):
    """The result of decoding a key or a value."""

    form: str
    """The encoding: ``avro``, ``protobuf``, ``json``, ``kafka`` (a record of Kafka's own), ``number`` or ``command``;
    ``""`` if it was not decoded."""
    schema: str
    """The subject, version and id in a registry, or another name of the schema."""
    size: int
    """The number of original bytes."""
    why: str = ""
    """The reason why it was not decoded; ``""`` if it was."""
    sent: bytes | None = None
    """The original bytes; None if they may not be shown."""
    note: str = ""
    """A remark on the schema of a decoded value; ``""`` without one."""


class Record(Struct, frozen=True, repr_omit_defaults=True):
    """One record. Its repr has no content, so that no log gets any."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970; `NO_TIMESTAMP` without a timestamp."""
    key: bytes | None
    """The key; None for null."""
    value: bytes | None
    """The value; None for null, which deletes the key in a compacted topic."""
    headers: tuple[Header, ...]
    batch: BatchFacts
    key_encoding: Encoding | None = None
    """The result of decoding the key by a schema, a rule or a program; None if no schema, rule or program is for the
    key. If decoding succeeded, `key` is JSON."""
    value_encoding: Encoding | None = None
    """The result of decoding the value, like `key_encoding`; if decoding succeeded, `value` is JSON."""

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
    """The properties of the records that producers wrote to a topic lately, by the newest batches of some of its
    partitions. Zeros if nothing was read.
    """

    largest: int = 0
    """The bytes of the largest batch, as max.message.bytes limits them."""
    records: int = 0
    keyless: int = 0
    """The number of records without a key."""


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


# -- start positions ---------------------------------------------------------------------------------------------------


Place = tuple[str, int]
"""A topic and a partition number."""


class Last(Struct, frozen=True, tag=True):
    """A start of a search: the newest records that pass the filter."""

    count: int = DEFAULT_COUNT
    before: Mapping[Place, int] | None = None
    """The end of the search in each partition, exclusive, to read further back; None for the end of the log."""


class First(Struct, frozen=True, tag=True):
    """A start of a search: the oldest record of each partition."""


class FromEnd(Struct, frozen=True, tag=True):
    """A start of a search: the end of the log, so that it finds only records that are written later."""


class FromOffset(Struct, frozen=True, tag=True):
    """A start of a search: one offset for every partition."""

    offset: int


class FromOffsets(Struct, frozen=True, tag=True):
    """A start of a search: an offset for each partition, to continue a search; other partitions are left out."""

    offsets: Mapping[Place, int]


class FromTime(Struct, frozen=True, tag=True):
    """A start of a search: the first record at or after a time, ms since 1970."""

    timestamp: int


class OfGroup(Struct, frozen=True, tag=True):
    """A start of a search: the offsets that a group committed; the first record is the next one that it would read."""

    group: str


Start = Last | First | FromEnd | FromOffset | FromOffsets | FromTime | OfGroup


class ToOffset(Struct, frozen=True, tag=True):
    """An end of a search: an offset in every partition, which is excluded."""

    offset: int


class ToTime(Struct, frozen=True, tag=True):
    """An end of a search: the first record at or after a time, ms since 1970; that record is excluded."""

    timestamp: int


Until = ToOffset | ToTime


class Search(Struct, frozen=True):
    """The partitions and conditions of a search. Without `follow` a search ends at the ends that the logs have at its
    start.
    """

    topics: tuple[str, ...]
    """Names of topics, without globs."""
    partition: int | None = None
    """The partition of each topic; None for all."""
    start: Start = Last()
    until: Until | None = None
    limit: int = 0
    """The number of found records after which the search ends; 0 without a limit. `Last` has a number of its own."""
    committed: bool = True
    """Whether to leave out records of open and aborted transactions (isolation level read_committed)."""
    rate: int = 0
    """Maximum bytes of batches per second; 0 without a limit."""
    follow: bool = False
    """Whether to wait for new records at the end of the log."""
    latest_by_key: bool = False
    """Whether to find only the newest record of each key in a partition."""
    sample: float = 0.0
    """The share of each partition's offsets that is searched, in evenly distributed ranges; 0 for all."""


class Scanned(NamedTuple):
    """The part of a partition that was searched: `first` up to `next`, excluded."""

    topic: str
    partition: int
    first: int
    next: int
    start: int
    """The start of the partition's log."""
    end: int
    """The end of the partition's log when the search started; for a search that follows, the present end."""


class Progress(Struct, frozen=True):
    """The progress of a search, and the reason why it stopped."""

    scanned: tuple[Scanned, ...] = ()
    looked_at: int = 0
    """The number of records that the filter has seen; records of aborted transactions do not count."""
    of: int = 0
    """The number of offsets in the ranges at the start of the search: a compacted log has fewer records."""
    done: int = 0
    """The number of offsets that were read."""
    bytes: int = 0
    """The size in bytes of the batches as fetched."""
    found: int = 0
    seconds: float = 0.0
    left: float | None = None
    """The estimated seconds to the end; None if unknown."""
    stopped: str = ""
    """The reason why the search ended early: ``records`` for its limit, ``asked`` for a request to stop, or another
    text; ``""`` if it did not."""
    more: Start | None = None
    """The start of a search that continues this one; None if nothing is left."""


class Portion(NamedTuple):
    """A part of the results of a search, in the order of offsets within each partition."""

    records: Sequence[Record]
    undecodable: Sequence[Undecodable]
    notes: Sequence[str]
    """Differences from the request, such as deleted offsets, open transactions, or waits."""
    problems: Sequence[Failure]
    """The partitions whose search ends here, each with the reason."""
    progress: Progress


class RecordsRead(Struct, frozen=True):
    """The collected results of a search."""

    search: Search
    records: Sequence[Record] = ()
    """The records by time, then by topic, partition and offset; if they are of one partition, by offset."""
    undecodable: tuple[Undecodable, ...] = ()
    progress: Progress = Progress()
    notes: tuple[str, ...] = ()
    """Differences from the request."""
    problems: tuple[Failure, ...] = ()
    """The partitions that were not searched to their ends, with the reasons."""
