"""Tables from lines of request logs: ALTER_REQUEST, REQUEST_1S, their damaged lines, and the offset of their clocks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from console.history.redact import MASKED_CHARS
from console.history.requests.alters import ALTER_KEYS
from console.history.requests.lines import NO_JSON, altered
from console.history.requests.zone import FURTHEST, QUARTER
from console.history.schema import ALTER_REQUEST, QUARANTINE, REQUEST_1S, arrow_schema
from console.history.spark_sources import is_damaged

# -- ALTER_REQUEST: each thing that a logged request changes. These requests are rare, and each API has its own format:
# their JSON is read in Python (`console.history.requests`), that of no other line.

_ALTERED = (
    "start_ts",
    "api",
    "correlation_id",
    "client_id",
    "client_host",
    "principal",
    "is_forwarded",
    "validate_only",
    "entity_type",
    "entity_key",
    "attr",
    "op",
    "value",
    "is_sensitive",
    "error_code",
)
"""The columns of `altered`, in its order."""
_OF_LINE = ("cluster_id", "broker_id", "end_ts", "file", "byte_pos")
ALTER_NAMES = tuple(name for name in ALTER_REQUEST.names if name != "run_id")
"""The columns: those of ALTER_REQUEST without `run_id`."""
_ALTER_ARROW = pa.schema([field for field in arrow_schema(ALTER_REQUEST) if field.name in ALTER_NAMES])
_ALTER_DDL = ", ".join(
    f"{column.name} {column.type.upper()}" for column in ALTER_REQUEST.columns if column.name in ALTER_NAMES
)


def alter_request(lines: DataFrame) -> DataFrame:
    """lines: from `spark_sources.request_lines`, all or `alters_only`. Damaged ones are left out."""
    may_alter = F.col("api_key").isNull() | F.col("api_key").isin(*sorted(ALTER_KEYS))
    return (
        lines.where(F.col("json").isNotNull() & may_alter)
        .select(*_OF_LINE, "json")
        .mapInArrow(_altered_rows, _ALTER_DDL)
        .select(*ALTER_NAMES)
    )


def _altered_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [
            dict(zip(_OF_LINE, (line[name] for name in _OF_LINE), strict=True)) | dict(zip(_ALTERED, row, strict=True))
            for line in batch.to_pylist()
            for row in altered(line["json"], line["end_ts"])
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_ALTER_ARROW)


# -- QUARANTINE: lines that could not be read ------------------------------------------------------------------------

DAMAGED_NAMES = tuple(name for name in QUARANTINE.names if name != "run_id")
"""The columns: those of QUARANTINE without `run_id`."""


def damaged_request(lines: DataFrame) -> DataFrame:
    """lines: from `spark_sources.request_lines`.

    For a whole line with damaged JSON the hash is of the JSON, and the sample has no letter and no digit of it.
    """
    shape = F.substring("json", 1, MASKED_CHARS)
    for letters, blotted in ((r"\p{L}", "x"), (r"\p{Nd}", "9"), (r"[^x9 \[\]{}():,.\"'=_/\\-]", "?")):
        shape = F.regexp_replace(shape, letters, blotted)
    return (
        lines.where(is_damaged())
        .withColumn("source", F.lit("request_log"))
        .withColumn("sha256", F.coalesce("sha256", F.sha2("json", 256)))
        .withColumn("sample", F.coalesce("sample", shape))
        .withColumn("reason", F.coalesce("reason", F.lit(NO_JSON)))
        .select(*DAMAGED_NAMES)
    )


# -- REQUEST_1S: requests by the second, without the copies that the controller logs of forwarded requests, and without
# requests with a replica's id. An error is any error code in the answer but 0. Rows of the same second from different
# parts of a log add up: `merge_request_1s`.

_ANY_ERROR = '[eE]rrorCode":(?:-|[1-9])'
"""In the JSON of a request. Within texts every quote follows a backslash, so this matches fields alone."""


def request_1s(lines: DataFrame) -> DataFrame:
    """lines: from `spark_sources.request_lines`. Damaged ones are left out."""
    request = F.col("request")
    principal, api = request["principal"], request["requestHeader"]["requestApiKeyName"]
    whole = principal.isNotNull() & api.isNotNull()
    counted = whole & ~request["isForwarded"] & (_replica() < 0)
    flat = lines.select(
        "cluster_id",
        "broker_id",
        F.date_trunc("second", "end_ts").alias("second"),
        principal.alias("principal"),
        request["requestHeader"]["clientId"].alias("client_id"),
        api.alias("api"),
        F.coalesce(counted, F.lit(False)).alias("counted"),
        _has_error().alias("has_error"),
        _sum_of(F.flatten(request["request"]["topicData"]["partitionData"])).alias("bytes_in"),
        _sum_of(F.flatten(request["response"]["responses"]["partitions"])).alias("bytes_out"),
        request["localTimeMs"].alias("local_ms"),
        request["throttleTimeMs"].alias("throttle_ms"),
    )
    # A filter here, or of the keys below, would be pushed down, and the JSON be parsed twice.
    return (
        flat.groupBy(*REQUEST_1S.key)
        .agg(
            F.sum(F.when(F.col("counted"), 1).otherwise(0)).cast("bigint").alias("requests"),
            _sum_where(F.when(F.col("has_error"), 1).otherwise(0)).cast("bigint").alias("errors"),
            _sum_where(F.col("bytes_in")).alias("bytes_in"),
            _sum_where(F.col("bytes_out")).alias("bytes_out"),
            _sum_where(F.col("local_ms")).alias("local_ms"),
            _sum_where(F.col("throttle_ms")).alias("throttle_ms_sum"),
            F.max(F.when(F.col("counted"), F.col("throttle_ms"))).alias("throttle_ms_max"),
        )
        .where(F.col("requests") > 0)
        .withColumn("client_id", F.coalesce("client_id", F.lit("")))
        .select(*REQUEST_1S.names)
    )


def merge_request_1s(old: DataFrame, new: DataFrame) -> DataFrame:
    """Both of REQUEST_1S's columns; one row for each key, with the sums."""
    return added_up(old.unionByName(new))


def added_up(rows: DataFrame) -> DataFrame:
    """Rows of REQUEST_1S's columns, summed by key."""
    sums = ("requests", "errors", "bytes_in", "bytes_out", "local_ms", "throttle_ms_sum")
    return (
        rows.groupBy(*REQUEST_1S.key)
        .agg(*(F.sum(name).alias(name) for name in sums), F.max("throttle_ms_max").alias("throttle_ms_max"))
        .select(*REQUEST_1S.names)
    )


def _replica() -> Column:
    asked = F.col("request")["request"]
    return F.coalesce(asked["replicaState"]["replicaId"], asked["replicaId"], F.lit(-1))


def _sum_of(partitions: Column) -> Column:
    sizes = F.aggregate(
        partitions,
        F.lit(0).cast("bigint"),
        lambda total, each: total + F.coalesce(each["recordsSizeInBytes"], F.lit(0).cast("bigint")),
    )
    return F.coalesce(sizes, F.lit(0).cast("bigint"))


def _has_error() -> Column:
    request = F.col("request")
    api, response = request["requestHeader"]["requestApiKeyName"], request["response"]
    produced = F.flatten(response["responses"]["partitionResponses"])
    fetched = F.flatten(response["responses"]["partitions"])
    found = (
        F.when(api == "PRODUCE", _any_error(produced))
        .when(api == "FETCH", (response["errorCode"] != 0) | _any_error(fetched))
        .otherwise(F.col("json").rlike(_ANY_ERROR))
    )
    return F.coalesce(found, F.lit(False))


def _any_error(partitions: Column) -> Column:
    # No lambda: Spark generates no code for those.
    return (F.array_max(partitions["errorCode"]) != 0) | (F.array_min(partitions["errorCode"]) != 0)


def _sum_where(value: Column) -> Column:
    return F.sum(F.when(F.col("counted"), value).otherwise(0))


# -- clocks. A log line has no time zone: with a wrong one all its times are off by the same number of quarters of an
# hour, and the metadata log has what a request changed that much earlier or later.

_SLACK = timedelta(seconds=2)
"""How far the clocks of brokers may be apart."""
_SAMPLE = 500
_REQUEST = ("cluster_id", "broker_id", "end_ts", "correlation_id", "client_id")


def clock_steps(facts: DataFrame, alter_request: DataFrame) -> DataFrame:
    """cluster_id, broker_id, steps, requests, ends: how many requests were made so many quarters of an hour before
    their records, and when some of them ended. A change that fits several numbers of steps, as one that is made each
    hour, is left out.

    facts: `kraft_facts.facts`. alter_request: ALTER_REQUEST's columns.
    """
    done = alter_request.where((F.col("error_code") == 0) & ~F.col("validate_only")).alias("r")
    said = facts.where(~F.col("in_snapshot")).alias("f")
    same = [F.col(f"r.{name}") == F.col(f"f.{name}") for name in ("cluster_id", "entity_type", "entity_key", "attr")]
    unknown = F.col("r.value").isNull() | F.col("f.value").isNull() | F.col("r.op").isin("append", "subtract")
    content = F.when(F.col("r.op") == "delete", ~F.col("f.is_set")).otherwise(
        F.col("f.is_set") & (unknown | (F.col("r.value") == F.col("f.value")))
    )
    quarter, slack = (int(each.total_seconds() * 1e6) for each in (QUARTER, _SLACK))
    end, start, written = (F.unix_micros(name) for name in ("r.end_ts", "r.start_ts", "f.ts"))
    steps = F.round((written - end) / quarter).cast("bigint")
    shifted = F.lit(quarter) * steps
    in_time = (written >= start + shifted - slack) & (written <= end + shifted + slack)
    change = (*_REQUEST, "entity_type", "entity_key", "attr")
    return (
        done.join(said, [*same, content, F.abs(steps) <= FURTHEST, in_time], "inner")
        .select(*(F.col(f"r.{name}") for name in change), steps.alias("steps"))
        .groupBy(*change)
        .agg(F.collect_set("steps").alias("all_steps"))
        .where(F.size("all_steps") == 1)
        .withColumn("steps", F.get("all_steps", F.lit(0)))
        .dropDuplicates([*_REQUEST, "steps"])
        .groupBy("cluster_id", "broker_id", "steps")
        .agg(F.count(F.lit(1)).alias("requests"), F.slice(F.collect_list("end_ts"), 1, _SAMPLE).alias("ends"))
        .select("cluster_id", "broker_id", "steps", "requests", "ends")
    )
