"""Request logs that Spark's executors read: a part is read, decoded and added up where it lies; the driver gets sums,
changes and damaged lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from console.history.jobs.record import UnreadableInput
from console.history.requests.files import LogChangedError
from console.history.requests.parts import Part, read_part

_TASKS_FOR_A_CORE = 8
"""Enough that no core waits long for the last one."""
NO_MSGSPEC = (
    "The executors have no msgspec, which reads request logs there, and the zip can't bring a C extension: install it "
    "beside PyArrow (pip install msgspec), in the environment or the image that is shipped to them. Nothing was taken "
    "in."
)


def counted_requests(spark: SparkSession, parts: Sequence[Part]) -> Iterator[pa.RecordBatch]:
    """`counted.COUNTED` of these parts, read by executors. LogChangedError; UnreadableInput: they have no msgspec."""
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
        changed = LogChangedError.within(str(wrong))
        if changed is None:
            raise
        raise changed from wrong
    finally:
        made.unpersist()
