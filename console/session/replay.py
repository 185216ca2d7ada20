"""A record as a session sees it: a client that answers from it, and the looks that were taken while it was made.

A part of a look is read again where the record has another answer to what it asked; so the verdicts over a record are
those that were seen live, whatever the pace of the looks was.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from console.admin.errors import AdminError
from console.admin.link import Link
from console.admin.recorded import RecordedConnections
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.context import NEVER
from console.flight.answer import Answer, Header
from console.flight.tape import USED, Entry, Tape, Track, Used
from console.plan.amounts import moment as time_before
from console.session.replay_looks import OF_ALL, RecordedLooker
from console.session.session import Session
from console.session.snapshot_reader import Clock, Refused

if TYPE_CHECKING:
    from console.flight.flight_reader import FlightReader
    from console.triage.symptoms import Look

T = TypeVar("T")
log = logging.getLogger(__name__)

PAUSE_MS = 100
"""A look ends where for so long nothing arrives."""
LONGEST_LOOK_MS = 1000
"""The longest that arrivals are counted as one look's."""
MOST_MEMORIES = 512


class _Memory(NamedTuple):
    """What an operation gave. changes: of each API it asked, how many answers had come. parts: what it called
    `on_chunk` with."""

    changes: Mapping[int, int]
    tracks: frozenset[Track]
    result: object
    error: AdminError | None
    chunks: tuple[object, ...]


class RecordedClient:
    """Runs operations of `console.admin` on a record, on the caller's own loop (an `InstantLoop`). What was asked
    before, and would be answered by the same, is not done again.

    answered_ms: when the newest answer of the last operation came, milliseconds since 1970.
    """

    def __init__(self, tape: Tape, settings: ConnectionSettings) -> None:
        self.tape = tape
        self.answered_ms = 0
        self._settings = settings
        self._link = Link(settings, connections=RecordedConnections(settings, tape))
        self._memories: dict[Hashable, _Memory] = {}

    def go_to(self, at_ms: int) -> None:
        """Answer as of this time; which brokers there are is asked again, where the time went back."""
        if at_ms < self.tape.at_ms:
            self._link = Link(self._settings, connections=RecordedConnections(self._settings, self.tape))
        self.tape.at_ms = self.answered_ms = at_ms

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """The result of ``operation(link, *args, **options)``. Raises what it raises."""
        on_chunk = options.pop("on_chunk", None)
        key = _key(operation, args, options)
        memory = self._memories.get(key)
        if memory is None or any(self.tape.changes(api) != count for api, count in memory.changes.items()):
            memory = await self._remember(key, operation, args, options, with_chunks=on_chunk is not None)
        outer = USED.get(None)
        if outer is not None:
            outer.keys.update(memory.changes)
            outer.tracks.update(memory.tracks)
        at_ms = self.tape.at_ms
        self.answered_ms = max((track.time(at_ms) for track in memory.tracks), default=at_ms)
        if memory.error is not None:
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

    async def close(self) -> None:
        """End what was begun."""
        await self._link.close()


def _key(operation: object, args: Iterable[Any], options: Mapping[str, Any]) -> Hashable:
    """Equal for the same question."""
    return operation, _frozen(tuple(args)), _frozen(dict(sorted(options.items())))


def _frozen(value: Any) -> Hashable:
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return tuple((_frozen(key), _frozen(each)) for key, each in value.items())
    return value if isinstance(value, Hashable) else id(value)


def entries_of(reader: FlightReader) -> Iterator[Entry]:
    """The answers of a record for tapes, which may be of several threads; they are read when they are asked for."""
    lock = Lock()

    def read(index: int) -> Answer:
        with lock:
            return reader.answer(index)

    for index, at_ms in enumerate(reader.times):
        yield Entry(reader.asked(index), at_ms, not reader.is_repeat(index), partial(read, index))


def look_times(times: Iterable[int]) -> list[int]:
    """When looks ended, from when answers came: milliseconds since 1970, in their order."""
    found: list[int] = []
    began = last = -1
    for at in times:
        if last >= 0 and (at - last >= PAUSE_MS or at - began >= LONGEST_LOOK_MS):
            found.append(last)
            began = at
        elif last < 0:
            began = at
        last = at
    if last >= 0:
        found.append(last)
    return found


def moment(at_ms: int) -> datetime:
    """A time of a record, UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


class Replay:
    """A record and a session on it, on the caller's own loop.

    tape: at the time that is looked at. times: when its looks ended, milliseconds since 1970.
    """

    def __init__(self, tape: Tape, times: Sequence[int], context: Context) -> None:
        self.tape = tape
        self.times = times
        self._client = RecordedClient(tape, context.settings)
        clock = Clock(self._now, lambda: tape.at_ms / 1000)
        self.session = Session(self._client, context, "replay", clock)
        self._looker = RecordedLooker(self.session, tape)

    @classmethod
    def of(cls, reader: FlightReader, name: str) -> Replay:
        """Of an open record. name: of its file."""
        tape = Tape(entries_of(reader))
        return cls(tape, look_times(reader.times), context_of(reader.header, tape, name))

    def _now(self) -> datetime:
        return moment(self._client.answered_ms)

    async def looks(self, times: Iterable[int]) -> AsyncIterator[Look]:
        """The looks at these times, which go on; those at which no broker answered are left out."""
        for at_ms in times:
            try:
                yield await self.look_at(at_ms)
            except (AdminError, Refused) as error:
                log.info("at %s: %s", moment(at_ms), error.failure)

    async def look_at(self, at_ms: int) -> Look:
        """The look at a time, later than the last one. Raises AdminError if no broker answered, and Refused."""
        self._client.go_to(at_ms)
        return await self._looker.look()

    async def close(self) -> None:
        """End what was begun."""
        await self._client.close()


def context_of(header: Header, tape: Tape, name: str) -> Context:
    """The context of a record: nothing can be sent there. name: of its file, where it names no context."""
    settings = ConnectionSettings(tuple(tape.addresses()[:1]) or ((name, 0),), read_only=True)
    return Context(header.context or name, name, settings, read_only=True, journal=False, records=NEVER)


def record_time(text: str, begins_ms: int, ends_ms: int) -> int:
    """A time in a record as an operator writes it: ``03:11`` is the last before its end. Milliseconds since 1970.

    Raises ValueError with words for the operator.
    """
    found = round(time_before(text, moment(ends_ms)).timestamp() * 1000)
    if found < begins_ms // 1000 * 1000:
        raise ValueError(f"the record begins at {moment(begins_ms).astimezone():%Y-%m-%d %H:%M:%S}, after {text}")
    return max(found, begins_ms)
