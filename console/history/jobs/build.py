"""Makes tables of tables: reads what was taken in, calls the transforms, replaces what it made before, commits once."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from console.history.jobs.plan_build import FORGOTTEN, JOB, last_build, this_build
from console.history.jobs.record import Report, note_versions
from console.history.jobs.renew import renew
from console.history.jobs.submit import lake_at, moment, parser, submitted
from console.history.jobs.tables import read_polls, read_table, write_partitions
from console.history.schema import SNAPSHOT, TABLES
from console.history.store.write import writing

from ..store import Lake, LakeError, Release
from ..store.partitions import time_partitions
from ..store.sweep import KEEP
from ..store.write import Write
from .progress import Listener, Steps, silent
from .steps import STEPS, Source, Step

WARM_UP = timedelta(hours=1)
"""How much before `since` is read, for rates that reach back."""


def build(
    spark: SparkSession,
    lake: Lake,
    tables: Sequence[str] | None = None,
    since: datetime | None = None,
    progress: Listener = silent,
    *,
    whole: bool = False,
    keep: int = KEEP,
    steps: Sequence[Step] = STEPS,
) -> Report:
    """Makes these tables (None: all), each after those it reads, and commits once. A build of all that follows on
    another makes only the rows again that what came in since may change (`renew`).

    whole: make everything again. since: of tables that are cut by time, only the days and hours from then on are made
    and replaced; its day or hour from the beginning. Others are made whole. The same tables give the same rows,
    whenever they are made.

    LakeError: a table that is not built. LakeBusy. What a transform raises ends the run without a trace in the
    tables.
    """
    began = time.monotonic()
    chosen = _chosen(steps, tables)
    inputs = {"tables": [step.table for step in chosen], "since": since.isoformat() if since else None}
    with writing(lake, JOB, keep=keep, inputs=inputs) as write:
        note_versions(write, spark)
        watch = Steps(spark, JOB, len(chosen), progress)
        of_all = tables is None and since is None
        built = last_build(write.release) if of_all and not whole else None
        if built is not None:
            renew(spark, lake, write, built, chosen, watch, lambda step: _make(spark, lake, write, step, None))
        else:
            for step in chosen:
                with watch.step(step.table) as wrote:
                    wrote(_make(spark, lake, write, step, since))
        write.remember(this_build(lake, write.run_id).as_input() if of_all else FORGOTTEN)
        rows = dict(write.rows)
        write.commit(inputs=inputs)
        notes = (f"took over the lock of a run that died: {write.taken_over}",) if write.taken_over else ()
    return Report(write.run_id, JOB, rows, seconds=time.monotonic() - began, notes=notes)


def _chosen(steps: Sequence[Step], tables: Sequence[str] | None) -> list[Step]:
    known = [step.table for step in steps]
    if unknown := sorted(set(tables or ()) - set(known)):
        raise LakeError(f"{', '.join(unknown)}: no table that is built; there are {', '.join(known)}.")
    return [step for step in steps if tables is None or step.table in tables]


def _make(spark: SparkSession, lake: Lake, write: Write, step: Step, since: datetime | None) -> int:
    table = TABLES[step.table]
    reads = [_read(spark, lake, write.draft, source, since) for source in step.reads]
    rows = step.make(spark, lake, *reads)
    before = write.rows.get(table.name, 0)
    cut = None if since is None else time_partitions(table, since)
    if cut is not None:
        rows = rows.where(F.col(cut.column) >= F.lit(cut.start))
    if cut is None:
        write.replace(table.name, write_partitions(write, table, rows), whole=True)
    else:
        former = [each for each in write.draft.table(table).partitions if cut.holds(each)]
        write.replace(table.name, {**{each: [] for each in former}, **write_partitions(write, table, rows)})
    return write.rows.get(table.name, 0) - before


def _read(spark: SparkSession, lake: Lake, release: Release, source: Source, since: datetime | None) -> DataFrame:
    table = TABLES[source.table]
    cut = time_partitions(table, since - WARM_UP) if since is not None and source.cut else None
    wanted = None if cut is None else [each for each in release.table(table).partitions if cut.holds(each)]
    read = read_polls if table is SNAPSHOT else read_table
    return read(spark, lake, release, table, wanted)


def main(argv: Sequence[str] | None = None) -> int:
    """Under `spark-submit`: the report as JSON on standard output; 0, or 1 with why on standard error."""
    options = parser(JOB, "Makes tables of what was taken in.")
    options.add_argument("tables", nargs="*", metavar="TABLE", help="which (default: all)")
    options.add_argument("--since", type=moment, help="only days and hours from then on, where a table is cut by time")
    options.add_argument("--all", action="store_true", help="everything again, not only what follows from what is new")
    given = options.parse_args(argv)

    def run(spark: SparkSession) -> Report:
        lake = lake_at(spark, given.lake)
        return build(spark, lake, given.tables or None, given.since, whole=given.all, keep=given.keep)

    return submitted(JOB, run)


if __name__ == "__main__":
    sys.exit(main())
