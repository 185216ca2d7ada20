"""What is in a lake: tables, their times, the last runs, gaps. Without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow.compute as pc

from console.history.entities import CLUSTER, UNOBSERVED
from console.history.schema import HISTORY, RUN, TABLES, Table

from ..store import Lake, Release, TableFiles, parquet_files
from ..store.release import time_range

LAST_RUNS = 10


@dataclass(frozen=True)
class TableStatus:
    """A table. earliest, latest: of its first column of time, UTC; None: no rows, or they have no times. is_older:
    whether files of it were written with other columns than this version of kac has."""

    name: str
    layer: str
    rows: int
    bytes: int
    files: int
    partitions: int
    earliest: datetime | None
    latest: datetime | None
    is_older: bool


@dataclass(frozen=True)
class RunStatus:
    """A run; rows by table. message: why it failed, or what did not answer. bytes, lag_ms, taken: see the table
    `run`."""

    run_id: str
    job: str
    status: str
    started: datetime
    ended: datetime
    rows: Mapping[str, int]
    quarantined: int
    message: str | None
    bytes: int | None
    lag_ms: int | None
    taken: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Gap:
    """A time in which a cluster was not polled. end: None: until now."""

    cluster_id: str
    start: datetime
    end: datetime | None


@dataclass(frozen=True)
class Status:
    """What is in the lake. current, created: the version that holds; empty in a new lake. versions: how many are kept.
    runs: the last ones, newest first, those that failed too. gaps: newest first."""

    where: str
    current: str
    created: str
    versions: int
    tables: tuple[TableStatus, ...]
    runs: tuple[RunStatus, ...]
    gaps: tuple[Gap, ...]

    def last(self, job: str) -> RunStatus | None:
        """The last run of a job that did not fail."""
        return next((run for run in self.runs if run.job == job and run.status == "done"), None)


def status(lake: Lake) -> Status:
    """What holds in the lake now. DamagedLake; OSError, ValueError: a file that the release names can't be read."""
    release = lake.current()
    return Status(
        lake.where,
        release.run_id,
        release.created,
        len(lake.releases()),
        tuple(_table(TABLES[name], files) for name, files in release.tables.items() if name in TABLES),
        _runs(lake, release),
        _gaps(lake, release),
    )


def _table(table: Table, files: TableFiles) -> TableStatus:
    counts = files.rows, files.bytes, len(files.files), len(files.partitions)
    is_older = set(files.columns) != set(table.names)
    return TableStatus(table.name, table.layer, *counts, *time_range(table, files.files.values()), is_older)


def _runs(lake: Lake, release: Release) -> tuple[RunStatus, ...]:
    rows: list[dict[str, Any]] = parquet_files.read(lake.filesystem, lake.files(release, RUN), RUN).to_pylist()
    for failed in lake.failed_runs():
        times = {name: datetime.fromisoformat(failed[name]) for name in ("started_ts", "ended_ts")}
        rows.append({**failed, **times})
    rows.sort(key=lambda row: (row["ended_ts"], row["run_id"]), reverse=True)
    return tuple(map(_run, _shown(rows)))


def _run(row: Mapping[str, Any]) -> RunStatus:
    counted, taken = (json.loads(row.get(name) or "{}") for name in ("rows", "taken"))
    begin = row["run_id"], row["job"], row["status"], row["started_ts"], row["ended_ts"]
    return RunStatus(*begin, counted, row["quarantined"], row["message"], row.get("bytes"), row.get("lag_ms"), taken)


def _shown(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The newest, and of each job the newest of those that failed and of the others."""
    seen = set()
    for place, row in enumerate(rows):
        if place < LAST_RUNS or (row["job"], row["status"]) not in seen:
            yield row
        seen.add((row["job"], row["status"]))


def _gaps(lake: Lake, release: Release) -> tuple[Gap, ...]:
    columns = ["cluster_id", "valid_from", "valid_to"]
    unobserved = (pc.field("entity_type") == CLUSTER) & (pc.field("attr") == UNOBSERVED)
    rows = parquet_files.read(lake.filesystem, lake.files(release, HISTORY), HISTORY, columns=columns, where=unobserved)
    found = [Gap(*row) for row in zip(*(rows.column(name).to_pylist() for name in columns), strict=True)]
    return tuple(sorted(found, key=lambda gap: (gap.start, gap.cluster_id), reverse=True))
