"""The contents of a lake (tables, their times, the last runs, gaps), read without Spark; and the results of the `kac
lake` commands in the form that `console.answers` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from console.answers.metrics import prometheus_label
from console.answers.results import Column, Detail, Row, Table
from console.lake import delta_log
from console.lake.delta_log import DataFile
from console.lake.lake import Lake, Report
from console.lake.reader import Gap, Gone, Tables, gaps, gone_lines
from console.lake.schema import TABLES
from console.lake.schema import Table as LakeTable
from console.model.built_types import built
from console.model.foreign_json import json_of
from console.plan.amounts import size

if TYPE_CHECKING:
    from console.collecting.collect import ClusterReport
    from console.collecting.collect import Report as CollectReport


LAST_RUNS = 10


@dataclass(frozen=True)
class TableStatus:
    """The size, the version and the times of a table of the lake."""

    name: str
    layer: str
    version: int
    run: str | None
    """The id of the run that wrote the present version of the table; None if its commits have no id."""
    rows: int
    """The number of rows in all files, including replaced rows."""
    bytes: int
    files: int
    earliest: datetime | None
    """The earliest time in the table's first time column, UTC; None if the table is empty or its files have no
    statistics.
    """
    latest: datetime | None
    """The latest time in the table's first time column, UTC; None if the table is empty or its files have no
    statistics.
    """


@dataclass(frozen=True)
class Status:
    """The contents of a lake: its tables, its last runs, and its gaps."""

    where: str
    lake_id: str
    created: str
    """The time at which the lake was created, ISO 8601 in UTC."""
    tables: tuple[TableStatus, ...]
    runs: tuple[Report, ...]
    """The last runs, including failed ones, newest first."""
    gaps: tuple[Gap, ...]
    """The gaps between polls, newest first."""
    gone: tuple[Gone, ...] = ()
    """The parts of brokers' logs that were deleted before kac read them."""

    def last(self, job: str) -> Report | None:
        """Return the newest run of a job that did not fail and has saved a report, whether it has ended or still
        runs; None if there is no such run.
        """
        mine = (run for run in self.runs if run.job == job and run.status != "failed" and run.ended is not None)
        return next(mine, None)


def status(lake: Lake) -> Status:
    """Return the present contents of the lake. Raises LakeError."""
    about = lake.about()
    with closing(Tables(lake.where, lake.files)) as tables:
        found = tuple(each for table in TABLES.values() if (each := _table(tables, table)) is not None)
        unobserved, gone = tuple(gaps(tables, None)), tuple(gone_lines(tables))
    runs = tuple(_shown(filter(None, map(_run, lake.runs()))))
    return Status(
        lake.where, str(about.get("lake_id", "")), str(about.get("created", "")), found, runs, unobserved, gone
    )


def _table(tables: Tables, table: LakeTable) -> TableStatus | None:
    files = tables.files(table)
    if files.version < 0:
        return None
    counts = files.rows, files.bytes, len(files.files)
    with delta_log.reading(tables.lake.folder(table), delta_log.LOG):
        times = _time_range(table, files.files.values())
    return TableStatus(table.name, table.layer, files.version, tables.run(table), *counts, *times)


def _time_range(table: LakeTable, files: Iterable[DataFile]) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last value of the table's first time column, from the statistics of these files; (None,
    None) if no file has statistics of it.
    """
    path = next(_times(table), ())
    read = [json_of(file.stats or "{}", may_repeat=True) for file in files]
    least, most = ([_at(each.get(name), path) for each in read] for name in ("minValues", "maxValues"))
    return min(filter(None, least), default=None), max(filter(None, most), default=None)


def _times(table: LakeTable) -> Iterator[tuple[str, ...]]:
    """Yield the path of each time column, also within structs, in the order of the columns."""
    for column in table.columns:
        if column.type == "timestamp":
            yield (column.name,)
        if column.of is not None:
            yield from ((column.name, *path) for path in _times(column.of))


def _at(values: Any, path: tuple[str, ...]) -> datetime | None:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return datetime.fromisoformat(values) if isinstance(values, str) else None


def _run(about: Mapping[str, Any]) -> Report | None:
    """Return the report in the content of a run's file; None if the content is not a valid report."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert({**about, "ended": about.get("ended") or None}, built(Report))
    return None


def _shown(runs: Iterable[Report]) -> Iterator[Report]:
    """Yield the newest `LAST_RUNS` runs, and of each job the newest run with each outcome."""
    seen = set()
    for place, run in enumerate(runs):
        if place < LAST_RUNS or (run.job, run.status) not in seen:
            yield run
        seen.add((run.job, run.status))


# -- results as tables -------------------------------------------------------------------------------------------------


def report_lines(report: Report) -> list[str]:
    """Return the summary of a run as lines for the operator."""
    rows = ", ".join(f"{name} {count:,}" for name, count in report.rows.items() if count)
    taken = ", ".join(f"{name} {counts['good']:,}" for name, counts in report.taken.items() if counts["good"])
    did = f"read {taken or 'nothing'}; wrote {rows or 'nothing'}" if taken or rows else "nothing new"
    lines = [f"{report.job}: {did}; {report.seconds or 0.0:.1f} s"]
    if report.quarantined:
        lines.append(f"{report.quarantined:,} unreadable lines or batches: see quarantine in docs/lake-tables.md")
    lines += [f"{place}: {count:,} offsets were deleted before they were read" for place, count in report.lost.items()]
    return lines + list(report.notes)


def poll_line(report: CollectReport) -> str:
    """Return the summary of a round of polls as one line."""
    failed = [each.context for each in report.clusters if each.failure is not None]
    changed = sum(each.changed + each.gone for each in report.clusters)
    wrong = f"; {', '.join(failed)} did not answer" if failed else ""
    return f"polled {len(report.clusters):,} clusters, {changed:,} resources differ{wrong}"


def collect_result(report: CollectReport) -> Table:
    """Return a row for each cluster that was polled."""
    return Table(
        "clusters",
        _columns("CONTEXT", "CLUSTER", "RESOURCES>", "CHANGED>", "GONE>", "SECONDS>", ""),
        tuple(_cluster_row(each) for each in report.clusters),
        empty="there was no cluster to poll",
        notes=tuple(f"{each.context}: {line}" for each in report.clusters for line in each.refused)
        + ((f"run {report.run_id}: {report.rows:,} rows",) if report.run_id else ("nothing was written",)),
    )


def _cluster_row(each: ClusterReport) -> Row:
    failed = f"{each.failure}. {each.failure.remedy}".strip() if each.failure is not None else ""
    counts = (f"{each.resources:,}", f"{each.changed:,}", f"{each.gone:,}") if not failed else ("", "", "")
    return Row(
        (each.context, each.cluster_id or "", *counts, f"{each.seconds:.1f}", failed),
        {**asdict(each), "failure": failed or None, "seconds": round(each.seconds, 3)},
    )


def status_result(status: Status) -> Detail:
    """Return the contents of a lake as a result, with text for operators and data for programs."""
    held = "" if status.tables else "it is empty: kac lake collect polls clusters, kac lake update makes the tables"
    return Detail(
        f"lake {status.where}",
        {"where": status.where, "lake_id": status.lake_id, "created": status.created},
        (held or f"made {status.created}, {len(status.tables)} tables",),
        {
            "tables": Table(
                "tables",
                _columns("TABLE", "LAYER", "ROWS>", "SIZE>", "FILES>", "FROM", "TO", "VERSION>", "RUN"),
                tuple(map(_table_row, status.tables)),
                title="tables",
            ),
            "runs": Table(
                "runs",
                _columns("RUN", "JOB", "STATUS", "STARTED", "SECONDS>", "ROWS>", "BAD>", ""),
                tuple(map(_run_row, status.runs)),
                title="last runs",
            ),
            "gaps": Table(
                "gaps",
                _columns("CLUSTER", "FROM", "TO"),
                tuple(map(_gap_row, status.gaps)),
                title="times without polls",
            ),
            "gone": Table(
                "gone",
                _columns("CLUSTER", "FILE", "FROM>", ""),
                tuple(
                    Row((each.cluster_id, each.file, f"{each.at:,}", each.what), each._asdict()) for each in status.gone
                ),
                title="lines that were gone before they were read",
            ),
        },
    )


def _table_row(each: TableStatus) -> Row:
    counts = f"{each.rows:,}", size(each.bytes), f"{each.files:,}"
    cells = (
        each.name,
        each.layer,
        *counts,
        _time(each.earliest),
        _time(each.latest),
        str(each.version),
        each.run or "",
    )
    return Row(cells, {("table" if name == "name" else name): value for name, value in _data(vars(each)).items()})


def _run_row(each: Report) -> Row:
    seconds = "" if each.seconds is None else f"{each.seconds:.1f}"
    counts = seconds, f"{sum(each.rows.values()):,}", f"{each.quarantined:,}" if each.quarantined else ""
    cells = (each.run_id, each.job, each.status, _time(each.started), *counts, each.message or "")
    return Row(cells, {**each.data(), "quarantined": each.quarantined})


def _gap_row(each: Gap) -> Row:
    times = {"start": each.since, "end": each.until}
    return Row(
        (each.cluster_id, _time(each.since), _time(each.until) or "now"),
        {"cluster_id": each.cluster_id, **_data(times)},
    )


def _data(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result's fields as data for programs: times as ISO 8601."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in fields.items()}


def _columns(*titles: str) -> tuple[Column, ...]:
    """Return a column for each title; a title that ends with > makes a right-aligned column of numbers."""
    return tuple(Column(title.rstrip(">"), title.endswith(">")) for title in titles)


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%SZ}"


def prometheus_text(status: Status) -> str:
    """Return metrics of the last runs in Prometheus' text format, for node_exporter's textfile collector: for each job,
    the results of the newest run that did not fail, and whether the newest run failed.
    """
    newest = {run.job: run for run in reversed(status.runs)}
    done = {job: run for job in newest if (run := status.last(job)) is not None}

    def each(value: Callable[[Report], float | None]) -> dict[str, float]:
        return {_labels(job=job): known for job, run in done.items() if (known := value(run)) is not None}

    rows = {_labels(job=j, table=name): count for j, run in done.items() for name, count in run.rows.items()}
    taken = {
        _labels(job=j, input=kind, quality=quality): count
        for j, run in done.items()
        for kind, counts in run.taken.items()
        for quality, count in counts.items()
    }
    # A run may go on while one of its sources fails; its report then has the failure.
    failed = {_labels(job=job): int(run.message is not None) for job, run in newest.items()}
    metrics = (
        ("failed", "1 if the last run of the job failed, or a source fails in a run that goes on.", failed),
        (
            "end_seconds",
            "When it last ended well, since 1970.",
            each(lambda run: None if run.ended is None else run.ended.timestamp()),
        ),
        (
            "run_seconds",
            "How long that run took.",
            each(lambda run: run.seconds),
        ),
        (
            "lag_seconds",
            "From the newest event in what it wrote to its end.",
            each(lambda run: None if run.lag_ms is None else run.lag_ms / 1000),
        ),
        ("rows", "Rows that it wrote, by table.", rows),
        ("bytes", "Bytes that it wrote.", each(lambda run: run.bytes)),
        ("taken", "What it read, by kind of input.", taken),
        ("quarantined", "What of it could not be read.", each(lambda run: run.quarantined)),
    )
    lines = []
    for name, about, values in metrics:
        lines += [f"# HELP kac_lake_{name} {about}", f"# TYPE kac_lake_{name} gauge"]
        lines += [f"kac_lake_{name}{{{labels}}} {_plain(value)}" for labels, value in values.items()]
    return "\n".join(lines) + "\n"


def _plain(value: float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(int(value))


def _labels(**labels: str) -> str:
    return ",".join(f"{name}={prometheus_label(value)}" for name, value in labels.items())
