"""Commits to the lake's Delta tables, by delta-rs: the one place that needs deltalake.

A commit is the difference between the newest version in the log and what shall hold. So what a run committed that
died before its release is taken back by the next commit to that table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa

from console.history.schema import Table, arrow_schema

from . import delta_log
from .errors import LakeError, LeaseLost, NoDeltaRs
from .filesystem import Filesystem
from .partitions import IN, partition_values, parts_of
from .release import DataFile, TableFiles, folder_of

if TYPE_CHECKING:  # executors have it not, and import what is beside
    from deltalake import PostCommitHookProperties
    from deltalake.transaction import AddAction, RemoveAction

CHECKPOINT_EVERY = 16
"""Commits that are read one by one, at most; a checkpoint sums up what was before."""


def require_delta_rs() -> None:
    """NoDeltaRs: a run could not commit."""
    if find_spec("deltalake") is None:
        raise NoDeltaRs


def _alone() -> PostCommitHookProperties:
    """delta-rs would delete logs by their age; versions that are kept need them at any age."""
    from deltalake import PostCommitHookProperties

    return PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


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
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.transaction import create_table_with_add_actions

    where = f"{lake}/{folder_of(table.name)}"
    log = delta_log.listed(files, where)
    if since is not None and log.newest != since:
        raise _lost(where)
    schema = Schema.from_arrow(_delta_schema(table))
    properties = CommitProperties(custom_metadata={"run": run_id}, max_commit_retries=0)
    made = {path.removeprefix(f"{folder_of(table.name)}/"): file for path, file in wanted.files.items()}
    names = _partition_columns(table)
    with _told(files, where, log.newest):
        if log.newest is None:
            added = [_add(path, file, changes) for path, file in made.items()]
            create_table_with_add_actions(
                where,
                schema,
                added,
                partition_by=names,
                storage_options=dict(files.delta_options(where)),
                commit_properties=properties,
                post_commithook_properties=_alone(),
            )
            version = 0
        else:
            there = delta_log.replayed(files, where, log.newest, log)
            if there.unusual:
                raise LakeError(f"{where}: {there.unusual}.")
            opened = DeltaTable(where, version=log.newest, storage_options=dict(files.delta_options(where)))
            if new := [field for field in schema.fields if field.name not in there.columns]:
                opened.alter.add_columns(new, commit_properties=properties, post_commithook_properties=_alone())
            actions: list[AddAction | RemoveAction] = [
                _add(path, file, changes) for path, file in made.items() if path not in there.files
            ]
            actions += [_remove(path, file, changes) for path, file in there.files.items() if path not in made]
            if actions:
                opened.create_write_transaction(
                    actions,
                    "append",
                    opened.schema(),
                    names,
                    commit_properties=properties,
                    post_commithook_properties=_alone(),
                )
            version = log.newest + bool(new) + bool(actions)
    files.settle([f"{where}/{delta_log.LOG}"], lake)
    return version


def put_checkpoint(files: Filesystem, lake: str, table: str, version: int) -> None:
    """Writes a checkpoint of that version if the last one is old. OSError, LakeError."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    where = f"{lake}/{folder_of(table)}"
    log = delta_log.listed(files, where)
    if version - max((0, *log.checkpoints)) >= CHECKPOINT_EVERY:
        try:
            options = dict(files.delta_options(where))
            DeltaTable(where, version=version, storage_options=options).create_checkpoint()
        except DeltaError as wrong:
            raise LakeError(f"No checkpoint of {where} could be written: {wrong}") from wrong
        files.settle([f"{where}/{delta_log.LOG}"], lake)


def _partition_columns(table: Table) -> list[str]:
    return [f"{IN}{name}" for name, _ in parts_of(table)]


def _delta_schema(table: Table) -> pa.Schema:
    columns = arrow_schema(table)
    for name in _partition_columns(table):
        columns = columns.append(pa.field(name, pa.string()))
    return columns


def _add(path: str, file: DataFile, changes: bool) -> AddAction:
    from deltalake.transaction import AddAction

    return AddAction(path, file.bytes, _values(file), file.written, changes, file.stats)


def _remove(path: str, file: DataFile, changes: bool) -> RemoveAction:
    from deltalake.transaction import RemoveAction

    return RemoveAction(path, changes, int(time.time() * 1000), file.bytes, _values(file))


def _values(file: DataFile) -> dict[str, str | None]:
    return {f"{IN}{name}": value for name, value in partition_values(file.partition).items()}


@contextmanager
def _told(files: Filesystem, where: str, newest: int | None) -> Iterator[None]:
    """What delta-rs raises, as an error of the lake."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except DeltaError as wrong:
        if isinstance(wrong, CommitFailedError) and delta_log.listed(files, where).newest != newest:
            raise _lost(where) from wrong
        raise LakeError(f"{where} could not be committed: {str(wrong).partition(chr(10))[0]}") from wrong


def _lost(where: str) -> LeaseLost:
    return LeaseLost(f"Another run wrote to {where} while this one paused; nothing of this one holds. Run it again.")
