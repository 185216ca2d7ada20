"""Makes tables of tables: reads what was taken in, calls the transforms, replaces what it made before, commits once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from console.history.jobs.gold import make_drift, make_violations
from console.history.jobs.plan_build import FORGOTTEN, JOB, Built, last_build, this_build
from console.history.jobs.record import Report, note_versions
from console.history.jobs.renew import Renewal
from console.history.jobs.usage import make_usage
from console.history.schema import CHANGE_EVENT, DRIFT, HISTORY, POLICY_VIOLATION, QUOTA_USAGE, SNAPSHOT
from console.history.store.write import writing

from ..store import Lake, LakeError
from ..store.release import KEEP
from ..store.write import Write
from .progress import Listener, Steps, silent

if TYPE_CHECKING:  # a small build starts no Spark
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Starts Spark, or gives what runs already."""
BUILT = (CHANGE_EVENT.name, HISTORY.name, DRIFT.name, QUOTA_USAGE.name, POLICY_VIOLATION.name)
"""In the order in which one needs the other."""


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
    if unknown := sorted(set(tables or ()) - set(BUILT)):
        raise LakeError(f"{', '.join(unknown)}: no table that is built; there are {', '.join(BUILT)}.")
    chosen = [table for table in BUILT if tables is None or table in tables]
    inputs = {"tables": chosen}
    with writing(lake, JOB, keep=keep, inputs=inputs) as write:
        watch = Steps(JOB, len(chosen), progress)
        built = last_build(write.release) if tables is None and not whole else None
        _Build(session, lake, write, built).run(chosen, watch)
        write.remember(this_build(lake, write.run_id).as_input() if tables is None else FORGOTTEN)
        note_versions(write)
        rows = dict(write.rows)
        write.commit(inputs=inputs)
        notes = (f"took over the lock of a run that died: {write.taken_over}",) if write.taken_over else ()
    return Report(write.run_id, JOB, rows, seconds=time.monotonic() - began, notes=notes)


class _Build:
    """One build. built: the last one, on which it goes on; None: everything is made."""

    def __init__(self, session: Session, lake: Lake, write: Write, built: Built | None) -> None:
        self._session = session
        self._lake = lake
        self._write = write
        self._built = built
        self._renewal = Renewal(session, lake, write, built)

    def run(self, tables: Iterable[str], watch: Steps) -> None:
        """Makes the tables."""
        own: Mapping[str, Callable[[], None]] = {
            CHANGE_EVENT.name: self._renewal.events,
            HISTORY.name: self._renewal.history,
            DRIFT.name: self._drift,
            QUOTA_USAGE.name: self._usage,
            POLICY_VIOLATION.name: self._violations,
        }
        for table in tables:
            with watch.step(table) as wrote:
                own[table]()
                wrote(self._write.rows.get(table, 0))

    def _drift(self) -> None:
        if (
            self._renewal.differs is None
            or self._renewal.differs
            or self._renewal.new(SNAPSHOT.name)
            or self._file_differs(DRIFT.name)
        ):
            make_drift(self._lake, self._write)

    def _violations(self) -> None:
        differs = self._renewal.differs
        if differs is None or self._file_differs(POLICY_VIOLATION.name):
            make_violations(self._lake, self._write, None)
        elif differs:
            make_violations(self._lake, self._write, {cluster_id for cluster_id, _ in differs})

    def _file_differs(self, table: str) -> bool:
        """Whether the operator's file that a table is made with is not as it was."""
        built = self._built
        return built is not None and this_build(self._lake, built.run).files[table] != built.files.get(table)

    def _usage(self) -> None:
        make_usage(self._session, self._lake, self._write, self._built, self._renewal.differs)


def main(argv: Sequence[str] | None = None) -> int:
    """Under `spark-submit`: the report as JSON on standard output; 0, or 1 with why on standard error."""
    from console.history.jobs.submit import lake_at, parser, submitted

    options = parser(JOB, "Makes tables of what was taken in.")
    options.add_argument("tables", nargs="*", metavar="TABLE", help="which (default: all)")
    options.add_argument("--all", action="store_true", help="everything again, not only what follows from what is new")
    given = options.parse_args(argv)

    def run(spark: SparkSession) -> Report:
        lake = lake_at(spark, given.lake)
        return build(lambda: spark, lake, given.tables or None, whole=given.all, keep=given.keep)

    return submitted(JOB, run)


if __name__ == "__main__":
    sys.exit(main())
