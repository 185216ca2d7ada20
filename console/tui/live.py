"""When to read: one look at a time, later where the cluster is slow, at once when asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

REST = 10
"""A read that took t seconds is followed by at least this many times t without one, so that brokers stay under a tenth
of their time."""


class Live:
    """Reads every few seconds, never two at a time; not while it is paused."""

    def __init__(self, read: Callable[[], Awaitable[bool]], every: float) -> None:
        """read: gives whether it was answered. every: seconds from the end of a read to the next, 0 for none that was
        not asked for."""
        self._read = read
        self._every = every
        self._wake = asyncio.Event()
        self.resting = False
        """Whether nothing is being read, and nobody asked."""
        self.paused = every <= 0

    @property
    def is_wanted(self) -> bool:
        """Whether a read was asked for since the one under way began."""
        return self._wake.is_set()

    def now(self) -> None:
        """Read at once, or when the read under way has ended; also while paused."""
        self.resting = False
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            # Whatever asked for this read is answered by it; what asks from here on wants another.
            self._wake.clear()
            self.resting = False
            began = loop.time()
            # Brokers that did not answer need no rest; that they answer again is to be seen soon.
            rest = REST * (loop.time() - began) if await self._read() else 0.0
            await self._sleep(max(self._every, rest))

    async def _sleep(self, seconds: float) -> None:
        """Until it is time, or somebody asks; a pause that begins meanwhile counts."""
        self.resting = not self._wake.is_set()
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), None if self.paused else seconds)
            except TimeoutError:
                if self.paused:
                    continue
            return


class Pace:
    """When a costly read is due again: not before `every` seconds, nor before `rest` times what it took. Used with
    ``with``."""

    def __init__(self, every: float, rest: float = REST) -> None:
        self._every = every
        self._rest = rest
        self._next = 0.0
        self._began = 0.0

    def due(self) -> bool:
        """Whether it may be read now."""
        return time.monotonic() >= self._next

    def hurry(self) -> None:
        """It is due now: somebody asked."""
        self._next = 0.0

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        self._next = now + max(self._every, self._rest * (now - self._began))
