"""Records of a topic: start positions, and Fetch without a session (KIP-227) from each partition's leader.

Bounded in records, bytes and time (`console.model.records`), and in the decompressed size of a batch
(`console.wire.record_batches`). Records of aborted transactions and control batches are skipped as consumers skip them
(CompletedFetch): by the list of aborted transactions in each response, and the abort markers between records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, BrokerError, failure
from console.admin.groups import group_position
from console.admin.link import Link, broker, delays
from console.admin.partitions import EARLIEST, LATEST, Place, list_offsets
from console.admin.record_times import fetch_request
from console.admin.topics import describe_topics
from console.model.cluster import Topic
from console.model.failure import Failure
from console.model.records import (
    MOST_BYTES,
    MOST_RECORDS,
    MOST_SCANNED,
    MOST_SECONDS,
    First,
    FromOffset,
    FromOffsets,
    FromTime,
    Last,
    OfGroup,
    Record,
    RecordsQuery,
    RecordsRead,
    Scanned,
    Start,
    Undecodable,
)
from console.wire.fields import Fields

_FIRST_BYTES, _LATER_BYTES, _LEAST_BYTES = 64 << 10, 1 << 20, 16 << 10
"""Bytes to fetch from a partition: at first, later, and at least."""
_TRIES = 4
"""Consecutive answers without records, or from a broker that does not lead, after which kac gives up a partition."""
_MOVED = frozenset(
    {
        ErrorCode.not_leader_or_follower,
        ErrorCode.leader_not_available,
        ErrorCode.unknown_topic_id,
        ErrorCode.inconsistent_topic_id,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.offset_not_available,
    }
)


async def read_records(link: Link, query: RecordsQuery, wanted: Wanted | None = None) -> RecordsRead:
    """Return the records of a topic or of one of its partitions, read from the leaders; never changes anything.

    wanted: predicate for records, called in its own thread; the limits hold for all records read.
    The failures of partitions are in `problems`. Raises AdminError if the topic or the group can't be read, or the
    first failure if no partition can be read.
    """
    topic = await _topic(link, query)
    numbers = _numbers(topic, query)
    found = await _ranges(link, query, numbers)
    notes, problems = list(found.notes), list(found.problems)
    scans = []
    for number in numbers:
        if number in found.ranges:
            start, end = found.ranges[number]
            scans.append(scan_of(query, number, start, end, found.begin.get(number)))
    if not scans and problems:
        raise BrokerError(problems[0])
    reading = _Reading(link, topic, query, wanted)
    problems += await reading.run(scans)
    if problems and len({scan.number for scan in scans}) == len(reading.failed):
        raise BrokerError(problems[0])
    records, more = merged([scan for scan in scans if scan.number not in reading.failed], query)
    return RecordsRead(
        query,
        records,
        tuple(line for scan in scans for line in scan.undecodable),
        tuple(scan.scanned() for scan in scans),
        reading.budget.scanned_records,
        reading.budget.bytes,
        reading.budget.stopped,
        more,
        (*notes, *reading.notes, *(gap for scan in scans if (gap := scan.gap()))),
        tuple(dict.fromkeys(problems)),
    )


async def _topic(link: Link, query: RecordsQuery) -> Topic:
    listing = await describe_topics(link, [query.topic])
    topic = listing.topics.get(query.topic)
    if topic is None:
        problem = listing.failures.get(query.topic) or failure(ErrorCode.unknown_topic_or_partition)
        raise BrokerError.of(problem.message or f"topic {query.topic}", problem.remedy, name=problem.name)
    return topic


def _numbers(topic: Topic, query: RecordsQuery) -> list[int]:
    numbers = [partition.number for partition in topic.partitions]
    if query.partition is None:
        if isinstance(query.start, FromOffset) and len(numbers) > 1:
            raise BrokerError.of(
                f"an offset is a partition's, and {topic.name} has {len(numbers)}",
                "Name the partition: partition N.",
                name="INVALID_REQUEST",
            )
        return numbers
    if query.partition not in numbers:
        raise BrokerError.of(
            f"{topic.name} has no partition {query.partition}: it has {len(numbers)}",
            "Partitions are numbered from 0.",
            name="UNKNOWN_TOPIC_OR_PARTITION",
        )
    return [query.partition]


class _Ranges(NamedTuple):
    """The log's start and end by partition, the start position by partition, and the differences from the query."""

    ranges: Mapping[int, tuple[int, int]]
    begin: Mapping[int, int]
    notes: Sequence[str]
    problems: Sequence[Failure]


async def _ranges(link: Link, query: RecordsQuery, numbers: Sequence[int]) -> _Ranges:
    """Return the logs' ranges, and the start position in each."""
    places = [(query.topic, number) for number in numbers]
    latest = dict.fromkeys(places, LATEST)
    (starts, no_start), (ends, no_end), (begin, notes, no_begin) = await asyncio.gather(
        list_offsets(link, dict.fromkeys(places, EARLIEST)), list_offsets(link, latest), _begin(link, query, places)
    )
    held = ""
    if query.committed:
        # Read after the end, so that an offset behind a later last stable offset is held back by an open transaction.
        stable, no_end = await list_offsets(link, latest, stable=True)
        held = _held_back({n: (stable[t, n], ends[t, n]) for t, n in places if (t, n) in stable and (t, n) in ends})
        ends = stable
    ranges = {n: (starts[t, n], ends[t, n]) for t, n in places if (t, n) in starts and (t, n) in ends}
    if isinstance(query.start, OfGroup | FromTime):
        # Without a committed offset or an offset for the time there is no start position.
        ranges = {number: span for number, span in ranges.items() if number in begin}
    out = []
    for number, at in begin.items():
        if number not in ranges or isinstance(query.start, Last | FromOffsets):
            continue
        start, end = ranges[number]
        if 0 <= at < start:
            out.append(f"partition {number}: offset {at} was deleted; the log begins at {start}")
        elif at == _NONE_LATER:
            out.append(f"partition {number}: no record is as new as that; its end is {end}")
        elif at > end:
            out.append(f"partition {number}: offset {at} is behind the end {end}")
    return _Ranges(
        ranges, begin, [*notes, *out, *([held] if held else [])], list(dict.fromkeys((*no_start, *no_end, *no_begin)))
    )


def _held_back(ends: Mapping[int, tuple[int, int]]) -> str:
    """Return a note about the partitions with records that open transactions hold back. ends: partition -> (last stable
    offset, end).
    """
    held = {number: span for number, span in ends.items() if span[0] < span[1]}
    if not held:
        return ""
    if len(held) > 1:
        return f"open transactions hold back records of {len(held)} partitions; uncommitted shows them"
    ((number, (stable, end)),) = held.items()
    return f"partition {number}: an open transaction holds back offsets {stable} to {end - 1}; uncommitted shows them"


_NONE_LATER = 2**63 - 1
"""The start position for a time after the last record: behind every end."""
_Begin = tuple[Mapping[int, int], Sequence[str], Sequence[Failure]]


async def _begin(link: Link, query: RecordsQuery, places: Sequence[Place]) -> _Begin:
    """Return partition -> its start position, with notes and failures."""
    match query.start:
        case Last(before=before):
            return before or {}, (), ()
        case FromOffset(offset=offset):
            return {number: offset for _, number in places}, (), ()
        case FromOffsets(offsets=offsets):
            return offsets, (), ()
        case FromTime(timestamp=timestamp):
            at, problems = await list_offsets(link, dict.fromkeys(places, timestamp))
            # No record at or after the time: start at the end, wherever it is.
            return {number: offset if offset >= 0 else _NONE_LATER for (_, number), offset in at.items()}, (), problems
        case OfGroup(group=group):
            position = await group_position(link, group)
            stands = {place[1]: position.committed[place].offset for place in places if place in position.committed}
            if not stands:
                where = query.topic if query.partition is None else f"{query.topic}-{query.partition}"
                raise BrokerError.of(
                    f"group {group} has committed nothing for {where}",
                    "Check the names; a consumer that assigns itself commits only if it calls commit.",
                    name="NO_OFFSET",
                )
            without = len(places) - len(stands)
            note = [f"{without} of {len(places)} partitions have no offset of group {group}"] if without else []
            return stands, note, position.failures
        case _:
            return {}, (), ()


class _Reading:
    """The state of one read."""

    def __init__(self, link: Link, topic: Topic, query: RecordsQuery, wanted: Wanted | None) -> None:
        clock = asyncio.get_running_loop().time
        self._link = link
        self._topic = topic
        self._query = query
        self._wanted = wanted
        self._count = min(max(query.count, 1), MOST_RECORDS)
        self._leaders = {partition.number: partition.leader for partition in topic.partitions}
        self._tries: dict[int, int] = {}
        self._asked: set[int] = set()
        self.budget = Budget(clock() + MOST_SECONDS, clock)
        self.failed: dict[int, Failure] = {}
        self.notes: list[str] = []

    async def run(self, scans: Sequence[Scan]) -> list[Failure]:
        """Fetch until every scan is complete or a limit is reached. Return the failures of partitions."""
        waits = delays()
        while not self.budget.is_over():
            active = [scan for scan in scans if scan.number not in self.failed and scan.wants(self._count)]
            if not active:
                break
            before = [(scan.position, len(scan.undecodable)) for scan in active]
            await self._round(active)
            moved = [(scan.position, len(scan.undecodable)) for scan in active]
            if before == moved and not self.budget.is_over():
                await asyncio.sleep(min(next(waits), max(self.budget.seconds, 0)))
        return list(self.failed.values())

    async def _round(self, active: Sequence[Scan]) -> None:
        """Send one Fetch to each leader, concurrently."""
        by_leader: dict[int, list[Scan]] = {}
        for scan in active:
            leader = self._leaders[scan.number]
            if leader < 0:
                await self._again(scan, ErrorCode.leader_not_available)
            else:
                by_leader.setdefault(leader, []).append(scan)
        most = max(self.budget.bytes_left // max(len(by_leader), 1), _LEAST_BYTES)
        answers = await asyncio.gather(
            *(self._fetch(leader, mine, most, len(active)) for leader, mine in by_leader.items())
        )
        for mine, answer in zip(by_leader.values(), answers, strict=True):
            if isinstance(answer, Failure):
                if self.budget.seconds > 0:
                    self.failed.update((scan.number, answer) for scan in mine)
                continue
            for scan in mine:
                if isinstance(answer, int):
                    await self._refused(scan, answer)
                else:
                    await self._take(scan, answer.get(scan.number))

    async def _fetch(
        self, leader: int, scans: Sequence[Scan], most: int, partitions: int
    ) -> dict[int, Any] | int | Failure:
        """Return partition -> its part of the leader's answer; or the answer's error code, or the failure of the
        request."""
        share = max(_LEAST_BYTES, self.budget.bytes_left // partitions)
        # Partitions without records in the last answer come first: brokers spend the answer's limit in this order.
        order = sorted(scans, key=lambda scan: -self._tries.get(scan.number, 0))
        wanted: list[Fields] = []
        for scan in order:
            later = scan.number in self._asked or self._count > 100
            most_of_it = min(share, _LATER_BYTES if later else _FIRST_BYTES)
            place = {"partition": scan.number, "fetch_offset": scan.position}
            wanted.append({**place, "partition_max_bytes": most_of_it})
        asked = fetch_request(self._topic, wanted, most, committed=self._query.committed)
        try:
            response = await self._link.call("fetch", asked, to=broker(leader), timeout=max(self.budget.seconds, 0.001))
        except AdminError as error:
            return error.failure
        if code := getattr(response, "error_code", 0):
            return int(code)
        self._asked.update(scan.number for scan in scans)
        return {part.partition_index: part for topic in response.responses for part in topic.partitions}

    async def _take(self, scan: Scan, answer: Any) -> None:
        if answer is None:
            await self._again(scan, ErrorCode.unknown_server_error)
            return
        if answer.error_code == ErrorCode.offset_out_of_range:
            await self._deleted(scan)
            return
        if answer.error_code:
            await self._refused(scan, answer.error_code)
            return
        data = answer.records or b""
        self.budget.bytes += len(data)
        position = scan.position
        aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
        # In a thread, so that other requests of the client continue.
        try:
            await asyncio.to_thread(take, scan, self._topic.name, data, aborted, self._count, self._wanted, self.budget)
        except asyncio.CancelledError:
            self.budget.stopped = "time"  # the thread checks it, so the wait for it ends
            raise
        if scan.position > position or scan.broken:
            self._tries.pop(scan.number, None)
        else:
            await self._again(scan, 0)

    async def _refused(self, scan: Scan, code: int) -> None:
        if code in _MOVED:
            await self._again(scan, code)
        else:
            self.failed[scan.number] = self._failure(scan, code)

    async def _again(self, scan: Scan, code: int) -> None:
        """Count an answer without records. Look up the leader again; give up the partition after some tries."""
        tries = self._tries[scan.number] = self._tries.get(scan.number, 0) + 1
        if tries > _TRIES:
            self.failed[scan.number] = self._failure(scan, code) if code else self._silent(scan)
        elif code:
            self._topic = await _topic(self._link, self._query)
            self._leaders.update((partition.number, partition.leader) for partition in self._topic.partitions)

    async def _deleted(self, scan: Scan) -> None:
        """Continue at the log's new start: records were deleted during the read."""
        place = (self._topic.name, scan.number)
        starts, problems = await list_offsets(self._link, {place: EARLIEST})
        start = starts.get(place, -1)
        if scan.position < start <= scan.until:
            self.notes.append(f"partition {scan.number}: offsets {scan.position} to {start - 1} were deleted meanwhile")
            scan.start = scan.position = start
        else:
            self.failed[scan.number] = problems[0] if problems else self._failure(scan, ErrorCode.offset_out_of_range)

    def _failure(self, scan: Scan, code: int) -> Failure:
        found = failure(code, f"{self._topic.name}-{scan.number}")
        if code != ErrorCode.topic_authorization_failed:
            return found
        remedy = f"Ask an administrator of the cluster for an ACL: READ on TOPIC {self._topic.name}."
        return Failure(found.name, f"{found.message}: its records may not be read", remedy)

    def _silent(self, scan: Scan) -> Failure:
        return Failure(
            "NO_RECORDS",
            f"{self._topic.name}-{scan.number}: the leader returns no records from offset {scan.position} on, though "
            f"its log ends at {scan.until}",
            "A quota may hold this client back, or remote storage be slow: try again.",
        )


# Scans of partitions: ranges of offsets, limits, aborted transactions. No I/O.

FIRST_STRETCH, GROWTH = 200, 4
"""Offsets of the first range for the newest records, and the factor by which each earlier range is longer."""
MOST_KEPT = 64 << 20
"""Most bytes of keys, values and headers in the records kept."""
MOST_LINES = 100
"""Most lines about batches of a partition that can't be decoded."""

Wanted = Callable[[Record], bool]
"""Predicate for the records to return; raises EndOfLook."""


class EndOfLook(Exception):
    """Ends the read. The text has the reason."""


class Scan:
    """A partition that is read forwards from an offset.

    start, end: range of its log. first: offset at which reading began. position: next offset to read. until: offset at
    which to stop (excluded). broken: whether the rest can't be read.
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
        """Return whether the scan has to read more to find so many records."""
        return not self.broken and self.position < self.until and not self.is_full(count)

    def is_full(self, count: int) -> bool:
        """Return whether the rest of a batch can be skipped."""
        return len(self.found) >= count

    def keep(self, record: Record, _count: int) -> None:
        """Add a matching record."""
        self.found.append(record)

    def result(self) -> list[Record]:
        """Return the records found, by offset."""
        return self.found

    def scanned(self) -> Scanned:
        """Return the range that was read."""
        return Scanned(self.number, self.first, self.position, self.start, self.end)

    def further(self, cut: Sequence[Record]) -> int | None:
        """Return the offset for the next read; None at the end of the log. cut: records found but left out of the
        answer.
        """
        at = min((record.offset for record in cut), default=self.position)
        return at if at < self.end and not self.broken else None

    def gap(self) -> str:
        """Return the offsets that were skipped although later records are in the answer, as text; ``""`` if there are
        none.
        """
        return ""


class BackwardScan(Scan):
    """The newest records before an offset: ranges from last to first, each read forwards.

    before: end of the last range (excluded). first: start of the current range.
    """

    def __init__(self, number: int, start: int, end: int, before: int, count: int) -> None:
        super().__init__(number, start, end, start)
        self.before = self.until = min(max(before, start), end)
        self._size = min(count, FIRST_STRETCH)
        self._later: list[Record] = []
        self._forgotten = -1
        self.first = self.position = max(start, self.until - self._size)

    def wants(self, count: int) -> bool:
        """Return the same. After a complete range, continue with the one before it as long as records are missing."""
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
        """Add a record; drop the oldest if there are too many."""
        self.found.append(record)
        if len(self.found) > 2 * count:
            self._forgotten = self.found[-count - 1].offset + 1
            del self.found[:-count]

    def result(self) -> list[Record]:
        """Return the records found, by offset."""
        return [*self.found, *self._later]

    def scanned(self) -> Scanned:
        """Return the range that was read, without the rest of an incomplete range."""
        last = self.before if self._later or self.position >= self.until else self.position
        return Scanned(self.number, self.first, last, self.start, self.end)

    def further(self, cut: Sequence[Record]) -> int | None:
        """Return the end of the records before these; None at the start of the log."""
        at = max((record.offset + 1 for record in cut), default=max(self.first, self._forgotten))
        return at if at > self.start and not self.broken else None

    def gap(self) -> str:
        """Return the rest of an incomplete range, as text."""
        if self.position >= self.until:
            return ""
        span = f"{self.position}..{self.until - 1}"
        return f"partition {self.number}: offsets {span} were not looked at; ask for fewer records"


class Budget:
    """The limits of one read. stopped: the limit that ended it: ``records``, ``bytes``, ``time``, another text, or
    ``""``.
    """

    def __init__(self, deadline: float, clock: Callable[[], float]) -> None:
        self._deadline = deadline
        self._clock = clock
        self.scanned_records = 0
        self.bytes = 0
        self.kept = 0
        self.stopped = ""

    @property
    def seconds(self) -> float:
        """Seconds left."""
        return self._deadline - self._clock()

    @property
    def bytes_left(self) -> int:
        """Bytes left to fetch."""
        return MOST_BYTES - self.bytes

    def keep(self, record: Record) -> None:
        """Count a record found."""
        headers = sum(len(key) + len(value or b"") for key, value in record.headers)
        self.kept += len(record.key or b"") + len(record.value or b"") + headers

    def is_over(self) -> bool:
        """Return whether a limit is reached."""
        if not self.stopped:
            if self.scanned_records >= MOST_SCANNED:
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
    """Process the batches of an answer from the scan's position on, and move the position.

    aborted: producer id and first offset of each aborted transaction in this range (read_committed only).
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
                    if wanted is None or wanted(record):
                        scan.keep(record, count)
                        budget.keep(record)
                    budget.scanned_records += 1
                    reached = record.offset + 1
                    if scan.is_full(count) or budget.is_over():
                        scan.position = reached
                        return
        except OutOfTime:
            return
        except EndOfLook as end:
            scan.position, budget.stopped = reached, str(end)
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
    """Return the records of all partitions by time, then partition and offset, at most the number requested; and the
    start for the next read, None if no record is left.
    """
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
        # A partition that was read to its start has no earlier records.
        return tuple(kept), Last({scan.number: places.get(scan.number, scan.start) for scan in scans})
    return tuple(kept), FromOffsets({scan.number: places.get(scan.number, scan.end) for scan in scans})


def scan_of(query: RecordsQuery, number: int, start: int, end: int, at: int | None) -> Scan:
    """Return the scan of a partition. at: start offset; for the newest records, their end (excluded), None for the
    log's end.
    """
    if isinstance(query.start, Last):
        return BackwardScan(number, start, end, end if at is None else at, min(max(query.count, 1), MOST_RECORDS))
    return Scan(number, start, end, start if isinstance(query.start, First) or at is None else at)
