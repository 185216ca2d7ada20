"""Neighbours on real brokers: the same clusters that are well, made by real clients and Kafka's own requests on the
laboratory's brokers. Each is looked at by the console until it was well for long enough; then the fact that decides is
switched, and the cause has to be named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from benchmarks.faults.fault import Begin, Name
from benchmarks.faults.laboratory import WARM, Laboratory, Watch
from benchmarks.faults.neighbours import ILL, WELL
from benchmarks.faults.trial import Trial
from console.admin.settings import ConnectionSettings
from console.model.config import ConfigPlace


async def nothing() -> None:
    """A well one of which nothing has to happen while it is looked at."""


class Eyes(Struct, frozen=True):
    """The console that looks. settings: how it connects, None: as a super user; throttles: that its context declares;
    request_logs: whether it reads those of the brokers."""

    settings: ConnectionSettings | None = None
    throttles: frozenset[ConfigPlace] = frozenset()
    request_logs: bool = False


class Steps(Struct, frozen=True, kw_only=True):
    """What is done with a neighbour that is prepared. happens: while the well one is looked at; switch: makes it ill.
    by: who looks; then: who looks at the ill one, which a console that is opened after the switch does. None: the same
    console goes on."""

    switch: Begin
    happens: Begin = nothing
    by: Eyes = Eyes()
    then: Eyes | None = None


class RealNeighbour(Struct, frozen=True, kw_only=True):
    """How a neighbour of `benchmarks.faults.neighbours.catalogue` is made on real brokers, by its name.

    make: prepares it and gives its steps; leaving it undoes all. ill: what is named then, by the names of here.
    seconds: the well one is looked at for so long after what happens; within: seconds in which the ill one has to be
    named. since: the first version whose brokers can have it.
    """

    name: str
    make: Callable[[Laboratory], AbstractAsyncContextManager[Steps]]
    ill: Name
    seconds: float = 15.0
    within: float = 75.0
    since: tuple[int, int] = (0, 0)


async def tried_on(lab: Laboratory, neighbour: RealNeighbour) -> tuple[Trial, Trial]:
    """All that is named of the well one, from the opening of the console, and of the ill one until it is named."""
    await lab.green()
    async with lab.load(), neighbour.make(lab) as steps:
        try:
            async with _opened(lab, steps.by) as watch:
                watch.start()
                await watch.poll_for(WARM)
                await watch.poll_during(steps.happens())
                await watch.poll_for(neighbour.seconds)
                well = watch.trial((neighbour.name, WELL), lab.cluster.version)
                if steps.then is None:
                    watch.start()
                    return well, await _ill(lab, neighbour, watch, steps.switch())
            await steps.switch()
            async with _opened(lab, steps.then) as watch:
                watch.start()
                return well, await _ill(lab, neighbour, watch, nothing())
        finally:
            lab.cluster.relays.heal()


def _opened(lab: Laboratory, eyes: Eyes) -> Watch:
    logs = lab.cluster.request_log.files if eyes.request_logs else ()
    return Watch(lab, settings=eyes.settings, throttles=eyes.throttles, request_logs=logs)


async def _ill(lab: Laboratory, neighbour: RealNeighbour, watch: Watch, switch: Awaitable[None]) -> Trial:
    making = asyncio.ensure_future(switch)
    try:
        await watch.poll_until([neighbour.ill], neighbour.within, making)
    finally:
        await making
    return watch.trial((neighbour.name, ILL), lab.cluster.version)


def can_have(neighbour: RealNeighbour, version: str) -> bool:
    """Whether brokers of a version can be in that state."""
    return tuple(map(int, version.split(".")[:2])) >= neighbour.since
