"""Request logs as a DataFrame: a line a row, its place, its time in UTC, and of its JSON what the tables need.

Spark reads the JSON (`from_json` with a schema of a few fields); a Python Data Source finds the lines, since Spark's
own reader of text tells neither where a line stood nor reads a file from where it was read to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from console.model.numbers import json_text

from ..requests.parts import PART_BYTES, REQUEST_LINE_DDL, BrokerLog, Part, parts_of, read_part

FORMAT = "request_log"
REQUEST_SCHEMA = (
    "isForwarded BOOLEAN, "
    "requestHeader STRUCT<clientId: STRING, requestApiKeyName: STRING>, "
    "request STRUCT<topicData: ARRAY<STRUCT<partitionData: ARRAY<STRUCT<recordsSizeInBytes: BIGINT>>>>, "
    "replicaId: INT, replicaState: STRUCT<replicaId: INT>>, "
    "response STRUCT<errorCode: INT, responses: ARRAY<STRUCT<"
    "partitionResponses: ARRAY<STRUCT<errorCode: INT>>, "
    "partitions: ARRAY<STRUCT<errorCode: INT, recordsSizeInBytes: BIGINT>>>>>, "
    "localTimeMs DOUBLE, throttleTimeMs BIGINT, principal STRING"
)
"""The fields of a request's JSON that are read, as DDL: those of PRODUCE and FETCH, and what all requests have."""


def request_lines(
    spark: SparkSession, logs: Sequence[BrokerLog], *, alters_only: bool = False, part_bytes: int = PART_BYTES
) -> DataFrame:
    """The lines of these logs: `parts.REQUEST_LINE`, and `request`, the JSON's fields of `REQUEST_SCHEMA`.

    alters_only: of requests only those that may change something: many times cheaper. Rows of what is damaged are
    among them: `is_damaged`. Raises what `parts.parts_of` raises.
    """
    parts = [part.as_list() for part in parts_of(logs, part_bytes)]
    spark.dataSource.register(RequestLogSource)
    read = spark.read.format(FORMAT).option("parts", json_text(parts)).option("alters_only", str(alters_only)).load()
    return read.withColumn("request", F.from_json("json", REQUEST_SCHEMA))


def is_damaged() -> Column:
    """Whether a row of `request_lines` is of a damaged line: cut, or no whole JSON of a request."""
    whole = F.col("request.requestHeader.requestApiKeyName").isNotNull() & F.col("request.principal").isNotNull()
    return F.col("reason").isNotNull() | ~whole


@dataclass
class PartToRead(InputPartition):
    """One part, for an executor."""

    part: Part


class RequestLogSource(DataSource):
    """``spark.read.format("request_log")``. Options: `parts`, JSON of `Part.as_list`; `alters_only`, true or false."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> str:
        """`REQUEST_LINE`."""
        return REQUEST_LINE_DDL

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's
        """The reader of these options."""
        return RequestLogReader(*parts_and_kind(self.options))


class RequestLogReader(DataSourceReader):
    """A part a partition."""

    def __init__(self, parts: Sequence[Part], alters_only: bool) -> None:
        self._parts = parts
        self._alters_only = alters_only

    def partitions(self) -> Sequence[InputPartition]:
        """The parts."""
        return [PartToRead(part) for part in self._parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A part's lines."""
        if not isinstance(partition, PartToRead):
            # Of no parts Spark asks for the one partition that is none.
            return iter(())
        return read_part(partition.part, alters_only=self._alters_only)


def parts_and_kind(options: Mapping[str, str]) -> tuple[tuple[Part, ...], bool]:
    """What the options say. Raises ValueError: they are not those of `request_lines`."""
    try:
        parts = tuple(Part.of(each) for each in json.loads(options["parts"]))
    except (KeyError, TypeError, ValueError) as wrong:
        raise ValueError(f"the option parts of {FORMAT} is not as request_lines writes it: {wrong}") from wrong
    return parts, options.get("alters_only", "false").lower() == "true"
