"""Takes in journals, metadata logs and request logs: each into its bronze tables, as a part of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from console.history.jobs.inputs import (
    JOURNAL_REMEMBERED,
    REMEMBERED,
    REQUEST_LOG,
    Journals,
    MetadataLog,
    RequestLog,
    known_journals,
    plan_metadata_logs,
    plan_request_logs,
)
from console.history.jobs.processes import side_by_side, workers_for
from console.history.jobs.quarantine import KRAFT_LOG, quarantine_arrow, trouble_rows
from console.history.jobs.record import Taken, UnreadableInput
from console.history.jobs.request_rows import RequestRows
from console.history.journals import merge_journal, read_journals
from console.history.kraft.decoder import ROW_SCHEMA, ChangedWhileReadError, Trouble
from console.history.kraft.metadata_log import Split, read_splits
from console.history.requests.files import LogChangedError
from console.history.requests.parts import Part, parts_of, read_part
from console.history.requests.zone import AmbiguousHourError
from console.history.schema import JOURNAL, KRAFT_RECORD
from console.history.store import parquet_files
from console.history.store.write import Write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Starts Spark, or gives what runs already."""
Watch = Callable[[int, int], object]
"""Gets how many parts of an input are read, and how many there are."""

# Takes in kac's journals; without Spark.


def take_journals(write: Write, journals: Sequence[Journals]) -> Taken:
    """What is new in these journals. A change that is read again, now with its end, replaces what was there."""
    known = known_journals(write.release)
    read, bad, now = read_journals([each.path for each in journals], known)
    rows = sum(
        _merge_lines(write, read.filter(pc.equal(read.column("cluster_id"), cluster_id)))
        for cluster_id in read.column("cluster_id").unique().to_pylist()
    )
    quarantined = quarantine_arrow(write, bad)
    write.remember({f"{JOURNAL_REMEMBERED}{path}": value for path, value in now.items()})
    unchanged = sum(known.get(path) == value for path, value in now.items())
    return Taken("journal", "lines", rows, quarantined, unchanged)


def _merge_lines(write: Write, rows: pa.Table) -> int:
    """How many rows are new. rows: of one cluster, which is one partition."""
    files = write.lake.filesystem
    fitted = parquet_files.fitted(JOURNAL, rows, write.run_id)
    ((partition, _),) = parquet_files.split(JOURNAL, fitted)
    paths = write.lake.files(write.draft, JOURNAL, [partition])
    kept, new = merge_journal(parquet_files.read(files, paths, JOURNAL), fitted)
    if new.num_rows:
        write.replace(JOURNAL.name, write.put_arrow(JOURNAL.name, pa.concat_tables([kept, new])))
    return int(new.num_rows)


# Takes in metadata logs: what came after the offset that was read to the last time.

MOST_BYTES = 64 << 20
"""Of records that are held before they go to a file."""
TROUBLE_BYTES = 1000
"""Of what is unreadable about each, with its sample."""


def take_metadata_logs(write: Write, logs: Sequence[MetadataLog], watch: Watch, *, alone: bool = False) -> Taken:
    """What is new in these logs; several folders of one cluster, as of its controllers, are one log.

    alone: without other processes, as on a cluster, which gives the driver the memory of one. UnreadableInput: a folder
    is no metadata log, or was changed while it was read. OSError.
    """
    plans = plan_metadata_logs(write.release, logs)
    # Damaged batches; those of former runs are among them as long as the log has them.
    bad = quarantine_arrow(write, trouble_rows(trouble for each in plans for trouble in each.plan.troubles))
    splits = [split for each in plans for split in each.plan.splits]
    workers = 1 if alone else workers_for(sum(split.end - split.at for split in splits))
    try:
        rows, damaged = _put_records(write, side_by_side(partial(records_of, write.lake.key()), splits, workers, watch))
    except ChangedWhileReadError as changed:
        raise UnreadableInput(f"{changed}.") from changed
    for each in plans:
        write.remember(
            {f"{REMEMBERED}{each.cluster_id}": {"next_offset": each.plan.next_offset, "folders": each.folders}}
        )
    notes = tuple(
        f"The metadata log of {each.cluster_id} ends within a transaction, from offset {each.plan.open_at} on: what "
        "follows is taken in once that has ended."
        for each in plans
        if each.plan.open_at is not None
    )
    unchanged = sum(not each.plan.splits for each in plans)
    return Taken(KRAFT_LOG, "records and batches", rows, bad + damaged, unchanged, notes)


def records_of(key: bytes, split: Split) -> Iterator[pa.RecordBatch | Trouble]:
    """The rows of a split, and what of it is unreadable."""
    troubles: list[Trouble] = []
    yield from read_splits([split], key, troubles.append)
    yield from troubles


def _put_records(write: Write, found: Iterable[pa.RecordBatch | Trouble]) -> tuple[int, int]:
    """Rows written, and what was quarantined."""
    rows = bad = size = 0
    held: list[pa.RecordBatch] = []
    troubles: list[Trouble] = []
    for each in chain(found, (None,)):  # None: the end
        if isinstance(each, Trouble):
            troubles.append(each)
            size += TROUBLE_BYTES
        elif each is not None:
            held.append(each)
            size += each.nbytes
        if size > MOST_BYTES or each is None:
            rows += write.add_arrow(KRAFT_RECORD.name, pa.Table.from_batches(held, ROW_SCHEMA))
            bad += quarantine_arrow(write, trouble_rows(troubles))
            held, troubles, size = [], [], 0
    return rows, bad


# Takes in request logs: lines after those that were read before, whatever their files are called by now.
#
# Requests by the second add up, so lines that come late change the hours that they are of, and no other.

_TASKS_FOR_A_CORE = 8
"""Enough that no core waits long for the last one."""
NO_MSGSPEC = (
    "The executors have no msgspec, which reads request logs there, and the zip can't bring a C extension: install it "
    "beside PyArrow (pip install msgspec), in the environment or the image that is shipped to them. Nothing was taken "
    "in."
)


def take_request_logs(session: Session | None, write: Write, logs: Sequence[RequestLog], watch: Watch) -> Taken:
    """What is new in these logs. session: of the executors that read them; None: processes of this machine do.

    UnreadableInput: no file is found, a file is cut or of two brokers, a zone is unknown. LogChangedError: a file was
    rotated away while it was read, and is not found; OSError."""
    planned = plan_request_logs(write.release.inputs, logs)
    write.remember(planned.remember)
    if not planned.logs:
        return Taken(REQUEST_LOG, "lines", unchanged=planned.unchanged)
    rows = RequestRows(write)
    try:
        parts = parts_of(planned.logs)
        for batch in _counted_here(parts, watch) if session is None else counted_there(session(), parts):
            rows.add(batch)
    except AmbiguousHourError as wrong:
        raise UnreadableInput(f"{wrong}.") from wrong
    rows.end()
    return Taken(REQUEST_LOG, "lines", rows.lines - rows.damaged, rows.damaged, planned.unchanged)


def _counted_here(parts: Sequence[Part], watch: Watch) -> Iterator[pa.RecordBatch]:
    return side_by_side(read_part, parts, workers_for(sum(part.end - part.start for part in parts)), watch)


def counted_there(spark: SparkSession, parts: Sequence[Part]) -> Iterator[pa.RecordBatch]:
    """`counted.COUNTED` of these parts: executors read, decode and add up each where it lies, and the driver gets sums,
    changes and damaged lines. LogChangedError; UnreadableInput: executors have no msgspec."""
    from pyspark import StorageLevel

    # A task costs about as much as ten thousand lines, whatever it reads.
    tasks = max(1, min(len(parts), spark.sparkContext.defaultParallelism * _TASKS_FOR_A_CORE))
    # Not by a data source: for one Spark starts three more Pythons, which cost more than a hundred megabytes of log.
    made = spark.sparkContext.parallelize(parts, tasks).flatMap(read_part).persist(StorageLevel.DISK_ONLY)
    try:
        made.count()  # in all tasks at once; what they leave is fetched from one after the other
        yield from made.toLocalIterator()
    except Exception as wrong:
        if "No module named 'msgspec'" in str(wrong):
            raise UnreadableInput(NO_MSGSPEC) from wrong
        if changed := LogChangedError.within(str(wrong)):
            raise changed from wrong
        raise
    finally:
        made.unpersist()
