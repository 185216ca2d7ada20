"""Takes a lake along that was written before its tables were Delta tables (format 1); copies no rows.

Format 1 had `CURRENT`, which names a file in `manifests/`, which names the folders and files of each table. The same
files become the first versions of the Delta tables beside them. Only when all of that is on disk `lake.json` says
format 2: until then the lake is what it was, and a run that dies is begun again from the start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from console.history.schema import RELEASE, TABLES
from console.history.store.lock import is_run_id, iso_now, new_run_id, this_process
from console.model.numbers import json_text

from . import delta_log, parquet_files
from .commit import put_table
from .errors import DamagedLake, LakeError
from .lake import Lake
from .release import FORMAT, DataFile, Inputs, Release, TableFiles, folder_of
from .write import put_releases

JOB = "migrate"
_OLD_FORMAT, _NOTHING = 1, "-"


def migrate(lake: Lake) -> Release:
    """Makes it a lake of this version's format; gives what it holds then. Versions before that are not taken along.

    LakeError: it has this format already; LakeBusy; DamagedLake: what it holds can't be read, and nothing was changed.
    """
    about = lake.about()
    if about.get("format") == FORMAT:
        raise LakeError(f"The lake at {lake.where} has the newest format already; nothing was changed.")
    if about.get("format") != _OLD_FORMAT:
        raise LakeError(f"The lake at {lake.where} has the format {about.get('format')}, which kac does not know.")
    holder = this_process(new_run_id(), JOB)
    with lake.filesystem.lock(lake.path("lock"), holder):
        made = _take_along(lake, holder.run_id)
        lake.filesystem.replace(lake.path("lake.json"), json_text({**about, "format": FORMAT}).encode() + b"\n")
    with suppress(OSError):  # the lake is migrated by now; leftovers do no harm
        for left in ("CURRENT", "manifests"):
            lake.filesystem.remove(lake.path(left))
        for name in TABLES:  # of tables that were built with --format delta
            lake.filesystem.remove(lake.path(f"data/{name}/delta/_delta_log"))
    return made


def _take_along(lake: Lake, run_id: str) -> Release:
    read, inputs = _read(lake)
    versions = {}
    for name, table in TABLES.items():
        begun = delta_log.listed(lake.filesystem, lake.path(folder_of(name))).newest is not None
        if name != RELEASE.name and (name in read or begun):  # begun by a migration that died
            wanted = read.get(name, TableFiles(table.names))
            versions[name] = put_table(lake.filesystem, lake.where, table, wanted, run_id)
    made = Release(run_id, 1, iso_now(), JOB, versions, {}, inputs)
    put_releases(lake, lake.path(f"{folder_of(RELEASE.name)}/v={run_id}/0"), [made])
    return made


def _read(lake: Lake) -> tuple[dict[str, TableFiles], Inputs]:
    """What the lake held, and how far inputs were read. DamagedLake: a file is missing, or not what it should be."""
    name = "CURRENT"
    try:
        run_id = lake.filesystem.read(lake.path(name)).decode("ascii", "replace").strip()
        if run_id == _NOTHING:
            return {}, {}
        if not is_run_id(run_id):
            raise ValueError(f"it names no version ({run_id[:40]!r})")
        name = f"manifests/{run_id}.json"
        manifest = json.loads(lake.filesystem.read(lake.path(name)))
        if manifest["format"] != _OLD_FORMAT or manifest["run_id"] != run_id:
            raise ValueError("it is not what its name says")
        tables = {}
        for name in TABLES.keys() & manifest.get("tables", {}):
            tables[name] = TableFiles(TABLES[name].names, dict(_files(lake, name, manifest["tables"][name])))
        return tables, manifest.get("inputs", {})
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise DamagedLake(f"The lake at {lake.where} is damaged: {name}: {wrong}. Nothing was changed.") from wrong


def _files(lake: Lake, name: str, table: Mapping[str, Any]) -> Iterator[tuple[str, DataFile]]:
    for partition, folders in table["partitions"].items():
        for folder in folders:
            if not f"{folder}/".startswith(f"data/{name}/"):
                raise ValueError(f"{folder!r} lies outside the table")
            for file, rows, size in table["files"][folder]:
                path = f"{folder}/{file}"
                read = parquet_files.footer(lake.filesystem, lake.path(path), size)
                if read.num_rows != rows:
                    raise ValueError(f"{path} has {read.num_rows} rows, and its manifest says {rows}")
                yield path, parquet_files.described(partition, size, read)
