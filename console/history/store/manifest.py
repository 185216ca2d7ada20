"""A manifest: which files are the tables, and how far each input was read. Pure.

One manifest is for all tables, so that they and the places read to move together. It never changes once it is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from console.history.schema import Table
from console.history.store.lock import is_run_id
from console.model.numbers import json_text

FORMAT = 1
Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class DataFile:
    """A Parquet file: its name in its folder, its rows and bytes."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class TableFiles:
    """A table: folders by partition (``cluster_id=X/day=2026-11-21``), and the files of each folder.

    Folders are relative to the lake. schema: of the columns that the files have, see `schema_of`. delta: the version of
    the Delta table that these files are, where it is one; a table that is changed by other means is not one any more.
    """

    schema: str
    partitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)
    delta: int | None = None

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for files in self.files.values() for file in files)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for files in self.files.values() for file in files)

    def paths(self, partitions: Iterable[str] | None = None) -> list[str]:
        """The files of these partitions (all: None), relative to the lake, in the order of their partitions."""
        chosen = self.partitions if partitions is None else [each for each in partitions if each in self.partitions]
        return [
            f"{folder}/{file.name}"
            for partition in sorted(chosen)
            for folder in self.partitions[partition]
            for file in self.files[folder]
        ]

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
        return replace(self, partitions=kept, files=files, delta=None)


@dataclass(frozen=True)
class Manifest:
    """What the lake holds after a run. run_id and created are empty in a new lake. created: ISO 8601 in UTC."""

    run_id: str = ""
    parent: str | None = None
    created: str = ""
    job: str = ""
    tables: Mapping[str, TableFiles] = field(default_factory=dict)
    inputs: Inputs = field(default_factory=dict)

    @property
    def folders(self) -> frozenset[str]:
        """Every folder that it names, relative to the lake."""
        return frozenset(folder for table in self.tables.values() for folder in table.files)

    def table(self, table: Table) -> TableFiles:
        """The table's files; none where nothing was written to it."""
        return self.tables.get(table.name) or TableFiles(schema_of(table))


def schema_of(table: Table) -> str:
    """The columns and their types, as SHA-256 in hex."""
    return hashlib.sha256(table.ddl.encode()).hexdigest()


def to_json(manifest: Manifest) -> bytes:
    """The manifest's file."""
    return (
        json_text(
            {
                "format": FORMAT,
                "run_id": manifest.run_id,
                "parent": manifest.parent,
                "created": manifest.created,
                "job": manifest.job,
                "tables": {name: _table_json(table) for name, table in manifest.tables.items()},
                "inputs": manifest.inputs,
            },
            separators=(",", ":"),
        ).encode()
        + b"\n"
    )


def from_json(text: bytes) -> Manifest:
    """What `to_json` was given. ValueError: it is no manifest, or one of another format."""
    try:
        read = json.loads(text)
        if read["format"] != FORMAT:
            raise ValueError(f"the format is {read['format']!r}, not {FORMAT}")
        if not is_run_id(read["run_id"]):
            raise ValueError(f"{read['run_id']!r} is no run")
        tables = {name: _table(table) for name, table in read["tables"].items()}
        return Manifest(read["run_id"], read["parent"], read["created"], read["job"], tables, read["inputs"])
    except (KeyError, TypeError, AttributeError) as wrong:
        raise ValueError(f"it is no manifest: {wrong}") from wrong


def _table_json(table: TableFiles) -> dict[str, object]:
    return {
        "schema": table.schema,
        "partitions": {partition: list(folders) for partition, folders in table.partitions.items()},
        "files": {
            folder: [[file.name, file.rows, file.bytes] for file in files] for folder, files in table.files.items()
        },
        "delta": table.delta,
    }


def _table(read: dict[str, Any]) -> TableFiles:
    partitions = {partition: tuple(folders) for partition, folders in read["partitions"].items()}
    files = {folder: tuple(DataFile(*file) for file in listed) for folder, listed in read["files"].items()}
    if {folder for folders in partitions.values() for folder in folders} != set(files):
        raise ValueError("its partitions and its files name different folders")
    for folder in files:
        if folder.startswith("/") or ".." in folder.split("/"):
            raise ValueError(f"{folder!r} lies outside the lake")
    return TableFiles(read["schema"], partitions, files, read["delta"])
