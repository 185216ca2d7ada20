"""Counts request logs by the second in DuckDB, one partition at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from console.history.requests.parts import PART_BYTES, BrokerLog, Part, parts_of, read_part
from console.history.schema import REQUEST_1S
from console.history.spark_sources import PartToRead, parts_and_kind
from console.history.transforms.request_logs import added_up
from console.model.numbers import json_text

FORMAT = "request_1s_duckdb"
_DDL = f"{REQUEST_1S.ddl}, lines BIGINT, damaged BIGINT"


def counted_seconds(spark: SparkSession, logs: Sequence[BrokerLog], *, part_bytes: int = PART_BYTES) -> DataFrame:
    """`seconds_duckdb.COUNTED_SECONDS` of these logs: the sums of `lines` and `damaged` cover all lines. Raises what
    `parts.parts_of` raises; on an executor without DuckDB the task fails."""
    parts = [part.as_list() for part in parts_of(logs, part_bytes)]
    spark.dataSource.register(RequestSecondsSource)
    return spark.read.format(FORMAT).option("parts", json_text(parts)).load()


def request_1s_of(counted: DataFrame) -> DataFrame:
    """REQUEST_1S from the result of `counted_seconds`."""
    return added_up(counted.where(F.col("api").isNotNull()))


def executors_have_duckdb(spark: SparkSession) -> bool:
    """Whether executors have DuckDB: one is asked, since those of a cluster are alike."""
    found = spark.range(1, numPartitions=1).mapInArrow(_has_duckdb, "found BOOLEAN").first()
    return found is not None and bool(found["found"])


def _has_duckdb(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found = find_spec("duckdb") is not None
    for batch in batches:
        yield pa.record_batch({"found": [found] * batch.num_rows})


class RequestSecondsSource(DataSource):
    """``spark.read.format("request_1s_duckdb")``. Option: `parts`, JSON of `Part.as_list`. The same key may come once
    for each part."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> str:
        """`seconds_duckdb.COUNTED_SECONDS`."""
        return _DDL

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's
        """The reader of these options."""
        parts, _ = parts_and_kind(self.options)
        return RequestSecondsReader(parts)


class RequestSecondsReader(DataSourceReader):
    """Reads each part as a partition."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def partitions(self) -> Sequence[InputPartition]:
        """The parts."""
        return [PartToRead(part) for part in self._parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A part's rows."""
        # If Spark reads the lines itself, DuckDB may be missing.
        from console.history.requests.seconds_duckdb import seconds

        return seconds(read_part(partition.part)) if isinstance(partition, PartToRead) else iter(())
