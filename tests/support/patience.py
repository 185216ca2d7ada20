"""Limits for waiting in tests, and the interval between two looks."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE = 120.0
"""Seconds: a watchdog for tests that hang, far longer than usual waits on a busy machine. No test checks it."""
LONG_PATIENCE = 900.0
"""Seconds: the same for work of a minute or two: starting Spark, making an environment, taking the pictures."""
BETWEEN_LOOKS = 0.05
"""Seconds between two looks at brokers. Looking without a pause would take CPU time from the brokers and from other
tests.
"""

T = TypeVar("T")


def until(look: Callable[[], T], patience: float = PATIENCE, rest: float = BETWEEN_LOOKS) -> T:
    """Look until the result is true, and return it. Raises AssertionError if that takes longer than `patience`
    seconds.
    """
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, found
        time.sleep(rest)
    return found


async def shortly(look: Callable[[], Awaitable[T]]) -> T:
    """Await looks until a result is true, and return it. Raises TimeoutError after `PATIENCE` seconds."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await look()):  # noqa: ASYNC110 - what is looked at tells nobody
            await asyncio.sleep(BETWEEN_LOOKS)
        return found


async def for_seconds(seconds: float, ask: Callable[[], Awaitable[object]]) -> None:
    """Await `ask` repeatedly for `seconds` seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await ask()
        await asyncio.sleep(BETWEEN_LOOKS)


async def without_end(ask: Callable[[], Awaitable[object]]) -> None:
    """Await `ask` repeatedly until it raises an exception."""
    await for_seconds(float("inf"), ask)
