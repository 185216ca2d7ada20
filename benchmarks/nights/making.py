"""A night's cluster, prepared for it, and a night that is made without the console."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.nights.cluster import NightCluster
from benchmarks.nights.field import Field
from benchmarks.nights.night import Begin, Make, Night

LOOKS_ON = 10.0
"""Seconds after `Begin` until a night that nobody watches is ended."""


@asynccontextmanager
async def prepared(night: Night, make: Make, version: str) -> AsyncIterator[tuple[Field, Begin]]:
    """A cluster of its own for a night or its twin, with what `make` prepares, settled if it settles.

    Args:
        version: as ``4.3.0``.
    """
    cluster = NightCluster(version, night.brokers, night.security, night.properties)
    try:
        await asyncio.to_thread(cluster.start)
        field = Field(cluster)
        async with make(field) as begin:
            try:
                await field.settled()
            except TimeoutError as error:
                print(f"  {error}: it goes on", flush=True)
            yield field, begin
    finally:
        await asyncio.to_thread(cluster.close)


async def make_only(night: Night, make: Make, version: str) -> str:
    """Make a night or its twin, and end it.

    Returns:
        How long its parts took, and what its clients noted.
    """
    at = [time.monotonic()]
    async with prepared(night, make, version) as (field, begin):
        at.append(time.monotonic())
        await begin()
        at.append(time.monotonic())
        await asyncio.sleep(LOOKS_ON)
        noted = [_noted(field, number) for number in range(len(field.clients))]
        at.append(time.monotonic())
    at.append(time.monotonic())
    parts = zip(("prepared", "begun", "looked on", "ended"), at, at[1:], strict=False)
    return "; ".join(f"{name} {after - before:.1f} s" for name, before, after in parts) + "".join(noted)


def _noted(field: Field, number: int) -> str:
    client = field.clients[number]
    errors = Counter(each["error"] for each in client.errors() if "error" in each)
    told = ", ".join(f"{name} {count} ×" for name, count in errors.most_common(5))
    return f"\n    client {number + 1} ({client.what}): {told or 'no error'}"
