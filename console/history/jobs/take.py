"""Takes in journals, metadata logs and request logs: each into its bronze tables, as a part of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from console.history.jobs.inputs import Journals, MetadataLog, RequestLog
from console.history.jobs.plan_inputs import (
    JOURNAL_REMEMBERED,
    REQUEST_LOG,
    NewOfLog,
    plan_metadata_logs,
    plan_request_logs,
    remembered,
)
from console.history.jobs.quarantine import KRAFT_LOG, quarantine_arrow, trouble_rows
from console.history.jobs.record import Taken, UnreadableInput
from console.history.jobs.tables import read_folders, read_table, write_partitions
from console.history.journals import merge_journal, read_journals
from console.history.kraft.decoder import ROW_SCHEMA, ChangedWhileReadError, Trouble
from console.history.kraft.metadata_log import read_splits
from console.history.requests.files import LogChangedError
from console.history.requests.zone import AmbiguousHourError
from console.history.schema import ALTER_REQUEST, JOURNAL, KRAFT_RECORD, QUARANTINE, REQUEST_1S, Table
from console.history.spark_sources import KraftLog, KraftLogQuarantine, counted_requests
from console.history.store import parquet_files
from console.history.store.write import Write
from console.history.transforms.request_logs import alter_request, damaged_request, merge_request_1s, request_1s
from console.model.numbers import json_text

Session = Callable[[], SparkSession]
"""Starts Spark, or gives what runs already."""

# Takes in kac's journals; without Spark.


def take_journals(write: Write, journals: Sequence[Journals]) -> Taken:
    """What is new in these journals. A change that is read again, now with its end, replaces what was there."""
    known = {
        key.removeprefix(JOURNAL_REMEMBERED): value
        for key, value in write.release.inputs.items()
        if key.startswith(JOURNAL_REMEMBERED)
    }
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

FEW_BYTES = 32 << 20
"""Of metadata logs, which are read in this process: Spark takes longer to plan than these to read (half a million
records, some 300 MB of memory)."""


def take_metadata_logs(session: Session, write: Write, logs: Sequence[MetadataLog]) -> Taken:
    """What is new in these logs; several folders of one cluster, as of its controllers, are one log.

    UnreadableInput: a folder is no metadata log, or was changed while it was read. OSError.
    """
    plans = plan_metadata_logs(write.release, logs)
    new = [each for each in plans if each.plan.splits]
    # Damaged batches; those of former runs are among them as long as the log has them.
    bad = quarantine_arrow(write, trouble_rows(trouble for each in plans for trouble in each.plan.troubles))
    few = sum(split.end - split.at for each in new for split in each.plan.splits) <= FEW_BYTES
    rows, damaged = _take_here(write, new) if few else _take_by_spark(session(), write, new)
    bad += damaged
    write.remember(remembered(plans))
    notes = tuple(
        f"The metadata log of {each.cluster_id} ends within a transaction, from offset {each.plan.open_at} on: what "
        "follows is taken in once that has ended."
        for each in plans
        if each.plan.open_at is not None
    )
    return Taken(KRAFT_LOG, "records and batches", rows, bad, len(plans) - len(new), notes)


def _take_here(write: Write, new: Iterable[NewOfLog]) -> tuple[int, int]:
    """Rows written, and what was quarantined, without Spark."""
    rows, troubles = 0, list[Trouble]()
    for each in new:
        try:
            batches = list(read_splits(each.plan.splits, write.lake.key(), troubles.append))
        except ChangedWhileReadError as changed:
            raise UnreadableInput(f"{changed}.") from changed
        rows += write.add_arrow(KRAFT_RECORD.name, pa.Table.from_batches(batches, ROW_SCHEMA))
    return rows, quarantine_arrow(write, trouble_rows(troubles))


def _take_by_spark(spark: SparkSession, write: Write, new: Sequence[NewOfLog]) -> tuple[int, int]:
    """The same on executors."""
    spark.dataSource.register(KraftLog)
    spark.dataSource.register(KraftLogQuarantine)
    key = write.lake.key()
    rows, unknown = _write(write, [_read(spark, each, KRAFT_LOG, key) for each in new])
    if not unknown:
        return rows, 0
    damaged = _united([_read(spark, each, f"{KRAFT_LOG}_quarantine", key) for each in new])
    return rows, quarantine(spark, write, damaged)


def _read(spark: SparkSession, log: NewOfLog, source: str, key: bytes) -> DataFrame:
    """Up to where the plan has seen it: what the broker writes meanwhile is for the next time."""
    options = {
        "paths": json_text(log.folders),
        "cluster_id": log.cluster_id,
        "start_offset": str(log.start),
        "end_offset": str(log.plan.next_offset),
        "hmac_secret": key.hex(),
    }
    return spark.read.format(source).options(**options).load()


def _write(write: Write, read: list[DataFrame]) -> tuple[int, int]:
    """Gives the rows written, and how many of them are of records that may be damaged."""
    seen = Observation("records")
    unknown = F.count_if(F.col("record_type").startswith("UNKNOWN")).alias("unknown")
    rows = _united(read).observe(seen, F.count(F.lit(1)).alias("rows"), unknown)
    for partition, folders in write_partitions(write, KRAFT_RECORD, rows).items():
        for folder in folders:
            write.append(KRAFT_RECORD.name, partition, folder)
    counted = seen.get
    return int(counted["rows"]), int(counted["unknown"])


def _united(read: list[DataFrame]) -> DataFrame:
    made = read[0]
    for each in read[1:]:
        made = made.unionByName(each)
    return made


# Takes in request logs: lines after those that were read before, whatever their files are called by now.
#
# Requests by the second add up, so lines that come late change the hours that they are of, and no other.


NO_MSGSPEC = (
    "The executors have no msgspec, which reads request logs there, and the zip can't bring a C extension: install it "
    "beside PyArrow (pip install msgspec), in the environment or the image that is shipped to them. Nothing was taken "
    "in."
)


def take_request_logs(session: Session, write: Write, logs: Sequence[RequestLog]) -> Taken:
    """What is new in these logs. UnreadableInput: no file is found, a file is cut or of two brokers, a zone is unknown.
    LogChangedError: a file was rotated away while it was read, and is not found; OSError."""
    planned = plan_request_logs(write.release.inputs, logs)
    write.remember(planned.remember)
    if not planned.logs:
        return Taken(REQUEST_LOG, "lines", unchanged=planned.unchanged)
    spark, seen = session(), Observation("lines")
    with _changes_told():
        # Three tables come of one reading: what is kept of it is small beside the logs.
        made = counted_requests(spark, planned.logs).persist(StorageLevel.DISK_ONLY)
        try:
            sums = (F.sum(name).alias(name) for name in ("lines", "damaged"))
            _merge_seconds(spark, write, request_1s(made.observe(seen, *sums)))
            counted = {name: count or 0 for name, count in seen.get.items()}
            _append(write, ALTER_REQUEST, alter_request(made))
            if counted["damaged"]:
                quarantine(spark, write, damaged_request(made))
        finally:
            made.unpersist()
    bad = int(counted["damaged"])
    return Taken(REQUEST_LOG, "lines", int(counted["lines"]) - bad, bad, planned.unchanged)


@contextmanager
def _changes_told() -> Iterator[None]:
    """An executor's LogChangedError as itself, which Spark wraps in errors of its own; AmbiguousHourError as
    UnreadableInput."""
    try:
        yield
    except LogChangedError:
        raise
    except AmbiguousHourError as wrong:
        raise UnreadableInput(f"{wrong}.") from wrong
    except Exception as wrong:
        if "No module named 'msgspec'" in str(wrong):
            raise UnreadableInput(NO_MSGSPEC) from wrong
        changed = LogChangedError.within(str(wrong))
        if changed is None:
            raise
        raise changed from wrong


def _merge_seconds(spark: SparkSession, write: Write, rows: DataFrame) -> None:
    """Adds to the hours that are there, and puts the others beside them."""
    known = write.draft.table(REQUEST_1S).partitions
    written = write_partitions(write, REQUEST_1S, rows)
    both = [partition for partition in written if partition in known]
    for partition, folders in written.items():
        if partition not in known:
            write.append(REQUEST_1S.name, partition, folders[0])
    if not both:
        return
    old = read_table(spark, write.lake, write.draft, REQUEST_1S, both)
    new = read_folders(spark, write.lake, REQUEST_1S, [written[partition][0] for partition in both])
    write.replace(REQUEST_1S.name, write_partitions(write, REQUEST_1S, merge_request_1s(old, new)))
    for partition in both:
        write.lake.filesystem.remove(written[partition][0])


def _append(write: Write, table: Table, rows: DataFrame) -> None:
    for partition, folders in write_partitions(write, table, rows).items():
        for folder in folders:
            write.append(table.name, partition, folder)


# -- what can't be read, in the table `quarantine`, each thing once however often it is met ---------------------------


def quarantine(spark: SparkSession, write: Write, rows: DataFrame) -> int:
    """Appends rows of QUARANTINE (less `run_id`) that are not there yet; gives how many."""
    key = list(QUARANTINE.key)
    there = read_table(spark, write.lake, write.draft, QUARANTINE).select(*key)
    new = rows.dropDuplicates(key).join(there, on=key, how="left_anti")
    before = write.rows.get(QUARANTINE.name, 0)
    for partition, folders in write_partitions(write, QUARANTINE, new).items():
        for folder in folders:
            write.append(QUARANTINE.name, partition, folder)
    return write.rows.get(QUARANTINE.name, 0) - before
