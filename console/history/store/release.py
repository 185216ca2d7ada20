"""A release: which versions of the tables one run left, and how far each input was read. Pure.

One release is for all tables, so that they and the places read to move together. The table `release` has a row for
each that is kept; `tables` and `inputs` are JSON there.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from console.history.schema import Table
from console.history.store.lock import is_run_id
from console.model.numbers import json_text

FORMAT = 2
KEEP = 10
"""Versions that are kept by default."""
Inputs = Mapping[str, Any]


def folder_of(table: str) -> str:
    """The table's folder, relative to the lake."""
    return f"data/{table}"


@dataclass(frozen=True)
class DataFile:
    """A Parquet file of a table. partition: its partition's name (``cluster_id=X/day=2026-11-21``). written: when, in
    milliseconds since 1970. stats: as Delta's log has them (PROTOCOL.md, "Per-file Statistics"), JSON."""

    partition: str
    rows: int
    bytes: int
    written: int = 0
    stats: str = ""


@dataclass(frozen=True)
class TableFiles:
    """A version of a table. columns: those of its schema. files: by path relative to the lake."""

    columns: tuple[str, ...]
    files: Mapping[str, DataFile] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files.values())

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files.values())

    @cached_property
    def partitions(self) -> dict[str, list[str]]:
        """The folders of each partition, in order."""
        found: dict[str, set[str]] = {}
        for path, file in self.files.items():
            found.setdefault(file.partition, set()).add(path.rpartition("/")[0])
        return {partition: sorted(found[partition]) for partition in sorted(found)}

    def of(self, partitions: Iterable[str] | None = None) -> dict[str, DataFile]:
        """The files of these partitions (all: None), in their order."""
        chosen = None if partitions is None else frozenset(partitions)
        found = ((file.partition, path) for path, file in self.files.items())
        return {path: self.files[path] for partition, path in sorted(found) if chosen is None or partition in chosen}

    def replaced(self, files: Mapping[str, DataFile], gone: Container[str] = ()) -> TableFiles:
        """With these files more, and without the others that are gone."""
        kept = {path: file for path, file in self.files.items() if path not in gone}
        return TableFiles(self.columns, {**kept, **files})


def time_range(table: Table, files: Iterable[DataFile]) -> tuple[datetime | None, datetime | None]:
    """The first and the last of the table's first column of times, UTC, by the statistics of these files; None: they
    have none."""
    column = next((each.name for each in table.columns if each.type == "timestamp"), "")
    read = [json.loads(file.stats) for file in files]
    first = [each["minValues"][column] for each in read if column in each.get("minValues", {})]
    last = [each["maxValues"][column] for each in read if column in each.get("maxValues", {})]
    return (_time(min(first)), _time(max(last))) if first and last else (None, None)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


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
