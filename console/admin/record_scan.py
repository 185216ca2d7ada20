"""Partitions while their records are looked at: stretches of offsets, bounds, aborted transactions. No I/O.

Records of aborted transactions and control batches are left out as consumers leave them out (CompletedFetch): by the
list of aborted transactions of each answer, and the abort markers between the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from console.model.records import (
    MOST_BYTES,
    MOST_LOOKED_AT,
    MOST_RECORDS,
    First,
    FromOffsets,
    Last,
    Looked,
    Record,
    RecordsQuery,
    Start,
    Undecodable,
)

FIRST_STRETCH, GROWTH = 200, 4
"""Offsets that are looked at first for the newest records, and by how much the stretch before them is longer."""
MOST_KEPT = 64 << 20
"""Most bytes of keys, values and headers of the records that are kept."""
MOST_LINES = 100
"""Most lines of a partition about batches that can't be decoded."""

Wanted = Callable[[Record], bool]
"""Whether a record is part of the answer."""


class Scan:
    """One partition that is read from an offset on.

    start, end: its log. first: where the look began. position: the next offset to look at. until: where to stop
    (excluded). broken: nothing more can be read from it.
    """

    def __init__(self, number: int, start: int, end: int, at: int) -> None:
        self.number = number
        self.start = start
        self.end = self.until = end
        self.first = self.position = min(max(at, start), end)
        self.found: list[Record] = []
        self.undecodable: list[Undecodable] = []
        self.broken = False

    def wants(self, count: int) -> bool:
        """Return whether there is more to read for so many records."""
        return not self.broken and self.position < self.until and not self.is_full(count)

    def is_full(self, count: int) -> bool:
        """Return whether the rest of a batch may be left alone."""
        return len(self.found) >= count

    def keep(self, record: Record, _count: int) -> None:
        """Add a record that was found."""
        self.found.append(record)

    def result(self) -> list[Record]:
        """Return what was found, by offset."""
        return self.found

    def looked(self) -> Looked:
        """Return how far it was looked at."""
        return Looked(self.number, self.first, self.position, self.start, self.end)

    def further(self, cut: Sequence[Record]) -> int | None:
        """Return where to look further, None at the end of the log. cut: what was found and is not in the answer."""
        at = min((record.offset for record in cut), default=self.position)
        return at if at < self.end and not self.broken else None

    def gap(self) -> str:
        """Return what was not looked at although later records are in the answer, ``""`` for nothing."""
        return ""


class BackwardScan(Scan):
    """The newest records before an offset: stretch by stretch, each read forwards, the later ones first.

    before: the end of the last stretch (excluded). first: the beginning of the stretch that is read now.
    """

    def __init__(self, number: int, start: int, end: int, before: int, count: int) -> None:
        super().__init__(number, start, end, start)
        self.before = self.until = min(max(before, start), end)
        self._size = min(count, FIRST_STRETCH)
        self._later: list[Record] = []
        self._forgotten = -1
        self.first = self.position = max(start, self.until - self._size)

    def wants(self, count: int) -> bool:
        """Return the same. A complete stretch is followed by the one before it, as long as records are missing."""
        while not self.broken and self.position >= self.until:
            self._later, self.found = [*self.found, *self._later], []
            if len(self._later) >= count or self.first <= self.start:
                return False
            self._size *= GROWTH
            self.until = self.first
            self.first = self.position = max(self.start, self.until - self._size)
        return not self.broken

    def is_full(self, _count: int) -> bool:
        """Return False: the newest records are at the end."""
        return False

    def keep(self, record: Record, count: int) -> None:
        """Add a record; older ones that are too many go."""
        self.found.append(record)
        if len(self.found) > 2 * count:
            self._forgotten = self.found[-count - 1].offset + 1
            del self.found[:-count]

    def result(self) -> list[Record]:
        """Return what was found, by offset."""
        return [*self.found, *self._later]

    def looked(self) -> Looked:
        """Return how far it was looked at, without the rest of a stretch that was not completed."""
        last = self.before if self._later or self.position >= self.until else self.position
        return Looked(self.number, self.first, last, self.start, self.end)

    def further(self, cut: Sequence[Record]) -> int | None:
        """Return where the records before these end, None at the start of the log."""
        at = max((record.offset + 1 for record in cut), default=max(self.first, self._forgotten))
        return at if at > self.start and not self.broken else None

    def gap(self) -> str:
        """Return the rest of a stretch that was not completed."""
        if self.position >= self.until:
            return ""
        span = f"{self.position}..{self.until - 1}"
        return f"partition {self.number}: offsets {span} were not looked at; ask for fewer records"


class Budget:
    """What one answer may take. stopped: which limit ended it: ``records``, ``bytes``, ``time``, or ``""``."""

    def __init__(self, deadline: float, clock: Callable[[], float]) -> None:
        self._deadline = deadline
        self._clock = clock
        self.looked_at = 0
        self.bytes = 0
        self.kept = 0
        self.stopped = ""

    @property
    def seconds(self) -> float:
        """Seconds left."""
        return self._deadline - self._clock()

    @property
    def bytes_left(self) -> int:
        """Bytes to fetch."""
        return MOST_BYTES - self.bytes

    def keep(self, record: Record) -> None:
        """Count a record that was found."""
        headers = sum(len(key) + len(value or b"") for key, value in record.headers)
        self.kept += len(record.key or b"") + len(record.value or b"") + headers

    def is_over(self) -> bool:
        """Return whether a limit is reached."""
        if not self.stopped:
            if self.looked_at >= MOST_LOOKED_AT:
                self.stopped = "records"
            elif self.bytes >= MOST_BYTES or self.kept >= MOST_KEPT:
                self.stopped = "bytes"
            elif self.seconds <= 0:
                self.stopped = "time"
        return bool(self.stopped)


def take(
    scan: Scan,
    topic: str,
    data: bytes,
    aborted: Iterable[tuple[int, int]],
    count: int,
    wanted: Wanted | None,
    budget: Budget,
) -> None:
    """Look at the batches of an answer from the scan's position on, and move the position.

    aborted: producer id and first offset of each transaction that was aborted in this stretch (read_committed only).
    """
    from console.wire.record_batches import BatchDamage, OutOfTime, batches, records

    open_: set[int] = set()
    pending = sorted(aborted, key=lambda each: each[1], reverse=True)
    for batch in batches(data):
        first, last, facts = batch.base_offset, batch.last_offset, batch.facts
        if not batch.problem and first >= scan.until:
            scan.position = scan.until
            return
        reached = max(scan.position, first)
        try:
            if batch.problem:
                raise BatchDamage(batch.problem)
            while pending and pending[-1][1] <= last:
                open_.add(pending.pop()[0])
            if batch.control:
                if batch.aborts:
                    open_.discard(facts.producer_id)
            elif last >= scan.position and not (facts.transactional and facts.producer_id in open_):
                for record in records(batch, topic, scan.number, scan.position, is_over=budget.is_over):
                    if record.offset >= scan.until:
                        break
                    budget.looked_at += 1
                    reached = record.offset + 1
                    if wanted is None or wanted(record):
                        scan.keep(record, count)
                        budget.keep(record)
                    if scan.is_full(count) or budget.looked_at >= MOST_LOOKED_AT:
                        scan.position = reached
                        return
        except OutOfTime:
            return
        except BatchDamage as damage:
            if reached < scan.until:
                _add_undecodable(scan, topic, reached, last, str(damage))
            if facts.magic not in (0, 1, 2) or last < first:
                scan.broken = True
                return
        scan.position = max(scan.position, min(last + 1, scan.until))
        if budget.is_over():
            return


def _add_undecodable(scan: Scan, topic: str, first: int, last: int, why: str) -> None:
    if len(scan.undecodable) < MOST_LINES:
        scan.undecodable.append(Undecodable(topic, scan.number, first, max(first, min(last, scan.until - 1)), why))


def merged(scans: Sequence[Scan], query: RecordsQuery) -> tuple[tuple[Record, ...], Start | None]:
    """Return the records of all partitions by time, then partition and offset, at most as many as asked for; and where
    to look further, None for nowhere."""
    count = min(max(query.count, 1), MOST_RECORDS)
    found = sorted(
        (record for scan in scans for record in scan.result()),
        key=lambda record: (record.timestamp, record.partition, record.offset),
    )
    if len(scans) == 1:
        found = scans[0].result()  # by offset: producers' clocks may go back
    newest = isinstance(query.start, Last)
    kept, cut = (found[-count:], found[:-count]) if newest else (found[:count], found[count:])
    of: dict[int, list[Record]] = {}
    for record in cut:
        of.setdefault(record.partition, []).append(record)
    further = {scan.number: scan.further(of.get(scan.number, ())) for scan in scans}
    places = {number: at for number, at in further.items() if at is not None}
    if not places:
        return tuple(kept), None
    if newest:
        # A partition that was read to its start has nothing before it.
        return tuple(kept), Last({scan.number: places.get(scan.number, scan.start) for scan in scans})
    return tuple(kept), FromOffsets({scan.number: places.get(scan.number, scan.end) for scan in scans})


def scan_of(query: RecordsQuery, number: int, start: int, end: int, at: int | None) -> Scan:
    """Return the scan of a partition. at: where to begin; for the newest records, where they end (excluded), None: the
    end."""
    if isinstance(query.start, Last):
        return BackwardScan(number, start, end, end if at is None else at, min(max(query.count, 1), MOST_RECORDS))
    return Scan(number, start, end, start if isinstance(query.start, First) or at is None else at)
