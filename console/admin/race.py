"""Several addresses, one connection: the first that answers, without waiting for those that hang (after RFC 8305)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
C = TypeVar("C")

STAGGER = 0.3
"""Seconds that an address has before the next one is tried beside it."""


async def first_to_open(
    addresses: Sequence[A],
    open_one: Callable[[A], Awaitable[C]],
    discard: Callable[[C], Awaitable[None]],
    *,
    final: Callable[[BaseException], bool],
    stagger: float = STAGGER,
) -> C | list[Exception]:
    """The connection of the first address to open, or why each of them failed, in their order.

    An address is tried when all before it have failed or had `stagger` seconds. A failure for which `final` holds ends
    the race. What loses is cancelled, or discarded where it had opened already.
    """
    tasks: list[asyncio.Task[C]] = []
    waiting: set[asyncio.Task[C]] = set()
    winner: asyncio.Task[C] | None = None
    try:
        while winner is None and (len(tasks) < len(addresses) or waiting):
            if len(tasks) < len(addresses):
                task = asyncio.ensure_future(open_one(addresses[len(tasks)]))
                tasks.append(task)
                waiting.add(task)
            more = len(tasks) < len(addresses)
            done, waiting = await asyncio.wait(
                waiting, timeout=stagger if more else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in tasks:
                if task in done and task.exception() is None:
                    winner = task
                    break
            if any((error := task.exception()) is not None and final(error) for task in done):
                break
    finally:
        losers = [task for task in tasks if task is not winner]
        for task in losers:
            task.cancel()
        for result in await asyncio.gather(*losers, return_exceptions=True):
            if not isinstance(result, BaseException):
                await discard(result)
    if winner is not None:
        return winner.result()
    return [error for task in tasks if not task.cancelled() and isinstance(error := task.exception(), Exception)]
