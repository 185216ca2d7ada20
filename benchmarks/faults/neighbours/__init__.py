"""Neighbours: healthy clusters that resemble a cluster with a fault. Each has the fault's symptom, but differs in one
deciding fact. They are taken from operators' clusters, never from triage's answers.

A neighbour is given as polls, of a model (`modelled`) or of the embedded cluster (`embedded`), in two forms: the
healthy form, and the ill form, in which the deciding fact is that of the fault. Triage must name no trouble for any
poll of the healthy form. It must name the fault for the ill form: this shows that triage is silent about the healthy
form only because of the deciding fact.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.faults.fault import Name
from benchmarks.faults.trial import Names, Trial
from console.admin.client import AdminClient
from console.admin.errors import RequestTimedOut
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.spec import ClusterSpec
from console.model.config import ConfigPlace
from console.model.lag_trend import LagTrend
from console.model.severity import Severity
from console.model.snapshot import Snapshot, throttled_groups, trends_after
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts
from console.triage.observations import after, begin
from console.triage.symptoms import Poll
from tests.unit.test_triage import START, TICK, fresh, healthy

Polls = Callable[[bool], AsyncIterator[Poll]]
"""A function that returns the polls of a cluster: with True those of the ill form, which has the fault, with False
those of the healthy form.
"""

WELL, ILL = "well", "ill"


class Neighbour(Struct, frozen=True, kw_only=True):
    """A healthy cluster that resembles a fault.

    name: of the neighbour. fault: the name of the fault in `benchmarks.faults.catalogue`, or of the cause if there is
    no such fault. how: a description of the cluster. decides: the deciding fact of the ill form, which has the fault.
    ill: the cause that triage has to name for the ill form. told: causes of severity `info` that triage has to name for
    the healthy form.
    """

    name: str
    fault: str
    how: str
    decides: str
    ill: Name
    polls: Polls
    told: frozenset[str] = frozenset()


async def tried(neighbour: Neighbour, *, ill: bool) -> Trial:
    """Poll a neighbour in its healthy form or, if `ill` is true, in the form that has the fault; in that form only
    until triage has named its cause. Return the trial, with all causes that triage named.
    """
    names, observations, first = Names(), None, None
    polls = neighbour.polls(ill)
    try:
        async for poll in polls:
            observations = begin(poll) if observations is None else after(observations, poll)
            first = first or poll.at
            names.add(diagnose(observations), (poll.at - first).total_seconds())
            if ill and any(neighbour.ill.fits(told.cause, told.subject) for told in names.told):
                break
    finally:
        await polls.aclose()  # type: ignore[attr-defined]
    assert observations is not None, f"{neighbour.name}: no poll"
    seconds = (observations.last.at - observations.began).total_seconds()
    return Trial(
        faults=(neighbour.name,),
        version=ILL if ill else WELL,
        told=names.told,
        unexplained=names.unexplained,
        load=0.0,
        seconds=round(seconds, 1),
    )


def troubles(trial: Trial) -> tuple[str, ...]:
    """Return the troubles that triage named in a trial: causes above `info`, including possible ones, and symptoms
    without a cause.
    """
    alarms = [str(Name(told.cause, told.subject)) for told in trial.told if told.severity != Severity.INFO.value]
    return (*alarms, *(f"unexplained {symptom}" for symptom in trial.unexplained))


# -- sources of polls --------------------------------------------------------------------------------------------------


def modelled(
    change: Callable[[Snapshot, int, bool], Snapshot],
    *,
    ticks: int = 8,
    tick: timedelta = TICK,
    facts: Callable[[int, bool], Facts] = lambda _tick, _ill: Facts(),
    before: Callable[[], Snapshot] = healthy,
) -> Polls:
    """Return the polls of a model cluster. Trends of groups follow from their lags.

    change: returns the snapshot of a poll, from the snapshot of `before`, the poll's number (the tick, from 0 on), and
    True for the ill form. ticks: number of the last poll. tick: time between two polls. facts: returns the facts
    outside of the snapshot, from the tick and the form.
    """

    async def polls(ill: bool) -> AsyncIterator[Poll]:
        base = before()
        trends: Mapping[str, LagTrend] = {}
        for number in range(ticks + 1):
            at = START + number * tick
            snapshot = change(fresh(base, number), number, ill)
            trends = trends_after(trends, snapshot.lags, at, throttled_groups(snapshot.groups, snapshot.quotas))
            yield Poll(at, replace(snapshot, lag_trends=trends), facts=facts(number, ill))

    return polls


async def _seen(poller: Poller) -> Poll:
    """Return the next poll. If no broker answers in time, as on a busy machine, poll again, at most twice; the console
    also tries again.
    """
    for _ in range(2):
        try:
            return await poller.poll(whole=True)
        except RequestTimedOut:
            await poller.rest()
    return await poller.poll(whole=True)


def embedded(
    seed: Callable[[EmbeddedCluster, bool], object],
    step: Callable[[EmbeddedCluster, int, bool], object] = lambda _cluster, _poll, _ill: None,
    *,
    spec: ClusterSpec | Callable[[bool], ClusterSpec] = ClusterSpec(brokers=3),  # noqa: B008 - frozen
    polls: int = 4,
    settings: Callable[[str], ConnectionSettings] = lambda at: ConnectionSettings(parse_bootstrap(at)),
    meant: frozenset[ConfigPlace] = frozenset(),
) -> Polls:
    """Return the console's polls of an embedded cluster.

    seed: fills the cluster at the start. step: called before each poll with the poll's number. Both get True for the
    ill form, and may be coroutine functions. settings: returns the connection settings for the addresses. meant:
    throttles that the console's context declares as intended in the healthy form.
    """

    async def taken(ill: bool) -> AsyncIterator[Poll]:
        made = spec if isinstance(spec, ClusterSpec) else spec(ill)
        with run_in_thread(made) as cluster:
            cluster.run(lambda running: _made(seed(running, ill)))
            client = AdminClient(settings(cluster.bootstrap))
            client.start()
            try:
                declared = frozenset() if ill else meant
                context = Context("neighbour", "neighbours", client.settings, journal=False, throttles=declared)
                async with Poller(Session(client, context)) as poller:
                    for number in range(polls):
                        cluster.run(lambda running, number=number: _made(step(running, number, ill)))  # type: ignore[misc]
                        yield await _seen(poller)
                        await poller.rest()
            finally:
                client.close()

    return taken


async def _made(result: object) -> None:
    """Await the result of a step if it is awaitable."""
    if inspect.isawaitable(result):
        await result
