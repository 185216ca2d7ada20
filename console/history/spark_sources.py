"""Spark data sources for metadata logs (`kraft_log`, `kraft_log_quarantine`) and request logs (`request_log`).

>>> spark.dataSource.register(KraftLog)
>>> spark.read.format("kraft_log").option("path", "/var/lib/kafka/metadata/__cluster_metadata-0").load()

The rows are those of `kraft_record` without `run_id`. Options: `path` (or several with ``.load([…, …])``; folders that
the driver and the executors see), `cluster_id` (else from `meta.properties` beside the folder), `start_offset`,
`end_offset`, `hmac_secret` (the key in hex; without it `value_hmac` is empty), `partitions` (about how many tasks; else
one for each 16 MiB).

How a job continues from the last run::

    plan = plan_log([path], start_offset=last_time)              # on the driver: headers and checksums alone
    options = {"path": path, "start_offset": last_time, "end_offset": plan.next_offset, …}
    records = spark.read.format("kraft_log").options(**options).load()
    # the next run begins at plan.next_offset; an unfinished transaction (plan.open_at) is not included

`plan.troubles` has the damaged batches (`Trouble` has the columns of `quarantine`). An unreadable record is a row of
the type ``UNKNOWN(n)``; ``kraft_log_quarantine`` with the same options returns what is wrong with those and with
damaged batches, as rows of `quarantine` without `run_id`. It reads everything again: use it only if there is such a
row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from console.history.jobs.quarantine import KRAFT_LOG, trouble_rows
from console.history.jobs.record import UnreadableInput
from console.history.kraft.decoder import ROW_SCHEMA, Trouble
from console.history.kraft.metadata_log import SPLIT_BYTES, LogPlan, Split, plan_log, read_splits
from console.history.requests.counted import COUNTED_DDL
from console.history.requests.files import LogChangedError
from console.history.requests.parts import Part, read_part
from console.history.schema import KRAFT_RECORD, QUARANTINE, Table
from console.model.numbers import is_natural

# -- metadata logs ---------------------------------------------------------------------------------------------------

_LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class Options:
    """What is read, and how. key: of the HMAC of secrets."""

    folders: tuple[str, ...]
    cluster_id: str | None
    start_offset: int
    end_offset: int | None
    key: bytes | None = field(repr=False)
    partitions: int | None

    @staticmethod
    def of(given: Mapping[str, str]) -> Options:
        """Parses Spark's options. Raises ValueError, which names the wrong one."""
        folders = tuple(json.loads(given["paths"])) if "paths" in given else ()
        if "path" in given:
            folders = (given["path"], *folders)
        if not folders:
            raise ValueError('kraft_log: give the folder __cluster_metadata-0, as .option("path", …) or .load(…)')
        try:
            key = bytes.fromhex(given["hmac_secret"]) if "hmac_secret" in given else None
        except ValueError:
            raise ValueError("kraft_log: the option hmac_secret is not in hex") from None
        return Options(
            folders,
            given.get("cluster_id"),
            _number(given, "start_offset") or 0,
            _number(given, "end_offset"),
            key,
            _number(given, "partitions"),
        )

    def plan(self) -> LogPlan:
        """Plans the read. Raises NoMetadataLogError, OSError."""
        plan = self._plan(SPLIT_BYTES)
        if self.partitions is None:
            return plan
        size = sum(split.end - split.at for split in plan.splits)
        return self._plan(max(_LEAST_BYTES, -(-size // self.partitions)))

    def _plan(self, split_bytes: int) -> LogPlan:
        return plan_log(
            self.folders,
            cluster_id=self.cluster_id,
            start_offset=self.start_offset,
            end_offset=self.end_offset,
            split_bytes=split_bytes,
        )


class KraftLog(DataSource):
    """The records of metadata logs."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return KRAFT_LOG

    def schema(self) -> str:
        """The columns of `kraft_record` without `run_id`."""
        return _ddl(KRAFT_RECORD)

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
        """The reader of these options."""
        return _Records(Options.of(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        """The same as a stream."""
        from console.history.spark_streams import RecordStream

        return RecordStream(Options.of(self.options))


class KraftLogQuarantine(DataSource):
    """The unreadable data of metadata logs."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return f"{KRAFT_LOG}_quarantine"

    def schema(self) -> str:
        """The columns of `quarantine` without `run_id`."""
        return _ddl(QUARANTINE)

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
        """The reader of these options."""
        return _Troubles(Options.of(self.options))


@dataclass
class LogPart(InputPartition):
    """What a task reads, or the damage that is known before any task reads."""

    splits: tuple[Split, ...] = ()
    troubles: tuple[Trouble, ...] = ()


class _Records(DataSourceReader):
    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return [LogPart((split,)) for split in self._options.plan().splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_log_part(partition, self._options.key)


def read_log_part(partition: InputPartition, key: bytes | None) -> Iterator[pa.RecordBatch]:
    """The records of a part. key: of the HMAC of secrets."""
    batches = iter(read_splits(_log_part(partition).splits, key, _told_elsewhere))
    # Spark takes the schema of the first batch for all, and needs one.
    first = next(batches, None)
    if first is None:
        first = pa.RecordBatch.from_pylist([], ROW_SCHEMA)
    yield first
    yield from batches


def _log_part(partition: InputPartition) -> LogPart:
    """Spark passes None if there is no partition."""
    return partition if isinstance(partition, LogPart) else LogPart()


class _Troubles(DataSourceReader):
    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        plan = self._options.plan()
        return [LogPart(troubles=plan.troubles), *(LogPart((split,)) for split in plan.splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = _log_part(partition)
        troubles = list(part.troubles)
        for _ in read_splits(part.splits, None, troubles.append):
            pass
        yield pa.RecordBatch.from_struct_array(trouble_rows(troubles).to_struct_array().combine_chunks())


def _told_elsewhere(_: Trouble) -> None:
    """The rows show that records are unreadable; `kraft_log_quarantine` returns why."""


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not is_natural(text) or (name == "partitions" and not int(text)):
        raise ValueError(f"kraft_log: the option {name} must be a whole number, not {text[:40]!r}")
    return int(text)


def _ddl(table: Table) -> str:
    return ", ".join(f"{each.name} {each.type}" for each in table.columns if each.name != "run_id")


# -- request logs: a part is read, decoded and added up where it lies; Spark gets sums, changes and damaged lines -----

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


class RequestLogSource(DataSource):
    """``spark.readStream.format("request_log")``. The same second and key may come several times."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "request_log"

    def schema(self) -> str:
        """`COUNTED`."""
        return COUNTED_DDL

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        """The reader of these options."""
        from console.history.spark_streams import RequestLogStream

        return RequestLogStream(self.options)
