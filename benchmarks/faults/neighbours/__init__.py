"""Neighbours: clusters that are well and look like one with a fault. Each has the fault's symptom, and differs in the
one fact that decides. Written from what operators have, never from what triage says.

A neighbour is given as polls, from a model (`modelled`) or from the embedded cluster (`embedded`), in two forms: well,
and ill, which is the same with the deciding fact as the fault has it. The well one must stay without a trouble at every
poll; the ill one must be named, which shows that nothing else keeps the well one quiet.
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
"""Returns the polls of a cluster: with True of the ill cluster, with False of the healthy one."""

WELL, ILL = "well", "ill"


class Neighbour(Struct, frozen=True, kw_only=True):
    """A cluster that is well and looks like a fault.

    name: of the neighbour; fault: the name of the fault in `benchmarks.faults.catalogue`, or of the cause where none is
    made there. how: what the cluster is; decides: the one fact in which the ill one differs. ill: what is named of
    that. told: causes that say without alarm what the well one is (`info`), and have to. within: polls of `embedded`
    at the ill one at most.
    """

    name: str
    fault: str
    how: str
    decides: str
    ill: Name
    polls: Polls
    told: frozenset[str] = frozenset()


async def tried(neighbour: Neighbour, *, ill: bool) -> Trial:
    """All that is named in the polls of a neighbour, or at its ill twin until it is named."""
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
    """What of it is a trouble: causes that are more than told, possible ones too, and symptoms without a cause."""
    alarms = [str(Name(told.cause, told.subject)) for told in trial.told if told.severity != Severity.INFO.value]
    return (*alarms, *(f"unexplained {symptom}" for symptom in trial.unexplained))


# -- where polls come from ---------------------------------------------------------------------------------------------


def modelled(
    change: Callable[[Snapshot, int, bool], Snapshot],
    *,
    ticks: int = 8,
    tick: timedelta = TICK,
    facts: Callable[[int, bool], Facts] = lambda _tick, _ill: Facts(),
    before: Callable[[], Snapshot] = healthy,
) -> Polls:
    """Polls of a cluster of values: what `change` makes of `before` at each tick, the first one too. Trends of groups
    follow from the lags."""

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
    """The next poll. One in which no broker answered in time, as on a busy machine, is taken again, as the console
    does."""
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
    """The console's polls of the embedded cluster. seed: fills it before; step: what is done before each poll, by its
    number; either may be a coroutine. settings: how the console connects, by the addresses. meant: throttles that the
    context of the well one declares."""

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
    """End what a step began."""
    if inspect.isawaitable(result):
        await result
