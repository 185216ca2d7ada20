"""Time limits for waiting in tests, and functions that wait until a condition is true."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE = 120.0
"""Seconds after which a wait fails. It stops tests that hang, and is far longer than usual waits on a busy machine,
so no result of a test depends on it.
"""
LONG_PATIENCE = 900.0
"""Seconds after which a wait fails for work that takes a minute or two: starting Spark, making an environment, taking
the pictures.
"""
BETWEEN_LOOKS = 0.05
"""Seconds between two checks of a condition. Checking without a pause would take CPU time from the brokers and from
other tests.
"""

T = TypeVar("T")


def until(look: Callable[[], T], patience: float = PATIENCE, rest: float = BETWEEN_LOOKS) -> T:
    """Call `look` until its result is truthy, and return the result. Raises AssertionError with the last result after
    `patience` seconds.

    rest: seconds between two calls.
    """
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, found
        time.sleep(rest)
    return found


async def shortly(look: Callable[[], Awaitable[T]]) -> T:
    """Await `look` until its result is truthy, and return the result. Raises TimeoutError after `PATIENCE` seconds."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await look()):  # noqa: ASYNC110 - what is looked at tells nobody
            await asyncio.sleep(BETWEEN_LOOKS)
        return found


async def settled(read: Callable[[], Awaitable[T]], unsettled: Callable[[T], bool]) -> T:
    """Await `read` until `unsettled` returns False for its result, and return the result. Raises AssertionError with
    the last result after `PATIENCE` seconds. It takes as many attempts as that allows, where the product's
    `until_settled` gives up after a few, which may last less than a second.
    """
    end = time.monotonic() + PATIENCE
    while unsettled(found := await read()):
        assert time.monotonic() < end, found
        await asyncio.sleep(BETWEEN_LOOKS)
    return found


async def for_seconds(seconds: float, ask: Callable[[], Awaitable[object]]) -> None:
    """Await `ask` again and again for `seconds` seconds, with `BETWEEN_LOOKS` in between. Its exceptions pass
    through.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await ask()
        await asyncio.sleep(BETWEEN_LOOKS)


async def without_end(ask: Callable[[], Awaitable[object]]) -> None:
    """Await `ask` again and again until it raises an exception, which passes through, or the task is cancelled."""
    await for_seconds(float("inf"), ask)
