"""A lake: where it is, what it holds now and held before. `write.writing` gives the right to write to it.

```
lake.json                       format, id, since when; replaced atomically
data/<table>/_delta_log/        the table is a Delta table; its newest version may be of a run that died
data/<table>/v=<run>/<n>/…      Parquet; never changed. The columns are all in the files: folders' names say nothing new
data/release/                   a Delta table like the others: its newest row names the versions of the others that hold
runs/failed/<run>.json          the last runs that committed nothing
lock, hmac.key
```
"""

from __future__ import annotations

import json
import os
import secrets
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from console.history.schema import RELEASE, TABLES, Table
from console.history.store.lock import is_run_id, iso_now
from console.model.numbers import json_text

from . import delta_log
from .errors import DamagedLake, LakeError, NoLake
from .filesystem import Filesystem
from .parquet_rows import rows
from .release import FORMAT, Release, TableFiles, folder_of, from_row

KEY_FILE = "KAC_LAKE_KEY_FILE"
"""Names a file with the key of HMACs, where it shall not lie in the lake."""

_RELEASES = folder_of(RELEASE.name)
_BEFORE_A_LAKE = frozenset({"data", "hmac.key", "sources.yaml", "policies.yaml", "baseline.yaml"})
"""What may be there before a lake is: what the user has put there, and what a creation that was killed has left."""


class Lake:
    """A lake at a local path or a URI. where: as a reader of its files needs it."""

    def __init__(self, where: str, filesystem: Filesystem) -> None:
        self.where = where
        self.filesystem = filesystem
        self._newest: tuple[int, tuple[Release, ...]] | None = None

    @staticmethod
    def open(where: str, filesystem: Filesystem | None = None) -> Lake:
        """The lake that is there. filesystem: for URIs that are no local files. NoLake, DamagedLake; LakeError: a lake
        of an older or newer kac."""
        lake = Lake.at_path(where, filesystem)
        about = lake.about()
        if about.get("format") == 1:
            raise LakeError(
                f"The lake at {lake.where} was written by an older version of kac: `kac lake migrate --lake "
                f"{lake.where}` takes it along. It copies no rows."
            )
        if (found := about.get("format")) != FORMAT:
            raise LakeError(
                f"The lake at {lake.where} has the format {found}, and kac knows {FORMAT}: use a newer kac."
            )
        return lake

    @staticmethod
    def create(where: str, filesystem: Filesystem | None = None) -> Lake:
        """The lake that is there, or a new one. DamagedLake; LakeError: of another kac, or something else."""
        lake = Lake.at_path(where, filesystem)
        with suppress(NoLake):
            return Lake.open(where, filesystem)
        found = {each.name for each in lake.filesystem.entries(lake.where) if not each.name.startswith(".")}
        found |= {f"data/{each.name}" for each in lake.filesystem.entries(lake.path("data"))} - {_RELEASES}
        if other := sorted(found - _BEFORE_A_LAKE):
            raise LakeError(f"{lake.where} is no lake, and not empty ({other[0]} is in it): name another folder.")
        with suppress(FileExistsError):
            if KEY_FILE not in os.environ:
                lake.filesystem.create(lake.path("hmac.key"), secrets.token_bytes(32), private=True)
        from .commit import put_table, require_delta_rs  # readers need neither PyArrow nor deltalake

        require_delta_rs()
        put_table(lake.filesystem, lake.where, RELEASE, TableFiles(RELEASE.names), "")
        about = {"format": FORMAT, "lake_id": str(uuid.uuid4()), "created": iso_now()}
        lake.filesystem.replace(lake.path("lake.json"), json_text(about).encode() + b"\n")
        return lake

    @staticmethod
    def at_path(where: str, filesystem: Filesystem | None = None) -> Lake:
        """A lake there, whether or not it is one that can be read. LakeError: kac does not reach it."""
        parsed = urlsplit(where)
        if filesystem is not None:
            return Lake(where.rstrip("/"), filesystem)
        if parsed.scheme == "file":
            return Lake(unquote(parsed.path).rstrip("/") or "/", Filesystem())
        if "://" in where:
            raise LakeError(
                f"{where} is on no filesystem that kac reaches (a path, s3://). Mount it, or copy it: "
                "first data/release, then the rest."
            )
        return Lake(str(Path(where).expanduser().absolute()), Filesystem())

    def path(self, relative: str) -> str:
        """Of what is in the lake, absolute. LakeError: `relative` leads out of the lake, or is the lake itself."""
        if any(part in ("", ".", "..") for part in relative.split("/")):
            raise LakeError(f"{relative!r} is no path within the lake at {self.where}; nothing was read or written.")
        return f"{self.where}/{relative}"

    def about(self) -> dict[str, Any]:
        """What lake.json says: format, lake_id, created. NoLake, DamagedLake."""
        try:
            text = self.filesystem.read(self.path("lake.json"))
        except FileNotFoundError:
            raise NoLake(
                f"There is no lake at {self.where}: lake.json is missing. `kac lake collect` makes one; --lake names "
                "another."
            ) from None
        with delta_log.reading(self.where, "lake.json"):
            return {**json.loads(text)}

    def current(self) -> Release:
        """What holds now; the empty release in a new lake. DamagedLake, LakeError."""
        return next(iter(self.releases()), Release())

    def releases(self) -> tuple[Release, ...]:
        """The versions that are kept, newest first: what holds, what held before it … DamagedLake, LakeError."""
        return self.newest()[1]

    def newest(self, tries: int = 5) -> tuple[int, tuple[Release, ...]]:
        """The newest version of the table `release`, and its rows, newest first. DamagedLake, LakeError.
        tries: where it was deleted since it was listed, since newer ones were made."""
        where = self.path(_RELEASES)
        log = delta_log.listed(self.filesystem, where)
        if log.newest is None:
            raise delta_log.damaged(self.where, f"{_RELEASES}/{delta_log.LOG}", "it is not there, or empty")
        if self._newest is None or self._newest[0] != log.newest:
            try:
                self._newest = log.newest, self._releases(log.newest, log)
            except DamagedLake:
                if tries == 1 or delta_log.listed(self.filesystem, where) == log:
                    raise
                return self.newest(tries - 1)
        return self._newest

    def files(self, release: Release, table: Table | str, partitions: Iterable[str] | None = None) -> list[str]:
        """The table's Parquet files in that version, absolute; of these partitions alone, where they are given.

        To DuckDB and Spark they are files, not folders of partitions: read them with ``hive_partitioning=false``.
        """
        name = table if isinstance(table, str) else table.name
        return [self.path(path) for path in release.table(TABLES[name]).of(partitions)]

    def key(self) -> bytes:
        """The key of HMACs. LakeError: it can't be read."""
        named = os.environ.get(KEY_FILE)
        try:
            key = Path(named).read_bytes() if named else self.filesystem.read(self.path("hmac.key"))
        except OSError as wrong:
            raise LakeError(
                f"The key of the lake at {self.where} can't be read ({named or self.path('hmac.key')}: "
                f"{wrong.strerror or wrong}). Without it hidden values can't be compared with those already there: "
                f"put it back, or name it with {KEY_FILE}."
            ) from wrong
        if len(key) < 16:
            raise LakeError(
                f"The key in {named or self.path('hmac.key')} is too short: it has to have 16 bytes or more."
            )
        return key

    def failed_runs(self) -> list[dict[str, Any]]:
        """The last runs that committed nothing, newest first: run_id, job, started, ended, message, rows …"""
        made = []
        for entry in reversed(self.filesystem.entries(self.path("runs/failed"))):
            if is_run_id(entry.name.removesuffix(".json")):
                with suppress(ValueError, FileNotFoundError):
                    made.append(json.loads(self.filesystem.read(self.path(f"runs/failed/{entry.name}"))))
        return made

    def _releases(self, version: int, log: delta_log.Listed) -> tuple[Release, ...]:
        files = delta_log.replayed(self.filesystem, self.path(_RELEASES), version, log)
        found: list[Release] = []
        for path in files.as_files(_RELEASES).files:
            with delta_log.reading(self.where, path):
                found += map(from_row, rows(self.filesystem, self.path(path), RELEASE.names))
        found.sort(key=lambda each: each.number, reverse=True)
        return tuple(replace(each, tables=_Tables(self, each.versions)) for each in found)


class _Tables(Mapping[str, TableFiles]):
    """The tables of a release, each read from its log when it is first asked for."""

    def __init__(self, lake: Lake, versions: Mapping[str, int]) -> None:
        self._lake = lake
        self._versions = versions
        self._known: dict[str, TableFiles] = {}

    def __getitem__(self, name: str) -> TableFiles:
        if name not in self._known:
            folder = folder_of(name)
            read = delta_log.replayed(self._lake.filesystem, self._lake.path(folder), self._versions[name])
            self._known[name] = read.as_files(folder)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._versions

    def __iter__(self) -> Iterator[str]:
        return iter(self._versions)

    def __len__(self) -> int:
        return len(self._versions)
