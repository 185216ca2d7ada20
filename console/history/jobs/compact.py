"""Makes one folder of few files of each partition that many runs have added to; the rows stay the same."""

from __future__ import annotations

import time

import pyarrow as pa

from console.history.jobs.record import Report
from console.history.schema import TABLES, Table
from console.history.store.write import writing

from ..store import Lake, parquet_files
from ..store.release import KEEP
from ..store.write import COMPACT, Write
from .progress import Listener, Steps, silent

JOB = COMPACT
FOLDERS = 4
"""A partition with more folders than this is made one."""
MOST_BYTES = 256 << 20
"""Of rows in memory, which become one file."""


def compact(lake: Lake, progress: Listener = silent, *, keep: int = KEEP) -> Report:
    """Rewrites the partitions that have more than `FOLDERS`, and deletes versions that are not kept. LakeBusy."""
    began = time.monotonic()
    with writing(lake, JOB, keep=keep) as write:
        tables = {
            name: many
            for name, table in write.release.tables.items()
            if name in TABLES and (many := [each for each, found in table.partitions.items() if len(found) > FOLDERS])
        }
        watch = Steps(JOB, len(tables), progress)
        for name, partitions in tables.items():
            with watch.step(name) as wrote:
                write.replace(name, {each: [_as_one(write, TABLES[name], each)] for each in partitions})
                wrote(write.rows.get(name, 0))
        counted = dict(write.rows)
        write.commit(inputs={"tables": tables})
    return Report(write.run_id, JOB, counted, seconds=time.monotonic() - began)


def _as_one(write: Write, table: Table, partition: str) -> str:
    """The folder that has all of a partition, in the order of the key file by file."""
    folder = write.folder(table.name, partition)
    waiting: list[pa.Table] = []
    paths = write.lake.files(write.release, table, [partition])
    for number, path in enumerate(paths, 1):
        waiting.append(parquet_files.read(write.lake.filesystem, [path], table))
        if number == len(paths) or sum(rows.nbytes for rows in waiting) > MOST_BYTES:
            rows = pa.concat_tables(waiting).sort_by([(name, "ascending") for name in table.key])
            parquet_files.write(write.lake.filesystem, f"{folder}/part-{number}.parquet", rows)
            waiting.clear()
    return folder
