"""A clock for embedded clusters whose time a test sets."""

import asyncio

from console.embedded.clock import Clock


class ManualClock(Clock):
    """A clock whose time only `advance` changes. A task in `sleep` continues once the time has come."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._slept = asyncio.Event()

    def time(self) -> float:
        """Return the time in seconds since 1970."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has advanced by this many seconds."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, future))
        self._slept.set()
        await future

    async def asleep(self) -> None:
        """Wait until some task waits in `sleep`."""
        while not any(not future.done() for _, future in self._sleepers):
            self._slept.clear()
            await self._slept.wait()

    def advance(self, seconds: float) -> None:
        """Advance the time by `seconds`, and wake the tasks whose time has come. Call it on the cluster's event
        loop.
        """
        self._now += seconds
        due = [entry for entry in self._sleepers if entry[0] <= self._now]
        self._sleepers = [entry for entry in self._sleepers if entry[0] > self._now]
        for _, future in sorted(due, key=lambda entry: entry[0]):
            if not future.done():
                future.set_result(None)
