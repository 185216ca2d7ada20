"""Decides what is read when: how often something is read, how long it rests, and what comes first.

A part that takes long rests, and delays no other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from math import inf
from typing import NamedTuple

from console.admin.errors import AdminError
from console.log_file import INTERNAL
from console.model.failure import Failure
from console.session.snapshot_reader import Refused

log = logging.getLogger(__name__)


class Pace(NamedTuple):
    """How often something is read."""

    every: float
    """Seconds between two reads."""
    rest: float = 10.0
    """A read that took t seconds is followed by so many times t without one, so that brokers have a tenth of their time
    with it at most."""
    longest_rest: float = inf
    """Seconds, to which that is limited."""
    from_begin: bool = False
    """Whether `every` counts from the beginning of a read, which then does not rest after a failure; otherwise it
    counts from the end."""
    first: float | None = None
    """Seconds which the first read counts at most; of later ones the shorter of the last two counts, so that one slow
    answer alone makes nothing rest. None: each read counts with what it took."""


class Turns:
    """When something is read next, by its pace and by what the last reads took. Times are of the monotonic clock.

    A read that runs in a ``with`` block is measured by it.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.due = -inf
        self._began = 0.0
        self._took: float | None = None

    def is_due(self) -> bool:
        """Return whether it may be read now."""
        return time.monotonic() >= self.due

    def hurry(self) -> None:
        """Make it due now: the operator asked, or what was known is out of date."""
        self.due = -inf

    def begin(self, now: float) -> None:
        """Note that a read begins."""
        self._began = now
        if self.pace.from_begin:
            self.due = now + self.pace.every

    def end(self, now: float) -> None:
        """Note that the read ended."""
        pace, took = self.pace, now - self._began
        counts = took
        if pace.first is not None:
            counts = min(took, pace.first if self._took is None else self._took)
        self._took = took
        due = self.due if pace.from_begin else now + pace.every
        self.due = max(due, now + min(pace.longest_rest, pace.rest * counts))

    def __enter__(self) -> None:
        self.begin(time.monotonic())

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if failed is None or not self.pace.from_begin:
            self.end(time.monotonic())


class Scheduled(NamedTuple):
    """What is read together."""

    name: str
    pace: Pace
    read: Callable[[], Awaitable[object]]
    after: tuple[str, ...] = ()
    """What is read before it is read for the first time."""
    within: float | None = None
    """Seconds that a read may take; None: as long as the client lets it."""


class Scheduler:
    """Reads parts when they are due, each in a task of its own.

    parts: all, in the order in which they begin. problems: part -> why its last read failed.
    """

    def __init__(self, parts: Iterable[Scheduled]) -> None:
        self.parts = tuple(parts)
        self.problems: dict[str, Failure] = {}
        self._turns = {each.name: Turns(each.pace) for each in self.parts}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._read: set[str] = set()

    def start(self, part: Scheduled) -> None:
        """Begin to read a part that is due, unless it is being read."""
        running = self._tasks.get(part.name)
        if (running is None or running.done()) and self._turns[part.name].is_due():
            self._turns[part.name].begin(time.monotonic())
            self._tasks[part.name] = asyncio.create_task(self.read_part(part))

    async def close(self) -> None:
        """Cancel what is being read, and wait for its end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def read_part(self, part: Scheduled) -> None:
        """Read a part after what comes before it, and keep why it could not be read until it is."""
        for name in part.after:
            if name not in self._read:
                await asyncio.wait({self._tasks[name]})
            if name not in self._read:
                self._turns[part.name].hurry()
                return
        try:
            async with asyncio.timeout(part.within):
                await part.read()
        except TimeoutError as error:
            self.problems[part.name] = await self._failed(part, error)
        except (AdminError, Refused) as error:
            log.info("reading %s: %s", part.name, error.failure)
            self.problems[part.name] = await self._failed(part, error)
        except Exception:  # a part that goes wrong must not end the others
            log.exception("reading %s", part.name)
            self.problems[part.name] = Failure("INTERNAL", INTERNAL)
        else:
            self.problems.pop(part.name, None)
            self._read.add(part.name)
            await self._succeeded(part)
            self._turns[part.name].end(time.monotonic())
            return
        if not part.pace.from_begin:
            self._turns[part.name].end(time.monotonic())

    async def _failed(self, part: Scheduled, error: Exception) -> Failure:
        """Return why a part could not be read; here nothing else follows from it."""
        failure = error.failure if isinstance(error, AdminError | Refused) else None
        return failure or Failure("TIMED_OUT", f"{part.name} was not answered within {part.within:g} s")

    async def _succeeded(self, part: Scheduled) -> None:
        """Note that a part was read; here nothing else follows from it."""
