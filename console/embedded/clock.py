"""The time as the cluster sees it, and waiting for it: the machine's clock, or one that tests move."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

# The time as the cluster sees it; tests set it.


class Clock(Protocol):
    """Unix time and waiting, both in seconds."""

    def time(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        ...


class SystemClock:
    """The machine's time, which never steps back."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def time(self) -> float:
        """Seconds since 1970."""
        return time.monotonic() + self._offset

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A time that stands until it is moved: sleepers wake when `advance` passes their hour."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._slept = asyncio.Event()

    def time(self) -> float:
        """Seconds since 1970."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the time was moved that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, future))
        self._slept.set()
        await future

    async def asleep(self) -> None:
        """Wait until somebody waits for a later time."""
        while not any(not future.done() for _, future in self._sleepers):
            self._slept.clear()
            await self._slept.wait()

    def advance(self, seconds: float) -> None:
        """Move the time; to be called on the cluster's loop."""
        self._now += seconds
        due = [entry for entry in self._sleepers if entry[0] <= self._now]
        self._sleepers = [entry for entry in self._sleepers if entry[0] > self._now]
        for _, future in sorted(due, key=lambda entry: entry[0]):
            if not future.done():
                future.set_result(None)


# Waiting for the first of two things.


async def event_or_time(event: asyncio.Event, clock: Clock, moment: float) -> None:
    """Wait until the event is set, no longer than until a moment of the cluster's time."""
    waiting = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(_sleep_until(clock, moment))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _sleep_until(clock: Clock, moment: float) -> None:
    await clock.sleep(moment - clock.time())
