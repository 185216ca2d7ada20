"""REQUEST_1S: requests by the second, of the lines of request logs.

Left out are the copies that the controller logs of forwarded requests, and what replicas ask: whoever names itself by a
replica's id. An error is any error code in the answer but 0. Rows of the same second that were made of different parts
of a log add up: `merge_request_1s`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..schema.silver import REQUEST_1S

_ANY_ERROR = '[eE]rrorCode":(?:-|[1-9])'
"""In the JSON of a request: inside of texts every quote has a backslash before it, so this finds fields alone."""


def request_1s(lines: DataFrame) -> DataFrame:
    """lines: as `sources.request_log.request_lines` reads them. Damaged ones are left out."""
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
    # A filter here, or of the keys below, would be pushed down, and the JSON be read for it once more.
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
    """Both of REQUEST_1S's columns; a row of each key, with what both counted."""
    return added_up(old.unionByName(new))


def added_up(rows: DataFrame) -> DataFrame:
    """Rows of REQUEST_1S's columns, those of the same key as one."""
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
    # No lambda: Spark makes no code of these.
    return (F.array_max(partitions["errorCode"]) != 0) | (F.array_min(partitions["errorCode"]) != 0)


def _sum_where(value: Column) -> Column:
    return F.sum(F.when(F.col("counted"), value).otherwise(0))
