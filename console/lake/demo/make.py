"""The demo's lake, as far as it needs no Spark: three clusters' logs and journals, and the looks at them; and a minute
of a real broker, where one can be started."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from console.commands.data_forms import yaml_text
from console.embedded.scenarios.scenario import members
from console.embedded.spec import ClusterSpec
from console.history.store.errors import LakeError, NoLake
from console.lake.collect import write_down
from console.lake.demo.real_broker import NAME as REAL
from console.lake.demo.real_broker import NoBroker
from console.lake.demo.recording import record
from console.lake.demo.story import HOURS, LOOK_EVERY, NOT_LOOKED_AT, Recorded
from console.lake.last_state import LastStates
from console.lake.sources import FILE as SOURCES

if TYPE_CHECKING:
    from console.history.store import Lake

FOLDER = "demo"
"""In the lake: the clusters' logs, their state, the journals."""
STATE = "clusters.json"
_MARK = "made-by-kac-lake-demo"

Passed = Callable[[str, int, int], None]
"""Called with (which cluster looked at when, looks done, looks in all)."""


@dataclass(frozen=True, slots=True)
class Demo:
    """What was made. state: the option ``--state`` of ``kac demo`` that brings the story's clusters back. unrecorded:
    why there is no real broker among the clusters; None where there is one."""

    lake: Lake
    clusters: tuple[Recorded, ...]
    state: Path
    rows: int
    unrecorded: str | None = None


def make(
    where: str,
    end: datetime,
    passed: Passed = lambda *_: None,
    broker: Callable[[Path], Recorded] | None = None,
) -> Demo:
    """A new lake with a day that ends then; a former demo there goes.

    broker: records a real one into a folder; what it raises as NoBroker is told in `Demo.unrecorded`.
    LakeError: another lake is there. OSError: no room, no right.
    """
    lake = new_lake(where)
    folder = Path(lake.where) / FOLDER
    state = folder / STATE
    folder.mkdir()
    (folder / _MARK).touch()
    with ThreadPoolExecutor(1) as beside:
        real = None if broker is None else beside.submit(broker, folder)
        clusters = asyncio.run(_record_all(folder, state, end, passed))
        unrecorded = None
        try:
            clusters += () if real is None else (real.result(),)
        except NoBroker as why:
            unrecorded = str(why)
    (Path(lake.where) / SOURCES).write_text(sources_text(clusters), encoding="utf-8")
    report = write_down(lake, [taken for cluster in clusters for taken in cluster.taken])
    if not report.complete:
        raise LakeError(f"the demo's own clusters could not be read: {report.message}")
    return Demo(lake, clusters, state, report.rows, unrecorded)


def new_lake(where: str) -> Lake:
    """An empty lake, in the place of a former demo. LakeError: another lake is there, or more than a demo is in it."""
    from console.history.store import Lake

    with suppress(NoLake):
        former = Lake.open(where)
        if not (Path(former.where) / FOLDER / _MARK).exists():
            raise LakeError(f"There is a lake at {former.where} already: name another folder for the demo with --lake.")
        owners = LastStates(former).owners(former.current())
        if own := {owner.context for owner in owners.values()} - {*members("fleet", ClusterSpec()), REAL}:
            raise LakeError(
                f"The demo at {former.where} also has what was collected of {', '.join(sorted(own))}, and would delete "
                "it: name another folder for the demo with --lake."
            )
        shutil.rmtree(former.where)
    return Lake.create(where)


async def _record_all(folder: Path, state: Path, end: datetime, passed: Passed) -> tuple[Recorded, ...]:
    specs = members("fleet", ClusterSpec(state_file=state))
    gaps = sum((since - until) // LOOK_EVERY for each in NOT_LOOKED_AT.values() for since, until in each)
    total = (HOURS + 1) * len(specs) - gaps
    done = 0

    def look(said: str) -> None:
        nonlocal done
        done += 1
        passed(said, done, total)

    recorded = []
    for name, spec in specs.items():
        named = replace(spec, cluster_id=f"{FOLDER}-{name}")
        recorded.append(await record(name, named, end, folder, look))
    return tuple(recorded)


def sources_text(clusters: Sequence[Recorded]) -> str:
    """The lake's `sources.yaml`, so that `kac lake ingest` reads them again."""
    listed = []
    for cluster in clusters:
        log = {"metadata-log": str(cluster.metadata_log)} if cluster.metadata_log is not None else {}
        requests = [{"broker": broker, "files": str(file)} for broker, file in sorted(cluster.request_logs.items())]
        listed.append({"id": cluster.cluster_id, **log, "request-logs": requests})
    journals = str(Path(next(iter(clusters[0].request_logs.values()))).parents[2] / "journal")
    text = yaml_text({"version": 1, "clusters": listed, "journals": journals})
    return f"# Written by kac lake demo.\n{text}"
