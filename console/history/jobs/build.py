"""Makes tables of tables: reads what was taken in, calls the transforms, replaces what it made before, commits once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from console.history.jobs.gold import make_drift, make_usage, make_violations
from console.history.jobs.plan_build import FORGOTTEN, JOB, last_build, this_build
from console.history.jobs.record import Report, note_versions
from console.history.jobs.renew import Renewal
from console.history.schema import CHANGE_EVENT, DRIFT, HISTORY, POLICY_VIOLATION, QUOTA_USAGE
from console.history.store.write import writing

from ..store import Lake, LakeError
from ..store.release import KEEP
from .progress import Listener, Steps, silent

if TYPE_CHECKING:  # a small build starts no Spark
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Starts Spark, or gives what runs already."""
MAKERS: Mapping[str, Callable[[Renewal], None]] = {
    CHANGE_EVENT.name: Renewal.events,
    HISTORY.name: Renewal.history,
    DRIFT.name: make_drift,
    QUOTA_USAGE.name: make_usage,
    POLICY_VIOLATION.name: make_violations,
}
"""What makes each table, in the order in which one needs the other."""


def build(
    session: Session,
    lake: Lake,
    tables: Sequence[str] | None = None,
    progress: Listener = silent,
    *,
    whole: bool = False,
    keep: int = KEEP,
) -> Report:
    """Makes these tables (None: all), each after those it reads, and commits once. A build of all that follows on
    another makes only the rows again that what came in since may change (`renew`).

    session: is called where Spark is needed. whole: make everything again. The same tables give the same rows, whenever
    they are made.

    LakeError: a table that is not built. LakeBusy. What a transform raises ends the run without a trace in the
    tables.
    """
    began = time.monotonic()
    if unknown := sorted(set(tables or ()) - set(MAKERS)):
        raise LakeError(f"{', '.join(unknown)}: no table that is built; there are {', '.join(MAKERS)}.")
    chosen = [table for table in MAKERS if tables is None or table in tables]
    inputs = {"tables": chosen}
    with writing(lake, JOB, keep=keep, inputs=inputs) as write:
        watch = Steps(JOB, len(chosen), progress)
        renewal = Renewal(session, write, last_build(write.release) if tables is None and not whole else None)
        for table in chosen:
            with watch.step(table) as wrote:
                MAKERS[table](renewal)
                wrote(write.rows.get(table, 0))
        write.remember(this_build(lake, write.run_id).as_input() if tables is None else FORGOTTEN)
        note_versions(write)
        rows = dict(write.rows)
        write.commit(inputs=inputs)
        notes = (f"took over the lock of a run that died: {write.taken_over}",) if write.taken_over else ()
    return Report(write.run_id, JOB, rows, seconds=time.monotonic() - began, notes=notes)
