"""The live refresh: one loop that reads what is visible, and never two reads at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

DUTY = 10
"""A read that took t seconds is followed by at least this many times t of rest, so that brokers stay under a tenth."""


class Live:
    """Reads every few seconds, later where the cluster is slow, at once when asked; not while it is paused."""

    def __init__(self, read: Callable[[], Awaitable[None]], every: float) -> None:
        self._read = read
        self._every = every
        self._wake = asyncio.Event()
        self.paused = False

    def now(self) -> None:
        """Read at once, or when the read under way has ended; also while paused."""
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await self._read()
            rest = max(self._every, DUTY * (loop.time() - began))
            await self._sleep(rest)

    async def _sleep(self, seconds: float) -> None:
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), None if self.paused else seconds)
            except TimeoutError:
                if self.paused:
                    continue
            self._wake.clear()
            return


class Pace:
    """When a costly read is due again: not before `every` seconds, nor before its own rest. Used with ``with``."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._next = 0.0
        self._began = 0.0

    def due(self) -> bool:
        """Whether it may be read now."""
        return time.monotonic() >= self._next

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        self._next = now + max(self._every, DUTY * (now - self._began))
