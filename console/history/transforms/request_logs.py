"""Tables from what was read of request logs: ALTER_REQUEST, REQUEST_1S, damaged lines.

counted: of `spark_sources.counted_requests`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from console.history.schema import REQUEST_1S


def alter_request(counted: DataFrame) -> DataFrame:
    """ALTER_REQUEST without `run_id`: each thing that a logged request changes."""
    return counted.where(F.col("alter").isNotNull()).select("alter.*")


def damaged_request(counted: DataFrame) -> DataFrame:
    """QUARANTINE without `run_id`: the lines that can't be read."""
    return counted.where(F.col("quarantined").isNotNull()).select("quarantined.*")


def request_1s(counted: DataFrame) -> DataFrame:
    """REQUEST_1S: requests by the second, without the copies that the controller logs of forwarded requests, and
    without requests with a replica's id. An error is any error code in the answer but 0."""
    return added_up(counted.where(F.col("second").isNotNull()).select("second.*"))


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
