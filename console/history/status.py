"""What is in a lake: tables, their times, the last runs, gaps. Without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.history import delta_log
from console.history.delta_log import DataFile
from console.history.lake import Lake
from console.history.reader.queries import gaps
from console.history.reader.tables import Gap, Tables
from console.history.schema import TABLES, Table

LAST_RUNS = 10


@dataclass(frozen=True)
class TableStatus:
    """A table. run: the one that wrote its version; None: its commits do not say. rows: of all files, with those that
    newer ones replace. earliest, latest: of its first column of times, UTC; None: it has none."""

    name: str
    layer: str
    version: int
    run: str | None
    rows: int
    bytes: int
    files: int
    earliest: datetime | None
    latest: datetime | None


@dataclass(frozen=True)
class RunStatus:
    """A run. status: done, failed, running. ended: of one that is running when it was last heard of; None: never. rows:
    written, by table. taken: read, by source: how many `good` and `bad`. message: why it failed. lag_ms: from the
    newest event in what it wrote to its end."""

    run_id: str
    job: str
    status: str
    started: datetime
    ended: datetime | None
    rows: Mapping[str, int]
    taken: Mapping[str, Mapping[str, int]]
    message: str | None
    bytes: int | None
    lag_ms: int | None

    @property
    def quarantined(self) -> int:
        """What could not be read."""
        return sum(counts.get("bad", 0) for counts in self.taken.values())


@dataclass(frozen=True)
class Status:
    """What is in the lake. created: ISO 8601 in UTC. runs: the last ones, newest first, those that failed too. gaps:
    newest first."""

    where: str
    lake_id: str
    created: str
    tables: tuple[TableStatus, ...]
    runs: tuple[RunStatus, ...]
    gaps: tuple[Gap, ...]

    def last(self, job: str) -> RunStatus | None:
        """The last run of a job that ended and did not fail, or goes on."""
        mine = (run for run in self.runs if run.job == job and run.status != "failed" and run.ended is not None)
        return next(mine, None)


def status(lake: Lake) -> Status:
    """What holds in the lake now. Raises LakeError."""
    about = lake.about()
    with closing(Tables(lake.where, lake.files)) as tables:
        found = tuple(each for table in TABLES.values() if (each := _table(tables, table)) is not None)
        unobserved = tuple(gaps(tables, None))
    runs = tuple(_shown(filter(None, map(_run, lake.runs()))))
    return Status(lake.where, str(about.get("lake_id", "")), str(about.get("created", "")), found, runs, unobserved)


def _table(tables: Tables, table: Table) -> TableStatus | None:
    files = tables.files(table)
    if files.version < 0:
        return None
    counts = files.rows, files.bytes, len(files.files)
    with delta_log.reading(tables.lake.folder(table), delta_log.LOG):
        times = _time_range(table, files.files.values())
    return TableStatus(table.name, table.layer, files.version, tables.run(table), *counts, *times)


def _time_range(table: Table, files: Iterable[DataFile]) -> tuple[datetime | None, datetime | None]:
    """The first and the last of the table's first column of times, by the statistics of these files."""
    path = next(_times(table), ())
    read = [json.loads(file.stats or "{}") for file in files]
    least, most = ([_at(each.get(name), path) for each in read] for name in ("minValues", "maxValues"))
    return min(filter(None, least), default=None), max(filter(None, most), default=None)


def _times(table: Table) -> Iterator[tuple[str, ...]]:
    """The columns of times, also those within others, in the order of the columns."""
    for column in table.columns:
        if column.type == "timestamp":
            yield (column.name,)
        if column.of is not None:
            yield from ((column.name, *path) for path in _times(column.of))


def _at(values: Any, path: tuple[str, ...]) -> datetime | None:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return datetime.fromisoformat(values) if isinstance(values, str) else None


def _run(about: Mapping[str, Any]) -> RunStatus | None:
    """What a run's file says; None: it is no run's."""
    with suppress(KeyError, TypeError, ValueError, AttributeError):
        ended = about.get("ended") or None
        return RunStatus(
            run_id=str(about["run_id"]),
            job=str(about["job"]),
            status=str(about["status"]),
            started=datetime.fromisoformat(about["started"]),
            ended=None if ended is None else datetime.fromisoformat(ended),
            rows={**(about.get("rows") or {})},
            taken={source: {**counts} for source, counts in (about.get("taken") or {}).items()},
            message=about.get("message"),
            bytes=about.get("bytes"),
            lag_ms=about.get("lag_ms"),
        )
    return None


def _shown(runs: Iterable[RunStatus]) -> Iterator[RunStatus]:
    """The newest, and of each job the newest with each outcome."""
    seen = set()
    for place, run in enumerate(runs):
        if place < LAST_RUNS or (run.job, run.status) not in seen:
            yield run
        seen.add((run.job, run.status))
