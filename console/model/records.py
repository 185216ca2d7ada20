"""Searches for records of topics: where a search begins and ends, the records that it finds, the parts that it can't
decode, and its progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from console.model.failure import Failure

DEFAULT_COUNT = 10
"""The number of records that a statement without a start returns."""

NO_TIMESTAMP = -1


class BatchFacts(Struct, frozen=True):
    """The properties that all records of a batch share."""

    base_offset: int
    leader_epoch: int = -1
    """The leader epoch of the partition; -1 if the batch has none."""
    producer_id: int = -1
    """The id of the producer; -1 if the batch has none."""
    producer_epoch: int = -1
    """The epoch of the producer; -1 if the batch has none."""
    base_sequence: int = -1
    """The producer's sequence number of the first record; -1 if the batch has none."""
    codec: str = "none"
    """The compression: ``none``, ``gzip``, ``snappy``, ``lz4`` or ``zstd``."""
    append_time: bool = False
    """Whether the timestamps are the broker's (LogAppendTime)."""
    transactional: bool = False
    magic: int = 2
    """The version of the batch format (magic byte)."""
    size: int = 0
    """The size in bytes, as max.message.bytes limits it; 0 for a message in a format before batches."""
    claimed: int = 1
    """The number of records according to the batch header."""


Header = tuple[bytes, bytes | None]
"""The key and value of a record's header, as they were sent."""


class Encoding(Struct, frozen=True):
    """How a key or a value was decoded."""

    form: str
    """The encoding: ``avro``, ``protobuf``, ``json``, ``kafka`` (a record of Kafka's own), ``number`` or ``command``;
    ``""`` if it was not decoded."""
    schema: str
    """The schema: subject, version and id in a registry, or another name."""
    size: int
    """The number of bytes before decoding."""
    why: str = ""
    """The reason why the contents were not decoded; ``""`` if they were."""
    sent: bytes | None = None
    """The bytes before decoding; None if they may not be shown, or were not decoded."""
    note: str = ""
    """A remark on the schema of a decoded value; ``""`` if there is none."""


class Record(Struct, frozen=True, repr_omit_defaults=True):
    """One record. Its repr leaves out the contents, so that none get into logs."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970; `NO_TIMESTAMP` if the record has none."""
    key: bytes | None
    """The key; None for null."""
    value: bytes | None
    """The value; None for null, which deletes the key in a compacted topic."""
    headers: tuple[Header, ...]
    batch: BatchFacts
    key_encoding: Encoding | None = None
    """How the key was decoded by a schema, a rule or a program; None if none of these applies to the key. If it was
    decoded, `key` is the resulting JSON.
    """
    value_encoding: Encoding | None = None
    """How the value was decoded, like `key_encoding`; if it was decoded, `value` is the resulting JSON."""

    @property
    def sequence(self) -> int:
        """The sequence number of an idempotent producer; -1 if the record has none."""
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
    """Sums over the newest batches of some partitions of a topic, which show how producers wrote lately. All 0 if
    nothing was read.
    """

    largest: int = 0
    """The size in bytes of the largest batch, as max.message.bytes limits it."""
    records: int = 0
    keyless: int = 0
    """The number of records without a key."""


class Undecodable(NamedTuple):
    """A range of offsets, first and last included, whose records can't be decoded, and the reason."""

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
    """A start of a search: it returns the newest records that match the filter."""

    count: int = DEFAULT_COUNT
    before: Mapping[Place, int] | None = None
    """Partition -> the offset before which the search looks for records; the record at this offset is excluded. None
    for the end of the log.
    """


class First(Struct, frozen=True, tag=True):
    """A start of a search: the first offset of each partition."""


class FromEnd(Struct, frozen=True, tag=True):
    """A start of a search: the end of the log, so that it finds only records that are written after its start."""


class FromOffset(Struct, frozen=True, tag=True):
    """A start of a search: one offset for every partition."""

    offset: int


class FromOffsets(Struct, frozen=True, tag=True):
    """A start of a search: an offset for each partition, to continue a search; partitions without an offset are not
    searched.
    """

    offsets: Mapping[Place, int]


class FromTime(Struct, frozen=True, tag=True):
    """A start of a search: the first record at or after a time, ms since 1970."""

    timestamp: int


class OfGroup(Struct, frozen=True, tag=True):
    """A start of a search: the offset that a group committed in each partition, which is the next one that the group
    reads.
    """

    group: str


Start = Last | First | FromEnd | FromOffset | FromOffsets | FromTime | OfGroup


class ToOffset(Struct, frozen=True, tag=True):
    """An end of a search: the same offset in every partition; the record at this offset is excluded."""

    offset: int


class ToTime(Struct, frozen=True, tag=True):
    """An end of a search: the first record at or after a time, ms since 1970; that record is excluded."""

    timestamp: int


Until = ToOffset | ToTime


class Search(Struct, frozen=True):
    """The partitions and conditions of a search. If `follow` is False, the search ends at the end offsets that the logs
    have when it starts.
    """

    topics: tuple[str, ...]
    """Names of topics, without globs."""
    partition: int | None = None
    """The number of the partition to search in each topic; None for all partitions."""
    start: Start = Last()
    until: Until | None = None
    limit: int = 0
    """The number of found records after which the search ends; 0 for no limit. `Last` has its own number."""
    committed: bool = True
    """Whether to leave out records of open and aborted transactions (the isolation level read_committed)."""
    rate: int = 0
    """Maximum bytes of fetched batches per second; 0 for no limit."""
    follow: bool = False
    """Whether to wait for new records at the end of the log."""
    latest_by_key: bool = False
    """Whether to return only the newest record of each key in each partition."""
    sample: float = 0.0
    """The share, 0 to 1, of each partition's offsets that is searched, in evenly distributed ranges; 0 to search all.
    """


class Scanned(NamedTuple):
    """The offsets of a partition that were searched: from `first` to `next`, which is excluded."""

    topic: str
    partition: int
    first: int
    next: int
    start: int
    """The first offset of the partition's log."""
    end: int
    """The end offset of the partition's log when the search started; in a search that follows, the present end offset.
    """


class Progress(Struct, frozen=True):
    """The progress of a search, and the reason why it stopped."""

    scanned: tuple[Scanned, ...] = ()
    looked_at: int = 0
    """The number of records that the filter has seen; records of aborted transactions do not count."""
    of: int = 0
    """The number of offsets to search, as of the start of the search; a compacted log has fewer records."""
    done: int = 0
    """The number of offsets that have been searched."""
    bytes: int = 0
    """The size in bytes of the fetched batches, compressed."""
    found: int = 0
    seconds: float = 0.0
    left: float | None = None
    """The estimated seconds until the search ends; None if unknown."""
    stopped: str = ""
    """The reason why the search ended early: ``records`` for its limit, ``asked`` for a request to stop, or another
    text; ``""`` if it did not end early.
    """
    more: Start | None = None
    """The start of a search that continues this one; None if nothing is left to search."""


class Portion(NamedTuple):
    """A part of the results of a search; the records are in the order of offsets within each partition."""

    records: Sequence[Record]
    undecodable: Sequence[Undecodable]
    notes: Sequence[str]
    """Texts on differences from the request, such as deleted offsets, open transactions, or waits."""
    problems: Sequence[Failure]
    """The failures to search partitions that came up in this part of the results. The search does not continue in
    such a partition.
    """
    progress: Progress


class RecordsRead(Struct, frozen=True):
    """All results of a search."""

    search: Search
    records: Sequence[Record] = ()
    """The records, sorted by time, topic, partition and offset; by offset if all are from one partition."""
    undecodable: tuple[Undecodable, ...] = ()
    progress: Progress = Progress()
    notes: tuple[str, ...] = ()
    """Texts on differences from the request."""
    problems: tuple[Failure, ...] = ()
    """The failures of partitions that were not searched to their ends."""
