"""A release: which versions of the tables one run left, and how far each input was read. Pure.

One release is for all tables, so that they and the places read to move together. The table `release` has a row for
each that is kept; `tables` and `inputs` are JSON there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.history.schema import Table
from console.history.store.lock import is_run_id
from console.model.numbers import json_text

FORMAT = 2
Inputs = Mapping[str, Any]


def folder_of(table: str) -> str:
    """The table's folder, relative to the lake."""
    return f"data/{table}"


@dataclass(frozen=True)
class DataFile:
    """A Parquet file: its name in its folder, its rows and bytes. written: when, in milliseconds since 1970. stats: as
    Delta's log has them (PROTOCOL.md, "Per-file Statistics"), JSON."""

    name: str
    rows: int
    bytes: int
    written: int = 0
    stats: str = ""


@dataclass(frozen=True)
class TableFiles:
    """A version of a table: folders by partition (``cluster_id=X/day=2026-11-21``), and the files of each folder.

    Folders are relative to the lake. columns: those of the table's schema.
    """

    columns: tuple[str, ...]
    partitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for files in self.files.values() for file in files)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for files in self.files.values() for file in files)

    def of(self, partitions: Iterable[str] | None = None) -> list[tuple[str, str, DataFile]]:
        """Partition, path relative to the lake, and file: of these partitions (all: None), in their order."""
        chosen = self.partitions if partitions is None else [each for each in partitions if each in self.partitions]
        return [
            (partition, f"{folder}/{file.name}", file)
            for partition in sorted(chosen)
            for folder in self.partitions[partition]
            for file in self.files[folder]
        ]

    def paths(self, partitions: Iterable[str] | None = None) -> list[str]:
        """The files of these partitions (all: None), relative to the lake, in the order of their partitions."""
        return [path for _, path, _ in self.of(partitions)]

    def appended(self, partition: str, folder: str, files: Sequence[DataFile]) -> TableFiles:
        """With one more folder in a partition."""
        folders = (*self.partitions.get(partition, ()), folder)
        return self._with({**self.partitions, partition: folders}, {folder: tuple(files)})

    def replaced(
        self, partitions: Mapping[str, Mapping[str, Sequence[DataFile]]], *, whole: bool = False
    ) -> TableFiles:
        """With these partitions instead of the former ones; a partition without folders is no more.

        partitions: partition -> folder -> files. whole: partitions that are not named are no more, too.
        """
        merged: dict[str, tuple[str, ...]] = {} if whole else dict(self.partitions)
        added: dict[str, tuple[DataFile, ...]] = {}
        for partition, folders in partitions.items():
            merged[partition] = tuple(folders)
            added.update({folder: tuple(files) for folder, files in folders.items()})
        return self._with(merged, added)

    def _with(self, partitions: Mapping[str, tuple[str, ...]], added: Mapping[str, tuple[DataFile, ...]]) -> TableFiles:
        known = {**self.files, **added}
        kept = {partition: folders for partition, folders in sorted(partitions.items()) if folders}
        files = {folder: known[folder] for folders in kept.values() for folder in folders}
        return TableFiles(self.columns, kept, files)


@dataclass(frozen=True)
class Release:
    """What the lake holds after a run. run_id and created are empty in a new lake. created: ISO 8601 in UTC.

    number: counts the releases of a lake, from 1. versions: of the tables, by name. tables: those versions; each is
    read when it is first asked for, and DamagedLake is raised where it can't be.
    """

    run_id: str = ""
    number: int = 0
    created: str = ""
    job: str = ""
    versions: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, TableFiles] = field(default_factory=dict, compare=False)
    inputs: Inputs = field(default_factory=dict)

    @property
    def folders(self) -> frozenset[str]:
        """Every folder that it names, relative to the lake."""
        return frozenset(folder for table in self.tables.values() for folder in table.files)

    def table(self, table: Table) -> TableFiles:
        """The table's files; none where nothing was written to it."""
        return self.tables[table.name] if table.name in self.tables else TableFiles(table.names)

    def as_row(self) -> dict[str, Any]:
        """Its row in the table `release`."""
        return {
            "run_id": self.run_id,
            "number": self.number,
            "created": self.created,
            "job": self.job,
            "tables": json_text(dict(self.versions)),
            "inputs": json_text(self.inputs),
        }


def from_row(row: Mapping[str, Any]) -> Release:
    """What `Release.as_row` gave, without the tables. ValueError: it is no release."""
    try:
        if not is_run_id(row["run_id"]):
            raise ValueError(f"{row['run_id']!r} is no run")
        versions = {str(name): int(version) for name, version in json.loads(row["tables"]).items()}
        inputs = dict(json.loads(row["inputs"]))
        return Release(row["run_id"], int(row["number"]), row["created"], row["job"], versions, {}, inputs)
    except (KeyError, TypeError, AttributeError) as wrong:
        raise ValueError(f"it is no release: {wrong}") from wrong
