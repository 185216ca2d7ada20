"""Whether a lake is what it says it is: logs and files against releases, rows against the tables' promises."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from console.history.schema import HISTORY, RELEASE, TABLES, Table, arrow_schema

from ..store import DamagedLake, Lake, Release, TableFiles, delta_log, parquet_files
from ..store.parquet_rows import connected
from ..store.partitions import partition_values, parts_of
from ..store.release import folder_of
from .progress import Listener, Steps, silent

JOB = "verify"
_ATTRIBUTE = ", ".join(HISTORY.key[:-1])
_INTERVALS = f"""
SELECT count(*) FILTER (valid_to < valid_from),
       count(*) FILTER (number > 1 AND (former IS NULL OR former > valid_from)),
       count(*) FILTER (is_current AND valid_to IS NOT NULL),
       count(*) FILTER (currents > 1 AND number = 1)
FROM (SELECT *, row_number() OVER ordered AS number, lag(valid_to) OVER ordered AS former,
             count(*) FILTER (is_current) OVER (PARTITION BY {_ATTRIBUTE}) AS currents
      FROM read_parquet(?, hive_partitioning = false) WINDOW ordered AS (PARTITION BY {_ATTRIBUTE} ORDER BY valid_from))
"""  # noqa: S608
_WRONG_INTERVALS = (
    "{} rows end before they begin",
    "{} rows last beyond the beginning of the next",
    "{} rows are current and have ended",
    "{} attributes have more than one current row",
)


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be. where: a table, a file relative to the lake, or a version."""

    where: str
    what: str


def verify(lake: Lake, progress: Listener = silent) -> tuple[Finding, ...]:
    """All that is wrong; nothing: the lake is whole. Takes no lock, and changes nothing.

    Of the version that holds: each file is there with its size, columns and rows; rows lie in their partition; keys are
    unique, and what may not be empty is not; in `history` the times of an attribute do not overlap and one row of it is
    current. Of older versions that are kept: their files are there. Of logs: they need Delta's default protocol alone,
    and end with the version that holds. DamagedLake: there is no release to go by.
    """
    release = lake.current()
    older = [each for each in lake.releases() if each.run_id != release.run_id]
    watch = Steps(JOB, len(release.versions) + 1, progress)
    found: list[Finding] = []
    with watch.step("versions"):
        found += [
            Finding(name, "no table of this version of kac: its rows are not read")
            for name in sorted(set(release.versions) - set(TABLES))
        ]
        found += [finding for name in TABLES for finding in _log(lake, name, release.versions.get(name))]
        unread = {finding.where for finding in found}
        sizes = dict(lake.filesystem.within(lake.path("data")))
        found += _missing(lake, older, unread, sizes)
    tables = {name: release.tables[name] for name in release.versions if name not in unread}
    for name, files in tables.items():
        with watch.step(name) as seen:
            broken = list(_files(lake, TABLES[name], files, sizes))
            found += broken
            if not broken and files.rows:
                found += _rows(lake, TABLES[name], files)
            seen(files.rows)
    return tuple(found)


def _log(lake: Lake, name: str, held: int | None) -> Iterator[Finding]:
    """held: the version that the release names; None: it names none."""
    where, own = lake.path(folder_of(name)), f"{folder_of(name)}/{delta_log.LOG}"
    log = delta_log.listed(lake.filesystem, where)
    if name != RELEASE.name and log.newest not in (held, None):
        what = f"its newest version is {log.newest}, and {held} holds: a run died, or another program wrote. "
        yield Finding(own, f"{what}The next run takes it back")
    for version in {each for each in (held, log.newest) if each is not None}:
        try:
            wrong = delta_log.replayed(lake.filesystem, where, version, log).unusual
        except DamagedLake as damaged:
            wrong = str(damaged)
        if wrong:
            yield Finding(name if version == held else own, wrong)


def _missing(lake: Lake, releases: list[Release], unread: set[str], sizes: Mapping[str, int]) -> Iterator[Finding]:
    for release in releases:
        what = f"the version {release.run_id} names it, and it is missing or of another size"
        files = (each for name in release.versions.keys() - unread for each in release.tables[name].files.items())
        yield from (Finding(path, what) for path, file in files if sizes.get(lake.path(path)) != file.bytes)


def _files(lake: Lake, table: Table, of: TableFiles, sizes: Mapping[str, int]) -> Iterator[Finding]:
    wanted = {(field.name, field.type) for field in arrow_schema(table)}
    for path, file in of.files.items():
        size = sizes.get(lake.path(path))
        if size != file.bytes:
            what = "it is missing" if size is None else f"it has {size} bytes, and the log says {file.bytes}"
            yield Finding(path, what)
            continue
        try:
            footer = parquet_files.footer(lake.filesystem, lake.path(path), file.bytes)
        except ValueError as wrong:
            yield Finding(path, str(wrong))
            continue
        if footer.num_rows != file.rows:
            yield Finding(path, f"it has {footer.num_rows} rows, and the log says {file.rows}")
        columns = {(field.name, field.type) for field in footer.schema.to_arrow_schema()}
        if different := sorted({name for name, _ in wanted ^ columns}):
            yield Finding(path, f"columns are missing, unknown or of another type: {', '.join(different)}")


def _rows(lake: Lake, table: Table, files: TableFiles) -> Iterator[Finding]:
    firm = [column.name for column in table.columns if not column.nullable and column.name not in table.key]
    wrong: Counter[str] = Counter()  # how often, by text with a place for that
    clusters: dict[str | None, list[str]] = defaultdict(list)
    for path, file in files.files.items():
        names = dict.fromkeys((*firm, *(of for _, of in parts_of(table))))
        rows = parquet_files.read(lake.filesystem, [lake.path(path)], table, columns=list(names))
        wrong["rows lie in the partition of other rows"] += [*parquet_files.by_partition(table, rows)] != [
            file.partition
        ]
        wrong.update({f"{name} is empty in {{}} rows, and may not be": rows[name].null_count for name in firm})
        clusters[partition_values(file.partition).get("cluster_id")].append(lake.path(path))
    repeated = f"{{}} keys stand there more than once ({', '.join(table.key)})"
    for paths in clusters.values():
        rows = parquet_files.read(lake.filesystem, paths, table, columns=list(table.key))
        counted = rows.group_by(list(table.key)).aggregate([([], "count_all")])
        wrong[repeated] += pc.sum(pc.greater(counted["count_all"], 1)).as_py()
        if table is HISTORY:
            wrong.update(_intervals(lake.filesystem.here(paths)))
    return (Finding(table.name, what.format(count)) for what, count in wrong.items() if count)


def _intervals(paths: list[str]) -> dict[str, int]:
    """What is wrong with the times of a cluster's attributes, and how often. paths: where DuckDB reads its history."""
    with connected() as database:
        found = database.execute(_INTERVALS, [paths]).fetchone() or ()
    return dict(zip(_WRONG_INTERVALS, found, strict=True))
