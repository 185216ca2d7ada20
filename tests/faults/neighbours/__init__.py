"""Neighbours: clusters that are well and look like one with a fault. Each has the fault's symptom, and differs in the
one fact that decides. Written from what operators have, never from what triage says.

A neighbour is given as looks, from a model (`modelled`) or from the embedded cluster (`embedded`), in two forms: well,
and ill, which is the same with the deciding fact as the fault has it. The well one must stay without a trouble at every
look; the ill one must be named, which shows that nothing else keeps the well one quiet.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from console.admin.client import AdminClient
from console.admin.errors import RequestTimedOut
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.spec import ClusterSpec
from console.model.config import ConfigPlace
from console.model.lag_trend import LagTrend
from console.model.snapshot import Snapshot, throttled_groups, trends_after
from console.session.session import Session
from console.session.triage_looks import Looker
from console.triage.cause import Severity
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts
from console.triage.observations import after, begin
from console.triage.symptoms import Look
from tests.faults.fault import Name
from tests.faults.trial import Names, Trial
from tests.unit.test_triage import START, TICK, fresh, healthy

Looks = Callable[[bool], AsyncIterator[Look]]
"""The looks at a cluster: True for the ill one, False for the one that is well."""

WELL, ILL = "well", "ill"


class Neighbour(Struct, frozen=True, kw_only=True):
    """A cluster that is well and looks like a fault.

    name: of the neighbour; fault: the name of the fault in `tests.faults.catalogue`, or of the cause where none is
    made there. how: what the cluster is; decides: the one fact in which the ill one differs. ill: what is named of
    that. told: causes that say without alarm what the well one is (`info`), and have to. within: looks of `embedded`
    at the ill one at most.
    """

    name: str
    fault: str
    how: str
    decides: str
    ill: Name
    looks: Looks
    told: frozenset[str] = frozenset()


async def tried(neighbour: Neighbour, *, ill: bool) -> Trial:
    """All that is named in the looks at a neighbour, or at its ill twin until it is named."""
    names, observations, first = Names(), None, None
    looks = neighbour.looks(ill)
    try:
        async for look in looks:
            observations = begin(look) if observations is None else after(observations, look)
            first = first or look.at
            names.add(diagnose(observations), (look.at - first).total_seconds())
            if ill and any(neighbour.ill.fits(told.cause, told.subject) for told in names.told):
                break
    finally:
        await looks.aclose()  # type: ignore[attr-defined]
    assert observations is not None, f"{neighbour.name}: no look"
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


# -- where looks come from ---------------------------------------------------------------------------------------------


def modelled(
    change: Callable[[Snapshot, int, bool], Snapshot],
    *,
    ticks: int = 8,
    tick: timedelta = TICK,
    facts: Callable[[int, bool], Facts] = lambda _tick, _ill: Facts(),
    before: Callable[[], Snapshot] = healthy,
) -> Looks:
    """Looks at a cluster of values: what `change` makes of `before` at each tick, the first one too. Trends of groups
    follow from the lags."""

    async def looks(ill: bool) -> AsyncIterator[Look]:
        base = before()
        trends: Mapping[str, LagTrend] = {}
        for number in range(ticks + 1):
            at = START + number * tick
            snapshot = change(fresh(base, number), number, ill)
            trends = trends_after(trends, snapshot.lags, at, throttled_groups(snapshot.groups, snapshot.quotas))
            yield Look(at, replace(snapshot, lag_trends=trends), facts=facts(number, ill))

    return looks


async def _seen(looker: Looker) -> Look:
    """The next look. One in which no broker answered in time, as on a busy machine, is taken again, as the console
    does."""
    for _ in range(2):
        try:
            return await looker.look(whole=True)
        except RequestTimedOut:
            await looker.rest()
    return await looker.look(whole=True)


def embedded(
    seed: Callable[[EmbeddedCluster, bool], object],
    step: Callable[[EmbeddedCluster, int, bool], object] = lambda _cluster, _look, _ill: None,
    *,
    spec: ClusterSpec | Callable[[bool], ClusterSpec] = ClusterSpec(brokers=3),  # noqa: B008 - frozen
    looks: int = 4,
    settings: Callable[[str], ConnectionSettings] = lambda at: ConnectionSettings(parse_bootstrap(at)),
    meant: frozenset[ConfigPlace] = frozenset(),
) -> Looks:
    """Looks of the console at the embedded cluster. seed: fills it before; step: what is done before each look, by its
    number; either may be a coroutine. settings: how the console connects, by the addresses. meant: throttles that the
    context of the well one declares."""

    async def taken(ill: bool) -> AsyncIterator[Look]:
        made = spec if isinstance(spec, ClusterSpec) else spec(ill)
        with run_in_thread(made) as cluster:
            cluster.run(lambda running: _made(seed(running, ill)))
            client = AdminClient(settings(cluster.bootstrap))
            client.start()
            try:
                declared = frozenset() if ill else meant
                context = Context("neighbour", "neighbours", client.settings, journal=False, throttles=declared)
                async with Looker(Session(client, context)) as looker:
                    for number in range(looks):
                        cluster.run(lambda running, number=number: _made(step(running, number, ill)))  # type: ignore[misc]
                        yield await _seen(looker)
                        await looker.rest()
            finally:
                client.close()

    return taken


async def _made(result: object) -> None:
    """End what a step began."""
    if inspect.isawaitable(result):
        await result
