"""Scans of partitions: ranges, aborted transactions, the search through the batches of an answer. No I/O."""

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
"""Maximum number of offsets in such a range: matching records are kept until the range is searched."""
MOST_LINES = 100
"""Maximum number of lines about batches of a partition that can't be decoded."""
CHUNK_RECORDS, CHUNK_BYTES = 2_000, 2 << 20
"""Number of records, and bytes of their contents, after which a part of the results is passed on."""
MOST_KEYS = 1_000_000
"""Maximum number of keys, of all partitions, whose newest record is kept."""
SLICE = 0.1
"""Seconds after which a part is passed on even if it is empty, so that other searches of the client have their turn."""
SAMPLED_RANGES, LEAST_SAMPLED = 20, 100
"""Maximum number of ranges of a partition in a sample, and the minimum number of offsets of a range, so that small
samples have fewer ranges."""
SPARE = 1.2
"""Factor of the estimated size of a range's rest for a Fetch of a sample."""
NO_END = 2**63 - 1
"""The end of a scan that waits for new records."""


class Scan:
    """A partition that is read forwards from an offset."""

    def __init__(self, place: model.Place, start: int, end: int, at: int, until: int | None = None) -> None:
        """Make a scan.

        Args:
            start: the start of the log.
            end: the end of the log.
            at: the offset at which to begin.
            until: the offset at which to stop (excluded); None for the end of the log.
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
    """Whether the records that match are kept to the end."""
    jumps = False
    """Whether the scan has several ranges: the next one is known only once the range before it is searched."""
    first_bytes = 0
    """Maximum size in bytes of the first Fetch; 0 for the usual limit."""

    def is_over(self) -> bool:
        """Return whether nothing is left to read."""
        return self.broken or self.is_full or self.position >= self.until

    @property
    def is_full(self) -> bool:
        """Whether enough records were found, so that the rest of a batch can be skipped."""
        return False

    def kept(self) -> int:
        """Return the number of records that are kept."""
        return 0

    def forget(self) -> None:
        """Forget the records that were kept."""

    def keep(self, found: Sequence[model.Record]) -> Sequence[model.Record]:
        """Take records that passed the filter; return those to yield at once."""
        return found

    def result(self) -> Iterable[model.Record]:
        """Return the records that were kept, by offset."""
        return ()

    def scanned(self) -> model.Scanned:
        """Return the range that was read."""
        return model.Scanned(self.topic, self.number, self.first, self.position, self.start, self.end)

    def further(self, cut: Sequence[model.Record]) -> int | None:
        """Return the offset for the next read; None at the end. cut: records found but left out of the answer."""
        at = min((record.offset for record in cut), default=self.position)
        return at if at < self.until and not self.broken else None

    def most_bytes(self, most: int) -> int:
        """Return the largest number of bytes for the answer to the next Fetch.

        Args:
            most: the search's own limit for one answer.
        """
        return most

    def answered(self, size: int, offsets: int) -> None:
        """Note the size of an answer in bytes, and the number of offsets in it."""

    def size(self) -> int:
        """Return the number of offsets to read."""
        return max(0, min(self.until, self.end) - self.first)

    def done(self) -> int:
        """Return the number of offsets that were read."""
        return self.position - self.first

    def gap(self) -> str:
        """Return, as text, the offsets that were skipped although later records are in the answer; ``""`` for none."""
        return ""

    def damaged(self, first: int, last: int, why: str) -> None:
        """Note that offsets can't be decoded; beyond `MOST_LINES` of such notes, only count them."""
        self.lines += 1
        if self.lines <= MOST_LINES:
            last = max(first, min(last, self.until - 1))
            self.undecodable.append(model.Undecodable(self.topic, self.number, first, last, why))


class KeepingScan(Scan):
    """A scan that keeps the first records that pass the filter, to be merged with those of other partitions."""

    keeps = True

    def __init__(self, place: model.Place, start: int, end: int, at: int, count: int, until: int | None = None) -> None:
        super().__init__(place, start, end, at, until)
        self._count = count
        self._found: list[model.Record] = []
        self.first_bytes = FIRST_BYTES if count <= FEW else 0

    @property
    def is_full(self) -> bool:
        """Whether enough records were found."""
        return len(self._found) >= self._count

    def kept(self) -> int:
        """Return the number of records that are kept."""
        return len(self._found)

    def forget(self) -> None:
        """Forget the records that were kept."""
        self._found = []

    def keep(self, found: Sequence[model.Record]) -> Sequence[model.Record]:
        """Keep all of these records; return an empty sequence."""
        self._found += found
        return ()

    def result(self) -> list[model.Record]:
        """Return the records found, by offset."""
        return self._found


class LatestScan(Scan):
    """A scan that keeps the newest record of each key, of the records that pass the filter."""

    keeps = True

    def __init__(self, place: model.Place, start: int, end: int, at: int, keys: int, until: int | None = None) -> None:
        """Make a scan. keys: the number of keys after which the scan ends; the other arguments are as in `Scan`."""
        super().__init__(place, start, end, at, until)
        self._keys = keys
        self._latest: dict[bytes, model.Record | int] = {}
        """Key -> its newest record, or the position of that record in the file."""
        self._weight = 0
        self._file: RecordFile | None = None

    @property
    def is_full(self) -> bool:
        """Whether there are too many keys."""
        return len(self._latest) > self._keys

    def kept(self) -> int:
        """Return the number of keys."""
        return len(self._latest)

    def keep(self, found: Sequence[model.Record]) -> Sequence[model.Record]:
        """Keep each record in place of the former one of its key; return an empty sequence. Records without a key are
        left out.
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
        """Forget the records that were kept."""
        self._latest, self._file, self._weight = {}, None, 0

    def gap(self) -> str:
        """Return, as text, the part that was not searched because there are too many keys; ``""`` if all was
        searched."""
        if not self.is_full:
            return ""
        place = f"{self.topic}-{self.number}"
        return f"{place}: more than {self._keys:,} keys; from offset {self.position} on it was not searched"


class BackwardScan(Scan):
    """The newest records before an offset: ranges from last to first, each read forwards.

    Attributes:
        before: the end of the last range (excluded).
        first: the start of the current range.
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
        """Return the number of records that are kept."""
        return min(self._count, len(self._found) + len(self._later))

    def forget(self) -> None:
        """Forget the records that were kept."""
        self._found, self._later = [], []

    def is_over(self) -> bool:
        """Return whether nothing is left. After a complete range, continue with the one before it as long as records
        are missing.
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
        """Keep the newest records; return an empty sequence."""
        self._found += found
        if len(self._found) > 2 * self._count:
            self._forgotten = self._found[-self._count - 1].offset + 1
            del self._found[: -self._count]
        return ()

    def result(self) -> list[model.Record]:
        """Return the records found, by offset."""
        return [*self._found, *self._later]

    def scanned(self) -> model.Scanned:
        """Return the range that was read, without the rest of an incomplete range."""
        last = self.before if self._later or self.position >= self.until else self.position
        return model.Scanned(self.topic, self.number, self.first, last, self.start, self.end)

    def further(self, cut: Sequence[model.Record]) -> int | None:
        """Return the offset before which a search that continues this one has to look; None at the start of the log."""
        reached = self.until if self.position == self.first else self.first
        at = max((record.offset + 1 for record in cut), default=max(reached, self._forgotten))
        return at if at > self.start and not self.broken else None

    def size(self) -> int:
        """Return the number of offsets down to the start of the log."""
        return self.before - self.start

    def done(self) -> int:
        """Return the number of offsets that were read."""
        return self.before - self.until + self.position - self.first

    def gap(self) -> str:
        """Return the rest of an incomplete range, as text; ``""`` between two ranges."""
        if self.position >= self.until or self.position == self.first:
            return ""
        return f"{self.topic}-{self.number}: offsets {self.position}..{self.until - 1} were not searched"


class SampleScan(Scan):
    """Evenly spread ranges of a partition, each read forwards."""

    jumps = True

    def __init__(self, place: model.Place, start: int, end: int, at: int, until: int, share: float) -> None:
        """Make a scan. share: the share of the offsets between `at` and `until` that is read."""
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
        """Return whether nothing is left. After a complete range, go to the next one."""
        while not self.broken and self.position >= self.until:
            if self._number + 1 >= len(self._ranges):
                return True
            self._read += self.until - self.first
            self._number += 1
            self._begin()
        return self.broken

    def most_bytes(self, most: int) -> int:
        """Return the approximate bytes of the rest of the range, so that a small sample reads little beyond it."""
        size, offsets = self._sizes
        wanted = FIRST_BYTES if not offsets else round(SPARE * size / offsets * (self.until - self.position))
        return min(most, max(FIRST_BYTES, wanted))

    def answered(self, size: int, offsets: int) -> None:
        """Note the size of the partition's records."""
        self._sizes = self._sizes[0] + size, self._sizes[1] + max(0, offsets)

    def scanned(self) -> model.Scanned:
        """Return the range in which the sample lies, up to the scan's position."""
        return self._whole._replace(next=max(self._whole.first, self.position))

    def size(self) -> int:
        """Return the number of offsets to read."""
        return self._wanted

    def done(self) -> int:
        """Return the number of offsets that were read."""
        return self._read + self.position - self.first


def sample_ranges(first: int, until: int, share: float) -> list[tuple[int, int]]:
    """Return evenly spread ranges that together contain a share of the offsets.

    Args:
        first: the first offset.
        until: the offset behind the last one.
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
    """The state that all calls of `look` for one search share: the filter, the bytes that it needs, and the counts.
    Used in threads.
    """

    def __init__(
        self,
        wanted: RecordFilter,
        decoder: RecordDecoder,
        await_schemas: Callable[[model.Record], None] | None = None,
        topics: Iterable[str] = (),
    ) -> None:
        """Make a sieve.

        Args:
            topics: the topics of the search.
            await_schemas: function that waits for the missing schemas of a record; None without a registry.
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
        """Yield the records before the end of a scan that pass the filter, and move the scan's position."""
        is_wanted, until = self.wanted.matches, scan.until
        for record in found:
            if record.offset >= until or self.stopping:
                return
            self.looked_at += 1
            scan.position = record.offset + 1
            if is_wanted(self._shown(record)):
                yield record

    def all_of(self, found: Iterable[model.Record], scan: Scan, count: int) -> Sequence[model.Record]:
        """Return the next records before the end of a scan, at most `count`, and move the scan's position."""
        part = list(islice(found, count))
        if part and part[-1].offset >= scan.until:
            part = [record for record in part if record.offset < scan.until]
        if part:
            self.looked_at += len(part)
            scan.position = part[-1].offset + 1
        return part

    def _shown(self, record: model.Record) -> model.Record:
        """Return a record in the form that may be shown; the filter must see no other."""
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
        """Make the running calls of `look` end soon."""
        self.stopping = self._allowance.ended = True


def look(scan: Scan, data: bytes, aborted: Iterable[tuple[int, int]], sieve: Sieve) -> Iterator[Sequence[model.Record]]:
    """Search the batches of an answer from the scan's position on, and move the position.

    Yield the records that pass in parts, some of them empty. When a part is yielded, the position is behind it.

    Args:
        aborted: producer id and first offset of each aborted transaction in this range (read_committed only).
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
    """The search through the batches of one answer."""

    def __init__(self, scan: Scan, sieve: Sieve) -> None:
        from console.wire.compression import Scratch

        self._scan, self._sieve = scan, sieve
        self._scratch = Scratch()
        self._found: list[model.Record] = []
        self._size = 0
        self._since = time.monotonic()

    def through(self, batch: Batch) -> Iterator[Sequence[model.Record]]:
        """Search a batch, and yield parts of the results. Raises BatchDamage."""
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
        """Yield the found records if they are at least `CHUNK_RECORDS` or `CHUNK_BYTES`, or if the last part was
        yielded more than `SLICE` (0.1 s) ago. size: bytes that were found since the last call.
        """
        self._size += size
        if len(self._found) >= CHUNK_RECORDS or self._size >= CHUNK_BYTES or time.monotonic() - self._since > SLICE:
            yield self.rest()

    def rest(self) -> Sequence[model.Record]:
        """Return the records that were found and not yielded yet."""
        found, self._found, self._size, self._since = self._found, [], 0, time.monotonic()
        return self._scan.keep(found)


def _count(batch: Batch, position: int, size: int) -> int:
    """Return an estimate, by its header, of the number of a batch's records from a position on; at most `size`."""
    return max(0, min(batch.facts.claimed, batch.last_offset + 1 - position, size))


def next_offset(data: bytes) -> int | None:
    """Return the offset after the complete batches of an answer, by their headers alone; None if the
    headers show none.
    """
    from console.wire.record_batches import end_of_batches

    return end_of_batches(data)


def merged(scans: Sequence[Scan], count: int, *, newest: bool) -> tuple[tuple[model.Record, ...], model.Start | None]:
    """Return the kept records of all partitions by time, then topic, partition and offset (those of a single partition
    by offset alone), at most `count`, with `newest` the last ones; and the start of a search for the rest, None if no
    record is left.
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
