"""Neighbours on real brokers: the same healthy clusters, made by real clients and Kafka's own requests on the
laboratory's brokers. The console polls each of them for some time; then the deciding fact is changed to that of the
fault, and triage has to name the cause.
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
    """Do nothing."""


class Eyes(Struct, frozen=True):
    """A console that polls. settings: for its connection; None for the super user. throttles: those that its context
    declares as intended. request_logs: whether it reads the brokers' request logs.
    """

    settings: ConnectionSettings | None = None
    throttles: frozenset[ConfigPlace] = frozenset()
    request_logs: bool = False


class Steps(Struct, frozen=True, kw_only=True):
    """The steps of a test with a prepared neighbour. happens: runs while the console polls the healthy form. switch:
    changes the deciding fact, so that the cluster has the fault. by: the console that polls. then: another
    console for the cluster with the fault, opened after `switch`; None to use `by` again.
    """

    switch: Begin
    happens: Begin = nothing
    by: Eyes = Eyes()
    then: Eyes | None = None


class RealNeighbour(Struct, frozen=True, kw_only=True):
    """A neighbour of `benchmarks.faults.neighbours.catalogue` on real brokers. name: the same name as there.

    make: prepares the neighbour and yields its steps; its end undoes them. ill: the cause that triage has to name after
    `Steps.switch`; its subject has the names of this module's topics and groups. seconds: how long to poll the healthy
    form after `Steps.happens`. within: seconds in which triage has to name the cause after `Steps.switch`. since: the
    first Kafka version whose brokers can be in this state.
    """

    name: str
    make: Callable[[Laboratory], AbstractAsyncContextManager[Steps]]
    ill: Name
    seconds: float = 15.0
    within: float = 75.0
    since: tuple[int, int] = (0, 0)


async def tried_on(lab: Laboratory, neighbour: RealNeighbour) -> tuple[Trial, Trial]:
    """Try a neighbour on the laboratory's brokers. Return two trials: one with the causes that triage names for the
    healthy form, from the opening of the console on; and one with those for the fault, until triage has named its
    cause.
    """
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
    """Return whether brokers of a Kafka version can be in the neighbour's state."""
    return tuple(map(int, version.split(".")[:2])) >= neighbour.since
