"""The clock of the embedded cluster, and ways to wait by it."""

from __future__ import annotations

import asyncio
import time


class Clock:
    """A clock that returns this host's time in seconds since 1970, but never goes back."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def time(self) -> float:
        """Return the current time in Unix seconds."""
        return time.monotonic() + self._offset

    async def sleep(self, seconds: float) -> None:
        """Wait for this number of seconds."""
        await asyncio.sleep(seconds)


async def event_or_time(event: asyncio.Event, clock: Clock, moment: float) -> None:
    """Wait until the event is set, or until the cluster's clock reaches `moment`, in seconds since 1970."""
    waiting = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(_sleep_until(clock, moment))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _sleep_until(clock: Clock, moment: float) -> None:
    await clock.sleep(moment - clock.time())
