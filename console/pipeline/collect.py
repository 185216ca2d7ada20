"""`kac lake collect`: polls clusters and writes what has changed since the last poll.

`collect(lake, contexts, progress)` polls once, several clusters at a time; `keep_collecting` repeats that until it is
stopped. A cluster that does not answer is named in the report and delays no other. One that answers with the id of
another is refused: `refused_claims`. Needs no Spark: what was read is delivered into the lake's folder `landing/`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from msgspec import structs

from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.contexts import Context
from console.model.failure import Failure
from console.pipeline.entities import id_problem
from console.pipeline.files import LakeBusy, new_run_id, this_process
from console.pipeline.lake import Lake
from console.pipeline.landing import Landed, deliver
from console.pipeline.poll import (
    LastStates,
    Observation,
    Owner,
    Row,
    State,
    changed_rows,
    failed_row,
    landed,
    poll_cluster,
    status_rows,
)
from console.session.session import Session
from console.session.snapshot_reader import Refused

IN_FLIGHT = 16
"""Clusters that are polled at the same time."""
TIMEOUT = 120.0
"""Seconds that one cluster may take."""
KEPT_POLLS = 12
"""Polls that wait while the lake can't be written to; the oldest are dropped."""
_NOT_THERE = ("UNSUPPORTED", "SECURITY_DISABLED")
"""Refusals by clusters without the feature: no errors."""


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """The result of one cluster.

    cluster_id: None if it did not answer and was never polled. resources: their number. changed, gone: how many of them
    since the last poll. refused: what could not be read, a line each. failure: why nothing could. seconds: duration of
    the poll.
    """

    context: str
    cluster_id: str | None
    resources: int = 0
    changed: int = 0
    gone: int = 0
    refused: tuple[str, ...] = ()
    failure: Failure | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run. run_id: ``""`` if nothing was delivered. rows: delivered."""

    run_id: str
    clusters: tuple[ClusterReport, ...]
    rows: int = 0

    @property
    def complete(self) -> bool:
        """Whether every cluster answered, and refused nothing that it has."""
        return all(each.failure is None and not each.refused for each in self.clusters)

    @property
    def message(self) -> str | None:
        """The errors and refusals as one text for the table of runs; None: none."""
        lines = [f"{each.context}: {each.failure}" for each in self.clusters if each.failure is not None]
        lines += [f"{each.context}: {line}" for each in self.clusters for line in each.refused]
        return "; ".join(lines) or None


Progress = Callable[[str, int, int], None]
"""Called with (the context and the result of the last cluster, clusters done, clusters in all)."""


@dataclass(frozen=True, slots=True)
class PollResult:
    """The result of polling one context. seen: an observation, or the error."""

    context: Context
    seen: Observation | Failure
    at: datetime
    seconds: float = 0.0


def collect(
    lake: Lake,
    contexts: Sequence[Context],
    progress: Progress = lambda *_: None,
    *,
    timeout: float = TIMEOUT,
    names: Collection[str] | None = None,
) -> Report:
    """Poll these clusters and write the results. timeout: seconds for each. names: all contexts that are configured,
    see `refused_claims`. LakeError: another run writes, the disk is full …
    """
    states = LastStates(lake)
    return write_down(poll_all(states, contexts, progress, timeout), states, names)


def keep_collecting(
    lake: Lake,
    contexts: Callable[[], Sequence[Context]],
    every: float,
    told: Callable[[Report], None],
    stop: threading.Event,
    progress: Progress = lambda *_: None,
    *,
    names: Callable[[], Collection[str] | None] = lambda: None,
) -> None:
    """Poll every so many seconds, until `stop` is set.

    contexts, names: called each time, so that a changed file counts; see `collect`. told: called with each report.
    While the lake can't be written to, polls are kept and delivered with the next.
    """
    waiting: list[PollResult] = []
    states = LastStates(lake)
    begun = time.monotonic()
    while not stop.is_set():
        chosen = contexts()
        waiting += poll_all(states, chosen, progress)
        try:
            report = write_down(waiting, states, names())
            waiting = []
        except (LakeBusy, OSError) as wrong:
            waiting = waiting[-KEPT_POLLS * max(1, len(chosen)) :]
            said = Failure("LAKE_BUSY", str(wrong), "The polls are kept and delivered with the next.")
            report = Report("", tuple(ClusterReport(c.name, None, failure=said) for c in chosen))
        told(report)
        passed = time.monotonic() - begun
        stop.wait(every - passed % every)


def poll_all(
    states: LastStates, contexts: Sequence[Context], progress: Progress, timeout: float = TIMEOUT
) -> list[PollResult]:
    """Return what each cluster answers, in the order of the contexts; nothing is written."""
    owners = states.owners()

    def topics_of(context: Context, cluster_id: str) -> list[str]:
        owner = owners.get(cluster_id)
        if owner is None or (owner.context != context.name and context.cluster_id != cluster_id):
            return []  # a cluster that claims another's id must not learn the names of its topics
        return [key for entity_type, key in states.of(cluster_id) if entity_type == "topic"]

    async def all_of_them() -> list[PollResult]:
        free = asyncio.Semaphore(IN_FLIGHT)
        done = 0

        async def one(context: Context) -> PollResult:
            nonlocal done
            async with free:
                taken = await poll_context(context, partial(topics_of, context), timeout)
            done += 1
            seen = taken.seen
            said = str(seen) if isinstance(seen, Failure) else f"{len(seen.state):,} resources"
            progress(f"{context.name}: {said}", done, len(contexts))
            return taken

        return await asyncio.gather(*map(one, contexts))

    return asyncio.run(all_of_them())


async def poll_context(
    context: Context,
    topics_of: Callable[[str], Collection[str]] = lambda _: (),
    timeout: float = TIMEOUT,  # noqa: ASYNC109
) -> PollResult:
    """Return what one cluster answers, within so many seconds."""
    seen: Observation | Failure
    begun = time.monotonic()
    client = AdminClient(structs.replace(context.settings, read_only=True))
    client.start()
    try:
        async with asyncio.timeout(timeout):
            seen = await poll_cluster(Session(client, context, "collect"), topics_of)
    except (AdminError, Refused) as error:
        seen = error.failure
    except TimeoutError:
        seen = Failure("TIMED_OUT", f"it did not answer everything within {timeout:g} s")
    finally:
        await asyncio.to_thread(client.close)
    if isinstance(seen, Observation) and (problem := id_problem(seen.cluster_id)):
        unwritten = "The lake keeps clusters by their ids; nothing of this one was written."
        seen = Failure("NO_CLUSTER_ID", problem, unwritten)
    at = datetime.now(UTC) if isinstance(seen, Failure) else seen.at
    return PollResult(context, seen, at, time.monotonic() - begun)


class Claim(NamedTuple):
    """A context whose cluster answered with an id. declares: whether the context itself names that id."""

    context: str
    cluster_id: str
    declares: bool
    addresses: frozenset[tuple[str, int]]


def refused_claims(
    owners: Mapping[str, Owner], claims: Sequence[Claim], names: Collection[str] | None = None
) -> dict[str, Failure]:
    """Return the contexts whose poll is dropped, because another context's cluster has that id already; the error by
    context. Pure.

    Several contexts may poll one cluster if each of them declares its id, or if they have the same addresses and are
    polled in one run. Of several new ones, those that declare the id are preferred to those that do not; of several
    others none is kept, since nothing shows which of them is right. owners: who polled a cluster before. names: the
    contexts that are configured, None if unknown; one that declares the id replaces an owner that is not configured any
    more.
    """
    refused: dict[str, Failure] = {}
    for cluster_id in dict.fromkeys(each.cluster_id for each in claims):
        here = {each.context: each for each in claims if each.cluster_id == cluster_id}
        owner = owners.get(cluster_id)
        if owner is not None and owner.context not in here and names is not None and owner.context not in names:
            owner = Owner(owner.context, True)  # renamed or removed: it can't declare the id any more
        if owner is None:
            owner = next((Owner(each.context, True) for each in here.values() if each.declares), None)
        first = None if owner is None else here.get(owner.context)
        for name, claim in here.items():
            is_same = first is not None and first.addresses == claim.addresses
            if owner is None:
                others = [each.context for each in here.values() if each.addresses != claim.addresses]
            elif is_same or (claim.declares and (first or owner).declares):
                others = []
            else:
                others = [owner.context]
            if others:
                refused[name] = _taken_id(claim, others)
    return refused


def _taken_id(claim: Claim, others: Sequence[str]) -> Failure:
    names = " and ".join(others)
    return Failure(
        "CLUSTER_ID_TAKEN",
        f"the cluster of context {claim.context} answers with the id {claim.cluster_id}, which is the id of the "
        f"cluster of context {names}; nothing of {claim.context} was written",
        f'If all of them are one cluster, set cluster_id = "{claim.cluster_id}" in each of these contexts; else one '
        "of the clusters was formatted with the other's id, or its address leads to another cluster.",
    )


def write_down(taken: Sequence[PollResult], states: LastStates, names: Collection[str] | None = None) -> Report:
    """Deliver results as one file, which the lake's streams read. names: see `refused_claims`. LakeBusy: another does
    the same; OSError: the disk is full …
    """
    lake, run_id = states.lake, new_run_id()
    with lake.files.lock(lake.path("collect/lock"), this_process(run_id, "collect")):
        polls, reports, kept = _polls(states, taken, names)
        report = Report(run_id if polls else "", tuple(reports), sum(len(each.rows) for each in polls))
        if polls:
            deliver(lake, polls, run_id)
        states.keep(kept)
    return report


def _polls(
    states: LastStates, taken: Sequence[PollResult], names: Collection[str] | None
) -> tuple[list[Landed], Iterable[ClusterReport], Mapping[str, tuple[Owner, State]]]:
    """Return what is delivered, the reports, and the states of the clusters that answered."""
    owners = states.owners()
    known = {owner.context: cluster_id for cluster_id, owner in owners.items()}
    answers = [(each.context, each.seen.cluster_id) for each in taken if not isinstance(each.seen, Failure)]
    claims = [Claim(of.name, id_, of.cluster_id == id_, frozenset(of.settings.bootstrap)) for of, id_ in answers]
    refused = refused_claims(owners, claims, names)
    # Of several contexts for a cluster one is enough: its owner, if it is among them.
    owned = [each for each in claims if each.cluster_id in owners and owners[each.cluster_id].context == each.context]
    first = {each.cluster_id: each.context for each in owned}
    now: dict[str, tuple[Owner, State]] = {}
    polls: list[Landed] = []
    reports: dict[int, ClusterReport] = {}
    for place, each in sorted(enumerate(taken), key=lambda placed: placed[1].at):
        name, seen = each.context.name, each.seen
        if isinstance(seen, Failure):
            cluster_id = each.context.cluster_id or known.get(name)
            if cluster_id is not None:
                polls.append(landed([failed_row(name, seen)], cluster_id, each.at))
            reports[place] = ClusterReport(name, cluster_id, failure=seen, seconds=each.seconds)
        elif name in refused:
            reports[place] = ClusterReport(name, seen.cluster_id, failure=refused[name], seconds=each.seconds)
        elif first.setdefault(seen.cluster_id, name) != name:
            reports[place] = ClusterReport(name, seen.cluster_id, len(seen.state), seconds=each.seconds)
        else:
            last = now[seen.cluster_id][1] if seen.cluster_id in now else states.of(seen.cluster_id)
            rows, state = changed_rows(last, seen)
            polls.append(landed([*status_rows(seen), *rows], seen.cluster_id, seen.at))
            now[seen.cluster_id] = Owner(name, each.context.cluster_id == seen.cluster_id), state
            reports[place] = _report(each, seen, rows)
    return polls, (reports[place] for place in sorted(reports)), now


def _report(taken: PollResult, seen: Observation, rows: Sequence[Row]) -> ClusterReport:
    refused = [
        f"{entity_type}{f' {key}' if key else 's'}: {why}"
        for (entity_type, key), why in seen.failed.items()
        if not why.startswith(_NOT_THERE)
    ]
    return ClusterReport(
        taken.context.name,
        seen.cluster_id,
        len(seen.state),
        len({(row.entity_type, row.entity_key) for row in rows if row.kind == "state"}),
        sum(row.kind == "absent" for row in rows),
        tuple(refused),
        seconds=taken.seconds,
    )
