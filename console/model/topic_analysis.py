"""The analysis of a topic: counts and sketches over its records, which do not depend on the order in which partitions
are read. Pure.

Counts are exact. The number of different keys, the heaviest keys and the quantiles of sizes come from sketches of
Apache DataSketches (HyperLogLog, frequent items, KLL), which need as much memory for a billion records as for a
million. The extra `analyze` has them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from console.model.records import Progress, Record
from console.model.schemas import FRAME_BEGINS, KEY_HEADER, VALUE_HEADER, SchemaKey, framed

if TYPE_CHECKING:
    import numpy as np

HEAVIEST = 20
"""Maximum number of keys that an analysis lists as the heaviest."""
LONGEST_KEY = 1 << 10
"""Maximum size in bytes of a key that is kept completely; for a longer key, its beginning, its size and a digest are
kept.
"""
KEY_BEGINS = 64
"""Size in bytes of the beginning that is kept of a key longer than `LONGEST_KEY`."""
DISTINCT_BITS = 14
"""Binary logarithm of the number of HyperLogLog registers: they take 16 KiB, with an error of 1.6 % at a confidence of
95 %."""
FREQUENT_BITS = 14
"""Binary logarithm of the maximum number of keys in the sketch of frequent keys: a count is wrong by at most 0.022 % of
the records."""
QUANTILES_K = 400
"""Parameter k of a KLL sketch: the rank of a quantile is wrong by at most 0.7 %, at a confidence of 99 %."""
RANKS = (0.5, 0.9, 0.99, 0.999)
MOST_SCHEMAS, MOST_HEADERS = 500, 200
"""Maximum number of schemas, and of names of headers, that are counted individually: both come from producers."""
LONGEST_HEADER = 200
"""Maximum size in bytes of a header's name that is kept; longer names are cut."""
MOST_BUCKETS = 4_096
"""Maximum number of buckets in the timeline; if there are more, the length of each is doubled."""
FIRST_BUCKET_MS = 1_000
AHEAD_MS = 60_000
"""A timestamp counts as in the future if it is more than these milliseconds after this host's clock."""
EARLIEST_MS = 1_293_840_000_000
"""The beginning of 2011, the year of Kafka's first release, in milliseconds since 1970: a lower timestamp is probably
in seconds, or no time at all.
"""
GAPS, GAP_OF_SPAN = 3, 100
"""Maximum number of gaps in time that are named; and the divisor of the whole time that gives the minimum length of a
gap, which is at least a second."""


ENOUGH = 1_000
"""Minimum number of records of a topic for which a key may count as hot."""
HOT_TIMES, LEAST_HOT = 2, 0.02
"""Bounds for a hot key: it has this many times the mean number of records in a partition, or half of all records; and
at least this share of all records."""


class Quantiles(NamedTuple):
    """The distribution of sizes in bytes. The sizes at the ranks `RANKS` come from a sketch; the smallest and the
    largest size are exact.
    """

    least: int
    at: tuple[int, ...]
    """The sizes in bytes at the ranks `RANKS`."""
    most: int


class Codec(NamedTuple):
    """The records that were compressed with one codec."""

    name: str
    records: int
    batches: int
    stored: int
    """The size in bytes of their batches in the log. If only some records of a batch were read, only their share of
    its size counts.
    """
    plain: int
    """The size in bytes of their keys, values and headers, uncompressed."""


class Estimate(NamedTuple):
    """A number from a sketch, with its lower and upper bound at a confidence of 95 %."""

    value: int
    low: int
    high: int


class HeavyKey(NamedTuple):
    """One of the keys with the most records, without the contents of the key."""

    size: int
    """The size of the key in bytes."""
    seen: Estimate
    """The number of records with this key. Unlike other estimates, the true number is surely within the bounds."""
    partition: int
    """The partition of the first record with this key."""


class PartitionCount(NamedTuple):
    """The counts of one partition: records, bytes, and the newest timestamp."""

    number: int
    records: int
    size: int
    """The size in bytes of the keys, values and headers."""
    last_ms: int
    """The newest timestamp in ms since 1970; -1 if no record has one."""


class SchemaCount(NamedTuple):
    """The records that refer to one schema."""

    part: str
    """The part of the record: ``key`` or ``value``."""
    schema: str
    records: int
    tried: int = 0
    """The number of records that kac decoded to test the schema: some of those with the reference, evenly
    distributed over them.
    """
    failed: int = 0
    why: str = ""
    """The reason of the first decoding that failed; ``""`` if none failed."""


class Gap(NamedTuple):
    """A period, in ms since 1970, in which no partition has a record."""

    after: int
    until: int


class Times(NamedTuple):
    """The timestamps of the records, in ms since 1970. Records without a timestamp, with one in the future, or with one
    before 2011 are counted separately; `first`, `last` and the timeline leave them out.
    """

    first: int = -1
    last: int = -1
    without: int = 0
    too_early: int = 0
    ahead: int = 0
    furthest_ms: int = 0
    """The largest difference in ms by which a timestamp lies in the future."""
    disordered: int = 0
    """The number of records whose timestamp is before that of an earlier record of their partition."""
    furthest_back_ms: int = 0
    """The largest difference in ms by which a timestamp lies before that of an earlier record of the partition."""
    by_broker: int = 0
    """The number of records whose timestamp the broker set (LogAppendTime)."""
    gaps: tuple[Gap, ...] = ()
    timeline: tuple[tuple[int, int], ...] = ()
    """(beginning of a bucket in ms since 1970, number of its records), for buckets that have records."""


class TopicAnalysis(Struct, frozen=True):
    """The analysis of a topic, without contents of records: it has no key, and no name of a header."""

    topic: str
    at: datetime
    """The time at which the analysis began, UTC."""
    progress: Progress = Progress()
    sample: float = 0.0
    """The share, 0 to 1, of the offsets that the analysis was to read; 0 for all."""
    since_ms: int = -1
    """The time from which on records were read, in ms since 1970; -1 for no limit."""
    records: int = 0
    nulls: int = 0
    """The number of records with a null value."""
    keyless: int = 0
    """The number of records with a null key."""
    key_sizes: Quantiles | None = None
    """The quantiles of the sizes of keys; None if no record has a key."""
    value_sizes: Quantiles | None = None
    sizes: Quantiles | None = None
    """The quantiles of the sizes of key, value and headers together; None if there are no records."""
    rank_error: float = 0.0
    """The maximum error of a quantile's rank, as a share from 0 to 1."""
    codecs: tuple[Codec, ...] = ()
    distinct: Estimate = Estimate(0, 0, 0)
    """The estimated number of different keys."""
    heaviest: tuple[HeavyKey, ...] = ()
    partitions: tuple[PartitionCount, ...] = ()
    schemas: tuple[SchemaCount, ...] = ()
    with_headers: int = 0
    headers: tuple[int, ...] = ()
    """The numbers of records that have a header, for each of the most frequent header names."""
    times: Times = Times()
    undecodable: int = 0
    """The number of batches that can't be decoded."""
    problems: int = 0
    """The number of partitions that were not read to their ends because brokers refused or failed to return records."""

    @property
    def is_whole(self) -> bool:
        """Whether the analysis covers all records of its range: no sampling, no failed partition, and not ended
        early.
        """
        return not (self.sample or self.problems) and self.progress.done >= self.progress.of

    @property
    def range(self) -> int:
        """The number of offsets in the range that was to be analyzed, over all partitions."""
        return sum(max(0, each.end - each.first) for each in self.progress.scanned)

    @property
    def in_all(self) -> int:
        """The estimated number of records in the range, by extrapolation from the offsets that were read."""
        done = self.progress.done
        return self.records if self.is_whole or not done else round(self.records * self.range / done)

    @property
    def skew(self) -> float:
        """The number of records of the fullest partition as a multiple of the mean over all partitions; 0 if there are
        no records.
        """
        most = max((each.records for each in self.partitions), default=0)
        return most * len(self.partitions) / self.records if self.records else 0.0

    @property
    def hot(self) -> HeavyKey | None:
        """The heaviest key if its records alone make a partition much fuller than the others (`HOT_TIMES`). None if no
        key does, if there are fewer than `ENOUGH` (1,000) records, or if the topic has one partition.
        """
        if len(self.partitions) < 2 or self.records < ENOUGH or not self.heaviest:
            return None
        limit = max(LEAST_HOT, min(0.5, HOT_TIMES / len(self.partitions)))
        return self.heaviest[0] if self.share(self.heaviest[0].seen.low) >= limit else None

    def share(self, count: int) -> float:
        """Return a number of records as a share, 0 to 1, of all records that were read."""
        return count / self.records if self.records else 0.0


class Analysed(NamedTuple):
    """An analysis, and the keys and header names to which it refers, which kac shows only if the context allows it."""

    facts: TopicAnalysis
    keys: tuple[bytes, ...] = ()
    """The heaviest keys, in the order of `TopicAnalysis.heaviest`; long keys are cut."""
    headers: tuple[bytes, ...] = ()
    """The names of the most frequent headers, in the order of `TopicAnalysis.headers`."""

    def named(self) -> list[tuple[HeavyKey, bytes]]:
        """Return the heaviest keys, each with its counts and its contents."""
        return list(zip(self.facts.heaviest, self.keys, strict=True))


class Counting:
    """Counts the records of a topic. Partitions may come in any order; the records of one partition must come in the
    order of their offsets.
    """

    def __init__(self, topic: str, at: datetime, sample: float = 0.0, since_ms: int = -1) -> None:
        """Start with zero records. Raises ImportError if the extra `analyze` is missing."""
        import datasketches

        self._facts = TopicAnalysis(topic, at, sample=sample, since_ms=since_ms)
        self._records = self._nulls = self._keyless = self._with_headers = 0
        self._sizes = tuple(_Sizes(datasketches.kll_ints_sketch(QUANTILES_K)) for _ in range(3))
        self._distinct = datasketches.hll_sketch(DISTINCT_BITS, datasketches.HLL_8)
        self._frequent = datasketches.frequent_strings_sketch(FREQUENT_BITS)
        self._codecs: dict[str, list[float]] = {}
        self._partitions: dict[int, _Partition] = {}
        self._schemas: dict[tuple[str, SchemaKey], SchemaCount] = {}
        self._headers: Counter[bytes] = Counter()
        self._times = _Times()
        self._homes: dict[str, int] = {}

    def add(self, records: Sequence[Record], now_ms: int) -> None:
        """Count records of one or more partitions.

        Args:
            now_ms: the time by this host's clock, ms since 1970; later timestamps count as in the future.
        """
        for number, some in groupby(records, lambda each: each.partition):
            self._add(number, [*some], now_ms)

    def _add(self, number: int, records: Sequence[Record], now_ms: int) -> None:
        import numpy as np

        partition = self._partitions.setdefault(number, _Partition())
        keys = [each.key for each in records if each.key is not None]
        values = [len(each.value) for each in records if each.value is not None]
        sizes = np.fromiter(map(_size, records), np.int64, len(records))
        total = int(sizes.sum())
        self._records += len(records)
        self._nulls += len(records) - len(values)
        self._keyless += len(records) - len(keys)
        for sketch, some in zip(self._sizes, ([*map(len, keys)], values, sizes), strict=True):
            sketch.add(np.minimum(np.asarray(some, np.int64), 2**31 - 1).astype(np.int32))
        partition.records += len(records)
        partition.size += total
        self._add_keys(number, keys)
        self._add_batches(partition, records, sizes)
        self._add_headers(records)
        self._add_schemas(records)
        times = np.fromiter((each.timestamp for each in records), np.int64, len(records))
        self._times.add(partition, times, now_ms)

    def _add_keys(self, number: int, keys: Iterable[bytes]) -> None:
        for key, count in Counter(keys).items():
            text = _text_of(key)
            self._distinct.update(text)
            self._frequent.update(text, count)
            # Remember the partition only of repeated keys: a single record makes no key heavy, and there may be
            # millions of them.
            if count > 1:
                self._homes.setdefault(text, number)
        if len(self._homes) > 8 << FREQUENT_BITS:
            kept = {text for text, *_ in self._frequent_items()}
            self._homes = {text: home for text, home in self._homes.items() if text in kept}

    def _add_batches(self, partition: _Partition, records: Sequence[Record], sizes: np.ndarray[Any, Any]) -> None:
        at = 0
        for batch, some in groupby(records, lambda each: each.batch):
            count = sum(1 for _ in some)
            codec = self._codecs.setdefault(batch.codec, [0, 0, 0.0, 0])
            codec[0] += count
            codec[1] += batch.base_offset != partition.batch
            # A scan may begin or end within a batch: count only the share of its bytes that belongs to the counted
            # records.
            codec[2] += batch.size * min(1.0, count / max(1, batch.claimed))
            codec[3] += int(sizes[at : at + count].sum())
            partition.batch = batch.base_offset
            self._times.by_broker += count * batch.append_time
            at += count

    def _add_headers(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.headers:
                self._with_headers += 1
                # Count a header once per record: a record may repeat it.
                for name in {name[:LONGEST_HEADER] for name, _ in record.headers}:
                    if name in self._headers or len(self._headers) < MOST_HEADERS:
                        self._headers[name] += 1

    def _add_schemas(self, records: Iterable[Record]) -> None:
        for (part, key), count in Counter(place for each in records for place in references(each)).items():
            known = self._schemas.get((part, key))
            # Limit the schemas: a producer that registers one for each record would fill the memory.
            if known is None and len(self._schemas) >= MOST_SCHEMAS:
                key = _OTHERS
                known = self._schemas.get((part, key))
            known = known or SchemaCount(part, str(key), 0)
            self._schemas[part, key] = known._replace(records=known.records + count)

    def tried(self, part: str, key: SchemaKey) -> int:
        """Return the number of records with a reference to a schema, in keys or in values, that kac tried to decode."""
        known = self._schemas.get((part, key))
        return known.tried if known is not None else 0

    def learn(self, part: str, key: SchemaKey, why: str) -> None:
        """Record the result of decoding a record that was counted before. why: the reason why it can't be decoded;
        ``""`` if it can.
        """
        known = self._schemas.get((part, key))
        if known is not None:
            self._schemas[part, key] = known._replace(
                tried=known.tried + 1, failed=known.failed + bool(why), why=known.why or why
            )

    def _frequent_items(self) -> list[tuple[str, int, int, int]]:
        from datasketches import frequent_items_error_type

        found: list[tuple[str, int, int, int]]
        found = self._frequent.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES)
        return found

    def result(self, progress: Progress, undecodable: int = 0, problems: int = 0) -> Analysed:
        """Return the analysis of the records that were counted so far.

        Args:
            progress: the progress of the search.
            undecodable: the number of batches that can't be decoded.
            problems: the number of partitions that the search gave up.
        """
        # Leave out keys that were seen once, and keys whose count may be mostly the sketch's error.
        items = [each for each in self._frequent_items() if each[2] > max(1, each[3] - each[2])]
        items = sorted(items, key=lambda each: (-each[1], each[0]))[:HEAVIEST]
        named = self._headers.most_common(HEAVIEST)
        distinct = self._distinct
        bounds = (distinct.get_estimate(), distinct.get_lower_bound(2), distinct.get_upper_bound(2))
        key_sizes, value_sizes, sizes = (each.quantiles() for each in self._sizes)
        facts = replace(
            self._facts,
            progress=progress,
            records=self._records,
            nulls=self._nulls,
            keyless=self._keyless,
            key_sizes=key_sizes,
            value_sizes=value_sizes,
            sizes=sizes,
            rank_error=self._sizes[0].sketch.normalized_rank_error(False),
            codecs=tuple(
                Codec(name, int(count), int(batches), round(stored), int(plain))
                for name, (count, batches, stored, plain) in sorted(self._codecs.items())
            ),
            distinct=Estimate(*map(round, bounds)),
            heaviest=tuple(
                HeavyKey(_size_of(text), Estimate(count, low, high), self._homes.get(text, -1))
                for text, count, low, high in items
            ),
            partitions=tuple(
                PartitionCount(number, each.records, each.size, each.last_ms)
                for number, each in sorted({**self._unread(progress), **self._partitions}.items())
            ),
            schemas=tuple(sorted(self._schemas.values(), key=lambda each: (each.part, -each.records, each.schema))),
            with_headers=self._with_headers,
            headers=tuple(count for _, count in named),
            times=self._times.result(),
            undecodable=undecodable,
            problems=problems,
        )
        return Analysed(facts, tuple(_begin_of(each[0]) for each in items), tuple(name for name, _ in named))

    def _unread(self, progress: Progress) -> Mapping[int, _Partition]:
        """Return number of a partition -> an empty count, for each partition of the search."""
        return {each.partition: _Partition() for each in progress.scanned}


_OTHERS = SchemaKey(subject="further schemas", of="and")
"""The key under which the records of all schemas beyond `MOST_SCHEMAS` are counted together."""


def references(record: Record) -> Iterator[tuple[str, SchemaKey]]:
    """Yield the references of a record to schemas: the part (``key`` or ``value``), and the reference."""
    for part, data, header in (("key", record.key, KEY_HEADER), ("value", record.value, VALUE_HEADER)):
        if data and (record.headers or data[:1] in FRAME_BEGINS):
            found = framed(data, record.headers, header)
            if found is not None:
                yield part, found.key


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers) if record.headers else 0
    return len(record.key or b"") + len(record.value or b"") + headers


_LONG, _EMPTY = "\u0100", "\u0101"
"""The first character in the text of a long key, and the text of an empty key, which the sketches would not count. The
characters of other keys stand for bytes, so they are lower."""


def _text_of(key: bytes) -> str:
    """Return the text by which the sketches count a key; different keys have different texts."""
    if len(key) > LONGEST_KEY:
        return f"{_LONG}{hashlib.sha256(key).hexdigest()} {len(key)} {key[:KEY_BEGINS].decode('latin-1')}"
    return key.decode("latin-1") or _EMPTY


def _size_of(text: str) -> int:
    """Return the size in bytes of a key, from its text for the sketches."""
    return int(text.split(" ", 2)[1]) if text.startswith(_LONG) else len(text.removeprefix(_EMPTY))


def _begin_of(text: str) -> bytes:
    """Return a key, or the beginning of a long key, from its text for the sketches."""
    return (text.split(" ", 2)[2] if text.startswith(_LONG) else text.removeprefix(_EMPTY)).encode("latin-1")


class _Partition:
    """The counts of one partition."""

    def __init__(self) -> None:
        self.records = self.size = 0
        self.batch = -1
        """The first offset of the batch that was counted last."""
        self.last_ms = -1


class _Sizes:
    """The distribution of the sizes of keys, of values or of records. sketch: KLL of integers."""

    def __init__(self, sketch: Any) -> None:
        self.sketch = sketch

    def add(self, sizes: np.ndarray[Any, Any]) -> None:
        """Add sizes in bytes, as 32-bit integers."""
        if len(sizes):
            self.sketch.update(sizes)

    def quantiles(self) -> Quantiles | None:
        """Return the quantiles; None if no size was added."""
        if self.sketch.is_empty():
            return None
        at = tuple(map(int, self.sketch.get_quantiles(list(RANKS))))
        return Quantiles(int(self.sketch.get_min_value()), at, int(self.sketch.get_max_value()))


class _Bucket(NamedTuple):
    """An interval of the timeline: the number of its records, and the first and the last of their timestamps."""

    records: int
    first: int
    last: int

    def joined(self, other: _Bucket) -> _Bucket:
        """Return one bucket with the records of this one and of another."""
        return _Bucket(self.records + other.records, min(self.first, other.first), max(self.last, other.last))


class _Times:
    """The timestamps of all records that were counted."""

    def __init__(self) -> None:
        self.by_broker = 0
        self._without = self._too_early = self._ahead = self._furthest = 0
        self._disordered = self._back = 0
        self._width = FIRST_BUCKET_MS
        self._buckets: dict[int, _Bucket] = {}

    def add(self, partition: _Partition, times: np.ndarray[Any, Any], now_ms: int) -> None:
        """Add the timestamps of records of one partition, in the order of their offsets."""
        import numpy as np

        known = times[times >= 0]
        self._without += len(times) - len(known)
        if not len(known):
            return
        ahead, early = known > now_ms + AHEAD_MS, known < EARLIEST_MS
        self._ahead += int(ahead.sum())
        self._too_early += int(early.sum())
        if ahead.any():
            self._furthest = max(self._furthest, int(known.max()) - now_ms)
        # Leave out times in the future: all records after one would count as out of order.
        usual = known[~(ahead | early)]
        if len(usual):
            back = np.maximum.accumulate(np.concatenate(([partition.last_ms], usual)))[:-1] - usual
            self._disordered += int((back > 0).sum())
            self._back = max(self._back, int(back.max()))
            partition.last_ms = max(partition.last_ms, int(usual.max()))
            self._place(np.sort(usual))

    def _place(self, times: np.ndarray[Any, Any]) -> None:
        """Put timestamps into the buckets. times: sorted, at least one."""
        import numpy as np

        numbers, at, counts = np.unique(times // self._width, return_index=True, return_counts=True)
        for number, begin, count in zip(numbers.tolist(), at.tolist(), counts.tolist(), strict=True):
            new = _Bucket(count, int(times[begin]), int(times[begin + count - 1]))
            known = self._buckets.get(number)
            self._buckets[number] = new if known is None else known.joined(new)
        # Doubling the width halves the number of buckets; it adapts to any span of time.
        while len(self._buckets) > MOST_BUCKETS:
            self._width *= 2
            wider: dict[int, _Bucket] = {}
            for number, bucket in self._buckets.items():
                known = wider.get(number // 2)
                wider[number // 2] = bucket if known is None else known.joined(bucket)
            self._buckets = wider

    def result(self) -> Times:
        """Return the facts about the timestamps that were added so far."""
        buckets = sorted(self._buckets.items())
        first = buckets[0][1].first if buckets else -1
        last = buckets[-1][1].last if buckets else -1
        least = max(1_000, (last - first) // GAP_OF_SPAN)
        gaps = [Gap(a.last, b.first) for (_, a), (_, b) in pairwise(buckets) if b.first - a.last >= least]
        return Times(
            first,
            last,
            self._without,
            self._too_early,
            self._ahead,
            self._furthest,
            self._disordered,
            self._back,
            self.by_broker,
            tuple(sorted(gaps, key=lambda gap: gap.after - gap.until)[:GAPS]),
            tuple((number * self._width, bucket.records) for number, bucket in buckets),
        )
