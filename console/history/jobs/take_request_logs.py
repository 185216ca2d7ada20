"""Takes in request logs: lines after those that were read before, whatever their files are called by now.

Requests by the second add up, so lines that come late change the hours that they are of, and no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from console.history.request_log_duckdb import counted_seconds, executors_have_duckdb, request_1s_of
from console.history.schema import ALTER_REQUEST, REQUEST_1S, Table
from console.history.spark_sources import is_damaged, request_lines
from console.history.transforms.request_logs import alter_request, damaged_request, merge_request_1s, request_1s

from ..requests.files import LogChangedError
from ..requests.parts import BrokerLog
from ..requests.zone import AmbiguousHourError
from ..store.write import Write
from .inputs import RequestLog
from .plan_request_logs import SOURCE, plan_request_logs
from .quarantined import quarantine
from .tables import read_table, write_partitions
from .taken import Taken, UnreadableInput


def take_request_logs(spark: SparkSession, write: Write, logs: Sequence[RequestLog]) -> Taken:
    """What is new in these logs. UnreadableInput: no file is found, a file is cut or of two brokers, a zone is unknown.
    LogChangedError: a file was rotated away while it was read, and is not found; OSError."""
    planned = plan_request_logs(write.manifest.inputs, logs)
    write.remember(planned.remember)
    if not planned.logs:
        return Taken(SOURCE, "lines", unchanged=planned.unchanged)
    seen = Observation("lines")
    with _changes_told():
        _merge(spark, write, _seconds(spark, planned.logs, seen))
        counted = {name: count or 0 for name, count in seen.get.items()}
        _append(write, ALTER_REQUEST, alter_request(request_lines(spark, planned.logs, alters_only=True)))
        if counted["damaged"]:
            quarantine(spark, write, damaged_request(request_lines(spark, planned.logs)))
    bad = int(counted["damaged"])
    return Taken(SOURCE, "lines", int(counted["lines"]) - bad, bad, planned.unchanged)


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
        changed = LogChangedError.within(str(wrong))
        if changed is None:
            raise
        raise changed from wrong


def _seconds(spark: SparkSession, brokers: Sequence[BrokerLog], seen: Observation) -> DataFrame:
    """REQUEST_1S; seen: learns of `lines` and `damaged` when it is written."""
    if executors_have_duckdb(spark):
        counted = counted_seconds(spark, brokers)
        return request_1s_of(counted.observe(seen, *(F.sum(name).alias(name) for name in ("lines", "damaged"))))
    damaged = F.count_if(is_damaged()).alias("damaged")
    return request_1s(request_lines(spark, brokers).observe(seen, F.count(F.lit(1)).alias("lines"), damaged))


def _merge(spark: SparkSession, write: Write, rows: DataFrame) -> None:
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
    new = spark.read.schema(REQUEST_1S.ddl).parquet(*(written[partition][0] for partition in both))
    write.replace(REQUEST_1S.name, write_partitions(write, REQUEST_1S, merge_request_1s(old, new)))
    for partition in both:
        write.lake.filesystem.remove(written[partition][0])


def _append(write: Write, table: Table, rows: DataFrame) -> None:
    for partition, folders in write_partitions(write, table, rows).items():
        for folder in folders:
            write.append(table.name, partition, folder)
