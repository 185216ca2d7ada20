"""How long tests wait for what has to happen, and how often they look."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE = 120.0
"""Seconds: a watchdog for what hangs, far from what is usual also on a busy machine. No test is about it."""
LONG_PATIENCE = 900.0
"""The same for what takes a minute or two by itself: a session of Spark, an environment, the pictures."""
BETWEEN_LOOKS = 0.05
"""Seconds between two looks at what brokers do in their own time: who asks them without a rest takes the processors
from them, and from the tests beside it."""

T = TypeVar("T")


def until(look: Callable[[], T], patience: float = PATIENCE, rest: float = BETWEEN_LOOKS) -> T:
    """Look until what is seen is true, and return it. Raises AssertionError if that takes longer than `patience`."""
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, found
        time.sleep(rest)
    return found


async def shortly(look: Callable[[], Awaitable[T]]) -> T:
    """The same where a look is awaited. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await look()):  # noqa: ASYNC110 - what is looked at tells nobody
            await asyncio.sleep(BETWEEN_LOOKS)
        return found


async def for_seconds(seconds: float, ask: Callable[[], Awaitable[object]]) -> None:
    """Ask again and again for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await ask()
        await asyncio.sleep(BETWEEN_LOOKS)


async def without_end(ask: Callable[[], Awaitable[object]]) -> None:
    """Ask again and again until that raises something."""
    await for_seconds(float("inf"), ask)
