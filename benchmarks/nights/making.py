"""Makes nights: prepares a cluster for a night, and runs the night with or without the console."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.nights.cluster import NightCluster
from benchmarks.nights.field import Field
from benchmarks.nights.night import Begin, Night
from benchmarks.nights.said import NIGHT, Half, Said
from benchmarks.watch import Watch, commit
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings

WARM = 12.0
"""Seconds for which the console polls before `Begin` is called."""
LOOKS_ON = 10.0
"""Seconds from the end of `Begin` until a night without the console ends."""


@asynccontextmanager
async def prepared(night: Night, half: str, version: str) -> AsyncIterator[tuple[Field, Begin]]:
    """Run a new cluster, prepare it for a night or its twin, and wait until it is healthy, if that is possible. Yield
    the `Field` and the `Begin`.

    Args:
        half: `NIGHT` or `TWIN`.
        version: such as ``4.3.0``.
    """
    cluster = NightCluster(version, night.brokers, night.security, night.properties, night.format_options)
    try:
        await asyncio.to_thread(cluster.start)
        field = Field(cluster)
        try:
            async with (night.make if half == NIGHT else night.twin)(field) as begin:
                try:
                    await field.settled()
                except TimeoutError as error:
                    print(f"  {error}: it goes on", flush=True)
                yield field, begin
        finally:
            await asyncio.to_thread(field.close)
    finally:
        await asyncio.to_thread(cluster.close)


async def make_only(night: Night, half: str, version: str) -> str:
    """Make a night or its twin without the console, and end it.

    Returns:
        The durations of its steps, and its clients' errors, as text.
    """
    at = [time.monotonic()]
    async with prepared(night, half, version) as (field, begin):
        at.append(time.monotonic())
        await begin()
        at.append(time.monotonic())
        await asyncio.sleep(LOOKS_ON)
        noted = [_noted(field, number) for number in range(len(field.clients))]
        at.append(time.monotonic())
    at.append(time.monotonic())
    parts = zip(("prepared", "begun", "looked on", "ended"), at, at[1:], strict=False)
    return "; ".join(f"{name} {after - before:.1f} s" for name, before, after in parts) + "".join(noted)


async def watched(slug: str, night: Night, half: str, version: str, record: Path) -> Half:
    """Make a night or its twin while the console watches. Return the console's rows.

    Args:
        half: `NIGHT` or `TWIN`.
        record: the file for the brokers' responses to the console.
    """
    said = Said()
    async with prepared(night, half, version) as (field, begin):
        if night.stands:
            began, begun = await _timed(begin)
        settings = ConnectionSettings(field.cluster.addresses, request_timeout=20.0)
        record.parent.mkdir(parents=True, exist_ok=True)
        recorded = record, field.cluster.cluster_id, version

        def lost(error: AdminError) -> None:
            said.lose(error, time.time())

        async with Watch("nights", settings, said.add, lost=lost, record=recorded) as watch:
            if not night.stands:
                await watch.poll_for(WARM)
                beginning = asyncio.ensure_future(_timed(begin))
                await watch.poll_during(beginning)
                began, begun = beginning.result()
            await watch.poll_for(night.watch)
    return said.half(
        round(began * 1000),
        slug=slug,
        half=half,
        version=version,
        begun=round(begun, 1),
        load=round(os.getloadavg()[0], 1),
        commit=commit(),
    )


async def _timed(begin: Begin) -> tuple[float, float]:
    """Await `Begin`. Return the time at which it was called, in seconds since 1970, and its duration in seconds."""
    began = time.time()
    await begin()
    return began, time.time() - began


def _noted(field: Field, number: int) -> str:
    client = field.clients[number]
    errors = Counter(each["error"] for each in client.errors() if "error" in each)
    told = ", ".join(f"{name} {count} ×" for name, count in errors.most_common(5))
    return f"\n    client {number + 1} ({client.what}): {told or 'no error'}"
