"""Commits to the lake's Delta tables, by delta-rs, and what may be deleted of them: the one place that needs deltalake.

A commit is the difference between the newest version in the log and what shall hold. So what a run committed that
died before its release is taken back by the next commit to that table. Files and commits go that no kept version needs,
and what runs that died have left: delta-rs's own VACUUM commits to the table, which would be ahead of its release then;
and it knows times, not releases.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from console.history.schema import Table, arrow_schema
from console.history.store.lock import is_run_id

from . import delta_log
from .errors import LakeError, LeaseLost
from .filesystem import Filesystem
from .partitions import IN, partition_values, parts_of
from .release import DataFile, TableFiles, folder_of

CHECKPOINT_EVERY = 16
"""Commits that are read one by one, at most; a checkpoint sums up what was before."""
_BY_RUN = "v="


def require_delta_rs() -> None:
    """LakeError: a run could not commit."""
    if find_spec("deltalake") is None:
        raise LakeError(
            "deltalake (delta-rs), which commits what runs write, is not installed here: pip install deltalake; on a "
            "cluster in the environment of the driver. Nothing was written."
        )


def put_table(
    files: Filesystem,
    lake: str,
    table: Table,
    wanted: TableFiles,
    run_id: str,
    *,
    since: int | None = None,
    changes: bool = True,
) -> int:
    """Makes the table have these files; gives the version that has them, which is on disk then.

    lake: where it is. since: the version that the newest has to be, if another is to be refused. changes: whether rows
    are others than before; else streams that follow the table need not look. LeaseLost: another has committed
    meanwhile. LakeError: another program changed the table so that kac can't write it; DamagedLake; OSError.
    """
    from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema
    from deltalake.exceptions import CommitFailedError, DeltaError
    from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

    where = f"{lake}/{folder_of(table.name)}"
    log = delta_log.listed(files, where)
    if since is not None and log.newest != since:
        raise _lost(where)
    names = [f"{IN}{name}" for name, _ in parts_of(table)]
    schema = Schema.from_arrow(pa.schema([*arrow_schema(table), *(pa.field(name, pa.string()) for name in names)]))
    options = dict(files.delta_options())
    how: Any = {
        "commit_properties": CommitProperties(custom_metadata={"run": run_id}, max_commit_retries=0),
        # delta-rs would delete logs by their age; versions that are kept need them at any age.
        "post_commithook_properties": PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
    }
    there = delta_log.Replayed() if log.newest is None else delta_log.replayed(files, where, log.newest, log)
    if there.unusual:
        raise LakeError(f"{where}: {there.unusual}.")
    made = {path.removeprefix(f"{folder_of(table.name)}/"): file for path, file in wanted.files.items()}
    now = int(time.time() * 1000)
    added = [
        AddAction(path, file.bytes, _values(file), file.written, changes, file.stats)
        for path, file in made.items()
        if path not in there.files
    ]
    gone = [
        RemoveAction(path, changes, now, file.bytes, _values(file))
        for path, file in there.files.items()
        if path not in made
    ]
    try:
        if log.newest is None:
            create_table_with_add_actions(where, schema, added, partition_by=names, storage_options=options, **how)
            version = 0
        else:
            opened = DeltaTable(where, version=log.newest, storage_options=options)
            if new := [field for field in schema.fields if field.name not in there.columns]:
                opened.alter.add_columns(new, **how)
            if added or gone:
                opened.create_write_transaction([*added, *gone], "append", opened.schema(), names, **how)
            version = log.newest + bool(new) + bool(added or gone)
    except DeltaError as wrong:
        if isinstance(wrong, CommitFailedError) and delta_log.listed(files, where).newest != log.newest:
            raise _lost(where) from wrong
        raise LakeError(f"{where} could not be committed: {str(wrong).partition(chr(10))[0]}") from wrong
    files.settle([f"{where}/{delta_log.LOG}"], lake)
    return version


def sweep_table(files: Filesystem, lake: str, table: str, versions: Collection[int], thorough: bool) -> None:
    """Deletes what none of these versions needs, after a checkpoint of the newest if the last one is old; by the holder
    of the lock alone, who has committed.

    thorough: looks into all folders; else files are found that the log says were removed. OSError, LakeError;
    DamagedLake: the log can't be read, and what it names is not known.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    where = f"{lake}/{folder_of(table)}"
    log = delta_log.listed(files, where)
    there, named, removed = set(_runs(files, where)), set[str](), set[str]()
    if versions:
        if max(versions) - max((0, *log.checkpoints)) >= CHECKPOINT_EVERY:
            try:
                DeltaTable(where, max(versions), dict(files.delta_options())).create_checkpoint()
            except DeltaError as wrong:
                raise LakeError(f"No checkpoint of {where} could be written: {wrong}") from wrong
            files.settle([f"{where}/{delta_log.LOG}"], lake)
            log = delta_log.listed(files, where)
        read = delta_log.replayed(files, where, min(versions), log)
        named, removed = set(read.files), set(read.removed)
        for version in range(min(versions) + 1, max(versions) + 1):
            delta_log.advance(read, files, where, version)
            named |= set(read.files)
    in_use = {path.partition("/")[0] for path in named}
    for run in there - in_use:
        files.remove(f"{where}/{run}")
    if thorough:
        found = (path for run in there & in_use for path, _ in files.within(f"{where}/{run}"))
        removed = {path.removeprefix(f"{where}/") for path in found}
    for path in removed - named:
        run = path.partition("/")[0]
        if run in there & in_use or not run.startswith(_BY_RUN):
            files.remove(f"{where}/{path}")
    base = max((each for each in log.checkpoints if each <= min(versions, default=0)), default=0)
    for kind, of in ((delta_log.COMMIT, log.commits), (delta_log.CHECKPOINT, log.checkpoints)):
        for each in of:
            if each < base:
                files.remove(f"{where}/{delta_log.log_file(each, kind)}")


def _values(file: DataFile) -> dict[str, str | None]:
    return {f"{IN}{name}": value for name, value in partition_values(file.partition).items()}


def _lost(where: str) -> LeaseLost:
    return LeaseLost(f"Another run wrote to {where} while this one paused; nothing of this one holds. Run it again.")


def _runs(files: Filesystem, where: str) -> Iterator[str]:
    """Folders of runs."""
    for entry in files.entries(where):
        if entry.is_folder and entry.name.startswith(_BY_RUN) and is_run_id(entry.name.removeprefix(_BY_RUN)):
            yield entry.name
