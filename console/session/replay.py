"""Replay a flight record: a client that answers from the record, and the polls that a console made while it wrote the
record.

A part of the cluster is read again when the record has a new answer to the part's requests. The diagnoses over a record
are therefore those of the live console, independent of how often that console polled.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from console.admin.errors import AdminError, Disconnected
from console.admin.link import Link
from console.admin.recorded import NOT_RECORDED, RecordedConnections
from console.admin.settings import ConnectionSettings, ConnectSettings
from console.contexts import Context
from console.contexts.context import NEVER
from console.flight.answer import CONNECT, Answer, Header, Problem, RecordError
from console.flight.connect_answer import read as read_connect
from console.flight.tape import USED, Entry, Tape, Track, Used
from console.plan.amounts import moment as time_before
from console.session.replay_polls import OF_ALL, RecordedPoller
from console.session.session import Session
from console.session.snapshot_reader import Clock, Refused

if TYPE_CHECKING:
    from console.flight.flight_reader import FlightReader
    from console.triage.symptoms import Poll

T = TypeVar("T")
log = logging.getLogger(__name__)

PAUSE_MS = 100
"""Milliseconds without an answer after which a poll counts as ended."""
LONGEST_POLL_MS = 1000
"""Maximum milliseconds from the first to the last answer of one poll."""
MOST_MEMORIES = 512


class _Memory(NamedTuple):
    """The cached result or error of an operation."""

    changes: Mapping[int, int]
    """Each key on which the result depends (an API key, or `CLOCK`) -> the value of `Tape.changes` for it at the time
    of the operation.
    """
    tracks: frozenset[Track]
    """The tracks (sequences of answers to one request) that the operation read."""
    result: object
    error: AdminError | None
    chunks: tuple[object, ...]
    """The arguments with which the operation called its `on_chunk`, to be repeated with the cached result."""


class RecordedClient:
    """A client that runs the operations of `console.admin` on a record, on the caller's own event loop (an
    `InstantLoop`). If the answers that an operation needs have not changed, it returns the cached result.

    answered_ms: the arrival of the newest answer that the last operation read, milliseconds since 1970.
    """

    def __init__(self, tape: Tape, settings: ConnectionSettings) -> None:
        self.tape = tape
        self.answered_ms = 0
        self._settings = settings
        self._link = Link(settings, connections=RecordedConnections(settings, tape))
        self._memories: dict[Hashable, _Memory] = {}

    def go_to(self, at_ms: int) -> None:
        """Set the time up to which answers are returned, milliseconds since 1970. If it is earlier than before, replace
        the link, because the old one has cached brokers of a later time.
        """
        if at_ms < self.tape.at_ms:
            # A link caches the brokers' addresses and versions, which may come later in the record than this time.
            self._link = Link(self._settings, connections=RecordedConnections(self._settings, self.tape))
        self.tape.at_ms = self.answered_ms = at_ms

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """Run ``operation(link, *args, **options)`` on the record and return its result, possibly from the cache.
        Raises what the operation raises.
        """
        on_chunk = options.pop("on_chunk", None)
        key = _key(operation, args, options)
        memory = self._memories.get(key)
        # Keep results: decoding the same answers at each of thousands of polls would take most of the time.
        if memory is None or any(self.tape.changes(api) != count for api, count in memory.changes.items()):
            memory = await self._remember(key, operation, args, options, with_chunks=on_chunk is not None)
        outer = USED.get(None)
        if outer is not None:
            # A part that calls several operations depends on the requests of each: add these to the part's own.
            outer.keys.update(memory.changes)
            outer.tracks.update(memory.tracks)
        at_ms = self.tape.at_ms
        self.answered_ms = max((track.time(at_ms) for track in memory.tracks), default=at_ms)
        if memory.error is not None:
            # Drop the traceback: this error is raised many times, and its traceback would grow each time.
            raise memory.error.with_traceback(None)
        for chunk in memory.chunks if on_chunk is not None else ():
            on_chunk(chunk)
        result: Any = memory.result
        return result  # type: ignore[no-any-return]

    async def _remember(
        self,
        key: Hashable,
        operation: Callable[..., Awaitable[object]],
        args: tuple[Any, ...],
        options: dict[str, Any],
        *,
        with_chunks: bool,
    ) -> _Memory:
        # Begin with the APIs of OF_ALL: nearly every operation depends on them, even if the link answers from its
        # cache.
        used = Used(set(OF_ALL), set())
        chunks: list[object] = []
        result: object = None
        error: AdminError | None = None
        token = USED.set(used)
        try:
            result = await operation(
                self._link, *args, **options, **({"on_chunk": chunks.append} if with_chunks else {})
            )
        except AdminError as raised:
            error = raised
        finally:
            USED.reset(token)
        changes = {api: self.tape.changes(api) for api in used.keys}
        memory = _Memory(changes, frozenset(used.tracks), result, error, tuple(chunks))
        self._memories.pop(key, None)
        self._memories[key] = memory
        while len(self._memories) > MOST_MEMORIES:
            del self._memories[next(iter(self._memories))]
        return memory

    def count_throttled(self) -> int:
        """Return the number of answers since the last call in which a broker throttled kac."""
        return self._link.sender.count_throttled()

    async def close(self) -> None:
        """Close the link to the record."""
        await self._link.close()


def _key(operation: object, args: Iterable[Any], options: Mapping[str, Any]) -> Hashable:
    """Return a key that is equal for equal operations, arguments and options."""
    return operation, _frozen(tuple(args)), _frozen(dict(sorted(options.items())))


def _frozen(value: Any) -> Hashable:
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return tuple((_frozen(key), _frozen(each)) for key, each in value.items())
    return value if isinstance(value, Hashable) else id(value)


def entries_of(reader: FlightReader) -> Iterator[Entry]:
    """Yield the answers of a record in the form that tapes need; several threads may use them. A body is read when it
    is first needed; an answer whose body is damaged counts as missing.
    """
    lock = Lock()

    def read(index: int) -> Answer:
        # The reader and its cache are not thread-safe, and the diagnosis and the screen read at the same time.
        with lock:
            try:
                return reader.answer(index)
            except RecordError as error:
                missing = Problem(Disconnected.__name__, NOT_RECORDED, str(error), "")
                return Answer(reader.times[index], 0, *reader.asked(index), b"", missing)

    for index, at_ms in enumerate(reader.times):
        yield Entry(reader.asked(index), at_ms, not reader.is_repeat(index), partial(read, index))


def poll_ends(times: Iterable[int]) -> list[int]:
    """Divide answers into polls, and return the time at which each poll ended. A poll ends before a pause of `PAUSE_MS`
    (100 ms), or before it would exceed `LONGEST_POLL_MS` (1 s).

    Args:
        times: the arrival times of the answers, in order. All times are milliseconds since 1970.
    """
    ends: list[int] = []
    began = last = -1
    for at in times:
        if last >= 0 and (at - last >= PAUSE_MS or at - began >= LONGEST_POLL_MS):
            ends.append(last)
            began = at
        elif last < 0:
            began = at
        last = at
    if last >= 0:
        ends.append(last)
    return ends


def moment(at_ms: int) -> datetime:
    """Convert a time of a record, milliseconds since 1970, to a datetime in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


class Replay:
    """A record and a session on it, on the caller's own event loop.

    Attributes:
        tape: the record's answers up to the time that is shown.
        times: the end time of each poll in the record, milliseconds since 1970.
    """

    def __init__(self, tape: Tape, times: Sequence[int], context: Context) -> None:
        self.tape = tape
        self.times = times
        self._client = RecordedClient(tape, context.settings)
        clock = Clock(self._now, lambda: tape.at_ms / 1000)
        self.session = Session(self._client, context, "replay", clock)
        self._poller = RecordedPoller(self.session, tape)

    @classmethod
    def of(cls, reader: FlightReader, name: str) -> Replay:
        """Create the replay of an open record. name: the name of the record's file."""
        tape = Tape(entries_of(reader))
        return cls(tape, poll_ends(reader.times), context_of(reader.header, tape, name))

    def _now(self) -> datetime:
        return moment(self._client.answered_ms)

    async def polls(self, times: Iterable[int]) -> AsyncIterator[Poll]:
        """Yield the polls at these ascending times (ms since 1970), without those at which no broker answered."""
        for at_ms in times:
            try:
                yield await self.poll_at(at_ms)
            except (AdminError, Refused) as error:
                log.info("at %s: %s", moment(at_ms), error.failure)

    async def poll_at(self, at_ms: int) -> Poll:
        """Return the poll at a time (ms since 1970), which must be later than that of the last call. Raises AdminError
        if no broker answered then, and Refused.
        """
        self._client.go_to(at_ms)
        return await self._poller.poll()

    def count_throttled(self) -> int:
        """Return the number of answers since the last call in which a broker throttled kac."""
        return self._client.count_throttled()

    async def close(self) -> None:
        """Close the client of the record."""
        await self._client.close()


def context_of(header: Header, tape: Tape, name: str) -> Context:
    """Return a read-only context for a record. name: the name of the record's file, which is used if the record names
    no context.
    """
    settings = ConnectionSettings(
        tuple(tape.addresses()[:1]) or ((name, 0),), read_only=True, connect=tuple(_connect_of(tape))
    )
    return Context(header.context or name, name, settings, read_only=True, journal=False, records=NEVER)


def _connect_of(tape: Tape) -> Iterator[ConnectSettings]:
    """Yield settings for the Connect clusters of a record; no request is ever sent to their workers."""
    found = tape.service_at_all(CONNECT)
    if found is not None:
        with suppress(ValueError):
            answer = read_connect(found.body)
            yield from (ConnectSettings(each, ()) for each in (*answer.clusters, *answer.failures))


def record_time(text: str, begins_ms: int, ends_ms: int) -> int:
    """Convert a time that an operator wrote to milliseconds since 1970. A time of day such as ``03:11`` means the last
    such time before the record's end.

    Args:
        begins_ms, ends_ms: the beginning and the end of the record, milliseconds since 1970.

    Raises:
        ValueError: the text is not a time, or the time is before the record; the message is for the operator.
    """
    at_ms = round(time_before(text, moment(ends_ms)).timestamp() * 1000)
    if at_ms < begins_ms // 1000 * 1000:
        raise ValueError(f"the record begins at {moment(begins_ms).astimezone():%Y-%m-%d %H:%M:%S}, after {text}")
    return max(at_ms, begins_ms)
