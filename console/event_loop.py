"""The only way to run a coroutine from code without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a loop of its own, and return its result.

    asyncio restores a signal's handler at the end. Before Python 3.12, `signal` looks the handler up in an enum, fails,
    and puts the handler's repr into an error that is dropped; the handler holds the main task with its whole result.
    For a snapshot of 4,000 topics that takes half a second of CPU time, so the task that asyncio runs has no result.
    """
    results: list[T] = []

    async def keep_result() -> None:
        results.append(await work)

    asyncio.run(keep_result())  # noqa: TID251 - the one place
    return results[0]
