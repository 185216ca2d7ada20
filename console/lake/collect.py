"""`kac lake collect`: look at clusters and write down what has changed since the last look.

`collect(lake, contexts, progress)` looks once, four clusters at a time; `keep_collecting` goes on until it is stopped.
A cluster that does not answer is named in the report and holds up nobody. Needs PyArrow, no Spark.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.lake.changed_rows import changed_rows
from console.lake.last_state import LastStates
from console.lake.look import look_at
from console.lake.snapshot_rows import Observation, Row, failed_row, observed, snapshot_table
from console.model.failure import Failure

if TYPE_CHECKING:
    import pyarrow as pa

    from console.contexts import Context
    from console.history.store import Lake
    from console.history.store.write import Write

IN_FLIGHT = 4
"""Clusters that are looked at at the same time."""
TIMEOUT = 120.0
"""Seconds that one cluster may take."""
KEPT_LOOKS = 12
"""Looks that wait while another run writes to the lake; the oldest go."""
_NOT_THERE = ("UNSUPPORTED", "SECURITY_DISABLED")
"""Refusals of clusters that have no such thing: nothing is amiss."""


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """How it went with one cluster.

    cluster_id: None where it did not answer and was never looked at. resources: how many it has. changed, gone: how
    many of them since the last look. refused: what could not be read, a line each. failure: why nothing could. seconds:
    what the look took.
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
    """How it went. run_id: ``""`` where nothing was written. rows: written to the table `snapshot`."""

    run_id: str
    clusters: tuple[ClusterReport, ...]
    rows: int = 0

    @property
    def complete(self) -> bool:
        """Whether every cluster answered, and nothing was refused that it has."""
        return all(each.failure is None and not each.refused for each in self.clusters)

    @property
    def message(self) -> str | None:
        """What did not answer or was refused, in a text for the table of runs; None: nothing."""
        lines = [f"{each.context}: {each.failure}" for each in self.clusters if each.failure is not None]
        lines += [f"{each.context}: {line}" for each in self.clusters for line in each.refused]
        return "; ".join(lines) or None


@dataclass(frozen=True, slots=True)
class Step:
    """How far it is. done, total: clusters. said: of the cluster that was last, in a few words."""

    done: int
    total: int
    context: str
    said: str


Progress = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one context: an observation, or why there is none."""

    context: Context
    seen: Observation | None = None
    failure: Failure | None = None
    seconds: float = 0.0
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


def collect(
    lake: Lake, contexts: Sequence[Context], progress: Progress = lambda _: None, *, timeout: float = TIMEOUT
) -> Report:
    """Look at these clusters and write it down. timeout: seconds for each. LakeError: another run writes, no room …"""
    states = LastStates(lake)
    return write_down(lake, look_at_all(states, lake, contexts, progress, timeout=timeout), states)


def keep_collecting(
    lake: Lake,
    contexts: Callable[[], Sequence[Context]],
    every: float,
    told: Callable[[Report], None],
    progress: Progress = lambda _: None,
    *,
    stop: threading.Event | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Look every so many seconds, until `stop` is set or a KeyboardInterrupt comes.

    contexts: asked for each time, so that a change of the file counts. told: called with each report. While another run
    writes to the lake, looks are kept and written with the next.
    """
    from console.history.store import LakeBusy

    stopped = stop or threading.Event()
    waiting: list[Taken] = []
    states = LastStates(lake)
    begun = time.monotonic()
    while not stopped.is_set():
        chosen = contexts()
        waiting += look_at_all(states, lake, chosen, progress, timeout=timeout)
        try:
            report = write_down(lake, waiting, states)
            waiting = []
        except LakeBusy as busy:
            waiting = waiting[-KEPT_LOOKS * max(1, len(chosen)) :]
            held = Failure("LAKE_BUSY", str(busy), "The looks are kept and written with the next.")
            report = Report("", tuple(ClusterReport(c.name, None, failure=held) for c in chosen))
        told(report)
        passed = time.monotonic() - begun
        stopped.wait(every - passed % every)


def look_at_all(
    states: LastStates,
    lake: Lake,
    contexts: Sequence[Context],
    progress: Progress = lambda _: None,
    *,
    timeout: float = TIMEOUT,
) -> list[Taken]:
    """What each cluster answers, in the order of the contexts; nothing is written."""
    manifest = lake.current()

    def topics_of(cluster_id: str) -> list[str]:
        return [key for entity_type, key in states.of(manifest, cluster_id) if entity_type == "topic"]

    async def all_of_them() -> list[Taken]:
        free = asyncio.Semaphore(IN_FLIGHT)
        done = 0

        async def one(context: Context) -> Taken:
            nonlocal done
            async with free:
                taken = await take(context, topics_of, timeout)
            done += 1
            resources = f"{len(taken.seen.state):,} resources" if taken.seen is not None else str(taken.failure)
            progress(Step(done, len(contexts), context.name, resources))
            return taken

        return await asyncio.gather(*map(one, contexts))

    return asyncio.run(all_of_them())


async def take(
    context: Context,
    topics_of: Callable[[str], Iterable[str]] = lambda _: (),
    timeout: float = TIMEOUT,  # noqa: ASYNC109
) -> Taken:
    """What one cluster answers, within so many seconds."""
    from console.admin.client import AdminClient
    from console.admin.errors import AdminError
    from console.commands.session import Refused, Session

    client = AdminClient(replace(context.settings, read_only=True))
    client.start()
    begun = time.monotonic()
    try:
        look = await asyncio.wait_for(
            look_at(Session(client, context, "collect"), lambda cluster_id: set(topics_of(cluster_id))), timeout
        )
        seen = observed(look)
    except (AdminError, Refused) as error:
        return Taken(context, failure=error.failure, seconds=time.monotonic() - begun)
    except TimeoutError:
        slow = Failure("TIMED_OUT", f"it did not answer everything within {timeout:g} s", "Give it longer.")
        return Taken(context, failure=slow, seconds=time.monotonic() - begun)
    finally:
        await asyncio.to_thread(client.close)
    if not seen.cluster_id:
        nameless = Failure("NO_CLUSTER_ID", "the cluster tells no id by which it could be kept", "")
        return Taken(context, failure=nameless, seconds=time.monotonic() - begun)
    return Taken(context, seen, seconds=time.monotonic() - begun, at=seen.at)


def write_down(lake: Lake, taken: Sequence[Taken], states: LastStates | None = None) -> Report:
    """Write what was seen, all at once. LakeError: another run writes, no room …"""
    states = states or LastStates(lake)
    read = {each.context.name: each.seen.cluster_id if each.seen is not None else None for each in taken}
    with lake.writing("collect", inputs={"clusters": read}) as write:
        tables, reports, kept = _tables(write, states, taken)
        report = Report(write.run_id, tuple(reports))
        if not tables:
            write.fail(report.message or "there was no cluster to look at", inputs={"clusters": read})
            return replace(report, run_id="")
        import pyarrow as pa

        rows = write.add_arrow("snapshot", pa.concat_tables(tables))
        status = "done" if kept else "failed"
        manifest = write.commit(status=status, inputs={"clusters": read}, message=report.message)
        with suppress(OSError):  # what is left over is deleted by the next run
            states.forget_older(manifest, kept)
        return replace(report, rows=rows)


def _tables(
    write: Write, states: LastStates, taken: Sequence[Taken]
) -> tuple[list[pa.Table], list[ClusterReport], set[str]]:
    """Rows to write, what to say, and the clusters that were seen."""
    known = states.clusters(write.manifest)
    now: dict[str, tuple[Context, datetime]] = {}
    tables: list[pa.Table] = []
    reports: list[ClusterReport] = []
    current = {each.seen.cluster_id: states.of(write.manifest, each.seen.cluster_id) for each in taken if each.seen}
    first: dict[str, str] = {}
    for each in sorted(taken, key=lambda each: each.at):
        name, seen = each.context.name, each.seen
        if seen is None:
            cluster_id = each.context.cluster_id or known.get(name)
            if cluster_id is not None and each.failure is not None:
                tables.append(snapshot_table([failed_row(name, each.failure)], cluster_id, each.at, write.run_id))
            reports.append(ClusterReport(name, cluster_id, failure=each.failure, seconds=each.seconds))
            continue
        if first.setdefault(seen.cluster_id, name) != name:
            reports.append(ClusterReport(name, seen.cluster_id, len(seen.state), seconds=each.seconds))
            continue  # another context for the same cluster: one look is enough
        rows, current[seen.cluster_id] = changed_rows(current[seen.cluster_id], seen)
        tables.append(snapshot_table(rows, seen.cluster_id, seen.at, write.run_id))
        now[seen.cluster_id] = each.context, seen.at
        reports.append(_report(each, seen, rows))
    for cluster_id, (context, at) in now.items():
        states.keep(write, cluster_id, context.name, at, current[cluster_id])
    order = {each.context.name: place for place, each in enumerate(taken)}
    return tables, sorted(reports, key=lambda report: order[report.context]), set(now)


def _report(taken: Taken, seen: Observation, rows: Sequence[Row]) -> ClusterReport:
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
