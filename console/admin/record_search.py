"""A search for records: finding the start offsets, then Fetch without a session (KIP-227) from the partitions' leaders,
until the end of the logs.

A task for each leader sends the next Fetch while a thread searches the previous response. Memory is limited: the bytes
of responses (`MOST_AT_ONCE`), the decompressed size of a batch (`console.wire.record_batches`), and the parts of the
result that wait for the caller. Control batches and records of aborted transactions are skipped as consumers do
(CompletedFetch): by the list of aborted transactions in each response, and by the abort markers among the records.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as TooLate
from contextlib import aclosing, suppress
from datetime import timedelta
from itertools import islice
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.admin import errors, record_scans
from console.admin.groups import group_position
from console.admin.link import Link, delays, reading
from console.admin.partitions import EARLIEST, LATEST, list_offsets, local_starts
from console.admin.record_scans import Scan, Sieve
from console.admin.record_times import fetch_request
from console.admin.schema_registry import SchemaRegistry
from console.admin.topics import describe_topics
from console.model import records as model
from console.model.cluster import Topic
from console.model.failure import Failure
from console.model.identity import uuid_of
from console.model.numbers import plural
from console.model.partitioners import likely_partitions
from console.model.record_decoding import RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.schemas import SchemaKey

MOST_AT_ONCE = 32 << 20
"""Maximum total size in bytes of one search's responses that are requested, or wait to be searched."""
PARTITION_BYTES, LEAST_BYTES = 2 << 20, 16 << 10
"""Bytes to fetch from a partition, and their minimum; brokers return at least one whole batch."""
ANSWER_BYTES = 4 << 20
"""Maximum size in bytes of one Fetch response."""
PARTITIONS_AT_ONCE = 1_000
"""Maximum number of partitions in one Fetch request."""
PATIENCE = 30.0
"""Seconds without records, or without a leader that answers, after which the search of a partition ends with a failure.
"""
WAITS_FOR_SCHEMAS = 6.0
"""Total seconds for which the filter of one search waits for schemas; after that, it sees contents undecoded."""
MOST_SCHEMAS = 1_000
"""Maximum number of schemas that one search waits for."""
FOLLOW_WAIT = 0.5
"""Maximum seconds for which a broker waits for new records, in a search that follows the logs."""
MOST_MERGED = 10_000
"""Maximum limit of a search whose records are merged by time, because each partition keeps as many records as the
limit.
"""
CREDIT = 0.5
"""Maximum seconds of delay that a search with a rate limit may make up for by exceeding the rate."""
BEAT = 0.25
"""Maximum seconds between two portions: if nothing is found, an empty portion reports the progress."""
LAST_SECONDS = 0.5
"""Maximum seconds to wait for the last results of a search that is ended early: some leader may not answer."""
_GLANCE = 0.1
"""Seconds between two checks of the tasks and leaders."""
_WAITING = 4
"""Maximum number of parts of the result that wait for the caller."""
_MOVED = frozenset(
    {
        ErrorCode.not_leader_or_follower,
        ErrorCode.leader_not_available,
        ErrorCode.unknown_topic_id,
        ErrorCode.inconsistent_topic_id,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.offset_not_available,
        ErrorCode.kafka_storage_error,
        ErrorCode.unknown_topic_or_partition,
    }
)
_PASSING = frozenset(
    {
        ErrorCode.unknown_server_error,
        ErrorCode.corrupt_message,
        ErrorCode.network_exception,
        ErrorCode.request_timed_out,
    }
)
"""Temporary errors of brokers, after which a Fetch is sent again."""


class Halt:
    """A switch by which the caller of a search ends it early, from any thread. Records found by then are still
    delivered.
    """

    def __init__(self) -> None:
        self.asked = False
        self.wake: Callable[[], object] = lambda: None
        """Called on the thread that ends the search: the search itself checks the switch only from time to time."""

    def ask(self) -> None:
        """Have the search end soon."""
        self.asked = True
        self.wake()


async def search(
    link: Link,
    search: model.Search,
    wanted: RecordFilter | None = None,
    decoder: RecordDecoder | None = None,
    registry: SchemaRegistry | None = None,
    halt: Halt | None = None,
) -> AsyncGenerator[model.Portion, None]:
    """Search topics and yield the results in portions, with records as the brokers sent them. Changes nothing.

    A portion comes at least every `BEAT` seconds, and the search pauses if the caller does not take the portions. The
    last portion has the final progress. Records are sorted by offset within each partition. They are sorted by time for
    a search of the last records, and for a limit without a filter on several partitions.

    Args:
        search: the topics, the beginning and the limits.
        wanted: the filter, which sees records as they may be shown; None for all records.
        decoder: decodes and masks records for the filter; None to do neither.
        registry: the registry whose schemas the filter waits for; None to wait for none.
        halt: a switch that ends the search early; None if it can't be ended early.

    Raises:
        BrokerError: a group can't be read, or none of the topics or partitions can.
        AdminError: the connection to the cluster was lost at the beginning.
    """
    wanted = wanted or RecordFilter()
    topics, problems = await _topics(link, search)
    plan = await _planned(link, search, wanted, topics)
    if not plan.scans and (problems or plan.problems):
        raise errors.BrokerError((*problems, *plan.problems)[0])
    waits = None if registry is None else _Waits(asyncio.get_running_loop(), decoder, registry)
    await_schemas = None if waits is None else waits.await_schemas
    sieve = Sieve(wanted, decoder or RecordDecoder(()), await_schemas, search.topics)
    if waits is not None:
        waits.sieve = sieve
    searching = _Searching(link, search, topics, plan, sieve, halt or Halt())
    searching.notes += plan.notes
    searching.problems += dict.fromkeys((*problems, *plan.problems))
    async with aclosing(searching.portions()) as portions:
        async for portion in portions:
            yield portion


async def begin(link: Link, *about: Any) -> AsyncGenerator[model.Portion, None]:
    """Return the portions of a search; it sends nothing until the first `advance`. With `begin`, `advance` and
    `end`, a caller on another event loop reads a search: it runs each of them on the client's loop. about: the
    arguments of `search`.
    """
    return search(link, *about)


async def advance(_link: Link, portions: AsyncGenerator[model.Portion, None]) -> model.Portion | None:
    """Return the next portion of a search; None after its end."""
    return await anext(portions, None)


async def end(_link: Link, portions: AsyncGenerator[model.Portion, None]) -> None:
    """End a search early."""
    with suppress(RuntimeError):  # if the caller that awaits a portion was cancelled, that ends the search
        await portions.aclose()


async def _topics(link: Link, search: model.Search) -> tuple[dict[str, Topic], list[Failure]]:
    """Return name -> topic for the topics that exist, and the failures of the others. Raises BrokerError if no topic
    exists.
    """
    listing = await describe_topics(link, search.topics)
    problems = []
    for name in search.topics:
        if name not in listing.topics:
            problem = listing.failures.get(name) or errors.failure(ErrorCode.unknown_topic_or_partition)
            named = errors.BrokerError.of(problem.message or f"topic {name}", problem.remedy, name=problem.name)
            problems.append(named.failure)
    if problems and not listing.topics:
        raise errors.BrokerError(problems[0])
    return {name: listing.topics[name] for name in search.topics if name in listing.topics}, problems


# -- start positions ---------------------------------------------------------------------------------------------------


class _Plan(NamedTuple):
    """The scans of a search, in the order in which they run, and notes about differences from the request."""

    scans: Sequence[Scan]
    notes: Sequence[str]
    problems: Sequence[Failure]
    likely: frozenset[model.Place]
    """The partitions that are searched first; empty if the order does not matter."""


def _places(search: model.Search, topics: Mapping[str, Topic]) -> list[model.Place]:
    """Return the partitions to search. Raises BrokerError if the search names one that does not exist."""
    found: list[model.Place] = []
    for name, topic in topics.items():
        numbers = [partition.number for partition in topic.partitions]
        if search.partition is not None:
            if search.partition not in numbers:
                raise errors.BrokerError.of(
                    f"{name} has no partition {search.partition}: it has {len(numbers)}",
                    "Partitions are numbered from 0.",
                    name="UNKNOWN_TOPIC_OR_PARTITION",
                )
            numbers = [search.partition]
        found += [(name, number) for number in numbers]
    by_offset = isinstance(search.start, model.FromOffset) or isinstance(search.until, model.ToOffset)
    if by_offset and len(found) > 1:
        what = f"{next(iter(topics))} has {len(found)}" if len(topics) == 1 else f"these topics have {len(found)}"
        raise errors.BrokerError.of(
            f"an offset is a partition's, and {what}", "Name the partition: partition N.", name="INVALID_REQUEST"
        )
    return found


async def _planned(link: Link, search: model.Search, wanted: RecordFilter, topics: Mapping[str, Topic]) -> _Plan:
    """Read the offsets that the search needs, and return its scans."""
    places = _places(search, topics)
    likely, notes = _likely(search, wanted, topics)
    if wanted.key_only and likely:
        places = [place for place in places if place in likely]
    latest = dict.fromkeys(places, LATEST)
    (starts, no_start), (ends, no_end), (begin, its_notes, no_begin), (until, no_until), local = await asyncio.gather(
        list_offsets(link, dict.fromkeys(places, EARLIEST)),
        list_offsets(link, latest),
        _begin(link, search, places),
        _until(link, search, places),
        local_starts(link, places),
    )
    notes += its_notes
    held = ""
    if search.committed:
        # Read the stable offsets after the ends: one that is then lower than its end is held back by an open
        # transaction.
        stable, no_end = await list_offsets(link, latest, stable=True)
        held = _held_back(
            {place: (stable[place], ends[place]) for place in places if place in stable and place in ends}
        )
        ends = stable
    scans = []
    merging = _is_merged(search, wanted, len(places))
    for place in places:
        if place not in starts or place not in ends:
            continue
        span, at = (starts[place], ends[place]), begin.get(place)
        if at is None and isinstance(search.start, model.OfGroup | model.FromTime | model.FromOffsets):
            continue  # the partition has no position to begin at
        if at is not None and not isinstance(search.start, model.Last | model.FromOffsets):
            notes += _odd_start(place, at, *span)
        scans.append(_scan(search, place, span, at, until.get(place), merging, record_scans.MOST_KEYS // len(places)))
    notes += _in_remote_storage(scans, local)
    problems = list(dict.fromkeys((*no_start, *no_end, *no_begin, *no_until)))
    return _Plan(scans, [*notes, *([held] if held else [])], problems, frozenset(likely))


def _is_merged(search: model.Search, wanted: RecordFilter, partitions: int) -> bool:
    """Return whether a search merges the first records of all partitions by time. It does if it has several
    partitions, no filter, and a limit of at most `MOST_MERGED` (10,000) records, and does not follow the logs. If
    it had a filter, each partition would have to be searched until it had that many records.
    """
    return bool(0 < search.limit <= MOST_MERGED and not wanted and not search.follow and partitions > 1)


def _scan(
    search: model.Search,
    place: model.Place,
    span: tuple[int, int],
    at: int | None,
    until: int | None,
    merging: bool,
    keys: int,
) -> Scan:
    """Create the scan of a partition.

    Args:
        span: the start and end offsets of the log.
        at: the offset at which to begin; in a search for the newest records, the offset before which to look. None for
            the start (or the end) of the log.
        until: the offset before which to stop; None for the end of the log, or, if the search follows the logs, for no
            end.
        merging: whether the first records of all partitions are merged.
        keys: the maximum number of keys whose newest record is kept.
    """
    start, end = span
    if search.latest_by_key:
        return record_scans.LatestScan(place, start, end, start if at is None else at, keys, until)
    if isinstance(search.start, model.Last):
        before = end if at is None else at
        if until is not None:
            before = min(before, until)
        return record_scans.BackwardScan(place, start, end, before, search.start.count)
    at = start if at is None else at
    if search.sample:
        return record_scans.SampleScan(place, start, end, at, end if until is None else min(until, end), search.sample)
    if merging:
        return record_scans.KeepingScan(place, start, end, at, search.limit, until)
    if search.follow and until is None:
        return Scan(place, start, end, at, record_scans.NO_END)
    return Scan(place, start, end, at, end if until is None else min(until, end))


def _odd_start(place: model.Place, at: int, start: int, end: int) -> list[str]:
    if 0 <= at < start:
        return [f"{_name(place)}: offset {at} was deleted; the log begins at {start}"]
    if at == record_scans.NO_END:
        return [f"{_name(place)}: no record is as new as that; its end is {end}"]
    return [f"{_name(place)}: offset {at} is behind the end {end}"] if at > end else []


def _in_remote_storage(scans: Sequence[Scan], local: Mapping[model.Place, int]) -> list[str]:
    """Return a line for each topic with partitions whose search begins in remote storage, which is slow. local:
    partition -> the first offset on its leader's disk.
    """
    remote: dict[str, list[int]] = {}
    for scan in scans:
        # A search for the newest records goes backwards, and may end before it reaches remote storage.
        first = scan.start if isinstance(scan, record_scans.BackwardScan) else scan.first
        last = min(local.get(scan.place, 0), scan.until)
        if first < last:
            remote.setdefault(scan.topic, []).append(last - first)
    return [
        f"{topic}: {plural(sum(sizes), 'offset')} of {plural(len(sizes), 'partition')} "
        f"{'is' if sum(sizes) == 1 else 'are'} in remote storage, which brokers read slowly"
        for topic, sizes in remote.items()
    ]


def _name(place: model.Place) -> str:
    return f"{place[0]}-{place[1]}"


def _likely(
    search: model.Search, wanted: RecordFilter, topics: Mapping[str, Topic]
) -> tuple[set[model.Place], list[str]]:
    """Return the partitions to which usual producers write the key that the filter names, and notes about them. In a
    search for the key alone, add all partitions of topics for which no partition is likelier. Empty if the filter
    does not name a whole key, or if the search names a partition or continues another search.
    """
    key = wanted.whole_key
    if key is None or search.partition is not None or isinstance(search.start, model.FromOffsets):
        return set(), []
    found: set[model.Place] = set()
    notes: list[str] = []
    for name, topic in topics.items():
        count = len(topic.partitions)
        numbers = likely_partitions(key, count) if count else ()
        if len(numbers) >= count:
            continue
        found |= {(name, number) for number in numbers}
        where = " and ".join(str(number) for number in numbers)
        by = "Java's partitioner and librdkafka's default put" if len(numbers) > 1 else "the usual partitioners put"
        rest = "only there" if wanted.key_only else f"there first, then in the other {count - len(numbers)}"
        notes.append(f"{name}: {by} this key in {where} of {count}: searched {rest}")
    if wanted.key_only:
        found |= {
            (name, each.number)
            for name, topic in topics.items()
            for each in topic.partitions
            if not any(place[0] == name for place in found)
        }
    return found, notes


def _held_back(ends: Mapping[model.Place, tuple[int, int]]) -> str:
    """Return a note about partitions in which open transactions hold records back; ``""`` if there are none. ends:
    partition -> (last stable offset, end offset).
    """
    held = {place: span for place, span in ends.items() if span[0] < span[1]}
    if not held:
        return ""
    if len(held) > 1:
        return f"open transactions hold back records of {len(held)} partitions; uncommitted shows them"
    ((place, (stable, end)),) = held.items()
    return f"{_name(place)}: an open transaction holds back offsets {stable} to {end - 1}; uncommitted shows them"


_Begin = tuple[Mapping[model.Place, int], Sequence[str], Sequence[Failure]]


async def _begin(link: Link, search: model.Search, places: Sequence[model.Place]) -> _Begin:
    """Return partition -> the offset at which to begin, with notes and failures. Raises BrokerError if a group has no
    committed offset in any of the partitions, and other AdminErrors.
    """
    match search.start:
        case model.Last(before=before):
            return before or {}, (), ()
        case model.FromOffset(offset=offset):
            return dict.fromkeys(places, offset), (), ()
        case model.FromOffsets(offsets=offsets):
            return offsets, (), ()
        case model.FromEnd():
            at, problems = await list_offsets(link, dict.fromkeys(places, LATEST), stable=search.committed)
            return at, (), problems
        case model.FromTime(timestamp=timestamp):
            at, problems = await _at_time(link, timestamp, places)
            return at, (), problems
        case model.OfGroup(group=group):
            position = await group_position(link, group)
            stands = {place: position.committed[place].offset for place in places if place in position.committed}
            if not stands:
                where = _name(places[0]) if len(places) == 1 else ", ".join(search.topics)
                raise errors.BrokerError.of(
                    f"group {group} has committed nothing for {where}",
                    "Check the names; a consumer that assigns itself commits only if it calls commit.",
                    name="NO_OFFSET",
                )
            without = len(places) - len(stands)
            note = [f"{without} of {len(places)} partitions have no offset of group {group}"] if without else []
            return stands, note, position.failures
        case _:
            return {}, (), ()


async def _at_time(
    link: Link, timestamp: int, places: Sequence[model.Place]
) -> tuple[dict[model.Place, int], list[Failure]]:
    """Return partition -> the offset of the first record at or after a time in ms since 1970, and failures. If there is
    no such record, the offset is `NO_END`, since records may still arrive.
    """
    at, problems = await list_offsets(link, dict.fromkeys(places, timestamp))
    return {place: offset if offset >= 0 else record_scans.NO_END for place, offset in at.items()}, problems


async def _until(
    link: Link, search: model.Search, places: Sequence[model.Place]
) -> tuple[dict[model.Place, int], list[Failure]]:
    """Return partition -> the offset before which to stop, and failures. Partitions without such an end are missing."""
    match search.until:
        case model.ToOffset(offset=offset):
            return dict.fromkeys(places, offset), []
        case model.ToTime(timestamp=timestamp):
            at, problems = await _at_time(link, timestamp, places)
            return {place: offset for place, offset in at.items() if offset != record_scans.NO_END}, problems
        case _:
            return {}, []


class _Waits:
    """Waits, in the threads of the search, until schemas of records are known."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, decoder: RecordDecoder | None, registry: SchemaRegistry
    ) -> None:
        self._loop, self._decoder, self._registry = loop, decoder, registry
        self._asked: set[SchemaKey] = set()
        self._left = WAITS_FOR_SCHEMAS
        self.sieve: Sieve | None = None

    def await_schemas(self, record: model.Record) -> None:
        """Block this thread until the registry has answered about the schemas that a record names and the decoder
        lacks. Do nothing if the waits of this search have taken `WAITS_FOR_SCHEMAS` seconds in total, or it has
        waited for `MOST_SCHEMAS` schemas.
        """
        if self._decoder is None or self._left <= 0 or len(self._asked) >= MOST_SCHEMAS:
            return
        keys = set(self._decoder.missing(record)) - self._asked
        if not keys:
            return
        self._asked.update(keys)
        began = self._loop.time()
        waiting = asyncio.run_coroutine_threadsafe(self._registry.look_up(keys), self._loop)
        while self._left > 0 and not (self.sieve is not None and self.sieve.stopping):
            try:
                waiting.result(0.1)
            except TooLate:
                self._left -= self._loop.time() - began
                began = self._loop.time()
                continue
            return
        waiting.cancel()


# -- the search itself -------------------------------------------------------------------------------------------------


class _Reader:
    """The state of fetching for one scan."""

    def __init__(self, scan: Scan, leader: int, phase: int) -> None:
        self.scan = scan
        self.leader = leader
        self.half = 0
        """The half of the leader's partitions to which this one belongs, 0 or 1: while an answer for one half is
        received, the leader prepares the other."""
        self.phase = phase
        """The phase; partitions of a later phase wait for those of earlier ones."""
        self.ahead: int | None = scan.position
        """The next offset to fetch, which may be behind an answer that is still searched; None if it is not known
        yet."""
        self.looks = 0
        """The number of answers that are being searched, or wait to be searched."""
        self.served = 0.0
        """The time of the last answer with records."""
        self.silent_since: float | None = None
        """The time of the first of the last consecutive answers without records; None if the last answer had
        records."""
        self.not_before = 0.0
        """The time of the next attempt after an answer without records."""
        self.waits: Iterator[float] = iter(())
        self.failed: Failure | None = None

    @property
    def lane(self) -> tuple[int, int]:
        """The id of the leader, and a number that divides its partitions in two halves: a task fetches for each such
        pair.
        """
        return self.leader, self.half

    def wants(self, now: float) -> bool:
        """Return whether to fetch for this scan now. now: the time on the loop's clock."""
        if self.failed or self.scan.broken or self.ahead is None or now < self.not_before:
            return False
        if self.scan.jumps:
            return self.looks == 0 and self.scan.position < self.scan.until
        return self.ahead < self.scan.until and not self.scan.is_full

    def is_active(self) -> bool:
        """Return whether the scan is neither complete nor ended with a failure."""
        if self.failed:
            return False
        if self.looks:
            return True
        if self.scan.is_over():
            return False
        self.ahead = self.scan.position if self.ahead is None else max(self.ahead, self.scan.position)
        if self.scan.jumps:
            self.ahead = self.scan.position
        return True


class _Answer(NamedTuple):
    """The part of a Fetch response for one scan, which has to be searched."""

    reader: _Reader
    data: bytes
    aborted: Sequence[tuple[int, int]]


class _Searching:
    """The state of one search."""

    def __init__(
        self, link: Link, wanted: model.Search, topics: dict[str, Topic], plan: _Plan, sieve: Sieve, halt: Halt
    ) -> None:
        self._link, self._search, self._topics = link, wanted, topics
        self._sieve, self._halt = sieve, halt
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        leaders = _leaders(topics)
        self._readers = [
            _Reader(scan, leaders.get(scan.place, -1), int(bool(plan.likely) and scan.place not in plan.likely))
            for scan in plan.scans
        ]
        for number, reader in enumerate(self._readers):
            reader.half = number % 2
        self._by_place = {reader.scan.place: reader for reader in self._readers}
        self._of = sum(scan.size() for scan in plan.scans)
        self._found: asyncio.Queue[Sequence[model.Record]] = asyncio.Queue(_WAITING)
        self._lanes: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._bytes = self._count = 0
        self._due = self._began
        """The time at which the rate allows the next Fetch."""
        self._moved = False
        """Whether the leaders have to be looked up again."""
        self._refreshed = self._began
        self._throttled = 0.0
        self._stopped = ""
        self._is_last = False
        """Whether the kept records are being delivered."""
        self._cut: dict[model.Place, int] = {}
        """The first offset of each partition whose records were found beyond the limit."""
        self.notes: list[str] = []
        self.problems: list[Failure] = []

    # -- results

    async def portions(self) -> AsyncGenerator[model.Portion, None]:
        """Run the search and yield the results. Raises BrokerError if no partition can be read."""
        turns, follows = self._link.turns, int(self._search.follow)
        turns.followers += follows
        running = asyncio.create_task(self._run(), name="search records")
        running.add_done_callback(self._wake)
        loop = asyncio.get_running_loop()

        def asked() -> None:
            with suppress(RuntimeError):  # the loop is closed, and with it the search
                loop.call_soon_threadsafe(self._wake, running)

        self._halt.wake = asked
        try:
            last, ends = self._clock(), float("inf")
            while not (running.done() and self._found.empty()):
                records = self._up_to_limit(await self._next())
                if self._halt.asked:
                    self._stop("asked")
                if self._stopped and ends == float("inf"):
                    ends = self._clock() + LAST_SECONDS
                if self._clock() > ends:
                    break
                if records or self._clock() - last >= BEAT:
                    last = self._clock()
                    yield self._portion(records)
            if running.done():
                running.result()
        finally:
            turns.followers -= follows
            self._sieve.stop()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        readers = self._readers
        if readers and all(reader.failed for reader in readers) and not (self._count or self._sieve.looked_at):
            raise errors.BrokerError(next(reader.failed for reader in readers if reader.failed is not None))
        for portion in self._last_portions():
            yield portion

    async def _next(self) -> Sequence[model.Record]:
        """Return the next part of the result; an empty one if none comes within `BEAT` (0.25 s)."""
        try:
            async with asyncio.timeout(BEAT):
                return await self._found.get()
        except TimeoutError:
            return ()

    def _wake(self, _running: asyncio.Task[None]) -> None:
        with suppress(asyncio.QueueFull):  # a full queue has results to take, so no wake-up is needed
            self._found.put_nowait(())

    def _up_to_limit(self, records: Sequence[model.Record]) -> Sequence[model.Record]:
        """Return the records up to the search's limit; if the limit is reached, end the search."""
        limit = self._search.limit
        if not limit or not records:
            self._count += len(records)
            return records
        kept, cut = records[: limit - self._count], records[limit - self._count :]
        for record in cut:
            self._cut.setdefault((record.topic, record.partition), record.offset)
        self._count += len(kept)
        if self._count >= limit:
            self._stop("records")
        return kept

    def _stop(self, why: str) -> None:
        self._stopped = self._stopped or why
        self._sieve.stop()

    def _portion(self, records: Sequence[model.Record], more: model.Start | None = None) -> model.Portion:
        undecodable: list[model.Undecodable] = []
        for reader in self._readers:
            if reader.scan.undecodable:
                undecodable += reader.scan.undecodable
                reader.scan.undecodable = []
        notes, self.notes = self.notes, []
        problems, self.problems = self.problems, []
        return model.Portion(records, undecodable, notes, problems, self._progress(more))

    def _progress(self, more: model.Start | None) -> model.Progress:
        scans = [reader.scan for reader in self._readers]
        seconds = self._clock() - self._began
        done = sum(scan.done() for scan in scans)
        is_known = bool(done) and not self._search.follow
        left = max(0.0, seconds * (self._of - done) / done) if is_known else None
        return model.Progress(
            tuple(self._delivered(scan.scanned()) for scan in scans),
            self._sieve.looked_at,
            self._of,
            done,
            self._bytes,
            self._count + (0 if self._is_last else sum(scan.kept() for scan in scans)),
            seconds,
            left,
            self._stopped,
            more,
        )

    def _delivered(self, scanned: model.Scanned) -> model.Scanned:
        """Return a range of offsets that ends where the limit cut off its records: a search that continues this one
        delivers the records after that.
        """
        cut = self._cut.get((scanned.topic, scanned.partition), scanned.next)
        return scanned._replace(next=min(cut, scanned.next))

    def _last_portions(self) -> Iterator[model.Portion]:
        """Yield the records that the scans kept, and finally the progress."""
        self.notes += _last_notes([reader.scan for reader in self._readers], self._sieve, self._throttled)
        self._is_last = True
        scans = [reader.scan for reader in self._readers]
        if self._search.latest_by_key:
            yield from self._latest(scans)
            return
        keeping = [scan for scan in scans if scan.keeps and (scan.kept() or not scan.broken)]
        more: model.Start | None
        records: Sequence[model.Record] = ()
        if keeping:
            start = self._search.start
            count = start.count if isinstance(start, model.Last) else self._search.limit
            records, more = record_scans.merged(keeping, count, newest=isinstance(start, model.Last))
            if more is not None and len(records) == count and not self._stopped:
                self._stopped = "records"
            for scan in keeping:
                scan.forget()
            self._count = len(records)
        else:
            more = self._further()
        size = record_scans.CHUNK_RECORDS
        for at in range(0, len(records) - size, size):
            yield self._portion(records[at : at + size])
        yield self._portion(records[max(0, len(records) - 1) // size * size :], more)

    def _latest(self, scans: Sequence[Scan]) -> Iterator[model.Portion]:
        """Yield the newest records of all keys, and finally the progress. Partitions are read one after another,
        because each may have more records than memory holds.
        """
        limit, size = self._search.limit, record_scans.CHUNK_RECORDS
        found = islice((record for scan in scans for record in scan.result()), limit or None)
        self._count = 0
        while part := list(islice(found, size)):
            self._count += len(part)
            yield self._portion(part)
        for scan in scans:
            scan.forget()
        yield self._portion((), None)

    def _further(self) -> model.Start | None:
        """Return the start of a search that continues this one; None if no partition has more to read."""
        places = {}
        for reader in self._readers:
            at = self._cut.get(reader.scan.place, reader.scan.position)
            if at < reader.scan.until and not reader.scan.broken:
                places[reader.scan.place] = at
        return model.FromOffsets(places) if places else None

    # -- reading

    async def _run(self) -> None:
        """Run a task for each leader from which records have to be fetched, until all scans are complete or have
        failed.
        """
        try:
            while not self._sieve.stopping:
                active = [reader for reader in self._readers if reader.is_active()]
                if not active:
                    return
                if self._moved:
                    await self._look_up_leaders()
                now, phase = self._clock(), min(reader.phase for reader in active)
                ready = [reader for reader in active if reader.phase == phase and reader.wants(now)]
                for reader in ready:
                    if reader.leader < 0:
                        self._again(reader, _failure(reader.scan, ErrorCode.leader_not_available))
                for lane in {reader.lane for reader in ready if reader.leader >= 0} - self._lanes.keys():
                    self._lanes[lane] = asyncio.create_task(self._in_lane(lane, phase), name="search at a leader")
                await self._one_ends()
        finally:
            for task in self._lanes.values():
                task.cancel()
            await asyncio.gather(*self._lanes.values(), return_exceptions=True)

    async def _one_ends(self) -> None:
        """Wait until a task ends, at most `_GLANCE` (0.1 s). If a task has failed, raise its error."""
        if not self._lanes:
            await asyncio.sleep(_GLANCE)
            return
        done, _ = await asyncio.wait(self._lanes.values(), timeout=_GLANCE, return_when=asyncio.FIRST_COMPLETED)
        for ended in [key for key, lane in self._lanes.items() if lane in done]:
            self._lanes.pop(ended).result()

    async def _in_lane(self, lane: tuple[int, int], phase: int) -> None:
        """Fetch from a leader as long as its scans want records, and search each response while the next one is
        fetched.
        """
        looking: asyncio.Task[None] | None = None
        try:
            while not self._sieve.stopping:
                now = self._clock()
                mine = [r for r in self._readers if r.lane == lane and r.phase == phase and r.wants(now)]
                if mine:
                    answers = await self._fetch(lane[0], mine)
                if looking is not None:
                    await looking
                    looking = None
                elif not mine:
                    return
                if mine and answers:
                    looking = asyncio.create_task(self._look(answers), name="search an answer")
                for reader in self._readers:
                    if reader.lane == lane:
                        reader.is_active()
            if looking is not None:
                await looking
        finally:
            if looking is not None:
                looking.cancel()

    async def _fetch(self, leader: int, mine: list[_Reader]) -> list[_Answer]:
        """Send one Fetch to a leader. Return the parts with records; for scans without records, note when to try
        again.
        """
        # The rate, or a broker's quota, may require a pause.
        wait = self._due - self._clock()
        while wait > 0 and not self._sieve.stopping:
            await asyncio.sleep(min(wait, BEAT))
            wait -= BEAT
        # Request partitions without records in the last answer first: brokers use up the answer's limit in this order.
        mine = sorted(mine, key=lambda reader: reader.served)[:PARTITIONS_AT_ONCE]
        asked = self._request(mine)
        try:
            async with self._link.turns.fetches:
                response = await self._link.call("fetch", asked, to=reading(leader))
        except (errors.Disconnected, errors.RequestTimedOut, errors.UnknownBroker, errors.Unreachable) as error:
            for reader in mine:
                self._again(reader, error.failure)
            return []
        except errors.AdminError as error:
            for reader in mine:
                self._give_up(reader, error.failure)
            return []
        if code := getattr(response, "error_code", 0):
            for reader in mine:
                self._refused(reader, int(code))
            return []
        throttled = getattr(response, "throttle_time", timedelta()).total_seconds()
        if throttled > 0:
            self._throttled += throttled
            self._due = max(self._due, self._clock()) + min(throttled, PATIENCE)
        return await self._sorted_out(mine, response, is_throttled=throttled > 0)

    def _request(self, mine: Sequence[_Reader]) -> Any:
        most = max(LEAST_BYTES, min(ANSWER_BYTES, MOST_AT_ONCE // (3 * max(1, len(self._lanes)))))
        if self._search.rate:
            most = max(LEAST_BYTES, min(most, self._search.rate))
        of: dict[str, list[Any]] = {}
        for reader in mine:
            share = most if len(mine) == 1 else max(LEAST_BYTES, min(PARTITION_BYTES, most))
            share = reader.scan.first_bytes if not reader.served and reader.scan.first_bytes else share
            share = reader.scan.most_bytes(share)
            place = {"partition": reader.scan.number, "fetch_offset": reader.ahead}
            of.setdefault(reader.scan.topic, []).append({**place, "partition_max_bytes": share})
        wanted = [(self._topics[name], partitions) for name, partitions in of.items()]
        wait = FOLLOW_WAIT / max(1, self._link.turns.followers) if self._search.follow else 0.0
        return fetch_request(wanted, most, committed=self._search.committed, wait=wait)

    async def _sorted_out(self, mine: Sequence[_Reader], response: Any, *, is_throttled: bool) -> list[_Answer]:
        parts = _parts(response, self._topics)
        answers: list[_Answer] = []
        total = sum(len(part.records or b"") for part in parts.values())
        self._bytes += total
        if self._search.rate:
            # Let the search make up for a short time below the rate.
            self._due = max(self._due, self._clock() - CREDIT) + total / self._search.rate
        for reader in mine:
            part = parts.get(reader.scan.place)
            if part is None:
                self._again(reader, errors.failure(ErrorCode.unknown_server_error))
            elif part.error_code == ErrorCode.offset_out_of_range:
                await self._deleted(reader)
            elif part.error_code:
                self._refused(reader, part.error_code)
            else:
                if self._search.follow:
                    ends = part.last_stable_offset if self._search.committed else part.high_watermark
                    reader.scan.end = max(reader.scan.end, ends)
                if part.records:
                    answers.append(_answer(reader, part, self._clock()))
                elif not total and not is_throttled and not self._search.follow:
                    self._again(reader, None)
        return answers

    async def _look(self, answers: Sequence[_Answer]) -> None:
        """Search parts of a response in a thread, so that the client's other requests continue."""
        for reader, data, aborted in answers:
            before = reader.scan.position
            parts = record_scans.look(reader.scan, data, aborted, self._sieve)
            while True:
                async with self._link.turns.looks:
                    part = await asyncio.to_thread(next, parts, None)
                if part is None:
                    break
                if part:
                    await self._found.put(part)
            reader.looks -= 1
            if reader.scan.position == before and not reader.scan.is_over() and not self._sieve.stopping:
                self._again(reader, None)

    # -- failures

    def _refused(self, reader: _Reader, code: int) -> None:
        if code in _MOVED or code in _PASSING:
            self._again(reader, _failure(reader.scan, code))
        else:
            self._give_up(reader, _failure(reader.scan, code))

    def _again(self, reader: _Reader, why: Failure | None) -> None:
        """Note that a fetch returned no records for a scan, and try again after a pause. After `PATIENCE` (30 s)
        without records, end the scan with a failure.

        Args:
            why: the failure; None if the leader just returned no records.
        """
        now = self._clock()
        if reader.silent_since is None:
            reader.silent_since = now
            reader.waits = delays()
        if now - reader.silent_since > PATIENCE:
            self._give_up(reader, why or _silent(reader.scan))
            return
        reader.not_before = now + next(reader.waits)
        self._moved = self._moved or why is not None

    def _give_up(self, reader: _Reader, why: Failure) -> None:
        scan = reader.scan
        until = "on" if scan.until == record_scans.NO_END else f"{scan.until - 1}"
        left = (
            f"offsets {scan.position} {'' if until == 'on' else 'to '}{until} of {_name(scan.place)} were not searched"
        )
        named = why.message if _name(scan.place) in why.message else f"{_name(scan.place)}: {why.message}"
        reader.failed = Failure(why.name, f"{named}; {left}", why.remedy)
        self.problems.append(reader.failed)

    async def _look_up_leaders(self) -> None:
        """Read the partitions' leaders again, unless they were read less than `_GLANCE` seconds ago."""
        if self._clock() - self._refreshed < _GLANCE:
            return
        self._moved, self._refreshed = False, self._clock()
        try:
            listing = await describe_topics(self._link, list(self._topics))
        except errors.AdminError:
            self._moved = True  # try again in the next round
            return
        self._topics.update(listing.topics)
        for place, leader in _leaders(listing.topics).items():
            if place in self._by_place:
                self._by_place[place].leader = leader

    async def _deleted(self, reader: _Reader) -> None:
        """Continue a scan at the new start of the log, because records were deleted during the search. While a response
        of the scan waits to be searched, try again later.

        End the scan with a failure if the new start is after the scan's end. If no response of the scan waits to be
        searched, also end it if the start can't be read or is not after the next offset to fetch.
        """
        scan = reader.scan
        starts, problems = await list_offsets(self._link, {scan.place: EARLIEST})
        start = starts.get(scan.place, -1)
        at = scan.position if reader.ahead is None else reader.ahead
        if at < start <= scan.until and not reader.looks:
            self.notes.append(f"{_name(scan.place)}: offsets {at} to {start - 1} were deleted meanwhile")
            scan.start = scan.position = start
            reader.ahead = start
        elif reader.looks and start <= scan.until:
            self._again(reader, None)  # resets to the new start once the last answer is searched
        else:
            self._give_up(reader, problems[0] if problems else _failure(scan, ErrorCode.offset_out_of_range))


def _answer(reader: _Reader, part: Any, now: float) -> _Answer:
    """Return the part of a response for a scan, and note the offset of the next Fetch. now: the time on the loop's
    clock.
    """
    before, reader.ahead = reader.ahead or 0, record_scans.next_offset(part.records)
    if reader.ahead is not None:
        reader.scan.answered(len(part.records), reader.ahead - before)
    reader.looks += 1
    reader.served = now
    reader.silent_since = None
    aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
    return _Answer(reader, part.records, aborted)


def _leaders(topics: Mapping[str, Topic]) -> dict[model.Place, int]:
    return {(name, each.number): each.leader for name, topic in topics.items() for each in topic.partitions}


def _parts(response: Any, topics: Mapping[str, Topic]) -> dict[model.Place, Any]:
    """Return partition -> its part of a Fetch response; newer versions name topics by their ids."""
    names = {uuid_of(topic.topic_id): name for name, topic in topics.items() if topic.topic_id is not None}
    found: dict[model.Place, Any] = {}
    for each in response.responses:
        name = getattr(each, "topic", "") or names.get(each.topic_id)
        if name is not None:
            found |= {(name, part.partition_index): part for part in each.partitions}
    return found


def _failure(scan: Scan, code: int) -> Failure:
    found = errors.failure(code, _name(scan.place))
    if code != ErrorCode.topic_authorization_failed:
        return found
    remedy = f"Ask an administrator of the cluster for an ACL: READ on TOPIC {scan.topic}."
    return Failure(found.name, f"{found.message}: its records may not be read", remedy)


def _silent(scan: Scan) -> Failure:
    return Failure(
        "NO_RECORDS",
        f"{_name(scan.place)}: the leader returns no records from offset {scan.position} on, though its log ends at "
        f"{scan.end}",
        "A quota may hold this client back, or remote storage be slow: try again.",
    )


def _last_notes(scans: Sequence[Scan], sieve: Sieve, throttled: float) -> list[str]:
    """Return the notes at the end of a search. throttled: the total seconds for which brokers delayed it because of
    quotas.
    """
    notes = [gap for scan in scans if (gap := scan.gap())]
    if lines := sum(max(0, scan.lines - record_scans.MOST_LINES) for scan in scans):
        notes.append(f"batches that can't be decoded, besides those that are listed: {lines:,}")
    if throttled:
        notes.append(f"brokers held this search back for {throttled:.1f} s by their quotas")
    if sieve.undecided:
        notes.append(f"records that are not decoded, which the filter saw as they are: {sieve.undecided:,}")
    return notes
