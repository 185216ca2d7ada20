"""A lake: where it is, what it holds now and held before. `write.writing` gives the right to write to it.

```
lake.json                       format, id, since when
CURRENT                         the run id of the manifest that holds; replaced atomically
manifests/<run>.json            see manifest.py
data/<table>/v=<run>/<n>/…      Parquet; never changed. The columns are all in the files: folders' names say nothing new
runs/failed/<run>.json          the last runs that committed nothing
lock, hmac.key
```
"""

from __future__ import annotations

import json
import os
import secrets
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from console.history.schema import TABLES, Table
from console.history.store.lock import is_run_id, iso_now
from console.model.numbers import json_text

from .errors import DamagedLake, LakeError, NewerLake, NoLake
from .filesystem import Filesystem, LocalFilesystem
from .manifest import FORMAT, Manifest, from_json

KEY_FILE = "KAC_LAKE_KEY_FILE"
"""Names a file with the key of HMACs, where it shall not lie in the lake."""

_NONE = "-"
"""What CURRENT says in a new lake. That it is missing is never a new lake, but damage."""
_ASKED, _ASKED_AFTER = 40, 0.05
"""On some filesystems CURRENT is empty while it is replaced: how often to ask again, and after how many seconds."""
_BEFORE_A_LAKE = frozenset({"CURRENT", "hmac.key", "sources.yaml", "policies.yaml", "baseline.yaml"})
"""What may be there before a lake is: what the user has put there, and what a creation that was killed has left."""


class Lake:
    """A lake at a local path or a URI. where: as a reader of its files needs it."""

    def __init__(self, where: str, filesystem: Filesystem) -> None:
        self.where = where
        self.filesystem = filesystem

    @staticmethod
    def open(where: str, filesystem: Filesystem | None = None) -> Lake:
        """The lake that is there. filesystem: for URIs that are no local files. NoLake, NewerLake, DamagedLake."""
        lake = _at(where, filesystem)
        about = lake.about()
        if about.get("format") != FORMAT:
            raise NewerLake(lake.where, about.get("format"), FORMAT)
        return lake

    @staticmethod
    def create(where: str, filesystem: Filesystem | None = None) -> Lake:
        """The lake that is there, or a new one. NewerLake, DamagedLake; LakeError: something else is there."""
        lake = _at(where, filesystem)
        with suppress(NoLake):
            return Lake.open(where, filesystem)
        found = {each.name for each in lake.filesystem.entries(lake.where) if not each.name.startswith(".")}
        if other := sorted(found - _BEFORE_A_LAKE):
            raise LakeError(f"{lake.where} is no lake, and not empty ({other[0]} is in it): name another folder.")
        with suppress(FileExistsError):
            if KEY_FILE not in os.environ:
                lake.filesystem.create(lake.path("hmac.key"), secrets.token_bytes(32), private=True)
        lake.filesystem.replace(lake.path("CURRENT"), f"{_NONE}\n".encode())
        about = {"format": FORMAT, "lake_id": str(uuid.uuid4()), "created": iso_now()}
        lake.filesystem.replace(lake.path("lake.json"), json_text(about).encode() + b"\n")
        return lake

    def path(self, relative: str) -> str:
        """Of what is in the lake, absolute. LakeError: `relative` leads out of the lake, or is the lake itself."""
        if any(part in ("", ".", "..") for part in relative.split("/")):
            raise LakeError(f"{relative!r} is no path within the lake at {self.where}; nothing was read or written.")
        return f"{self.where}/{relative}"

    def about(self) -> dict[str, Any]:
        """What lake.json says: format, lake_id, created. NoLake, DamagedLake."""
        try:
            about = json.loads(self.filesystem.read(self.path("lake.json")))
        except FileNotFoundError:
            raise NoLake(self.where) from None
        except ValueError as wrong:
            raise self._damaged("lake.json", wrong) from wrong
        if not isinstance(about, dict):
            raise self._damaged("lake.json", "it is no object")
        return about

    def current(self) -> Manifest:
        """What holds now; the empty manifest in a new lake. DamagedLake."""
        for _ in range(_ASKED):
            run_id = self._current_run()
            if run_id == _NONE:
                return Manifest()
            if is_run_id(run_id):
                try:
                    return self.manifest(run_id)
                except DamagedLake:
                    if run_id == self._current_run():
                        raise  # else it was replaced between the two reads, and even swept
            time.sleep(_ASKED_AFTER)
        raise self._damaged(
            "CURRENT", f"it names no version ({run_id[:40]!r}). Write the name of the newest file in manifests/ into it"
        )

    def manifest(self, run_id: str) -> Manifest:
        """What held after that run. DamagedLake: it is not kept any more, or broken."""
        name = f"manifests/{run_id}.json"
        if not is_run_id(run_id):
            raise LakeError(f"{run_id!r} is no run's name; they look like 20261121T101500Z-3f9a1c.")
        try:
            return from_json(self.filesystem.read(self.path(name)))
        except FileNotFoundError:
            raise self._damaged(name, "it is not there; `kac lake status` lists the versions that are kept") from None
        except ValueError as wrong:
            raise self._damaged(name, wrong) from wrong

    def manifests(self) -> tuple[Manifest, ...]:
        """The versions that are kept, newest first: what holds, what held before it, and so on."""
        return tuple(self._history())

    def at(self, when: datetime) -> Manifest:
        """What held at that time. LakeError: nothing that old is kept."""
        text = when.astimezone(timezone.utc).isoformat(timespec="microseconds")
        for manifest in self._history():
            if manifest.created <= text:
                return manifest
        raise LakeError(f"{self.where} keeps no version as old as {text}; `kac lake status` lists those it keeps.")

    def files(self, manifest: Manifest, table: Table | str, partitions: Iterable[str] | None = None) -> list[str]:
        """The table's Parquet files in that version, absolute; of these partitions alone, where they are given.

        To DuckDB and Spark they are files, not folders of partitions: read them with ``hive_partitioning=false``.
        """
        name = table if isinstance(table, str) else table.name
        return [self.path(path) for path in manifest.table(TABLES[name]).paths(partitions)]

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

    def _current_run(self) -> str:
        try:
            return self.filesystem.read(self.path("CURRENT")).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return ""

    def _history(self) -> Iterator[Manifest]:
        manifest = self.current()
        seen: set[str] = set()
        while manifest.run_id and manifest.run_id not in seen:
            yield manifest
            seen.add(manifest.run_id)
            if manifest.parent is None or not is_run_id(manifest.parent):
                return
            try:
                read = self.filesystem.read(self.path(f"manifests/{manifest.parent}.json"))
            except FileNotFoundError:
                return
            try:
                manifest = from_json(read)
            except ValueError as wrong:
                raise self._damaged(f"manifests/{manifest.parent}.json", wrong) from wrong

    def _damaged(self, name: str, why: object) -> DamagedLake:
        return DamagedLake(
            f"The lake at {self.where} is damaged: {name}: {why}. `kac lake verify` says what else is wrong."
        )


def _at(where: str, filesystem: Filesystem | None) -> Lake:
    parsed = urlsplit(where)
    if filesystem is not None:
        return Lake(where.rstrip("/"), filesystem)
    if parsed.scheme == "file":
        return Lake(unquote(parsed.path).rstrip("/") or "/", LocalFilesystem())
    if "://" in where:
        raise LakeError(f"{where} is on no filesystem of this machine: only Spark's jobs reach it.")
    return Lake(str(Path(where).expanduser().absolute()), LocalFilesystem())
