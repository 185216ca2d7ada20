"""A run that writes to a lake: new folders, then one commit for all of them; needs PyArrow."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pyarrow as pa

from console.history.schema import RUN, TABLES, arrow_schema
from console.history.store.lock import BusyLock, Holder, Lock, iso_now, new_run_id, this_process
from console.model.numbers import json_text

from . import parquet_files
from .errors import LakeBusy, LakeError, LeaseLost
from .lake import Lake
from .manifest import DataFile, Inputs, Manifest, TableFiles, schema_of, to_json
from .sweep import KEEP, sweep_lake

_FAILED_KEPT = 20
_RUN_FOLDERS = 16
"""Each run adds a file of one row to the table of runs; this many become one."""


@contextmanager
def writing(lake: Lake, job: str, *, keep: int = KEEP, inputs: Inputs | None = None) -> Iterator[Write]:
    """The right to write, for the context; what it does not commit leaves no trace but a record that it failed.

    keep: versions that stay after the commit, this one among them. inputs: what it reads, for the record.
    LakeBusy: another run writes.
    """
    holder = this_process(new_run_id(), job)
    try:
        with lake.filesystem.lock(lake.path("lock"), holder) as lock:
            write = Write(lake, lake.current(), holder, lock, keep)
            try:
                yield write
            except BaseException as wrong:
                write.abandon(wrong, inputs)
                raise
            write.abandon(None, inputs)
    except BusyLock as busy:
        raise LakeBusy(lake.where, busy.holder) from busy


class Write:
    """One run, with the lock held. manifest: what holds. taken_over: the run that died with the lock, if one did.

    rows: written until now, by table. versions: of programs, for the record; what the job knows besides kac and Python
    is added by it.
    """

    def __init__(self, lake: Lake, manifest: Manifest, holder: Holder, lock: Lock, keep: int) -> None:
        self.run_id = holder.run_id
        self.manifest = manifest
        self.taken_over = lock.former
        self.versions = {"kac": _version(), "python": platform.python_version()}
        self.lake = lake
        self._holder = holder
        self._lock = lock
        self._keep = keep
        self._tables: dict[str, TableFiles] = dict(manifest.tables)
        self._inputs: dict[str, Any] = dict(manifest.inputs)
        self.rows: dict[str, int] = {}
        self._folders: list[str] = []
        self._ended = False

    @property
    def draft(self) -> Manifest:
        """What would hold if it were committed now: what one step of a run has written, the next can read."""
        return Manifest(self.run_id, self.manifest.run_id or None, "", self._holder.job, self._tables, self._inputs)

    def folder(self, table: str, partition: str = "") -> str:
        """The absolute path of a new folder to write Parquet into, for `append` or `replace`. It is not made yet.

        partition: as `partitions.partition_name`; empty text for a folder above partitions, or a table without.
        """
        relative = f"data/{TABLES[table].name}/v={self.run_id}/{len(self._folders)}"
        self._folders.append(relative)
        return self.lake.path(f"{relative}/{partition}" if partition else relative)

    def add_arrow(self, table: str, rows: pa.Table) -> int:
        """Appends rows: one new file for each partition that they are of. Gives how many.

        `run_id` is filled in where the column is missing. ValueError: they do not fit the table.
        """
        for partition, folders in self.put_arrow(table, rows).items():
            for folder in folders:
                self.append(table, partition, folder)
        return int(rows.num_rows)

    def put_arrow(self, table: str, rows: pa.Table) -> dict[str, list[str]]:
        """Writes rows to new folders, one for each partition that they are of, for `append` or `replace`.

        `run_id` is filled in where the column is missing. ValueError: they do not fit the table.
        """
        fitted = parquet_files.fitted(TABLES[table], rows, self.run_id)
        made = {}
        for partition, part in parquet_files.split(TABLES[table], fitted):
            made[partition] = [self.folder(table, partition)]
            parquet_files.write(self.lake.filesystem, f"{made[partition][0]}/part-0.parquet", part)
        return made

    def append(self, table: str, partition: str, folder: str) -> None:
        """Adds the Parquet files of a folder, by whomever they were written, to a partition."""
        relative = self._relative(folder)
        if files := self._files(folder):
            self._tables[table] = self._of(table).appended(partition, relative, files)
            self._count(table, files)

    def replace(self, table: str, partitions: Mapping[str, Iterable[str]], *, whole: bool = False) -> None:
        """Puts folders in the place of what these partitions had; one without folders is no more.

        whole: the partitions that are not named are no more, too.
        """
        known = self._of(table)
        made: dict[str, dict[str, tuple[DataFile, ...]]] = {}
        for partition, folders in partitions.items():
            made[partition] = {}
            for folder in folders:
                relative = self._relative(folder)
                if relative in known.files:  # it stays
                    made[partition][relative] = known.files[relative]
                elif files := self._files(folder):
                    made[partition][relative] = files
                    self._count(table, files)
        self._tables[table] = replace(known.replaced(made, whole=whole), schema=schema_of(TABLES[table]))

    def stand(self, table: str, files: TableFiles) -> None:
        """Puts the table as it shall be; for who keeps its files in another way."""
        self._tables[table] = files
        self.count(table, files.rows)

    def described(self, folder: str, names: Iterable[str]) -> list[DataFile]:
        """These Parquet files of a folder, as a manifest has them."""
        return parquet_files.listed(self.lake.filesystem, folder, frozenset(names))

    def remember(self, inputs: Inputs) -> None:
        """How far inputs are read now; a key with None is forgotten. It holds with the commit."""
        for key, value in inputs.items():
            if value is None:
                self._inputs.pop(key, None)
            else:
                self._inputs[key] = value

    def count(self, table: str, rows: int) -> None:
        """Counts rows that were written, where they are not told of by `append` or `replace`."""
        self.rows[table] = self.rows.get(table, 0) + rows

    def commit(
        self,
        *,
        status: str = "done",
        inputs: Inputs | None = None,
        rows: Mapping[str, int] | None = None,
        quarantined: int = 0,
        message: str | None = None,
    ) -> Manifest:
        """All of it becomes what the lake holds, with the run's own row, at once; then old versions are deleted.

        status: `done`; `failed` where part of the work failed, and what was done shall hold. inputs: what was read,
        for the record. rows: by table; what was counted, if None. LeaseLost: another has taken the lock.
        """
        if self._ended:
            raise LakeError(f"The run {self.run_id} has ended already.")
        if not self._lock.is_held() or self.lake.current().run_id != self.manifest.run_id:
            raise LeaseLost(
                f"Another run took the lock of {self.lake.where} while this one paused; nothing of this one holds. "
                "Run it again."
            )
        self._add_run(status, inputs or {}, self.rows if rows is None else rows, quarantined, message)
        made = replace(self.draft, created=iso_now())
        files = self.lake.filesystem
        files.settle(sorted(self.lake.path(each) for each in _new_folders(made, self.manifest)), self.lake.where)
        files.create(self.lake.path(f"manifests/{self.run_id}.json"), to_json(made))
        self._ended = True  # CURRENT may name it from here on: what is there stays, whatever is raised
        try:
            files.replace(self.lake.path("CURRENT"), f"{self.run_id}\n".encode())
        except BaseException:
            self._ended = self.lake.current().run_id == self.run_id
            raise
        with suppress(LakeError, OSError):  # it holds; what is left over goes with the next run
            used = {"/".join(folder.split("/")[:4]) for folder in made.folders}
            for folder in self._folders:
                if folder not in used:
                    files.remove(self.lake.path(folder))
            sweep_lake(self.lake, self._keep, self.run_id)
        return made

    def abandon(self, why: BaseException | None, inputs: Inputs | None = None) -> None:
        """Ends the run without a commit: its folders go, and why is recorded, where there is a reason."""
        if self._ended:
            return
        self._ended = True
        for table in {folder.split("/")[1] for folder in self._folders}:
            self.lake.filesystem.remove(self.lake.path(f"data/{table}/v={self.run_id}"))
        if why is not None:
            row = self._run_row("failed", inputs or {}, self.rows, 0, _reason(why))
            self.record_failure(row)

    def fail(
        self, message: str, *, inputs: Inputs | None = None, rows: Mapping[str, int] | None = None, quarantined: int = 0
    ) -> None:
        """Ends the run without a commit, for a reason that the job found itself."""
        counted = dict(self.rows if rows is None else rows)
        self.abandon(None)
        self.record_failure(self._run_row("failed", inputs or {}, counted, quarantined, message))

    def record_failure(self, row: Mapping[str, Any]) -> None:
        """Writes runs/failed/<run>.json; the oldest of many go."""
        folder = self.lake.path("runs/failed")
        text = json_text(row, default=lambda value: value.isoformat()).encode() + b"\n"
        self.lake.filesystem.replace(f"{folder}/{self.run_id}.json", text)
        names = [each.name for each in self.lake.filesystem.entries(folder) if not each.name.startswith(".")]
        for name in names[:-_FAILED_KEPT]:
            self.lake.filesystem.remove(f"{folder}/{name}")

    def _of(self, table: str) -> TableFiles:
        return self._tables.get(table) or TableFiles(schema_of(TABLES[table]))

    def _files(self, folder: str) -> tuple[DataFile, ...]:
        return tuple(parquet_files.listed(self.lake.filesystem, folder))

    def _count(self, table: str, files: Iterable[DataFile]) -> None:
        self.count(table, sum(file.rows for file in files))

    def _relative(self, folder: str) -> str:
        within = f"{self.lake.where}/"
        if not folder.startswith(within):
            raise ValueError(f"{folder} is not in the lake at {self.lake.where}")
        return folder.removeprefix(within)

    def _run_row(
        self, status: str, inputs: Inputs, rows: Mapping[str, int], quarantined: int, message: str | None
    ) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "job": self._holder.job,
            "started_ts": datetime.fromisoformat(self._holder.since),
            "ended_ts": datetime.now(timezone.utc),
            "status": status,
            "inputs": json_text(inputs),
            "rows": json_text(dict(rows)),
            "quarantined": quarantined,
            "message": message,
            "versions": json_text(self.versions),
        }

    def _add_run(
        self, status: str, inputs: Inputs, rows: Mapping[str, int], quarantined: int, message: str | None
    ) -> None:
        added = pa.Table.from_pylist(
            [self._run_row(status, inputs, rows, quarantined, message)], schema=arrow_schema(RUN)
        )
        former = self._of(RUN.name).paths()
        if len(former) >= _RUN_FOLDERS:
            read = parquet_files.read(self.lake.filesystem, map(self.lake.path, former), RUN)
            added = pa.concat_tables([read, added])
        folder = self.folder(RUN.name)
        parquet_files.write(self.lake.filesystem, f"{folder}/part-0.parquet", added)
        counted = dict(self.rows)
        if len(former) >= _RUN_FOLDERS:
            self.replace(RUN.name, {"": [folder]})
        else:
            self.append(RUN.name, "", folder)
        self.rows = counted


def _new_folders(now: Manifest, before: Manifest) -> set[str]:
    """Folders with other files than before."""
    known = {folder: files for table in before.tables.values() for folder, files in table.files.items()}
    return {
        folder for table in now.tables.values() for folder, files in table.files.items() if known.get(folder) != files
    }


def _reason(why: BaseException) -> str:
    """In one line. What others raise may quote rows, and rows may hold secrets: of those only the kind is named."""
    if isinstance(why, KeyboardInterrupt):
        return "It was interrupted."
    if isinstance(why, (LakeError, OSError)):
        return str(why)
    condition = getattr(why, "getCondition", lambda: None)()  # of Spark's errors
    return f"{type(why).__name__}{f' {condition}' if condition else ''}; the log file has the rest."


def _version() -> str:
    try:
        return version("kafka-admin-console")
    except PackageNotFoundError:  # from the zip, or a checkout
        return ""
