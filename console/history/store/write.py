"""A run that writes to a lake: new folders, then a commit to each table, then the release that makes all of them hold
at once; needs PyArrow and deltalake."""

from __future__ import annotations

import platform
from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import pyarrow as pa

from console.history.schema import RELEASE, RUN, TABLES, Table, arrow_schema
from console.history.store.lock import Holder, Lock, iso_now, later_run_id, new_run_id, this_process
from console.model.numbers import json_text

from . import delta_log, parquet_files
from .commit import put_table, require_delta_rs, sweep_table
from .errors import LakeError, LeaseLost
from .lake import Lake
from .release import KEEP, DataFile, Inputs, Release, TableFiles, folder_of, time_range

COMPACT = "compact"
"""The job whose commits change no rows."""
_FAILED_KEPT = 20
_READ_STILL = 3
"""Former versions of the table of releases that stay: a reader may have found one, and not have read it."""
_FEW_FILES = 16
"""So many small files of a table become one with the next that is added."""
_RUNS_IN_FILE = 10_000


@contextmanager
def writing(lake: Lake, job: str, *, keep: int = KEEP, inputs: Inputs | None = None) -> Iterator[Write]:
    """The right to write, for the context; what it does not commit leaves no trace but a record that it failed.

    keep: versions that stay after the commit, this one among them. inputs: what it reads, for the record.
    LakeBusy: another run writes. LakeError: deltalake is not installed.
    """
    require_delta_rs()
    holder = this_process(new_run_id(), job)
    with lake.filesystem.lock(lake.path("lock"), holder) as lock:
        write = Write(lake, holder, lock, keep)
        try:
            yield write
        except BaseException as wrong:
            write.fail(_reason(wrong), inputs=inputs)
            raise
        write.abandon()


class Write:
    """One run, with the lock held. release: what holds. taken_over: the run that died with the lock, if one did.

    rows: written until now, by table. versions: of programs, for the record; what the job knows besides kac and Python
    is added by it.
    """

    def __init__(self, lake: Lake, holder: Holder, lock: Lock, keep: int) -> None:
        self._since, self._releases = lake.newest()
        self.release = next(iter(self._releases), Release())
        self.run_id = later_run_id(holder.run_id, self.release.run_id)
        self.taken_over = lock.former
        self.versions = {"kac": kac_version(), "python": platform.python_version()}
        self.lake = lake
        self._holder = holder
        self._lock = lock
        self._keep = keep
        self._changed: dict[str, TableFiles] = {}
        self._inputs: dict[str, Any] = dict(self.release.inputs)
        self.rows: dict[str, int] = {}
        self._folders: list[str] = []
        self._ended = False

    @property
    def draft(self) -> Release:
        """What would hold if it were committed now: what one step of a run has written, the next can read."""
        tables = ChainMap(self._changed, cast("dict[str, TableFiles]", self.release.tables))
        number = self.release.number + 1
        return Release(self.run_id, number, "", self._holder.job, self.release.versions, tables, self._inputs)

    def folder(self, table: str, partition: str = "") -> str:
        """The absolute path of a new folder to write Parquet into, for `rewrite` or `replace`. It is not made yet.
        partition: as `partitions.partition_name`; empty text for a folder above partitions, or a table without."""
        relative = f"{folder_of(TABLES[table].name)}/v={self.run_id}/{len(self._folders)}"
        self._folders.append(relative)
        return self.lake.path(f"{relative}/{partition}" if partition else relative)

    def add_arrow(self, table: str, rows: pa.Table) -> int:
        """Appends rows, see `put_arrow`. Gives how many."""
        if made := self.put_arrow(table, rows):
            self.rewrite(table, (), made)
        return int(rows.num_rows)

    def add_few(self, table: str, rows: pa.Table, small: int) -> int:
        """Appends few rows to a table without partitions, as often as may be: of its files with fewer rows than `small`
        there are never many. Gives how many rows are new. ValueError: see `put_arrow`."""
        former = [path for path, file in self._of(table).files.items() if file.rows < small]
        if len(former) < _FEW_FILES:
            return self.add_arrow(table, rows)
        read = parquet_files.read(self.lake.filesystem, map(self.lake.path, former), TABLES[table])
        whole = pa.concat_tables([read, parquet_files.fitted(TABLES[table], rows, self.run_id)])
        self.rewrite(table, former, self.put_arrow(table, whole))
        self.rows[table] -= read.num_rows
        return int(rows.num_rows)

    def put_arrow(self, table: str, rows: pa.Table) -> dict[str, list[str]]:
        """Writes rows to new folders, one for each partition that they are of, for `rewrite` or `replace`.

        `run_id` is filled in where the column is missing. ValueError: they do not fit the table.
        """
        fitted = parquet_files.fitted(TABLES[table], rows, self.run_id)
        made = {}
        for partition, part in parquet_files.split(TABLES[table], fitted):
            made[partition] = [self.folder(table, partition)]
            parquet_files.write(self.lake.filesystem, f"{made[partition][0]}/part-0.parquet", part)
        return made

    def replace(self, table: str, partitions: Mapping[str, Iterable[str]], *, whole: bool = False) -> None:
        """Puts folders in the place of what these partitions had; one without folders is no more. whole: neither are
        those that are not named."""
        self.rewrite(table, self._of(table).of(None if whole else partitions), partitions)

    def rewrite(self, table: str, gone: Container[str], partitions: Mapping[str, Iterable[str]]) -> None:
        """Puts the Parquet files of folders, by whomever they were written, in the place of files (paths relative to
        the lake). partitions: folders by partition."""
        made: dict[str, DataFile] = {}
        for partition, folders in partitions.items():
            for folder in folders:
                made |= parquet_files.listed(self.lake.filesystem, self.lake.where, folder, partition)
        self._changed[table] = self._of(table).replaced(made, gone)
        self.rows[table] = self.rows.get(table, 0) + sum(file.rows for file in made.values())

    def remember(self, inputs: Inputs) -> None:
        """How far inputs are read now; a key with None is forgotten. It holds with the commit."""
        self._inputs = {key: value for key, value in {**self._inputs, **inputs}.items() if value is not None}

    def commit(
        self,
        *,
        status: str = "done",
        inputs: Inputs | None = None,
        quarantined: int = 0,
        message: str | None = None,
        taken: Inputs | None = None,
    ) -> Release:
        """All of it becomes what the lake holds, with the run's own row, at once; then old versions are deleted.

        status: `done`; `failed` where part of the work failed, and what was done shall hold. inputs: what was read,
        for the record. taken: see the table `run`. LeaseLost: another has taken the lock.
        """
        if self._ended:
            raise LakeError(f"The run {self.run_id} has ended already.")
        if not self._lock.is_held() or self.lake.newest()[0] != self._since:
            raise LeaseLost(
                f"Another run took the lock of {self.lake.where} while this one paused; nothing of this one holds. "
                "Run it again."
            )
        row = self._run_row(status, inputs, quarantined, message)
        written = self._written().values()
        lags = [row["ended_ts"] - newest for table, file in written if (newest := time_range(table, [file])[1])]
        row["lag_ms"] = int(min(lags) / timedelta(milliseconds=1)) if lags else None
        row |= {"bytes": sum(file.bytes for _, file in written), "taken": json_text(taken or {})}
        self.add_few(RUN.name, pa.Table.from_pylist([row], schema=arrow_schema(RUN)), _RUNS_IN_FILE)
        files, where = self.lake.filesystem, self.lake.where
        new = {path.rpartition("/")[0] for path in self._written()}
        files.settle(sorted(map(self.lake.path, new)), where)
        versions, ahead = self._put_tables()
        kept = (replace(self.draft, created=iso_now(), versions=versions), *self._releases)[: max(self._keep, 1)]
        try:
            put_releases(self.lake, self.folder(RELEASE.name), kept, since=self._since)
        except BaseException:
            self._ended = any(each.run_id == self.run_id for each in self.lake.releases())
            raise
        self._ended = True
        with suppress(LakeError, OSError):  # it holds; what is left over goes with a later run
            used = {"/".join(each.split("/")[:4]) for each in (*new, self._folders[-1])}
            for folder in set(self._folders) - used:
                files.remove(self.lake.path(folder))
            self._sweep(kept, ahead)
        return self.lake.current()

    def _put_tables(self) -> tuple[dict[str, int], set[str]]:
        """Commits to each table that changed, or is ahead of its release since a run died: the versions then, and the
        tables that were ahead."""
        versions, ahead = dict(self.release.versions), set[str]()
        files, changes = self.lake.filesystem, self._holder.job != COMPACT
        for name, table in TABLES.items():
            newest = delta_log.listed(files, self.lake.path(folder_of(name))).newest
            if name != RELEASE.name and newest != versions.get(name):
                ahead.add(name)
            if name in ahead or name in self._changed:
                wanted = self._of(name)
                versions[name] = put_table(files, self.lake.where, table, wanted, self.run_id, changes=changes)
        return versions, ahead

    def _sweep(self, kept: Sequence[Release], ahead: set[str]) -> None:
        """Deletes what only versions name that are not kept; and, after a run that died, what it left."""
        thorough = self.taken_over is not None or self._holder.job == COMPACT
        dropped = self._releases[len(kept) - 1 :]
        for name in TABLES:
            versions = [each.versions[name] for each in kept if name in each.versions]
            older = {each.versions.get(name) for each in dropped}
            if name == RELEASE.name:
                now = self.lake.newest()[0]
                versions = [max(0, now - _READ_STILL), now]
            elif not thorough and name not in ahead and older <= {min(versions, default=None)}:
                continue
            sweep_table(self.lake.filesystem, self.lake.where, name, versions, thorough or name in ahead)

    def abandon(self) -> None:
        """Ends the run without a commit, if it has not ended: its folders go."""
        if self._ended:
            return
        self._ended = True
        for table in {folder.split("/")[1] for folder in self._folders}:
            held = self._since if table == RELEASE.name else self.release.versions.get(table)
            where = self.lake.path(folder_of(table))
            if delta_log.listed(self.lake.filesystem, where).newest == held:  # else its log names them
                self.lake.filesystem.remove(f"{where}/v={self.run_id}")

    def fail(self, message: str, *, inputs: Inputs | None = None, quarantined: int = 0) -> None:
        """Ends the run without a commit, if it has not ended, and records why; the oldest of many records go."""
        if self._ended:
            return
        self.abandon()
        folder = self.lake.path("runs/failed")
        row = self._run_row("failed", inputs, quarantined, message)
        text = json_text(row, default=lambda value: value.isoformat()).encode() + b"\n"
        self.lake.filesystem.replace(f"{folder}/{self.run_id}.json", text)
        names = [each.name for each in self.lake.filesystem.entries(folder) if not each.name.startswith(".")]
        for name in names[:-_FAILED_KEPT]:
            self.lake.filesystem.remove(f"{folder}/{name}")

    def _of(self, table: str) -> TableFiles:
        return self.draft.table(TABLES[table])

    def _run_row(self, status: str, inputs: Inputs | None, quarantined: int, message: str | None) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "job": self._holder.job,
            "started_ts": datetime.fromisoformat(self._holder.since),
            "ended_ts": datetime.now(timezone.utc),
            "status": status,
            "inputs": json_text(inputs or {}),
            "rows": json_text(self.rows),
            "quarantined": quarantined,
            "message": message,
            "versions": json_text(self.versions),
        }

    def _written(self) -> dict[str, tuple[Table, DataFile]]:
        """The files of this run that tables have, by path relative to the lake."""
        return {
            path: (TABLES[name], file)
            for name, table in self._changed.items()
            for path, file in table.files.items()
            if f"/v={self.run_id}/" in path
        }


def put_releases(lake: Lake, folder: str, kept: Sequence[Release], since: int | None = None) -> None:
    """Commits a run, the first of these: the table of releases has their rows then, in a new folder. since: see
    `put_table`, and what it raises."""
    files = lake.filesystem
    rows = pa.Table.from_pylist([each.as_row() for each in kept], schema=arrow_schema(RELEASE))
    parquet_files.write(files, f"{folder}/part-0.parquet", rows)
    files.settle([folder], lake.where)
    wanted = TableFiles(RELEASE.names, parquet_files.listed(files, lake.where, folder, ""))
    put_table(files, lake.where, RELEASE, wanted, kept[0].run_id, since=since)


def _reason(why: BaseException) -> str:
    """In one line. What others raise may quote rows, and rows may hold secrets: of those only the kind is named."""
    if isinstance(why, KeyboardInterrupt):
        return "It was interrupted."
    if isinstance(why, (LakeError, OSError)):
        return str(why)
    condition = getattr(why, "getCondition", lambda: None)()  # of Spark's errors
    return f"{type(why).__name__}{f' {condition}' if condition else ''}; the log file has the rest."


def kac_version() -> str:
    """Of this kac; empty where it is not installed."""
    try:
        return version("kafka-admin-console")
    except PackageNotFoundError:  # from the zip, or a checkout
        return ""
