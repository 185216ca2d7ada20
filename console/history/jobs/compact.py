"""Makes one folder of few files of each partition that many runs have added to; the rows stay the same."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from console.history.jobs.record import Report, note_versions
from console.history.jobs.tables import read_table, write_partitions
from console.history.schema import TABLES
from console.history.store.write import writing

from ..store import Lake
from ..store.sweep import KEEP
from ..store.write import COMPACT
from .progress import Listener, Steps, silent

JOB = COMPACT
FOLDERS = 4
"""A partition with more folders than this is made one."""


def compact(
    spark: SparkSession, lake: Lake, progress: Listener = silent, *, folders: int = FOLDERS, keep: int = KEEP
) -> Report:
    """Rewrites the partitions that have more than so many folders, and deletes versions that are not kept. LakeBusy."""
    began = time.monotonic()
    with writing(lake, JOB, keep=keep) as write:
        note_versions(write)
        many = {
            name: [partition for partition, found in table.partitions.items() if len(found) > folders]
            for name, table in write.release.tables.items()
            if name in TABLES
        }
        tables = {name: partitions for name, partitions in many.items() if partitions}
        watch = Steps(JOB, len(tables), progress)
        for name, partitions in tables.items():
            with watch.step(name) as wrote:
                rows = read_table(spark, lake, write.release, TABLES[name], partitions)
                write.replace(name, write_partitions(write, TABLES[name], rows, keep_run_id=True))
                wrote(write.rows.get(name, 0))
        counted = dict(write.rows)
        write.commit(inputs={"tables": tables})
    return Report(write.run_id, JOB, counted, seconds=time.monotonic() - began)
