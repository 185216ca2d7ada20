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
    the race. What loses is cancelled, or discarded where it had opened already; so is everything when the caller is
    cancelled.
    """
    tasks: list[asyncio.Task[C]] = []
    winner: asyncio.Task[C] | None = None
    try:
        winner = await _run(tasks, addresses, open_one, final, stagger)
        await _drop([task for task in tasks if task is not winner], discard)
    except BaseException:
        await _drop(tasks, discard)
        raise
    if winner is not None:
        return winner.result()
    return [error for task in tasks if not task.cancelled() and isinstance(error := task.exception(), Exception)]


async def _run(
    tasks: list[asyncio.Task[C]],
    addresses: Sequence[A],
    open_one: Callable[[A], Awaitable[C]],
    final: Callable[[BaseException], bool],
    stagger: float,
) -> asyncio.Task[C] | None:
    """Fills `tasks` in the addresses' order; the one that won, or None when all have failed or one did for good."""
    waiting: set[asyncio.Task[C]] = set()
    while waiting or len(tasks) < len(addresses):
        if len(tasks) < len(addresses):
            tasks.append(asyncio.ensure_future(open_one(addresses[len(tasks)])))
            waiting.add(tasks[-1])
        patience = stagger if len(tasks) < len(addresses) else None
        done, waiting = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task in done and task.exception() is None:
                return task
        if any((error := task.exception()) is not None and final(error) for task in done):
            return None
    return None


async def _drop(tasks: Sequence[asyncio.Task[C]], discard: Callable[[C], Awaitable[None]]) -> None:
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(result, BaseException):
            await discard(result)
