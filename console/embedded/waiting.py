"""Waiting for the first of two things."""

from __future__ import annotations

import asyncio

from console.embedded.clock import Clock


async def event_or_time(event: asyncio.Event, clock: Clock, moment: float) -> None:
    """Wait until the event is set, no longer than until a moment of the cluster's time."""
    waiting = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(_time(clock, moment))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _time(clock: Clock, moment: float) -> None:
    await clock.sleep(moment - clock.time())
