"""The cluster's clock, and waiting on it: the machine's time, or a time that tests set."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """The machine's time. It never steps back."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def time(self) -> float:
        """Return the seconds since 1970."""
        return time.monotonic() + self._offset

    async def sleep(self, seconds: float) -> None:
        """Wait this many seconds."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A time that only `advance` changes. Sleepers wake when their time has come."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._slept = asyncio.Event()

    def time(self) -> float:
        """Return the seconds since 1970, as far as `advance` has come."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the time has advanced this far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, future))
        self._slept.set()
        await future

    async def asleep(self) -> None:
        """Wait until a task sleeps."""
        while not any(not future.done() for _, future in self._sleepers):
            self._slept.clear()
            await self._slept.wait()

    def advance(self, seconds: float) -> None:
        """Advance the time. Call it on the cluster's loop."""
        self._now += seconds
        due = [entry for entry in self._sleepers if entry[0] <= self._now]
        self._sleepers = [entry for entry in self._sleepers if entry[0] > self._now]
        for _, future in sorted(due, key=lambda entry: entry[0]):
            if not future.done():
                future.set_result(None)


Clock = SystemClock | ManualClock
"""Unix time and sleeping, both in seconds."""


async def event_or_time(event: asyncio.Event, clock: Clock, moment: float) -> None:
    """Wait until the event is set, or until a time of the cluster's clock."""
    waiting = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(_sleep_until(clock, moment))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _sleep_until(clock: Clock, moment: float) -> None:
    await clock.sleep(moment - clock.time())
