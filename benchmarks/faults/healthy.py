"""Trials on a healthy cluster under load: consumers are deployed, topics are created and deleted, brokers restart as
announced. Triage should name no trouble.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from benchmarks.faults.laboratory import STEADY, Laboratory, Watch
from benchmarks.faults.load import ended, running
from benchmarks.faults.trial import Trial
from console.triage.symptoms import Subject

QUIET, RESTART = "healthy", "rolling restart"
_GROUP = "deployed-readers"


async def quiet(lab: Laboratory, seconds: float) -> Trial:
    """Poll a cluster under load for `seconds` seconds, with deployments and short-lived topics. Return the trial, for
    which no cause is expected.
    """
    return await _watched(lab, QUIET, seconds, (), lambda: _busy(lab, seconds))


async def rolling_restart(lab: Laboratory, seconds: float) -> Trial:
    """Poll a cluster under load for at least `seconds` seconds while each broker in turn is shut down and started
    again. The console's context announces these restarts. Return the trial.
    """
    announced = tuple(Subject(broker=broker) for broker in lab.cluster.broker_ids)
    return await _watched(lab, RESTART, seconds, announced, lambda: _restarts(lab))


async def _watched(
    lab: Laboratory, name: str, seconds: float, announced: tuple[Subject, ...], work: Callable[[], Awaitable[None]]
) -> Trial:
    await lab.green()
    async with lab.load(), Watch(lab, announced) as watch:
        began = watch.start()
        working = asyncio.ensure_future(work())
        while not working.done() or time.monotonic() - began < seconds:
            await watch.poll_again()
        await working
    return watch.trial((name,), lab.cluster.version)


async def _busy(lab: Laboratory, seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        await _deploy(lab)
        async with AsyncExitStack() as stack:
            for number in range(4):
                topic = await stack.enter_async_context(lab.topic(f"passing-{number}"))
                await stack.enter_async_context(running(lab.producer(topic, 2, 20.0)))
            await asyncio.sleep(5)


async def _deploy(lab: Laboratory) -> None:
    """Replace the two members of a group one after another, as a deployment does."""
    async with running(*(lab.consumer(STEADY, _GROUP) for _ in range(2))) as old:
        await lab.committed(_GROUP, STEADY)
        await asyncio.sleep(10)
        async with running(lab.consumer(STEADY, _GROUP)):
            await ended(old[0])
            await asyncio.sleep(3)
            async with running(lab.consumer(STEADY, _GROUP)):
                await ended(old[1])
                await asyncio.sleep(10)
    await lab.drop_group(_GROUP)


async def _restarts(lab: Laboratory) -> None:
    for broker in lab.cluster.broker_ids:
        await asyncio.to_thread(lab.cluster.restart, broker)
        await lab.green()
        await asyncio.sleep(5)
