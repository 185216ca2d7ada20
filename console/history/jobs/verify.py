"""Whether a lake is what it says it is: logs and files against releases, rows against the tables' promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from console.history.jobs.tables import partition_columns, read_table
from console.history.schema import HISTORY, RELEASE, TABLES, Table, arrow_schema

from ..store import DamagedLake, Lake, Release, TableFiles, delta_log, parquet_files
from ..store.partitions import partition_values
from ..store.release import folder_of
from .progress import Listener, Steps, silent

JOB = "verify"


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be. where: a table, a file relative to the lake, or a version."""

    where: str
    what: str


def verify(spark: SparkSession, lake: Lake, progress: Listener = silent) -> tuple[Finding, ...]:
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
        found += _missing(lake, older, unread)
    tables = {name: release.tables[name] for name in release.versions if name not in unread}
    for name, files in tables.items():
        with watch.step(name) as seen:
            broken = list(_files(lake, TABLES[name], files))
            found += broken
            if not broken and files.rows:
                rows = read_table(spark, lake, release, TABLES[name])
                found += _rows(TABLES[name], files, rows)
            seen(files.rows)
    return tuple(found)


def _log(lake: Lake, name: str, held: int | None) -> Iterator[Finding]:
    """held: the version that the release names; None: it names none."""
    where = lake.path(folder_of(name))
    log = delta_log.listed(lake.filesystem, where)
    if name != RELEASE.name and log.newest != held and log.newest is not None:
        yield Finding(
            f"{folder_of(name)}/{delta_log.LOG}",
            f"its newest version is {log.newest}, and {held} holds: a run died, or another program wrote. The next run "
            "takes it back",
        )
    for version in {held, log.newest} - {None}:
        if wrong := _unread(lake, where, version or 0, log):
            yield Finding(name if version == held else f"{folder_of(name)}/{delta_log.LOG}", wrong)


def _unread(lake: Lake, where: str, version: int, log: delta_log.Listed) -> str:
    """Why a version can't be read or written to; empty: it can."""
    try:
        return delta_log.replayed(lake.filesystem, where, version, log).unusual
    except DamagedLake as wrong:
        return str(wrong)


def _missing(lake: Lake, releases: list[Release], unread: set[str]) -> Iterator[Finding]:
    sizes = _Sizes(lake)
    for release in releases:
        for name in release.versions.keys() - unread:
            for path, file in release.tables[name].files.items():
                if sizes.of(path) != file.bytes:
                    what = f"the version {release.run_id} names it, and it is missing or of another size"
                    yield Finding(path, what)


class _Sizes:
    """The bytes of files in a lake; each folder is listed once."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._known: dict[str, dict[str, int]] = {}

    def of(self, path: str) -> int | None:
        """None: it is not there."""
        folder, _, name = path.rpartition("/")
        if folder not in self._known:
            found = self._lake.filesystem.entries(self._lake.path(folder))
            self._known[folder] = {entry.name: entry.bytes for entry in found if not entry.is_folder}
        return self._known[folder].get(name)


def _files(lake: Lake, table: Table, of: TableFiles) -> Iterator[Finding]:
    wanted = {field.name: field.type for field in arrow_schema(table)}
    sizes = _Sizes(lake)
    for path, file in of.files.items():
        size = sizes.of(path)
        if size is None:
            yield Finding(path, "it is missing")
            continue
        if size != file.bytes:
            yield Finding(path, f"it has {size} bytes, and the log says {file.bytes}")
            continue
        try:
            footer = parquet_files.footer(lake.filesystem, lake.path(path), file.bytes)
        except ValueError as wrong:
            yield Finding(path, str(wrong))
            continue
        if footer.num_rows != file.rows:
            yield Finding(path, f"it has {footer.num_rows} rows, and the log says {file.rows}")
        columns = {field.name: field.type for field in footer.schema.to_arrow_schema()}
        if different := sorted(name for name in wanted.keys() | columns if wanted.get(name) != columns.get(name)):
            yield Finding(path, f"columns are missing, unknown or of another type: {', '.join(different)}")


def _rows(table: Table, files: TableFiles, rows: DataFrame) -> Iterator[Finding]:
    parts = [F.coalesce(part, F.lit("None")) for part in partition_columns(table)]
    firm = [column.name for column in table.columns if not column.nullable and column.name not in table.key]
    seen = rows.agg(
        F.collect_set(F.concat_ws("/", *parts) if parts else F.lit("")).alias("partitions of all"),
        *(F.count_if(F.col(name).isNull()).alias(name) for name in firm),
    ).first()
    assert seen is not None  # an aggregation has a row
    named = {"/".join(map(str, partition_values(file.partition).values())) for file in files.files.values()}
    if set(seen["partitions of all"]) != named:
        yield Finding(table.name, "rows lie in the partition of other rows")
    for name in firm:
        if seen[name]:
            yield Finding(table.name, f"{name} is empty in {seen[name]} rows, and may not be")
    if count := rows.groupBy(*table.key).count().where(F.col("count") > 1).count():
        yield Finding(table.name, f"{count} keys stand there more than once ({', '.join(table.key)})")
    if table is HISTORY:
        yield from _intervals(rows)


def _intervals(history: DataFrame) -> Iterator[Finding]:
    key = ["cluster_id", "entity_type", "entity_key", "attr"]
    by_time = Window.partitionBy(*key).orderBy("valid_from")
    end = F.coalesce("valid_to", F.lit("9999-12-31").cast("timestamp"))
    judged = history.select(
        *key,
        (F.col("valid_to") < F.col("valid_from")).alias("backwards"),
        (end > F.lead("valid_from").over(by_time)).alias("overlaps"),
        (F.col("is_current") & F.col("valid_to").isNotNull()).alias("odd"),
        F.col("is_current").alias("current"),
    )
    said = {
        "backwards": "rows end before they begin",
        "overlaps": "rows last beyond the beginning of the next",
        "odd": "rows are current and have ended",
        "many": "attributes have more than one current row",
    }
    by_key = judged.groupBy(*key).agg(
        *(F.count_if(name).alias(name) for name in ("backwards", "overlaps", "odd")),
        (F.count_if("current") > 1).cast("int").alias("many"),
    )
    counted = by_key.agg(*(F.sum(name).alias(name) for name in said)).first()
    for name, what in said.items():
        if counted is not None and counted[name]:
            yield Finding(HISTORY.name, f"{counted[name]} {what}")
