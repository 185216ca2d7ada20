"""Schedule reads of the parts of a cluster: how often each part is read, how long it pauses after a read, and which is
read first.

A part whose reads are slow pauses longer, and delays no other part.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from console.admin.errors import AdminError
from console.log_file import INTERNAL
from console.model.failure import Failure
from console.session.snapshot_reader import Refused

if TYPE_CHECKING:
    from console.model.snapshot import Snapshot

log = logging.getLogger(__name__)

STEP = 1.0
"""Maximum seconds until the scheduler checks again for due reads."""
LATE = 10.0
"""Seconds after which a part counts as late, if it was due and was not read."""


class Pace(NamedTuple):
    """The interval between the reads of a part, and the pause (rest) after a read."""

    every: float
    """Seconds between two reads."""
    rest: float = 10.0
    """The pause after a read, as a multiple of the read's duration. With 10, brokers spend at most a tenth of their
    time on it.
    """
    longest_rest: float = inf
    """Maximum pause after a read, in seconds."""
    from_begin: bool = False
    """Whether `every` counts from the beginning of a read; if so, there is no pause after a failed read. If False, it
    counts from the end.
    """
    first: float | None = None
    """If set, the pause after the first read is computed from at most this many seconds, and the pause after each
    later read from the shorter of its own and the previous duration, so that a single slow answer causes no long
    pause. If None, each pause is computed from the read's own duration.
    """


class Turn(NamedTuple):
    """The schedule of one part's reads: the time of the next read, from the pace and the duration of the last reads.
    Times are seconds of the monotonic clock.
    """

    due: float = -inf
    began: float | None = None
    """The time at which the current read began; None if the part is not being read."""
    ended: float = -inf
    took: float | None = None
    """Seconds that the last measured read took; None before the first."""
    was_read: bool = False
    """Whether any read of the part has succeeded."""
    asked: bool = False
    """Whether a read was requested, and no read has begun since."""

    def is_due(self, now: float) -> bool:
        """Return whether a read may begin at this time."""
        return self.began is None and now >= self.due

    def hurried(self) -> Turn:
        """Return the turn with a read requested: it is due now, or when the current read has ended."""
        return self._replace(due=-inf, asked=True)

    def begun(self, pace: Pace, now: float) -> Turn:
        """Return the turn with a read that begins now."""
        return self._replace(began=now, due=now + pace.every if pace.from_begin else self.due, asked=False)

    def ended_at(self, pace: Pace, now: float, *, failed: bool = False) -> Turn:
        """Return the turn after the current read has ended. The pause follows a failed read, too, unless
        `Pace.from_begin`. There is no pause if the part was requested again during the read.
        """
        over = self._replace(began=None, ended=now, was_read=self.was_read or not failed)
        if self.asked or (failed and pace.from_begin):
            return over
        took = now - (now if self.began is None else self.began)
        counts = took
        if pace.first is not None:
            counts = min(took, pace.first if self.took is None else self.took)
        due = self.due if pace.from_begin else now + pace.every
        return over._replace(took=took, due=max(due, now + min(pace.longest_rest, pace.rest * counts)))

    def known(self, pace: Pace, now: float, age: float) -> Turn:
        """Return the turn after another part has read the same data `age` seconds ago, which delays the next read.
        Return it unchanged if the part is not due, if a read was requested, or if the data is older than the
        interval or the last read.
        """
        # A clock that was set back gives a negative age; the part is then read.
        if not self.is_due(now) or self.asked or not 0 <= age < pace.every or now - age <= self.ended:
            return self
        return self._replace(due=now + pace.every - age, was_read=True)


class Turns:
    """The schedule of one read, for code that does the read itself. Use it as a context manager around the read, which
    it measures.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.turn = Turn()

    def is_due(self) -> bool:
        """Return whether a read may begin now."""
        return self.turn.is_due(time.monotonic())

    def hurry(self) -> None:
        """Make a read due at once."""
        self.turn = self.turn.hurried()

    def note(self, age: float | None) -> None:
        """Delay the next read because other code has read the same data `age` seconds ago. None has no effect."""
        if age is not None:
            self.turn = self.turn.known(self.pace, time.monotonic(), age)

    def put_off(self, seconds: float) -> None:
        """Delay the next read by this many seconds, because other code has read the same data."""
        self.turn = self.turn._replace(due=time.monotonic() + seconds)

    def __enter__(self) -> None:
        self.turn = self.turn.begun(self.pace, time.monotonic())

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        self.turn = self.turn.ended_at(self.pace, time.monotonic(), failed=failed is not None)


class Scheduled(NamedTuple):
    """A part: data of a cluster that is read together."""

    name: str
    pace: Pace
    read: Callable[[], Awaitable[object]]
    after: tuple[str, ...] = ()
    """The names of parts that must have been read once before the first read of this one."""
    within: float | None = None
    """Maximum seconds for a read; None for no limit but the client's own."""
    in_view: bool = False
    """Whether the data is visible on the screen; such parts are read first."""
    is_shared: bool = False
    """Whether a read of the same data by other code counts as a read of this part."""
    may: Callable[[], bool] = lambda: True
    """Returns whether the part can be read now: the values that it needs are known, and no other part reads the same
    data.
    """


def next_reads(parts: Iterable[Scheduled], turns: Mapping[str, Turn], now: float) -> list[Scheduled]:
    """Return the parts whose reads begin now, in this order. Pure.

    Args:
        parts: the parts that may be read.
        turns: name of a part -> its schedule, also for the parts in `Scheduled.after`.
        now: the present time, in seconds of the monotonic clock.
    """
    due = [
        part
        for part in parts
        if (turn := turns[part.name]).is_due(now)
        and (turn.was_read or all(turns[each].was_read for each in part.after))
    ]
    return sorted(due, key=lambda part: not part.in_view)


class Scheduler:
    """A scheduler that reads parts, each at its own pace and in its own task.

    Attributes:
        parts: all parts, in the order in which their reads begin.
        problems: name of a part -> the failure of its last read; parts whose last read succeeded are missing.
    """

    def __init__(
        self,
        parts: Iterable[Scheduled],
        may: Callable[[Scheduled, Turn], bool] = lambda *_: True,
        age: Callable[[str], float | None] = lambda _: None,
    ) -> None:
        """Create the scheduler; `step` and `run` read the parts.

        Args:
            may: function that returns whether a part may be read now, given its schedule.
            age: function that returns the seconds since other code read a part; None if that never happened.
        """
        self.parts = tuple(parts)
        self.problems: dict[str, Failure] = {}
        self._may, self._age = may, age
        self._turns = {each.name: Turn() for each in self.parts}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._fresh_until: dict[str, float] = {}
        self._woken = asyncio.Event()

    def late(self) -> tuple[str, ...]:
        """Return the names of the parts whose last successful read is longer ago than their interval plus `LATE`
        seconds. Parts that were never read are left out.
        """
        oldest = time.monotonic() - LATE
        return tuple(each.name for each in self.parts if self._fresh_until.get(each.name, inf) < oldest)

    def was_read(self, *names: str) -> bool:
        """Return whether each of these parts was read at least once."""
        return all(self._turns[name].was_read for name in names)

    def rests(self, name: str) -> bool:
        """Return whether the part was read or tried before, is not being read now, and no read was requested."""
        turn = self._turns.get(name, Turn())
        return turn.ended > -inf and turn.began is None and not turn.asked

    def is_asked(self, name: str) -> bool:
        """Return whether a read of the part was requested and has not begun yet."""
        return self._turns[name].asked

    def put(self, part: Scheduled, seconds: float = 0.0) -> None:
        """Add a part. If there is one of the same name, cancel its read and replace it.

        Args:
            seconds: the delay of the first read.
        """
        if task := self._tasks.pop(part.name, None):
            task.cancel()
        self.parts = (*(each for each in self.parts if each.name != part.name), part)
        self._turns[part.name] = Turn(time.monotonic() + seconds)
        self._woken.set()

    def hurry(self, *names: str) -> None:
        """Make parts due now; if they are being read, make them due after that read. Unknown names are ignored."""
        for name in names:
            if (turn := self._turns.get(name)) is not None:
                self._turns[name] = turn.hurried()
        self._woken.set()

    def step(self, names: Collection[str] | None = None) -> None:
        """Begin the reads that are due, without waiting for them.

        Args:
            names: the names of the only parts to consider; None for all.
        """
        now = time.monotonic()
        parts = [part for part in self.parts if names is None or part.name in names]
        for part in parts:
            turn = self._turns[part.name]
            if part.is_shared and turn.is_due(now) and (age := self._age(part.name)) is not None:
                self._turns[part.name] = known = turn.known(part.pace, now, age)
                if known is not turn:
                    self._succeeded(part)
                    self._fresh_until[part.name] = known.due
        allowed = [part for part in parts if self._may(part, self._turns[part.name]) and part.may()]
        for part in next_reads(allowed, self._turns, now):
            self._turns[part.name] = self._turns[part.name].begun(part.pace, now)
            self._tasks[part.name] = asyncio.create_task(self._read_in_turn(part))

    async def run(self) -> None:
        """Begin reads as they become due, until cancelled."""
        try:
            while True:
                self._woken.clear()
                self.step()
                now = time.monotonic()
                waits = (turn.due - now for turn in self._turns.values() if turn.began is None and turn.due > now)
                await happens(self._woken, min([STEP, *waits]))
        finally:
            await self.close()

    async def close(self) -> None:
        """Cancel the current reads, and wait until they have ended."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _read_in_turn(self, part: Scheduled) -> None:
        """Read a part, then begin the reads of parts that waited for it."""
        await self.read_part(part)
        self.step([each.name for each in self.parts if part.name in each.after and not self.was_read(each.name)])

    async def read_part(self, part: Scheduled) -> None:
        """Read a part. If that fails, store the failure in `problems`, where it stays until a read succeeds."""
        failed, began = True, self._turns[part.name].began
        try:
            async with asyncio.timeout(part.within):
                await part.read()
            failed = False
            self._succeeded(part)
        except TimeoutError as error:
            self.problems[part.name] = await self._failed(part, error)
        except (AdminError, Refused) as error:
            log.info("reading %s: %s", part.name, error.failure)
            self.problems[part.name] = await self._failed(part, error)
        except Exception:  # an unexpected error of one part must not end the others
            log.exception("reading %s", part.name)
            self.problems[part.name] = Failure("INTERNAL", INTERNAL)
        finally:
            if (turn := self._turns[part.name]).began == began:  # otherwise another read of the part began meanwhile
                self._turns[part.name] = turn = turn.ended_at(part.pace, time.monotonic(), failed=failed)
                if not failed:
                    self._fresh_until[part.name] = max(turn.due, time.monotonic())
            self._woken.set()

    async def _failed(self, part: Scheduled, error: Exception) -> Failure:
        """Convert the error of a read to the failure to store. Subclasses may also react to the error."""
        failure = error.failure if isinstance(error, AdminError | Refused) else None
        return failure or Failure("TIMED_OUT", f"{part.name} was not answered within {part.within:g} s")

    def _succeeded(self, part: Scheduled) -> None:
        """Do what follows a successful read. Subclasses may do more."""
        self.problems.pop(part.name, None)


def read_ago(snapshot: Snapshot, name: str) -> float | None:
    """Return the seconds since the last read of a whole part, according to the snapshot; None if it was never read."""
    at = snapshot.read_at.get(name)
    return None if at is None else (datetime.now(UTC) - at).total_seconds()


async def happens(event: asyncio.Event, seconds: float) -> None:
    """Wait until an event is set or `seconds` seconds have passed."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        # Don't use `asyncio.timeout`: with no time left, it mistakes an earlier cancellation, as by Ctrl-C, for its
        # own.
        await asyncio.wait({waiting}, timeout=max(0.0, seconds))
    finally:
        waiting.cancel()
