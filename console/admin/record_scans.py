"""The state of a search in single partitions (*scans*): the offsets to read, aborted transactions, and the search
through the batches of a response. No I/O.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from console.admin.record_file import MOST_KEPT, RecordFile, weight
from console.model import records as model
from console.model.grouping import grouped
from console.model.record_decoding import RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.schemas import Allowance

if TYPE_CHECKING:
    from console.wire.record_batches import Batch

FIRST_STRETCH, GROWTH = 200, 4
"""Number of offsets in the first range for the newest records, and the factor by which each earlier range is longer."""
FIRST_BYTES, FEW = 64 << 10, 100
"""Maximum size in bytes of the first Fetch if at most FEW records are wanted."""
LONGEST_STRETCH = 1 << 20
"""Maximum number of offsets in a range of a backward scan. The limit is needed because the scan keeps the matching
records of a range until the whole range is searched.
"""
MOST_LINES = 100
"""Maximum number of notes about batches that can't be decoded, for each partition."""
CHUNK_RECORDS, CHUNK_BYTES = 2_000, 2 << 20
"""Number of records, and bytes of their contents, after which a part of the results is passed on."""
MOST_KEYS = 1_000_000
"""Maximum number of keys, in all partitions together, whose newest record is kept."""
SLICE = 0.1
"""Seconds after which `look` yields even if nothing was found, so that other searches of the client have their turn."""
SAMPLED_RANGES, LEAST_SAMPLED = 20, 100
"""Maximum number of ranges of a partition in a sample, and the minimum number of offsets of a range, so that small
samples have fewer ranges."""
SPARE = 1.2
"""Factor by which the maximum size of a sample's Fetch response exceeds the estimated size of the rest of the range."""
NO_END = 2**63 - 1
"""The end offset of a scan that waits for new records."""


class Scan:
    """A scan that reads a partition forwards from an offset."""

    def __init__(self, place: model.Place, start: int, end: int, at: int, until: int | None = None) -> None:
        """Create a scan.

        Args:
            place: the topic and the partition number.
            start: the start offset of the log.
            end: the end offset of the log.
            at: the offset at which to begin.
            until: the offset before which to stop; None for the end of the log.
        """
        self.place = place
        self.topic, self.number = place
        self.start, self.end = start, end
        self.until = end if until is None else until
        self.first = self.position = min(max(at, start), max(end, start))
        self.undecodable: list[model.Undecodable] = []
        self.lines = 0
        """The number of lines about batches that can't be decoded."""
        self.broken = False
        """Whether the rest of the partition can't be read."""

    keeps = False
    """Whether matching records are kept until the end of the scan, instead of being yielded at once."""
    jumps = False
    """Whether the scan consists of several ranges, and the next range depends on the result of the one before it."""
    first_bytes = 0
    """Maximum size in bytes of the first Fetch response; 0 for the usual limit."""

    def is_over(self) -> bool:
        """Return whether the scan has read all that it has to."""
        return self.broken or self.is_full or self.position >= self.until

    @property
    def is_full(self) -> bool:
        """Return whether enough records were found, so that the rest of a batch may be skipped."""
        return False

    def kept(self) -> int:
        """Return the number of records that the scan keeps."""
        return 0

    def forget(self) -> None:
        """Drop the records that the scan keeps."""

    def keep(self, found: Sequence[model.Record]) -> Sequence[model.Record]:
        """Take records that passed the filter, and return those to yield at once: all of them, for a scan that keeps
        none.
        """
        return found

    def result(self) -> Iterable[model.Record]:
        """Return the records that the scan kept, by offset."""
        return ()

    def scanned(self) -> model.Scanned:
        """Return the range of offsets that was read."""
        return model.Scanned(self.topic, self.number, self.first, self.position, self.start, self.end)

    def further(self, cut: Sequence[model.Record]) -> int | None:
        """Return the offset at which a later search continues; None if nothing is left. cut: records that were found
        but left out of the result because of its limit.
        """
        at = min((record.offset for record in cut), default=self.position)
        return at if at < self.until and not self.broken else None

    def most_bytes(self, most: int) -> int:
        """Return the maximum size in bytes of the next Fetch response. most: the search's own limit."""
        return most

    def answered(self, size: int, offsets: int) -> None:
        """Learn from a response: its size in bytes, and the number of offsets in it."""

    def size(self) -> int:
        """Return the total number of offsets to read."""
        return max(0, min(self.until, self.end) - self.first)

    def done(self) -> int:
        """Return the number of offsets that were read so far."""
        return self.position - self.first

    def gap(self) -> str:
        """Return, as text, the offsets that were skipped although the result has records after them; ``""`` if none
        were skipped.
        """
        return ""

    def damaged(self, first: int, last: int, why: str) -> None:
        """Note that the offsets from `first` to `last` can't be decoded; after `MOST_LINES` such notes, only count
        them.
        """
        self.lines += 1
        if self.lines <= MOST_LINES:
            last = max(first, min(last, self.until - 1))
            self.undecodable.append(model.Undecodable(self.topic, self.number, first, last, why))


class KeepingScan(Scan):
    """A scan that keeps the first matching records, because they are merged with those of other partitions."""

    keeps = True

    def __init__(self, place: model.Place, start: int, end: int, at: int, count: int, until: int | None = None) -> None:
        super().__init__(place, start, end, at, until)
        self._count = count
        self._found: list[model.Record] = []
        self.first_bytes = FIRST_BYTES if count <= FEW else 0

    @property
    def is_full(self) -> bool:
        """Return whether enough records were found."""
        return len(self._found) >= self._count

    def kept(self) -> int:
        """Return the number of records that the scan keeps."""
        return len(self._found)

    def forget(self) -> None:
        """Drop the records that the scan keeps."""
        self._found = []

    def keep(self, found: Sequence[model.Record]) -> Sequence[model.Record]:
        """Keep these records; return an empty sequence."""
        self._found += found
        return ()

    def result(self) -> list[model.Record]:
        """Return the records that the scan kept, by offset."""
        return self._found


class LatestScan(Scan):
    """A scan that keeps, for each key, the newest matching record."""

    keeps = True

    def __init__(self, place: model.Place, start: int, end: int, at: int, keys: int, until: int | None = None) -> None:
        """Create a scan. keys: the number of keys above which the scan ends; the other arguments are those of
        `Scan`.
        """
        super().__init__(place, start, end, at, until)
        self._keys = keys
        self._latest: dict[bytes, model.Record | int] = {}
        """Key -> its newest record, or the position of that record in the file."""
        self._weight = 0
        self._file: RecordFile | None = None

    @property
    def is_full(self) -> bool:
        """Return whether there are more keys than allowed."""
        return len(self._latest) > self._keys

    def kept(self) -> int:
        """Return the number of keys for which the scan keeps a record."""
        return len(self._latest)

    def keep(self, found: Sequence[model.Record]) -> Sequence[model.Record]:
        """Keep each record, in place of an older one with the same key; ignore records without a key. Return an empty
        sequence.
        """
        for record in found:
            if record.key is None:
                continue
            former = self._latest.pop(record.key, None)
            if isinstance(former, model.Record):
                self._weight -= weight(former)
            size = weight(record)
            if self._weight + size > MOST_KEPT:
                self._file = self._file or RecordFile()
                self._latest[record.key] = self._file.append(record)
            else:
                self._weight += size
                self._latest[record.key] = record
        return ()

    def result(self) -> Iterator[model.Record]:
        """Yield the newest record of each key, by offset."""
        for each in self._latest.values():
            if isinstance(each, model.Record):
                yield each
            elif self._file is not None:
                yield self._file.read(each)

    def forget(self) -> None:
        """Drop the records that the scan keeps."""
        self._latest, self._file, self._weight = {}, None, 0

    def gap(self) -> str:
        """Return, as text, the offsets that were not searched because there are too many keys; ``""`` if all were
        searched.
        """
        if not self.is_full:
            return ""
        place = f"{self.topic}-{self.number}"
        return f"{place}: more than {self._keys:,} keys; from offset {self.position} on it was not searched"


class BackwardScan(Scan):
    """A scan for the newest records before an offset. It reads ranges from the last to the first, each range forwards.

    Attributes:
        before: the offset after the last range.
        first: the first offset of the current range.
    """

    keeps = jumps = True

    def __init__(self, place: model.Place, start: int, end: int, before: int, count: int) -> None:
        super().__init__(place, start, end, start)
        self.before = self.until = min(max(before, start), end)
        self._count = count
        self._size = min(count, FIRST_STRETCH)
        self._found: list[model.Record] = []
        self._later: list[model.Record] = []
        self._forgotten = -1
        self.first_bytes = FIRST_BYTES if count <= FEW else 0
        self.first = self.position = max(start, self.until - self._size)

    def kept(self) -> int:
        """Return the number of records that the scan keeps."""
        return min(self._count, len(self._found) + len(self._later))

    def forget(self) -> None:
        """Drop the records that the scan keeps."""
        self._found, self._later = [], []

    def is_over(self) -> bool:
        """Return whether nothing is left to read. When a range is complete and more records are wanted, continue with
        the range before it.
        """
        while not self.broken and self.position >= self.until:
            self._later, self._found = [*self._found, *self._later], []
            if len(self._later) >= self._count or self.first <= self.start:
                return True
            self._size = min(self._size * GROWTH, LONGEST_STRETCH)
            self.until = self.first
            self.first = self.position = max(self.start, self.until - self._size)
        return self.broken

    def keep(self, found: Sequence[model.Record]) -> Sequence[model.Record]:
        """Keep the newest of these records, as many as wanted; return an empty sequence."""
        self._found += found
        if len(self._found) > 2 * self._count:
            self._forgotten = self._found[-self._count - 1].offset + 1
            del self._found[: -self._count]
        return ()

    def result(self) -> list[model.Record]:
        """Return the records that the scan kept, by offset."""
        return [*self._found, *self._later]

    def scanned(self) -> model.Scanned:
        """Return the range of offsets that was read completely."""
        last = self.before if self._later or self.position >= self.until else self.position
        return model.Scanned(self.topic, self.number, self.first, last, self.start, self.end)

    def further(self, cut: Sequence[model.Record]) -> int | None:
        """Return the offset before which a later search continues; None if the start of the log was reached. cut:
        records that were found but left out of the result.
        """
        reached = self.until if self.position == self.first else self.first
        at = max((record.offset + 1 for record in cut), default=max(reached, self._forgotten))
        return at if at > self.start and not self.broken else None

    def size(self) -> int:
        """Return the number of offsets from the start of the log to the beginning of the search."""
        return self.before - self.start

    def done(self) -> int:
        """Return the number of offsets that were read so far."""
        return self.before - self.until + self.position - self.first

    def gap(self) -> str:
        """Return, as text, the offsets of the current range that were not read; ``""`` if the range is complete."""
        if self.position >= self.until or self.position == self.first:
            return ""
        return f"{self.topic}-{self.number}: offsets {self.position}..{self.until - 1} were not searched"


class SampleScan(Scan):
    """A scan of ranges that are evenly spread over the partition, each read forwards."""

    jumps = True

    def __init__(self, place: model.Place, start: int, end: int, at: int, until: int, share: float) -> None:
        """Create a scan. share: the share, above 0 and at most 1, of the offsets between `at` and `until` to read; the
        other arguments are those of `Scan`.
        """
        super().__init__(place, start, end, at, until)
        self._whole = model.Scanned(self.topic, self.number, self.first, self.first, start, min(until, end))
        self._ranges = sample_ranges(self.first, self.until, share)
        self._wanted = sum(last - first for first, last in self._ranges)
        self._read = 0
        """The number of offsets in complete ranges."""
        self._sizes = (0, 0)
        """The size in bytes of all answers, and the number of their offsets."""
        self._number = 0
        self._begin()

    def _begin(self) -> None:
        begin, until = self._ranges[self._number] if self._ranges else (self.first, self.first)
        self.first = self.position = begin
        self.until = until

    def is_over(self) -> bool:
        """Return whether nothing is left to read. When a range is complete, continue with the next one."""
        while not self.broken and self.position >= self.until:
            if self._number + 1 >= len(self._ranges):
                return True
            self._read += self.until - self.first
            self._number += 1
            self._begin()
        return self.broken

    def most_bytes(self, most: int) -> int:
        """Return the maximum size in bytes of the next Fetch response: approximately that of the rest of the range, so
        that a small sample reads little more. most: the search's own limit.
        """
        size, offsets = self._sizes
        wanted = FIRST_BYTES if not offsets else round(SPARE * size / offsets * (self.until - self.position))
        return min(most, max(FIRST_BYTES, wanted))

    def answered(self, size: int, offsets: int) -> None:
        """Learn the average size of a record from a response: its size in bytes, and the number of offsets in it."""
        self._sizes = self._sizes[0] + size, self._sizes[1] + max(0, offsets)

    def scanned(self) -> model.Scanned:
        """Return the range of offsets over which the sample is spread, up to the present position."""
        return self._whole._replace(next=max(self._whole.first, self.position))

    def size(self) -> int:
        """Return the total number of offsets in the sample."""
        return self._wanted

    def done(self) -> int:
        """Return the number of offsets of the sample that were read so far."""
        return self._read + self.position - self.first


def sample_ranges(first: int, until: int, share: float) -> list[tuple[int, int]]:
    """Return evenly spread ranges, as pairs of the first offset and the one after the last, that together have a share
    of the offsets.

    Args:
        first: the first offset of all.
        until: the offset after the last one.
        share: the share of the offsets, above 0 and at most 1.
    """
    size = max(0, until - first)
    wanted = min(size, math.ceil(size * share))
    count = min(SAMPLED_RANGES, max(1, wanted // LEAST_SAMPLED)) if wanted else 0
    ranges = []
    for number in range(count):
        before, after = (wanted * each // count for each in (number, number + 1))
        at = first + before + (size - wanted) * (2 * number + 1) // (2 * count)
        ranges.append((at, at + after - before))
    return ranges


class Sieve:
    """The state that all calls of `look` in one search share: the filter, and counts of what was searched. Several
    threads use it.
    """

    def __init__(
        self,
        wanted: RecordFilter,
        decoder: RecordDecoder,
        await_schemas: Callable[[model.Record], None] | None = None,
        topics: Iterable[str] = (),
    ) -> None:
        """Set the parameters.

        Args:
            wanted: the filter.
            decoder: decodes and masks the records that the filter sees.
            await_schemas: function that waits until the schemas of a record are known; None without a registry.
            topics: the topics of the search.
        """
        self.wanted = wanted
        self._decoder = decoder
        self._is_plain = decoder.is_plain_in(topics)
        self._await_schemas = await_schemas
        self._allowance = Allowance()
        self.looked_at = 0
        self.stopping = False
        """Whether the search is to end; any thread may set it."""
        self.undecided = 0
        """The number of records that could not be decoded for the filter."""
        self.literals = wanted.literals() if self._is_plain else ()
        """Texts that every matching record contains; empty if masks or schemas change the bytes of contents."""

    def passing(self, found: Iterable[model.Record], scan: Scan) -> Iterator[model.Record]:
        """Yield the records that pass the filter, but none after the end of a scan, and advance the scan's position."""
        is_wanted, until = self.wanted.matches, scan.until
        for record in found:
            if record.offset >= until or self.stopping:
                return
            self.looked_at += 1
            scan.position = record.offset + 1
            if is_wanted(self._shown(record)):
                yield record

    def all_of(self, found: Iterable[model.Record], scan: Scan, count: int) -> Sequence[model.Record]:
        """Return the next records without filtering, at most `count` and none after the end of a scan, and advance
        the scan's position.
        """
        part = list(islice(found, count))
        if part and part[-1].offset >= scan.until:
            part = [record for record in part if record.offset < scan.until]
        if part:
            self.looked_at += len(part)
            scan.position = part[-1].offset + 1
        return part

    def _shown(self, record: model.Record) -> model.Record:
        """Return a record as it may be shown, decoded and masked: only this form may be passed to the filter."""
        if self._is_plain:
            return record
        if self._await_schemas is not None:
            self._await_schemas(record)
        shown = self._decoder.readable(record, self._allowance)
        if self._allowance.spent() and not self.stopping:
            # The allowance limits one answer, but a search as a whole has no limit: give each record a new allowance.
            self._allowance.renew()
            shown = self._decoder.readable(record, self._allowance)
        # A part that is not decoded could be one that the user searches for.
        self.undecided += any(part and not part.form for part in (shown.key_encoding, shown.value_encoding))
        return shown

    def stop(self) -> None:
        """Make all running calls of `look` end soon."""
        self.stopping = self._allowance.ended = True


def look(scan: Scan, data: bytes, aborted: Iterable[tuple[int, int]], sieve: Sieve) -> Iterator[Sequence[model.Record]]:
    """Search the batches of a Fetch response from a scan's position on, and advance the position.

    Yield the matching records in parts, some of them empty. At each part, the scan's position is after its records.

    Args:
        data: the batches of the partition.
        aborted: producer id and first offset of each aborted transaction in the response; empty without read_committed.
    """
    from console.wire.record_batches import BatchDamage, OutOfTime, batches

    open_: set[int] = set()
    pending = sorted(aborted, key=lambda each: each[1], reverse=True)
    looking = _Looking(scan, sieve)
    for batch in batches(data):
        first, last, facts = batch.base_offset, batch.last_offset, batch.facts
        if sieve.stopping or scan.is_full or scan.position >= scan.until:
            break
        if not batch.problem and first >= scan.until:
            scan.position = scan.until
            break
        try:
            if batch.problem:
                raise BatchDamage(batch.problem)
            while pending and pending[-1][1] <= last:
                open_.add(pending.pop()[0])
            if batch.control:
                if batch.aborts:
                    open_.discard(facts.producer_id)
            elif last >= scan.position and not (facts.transactional and facts.producer_id in open_):
                yield from looking.through(batch)
                if sieve.stopping or scan.is_full:
                    break
        except OutOfTime:
            break  # the search ends within a batch
        except BatchDamage as damage:
            at = max(scan.position, first)
            if at < scan.until:
                scan.damaged(at, last, str(damage))
            if facts.magic not in (0, 1, 2) or last < first:
                scan.broken = True
                break
        scan.position = max(scan.position, min(last + 1, scan.until))
    yield looking.rest()


class _Looking:
    """The search through the batches of one response."""

    def __init__(self, scan: Scan, sieve: Sieve) -> None:
        from console.wire.compression import Scratch

        self._scan, self._sieve = scan, sieve
        self._scratch = Scratch()
        self._found: list[model.Record] = []
        self._size = 0
        self._since = time.monotonic()

    def through(self, batch: Batch) -> Iterator[Sequence[model.Record]]:
        """Search one batch and yield parts of the result. Raises BatchDamage."""
        from console.wire import record_batches

        scan, sieve, scratch = self._scan, self._sieve, self._scratch
        if batch.facts.magic == 2:
            record_batches.unpack(batch, scratch)
            if not all(each.may_be_in(scratch.data, scratch.GAP, scratch.end) for each in sieve.literals):
                sieve.looked_at += _count(batch, scan.position, scratch.end - scratch.GAP)
                yield from self._after(0)
                return
            inside = record_batches.unpacked_records(batch, scratch, scan.topic, scan.number, scan.position)
            size = (scratch.end - scratch.GAP) // max(1, batch.facts.claimed)
        else:
            inside = record_batches.records(
                batch, scan.topic, scan.number, scan.position, is_over=lambda: sieve.stopping
            )
            size = len(batch.body)
        if sieve.wanted:
            for record in sieve.passing(inside, scan):
                self._found.append(record)
                yield from self._after(len(record.key or b"") + len(record.value or b""))
                if sieve.stopping or scan.is_full:
                    return
            yield from self._after(0)
            return
        count = max(1, min(CHUNK_RECORDS, CHUNK_BYTES // max(1, size)))
        while part := sieve.all_of(inside, scan, count):
            self._found += part
            yield from self._after(size * len(part))
            if sieve.stopping or scan.is_full:
                return

    def _after(self, size: int) -> Iterator[Sequence[model.Record]]:
        """Yield a part with the records found since the last part, in two cases: they are at least `CHUNK_RECORDS`
        or `CHUNK_BYTES`; or the last part is more than `SLICE` (0.1 s) ago, even if none were found. size: the
        bytes of the records found since the last call.
        """
        self._size += size
        if len(self._found) >= CHUNK_RECORDS or self._size >= CHUNK_BYTES or time.monotonic() - self._since > SLICE:
            yield self.rest()

    def rest(self) -> Sequence[model.Record]:
        """Return the records that were found and are not in a part yet."""
        found, self._found, self._size, self._since = self._found, [], 0, time.monotonic()
        return self._scan.keep(found)


def _count(batch: Batch, position: int, size: int) -> int:
    """Return the estimated number of records of a batch from the offset `position` on, by the batch's header; at most
    `size`.
    """
    return max(0, min(batch.facts.claimed, batch.last_offset + 1 - position, size))


def next_offset(data: bytes) -> int | None:
    """Return the offset after the complete batches in a Fetch response, by their headers alone; None if it has no
    complete batch, or the headers are invalid.
    """
    from console.wire.record_batches import end_of_batches

    return end_of_batches(data)


def merged(scans: Sequence[Scan], count: int, *, newest: bool) -> tuple[tuple[model.Record, ...], model.Start | None]:
    """Combine the records that the scans of all partitions kept: sort them by timestamp, topic, partition and offset,
    or by offset alone for a single partition. Return the first `count` of them (with `newest`, the last), and the
    start of a search for the rest; None if nothing is left.
    """
    found = sorted(
        (record for scan in scans for record in scan.result()),
        key=lambda record: (record.timestamp, record.topic, record.partition, record.offset),
    )
    if len(scans) == 1:
        found = list(scans[0].result())  # take a single partition's records by offset: producers' clocks may go back
    kept, cut = (found[-count:], found[:-count]) if newest else (found[:count], found[count:])
    of = grouped(((record.topic, record.partition), record) for record in cut)
    further = {scan.place: scan.further(of.get(scan.place, ())) for scan in scans}
    places = {place: at for place, at in further.items() if at is not None}
    if not places:
        return tuple(kept), None
    if newest:
        # A partition that was read to its start, and is missing in `places`, has no earlier records.
        return tuple(kept), model.Last(count, {scan.place: places.get(scan.place, scan.start) for scan in scans})
    return tuple(kept), model.FromOffsets(places)
