"""Tables from what was read of request logs: ALTER_REQUEST, REQUEST_1S, damaged lines, and the offset of their clocks.

counted: of `spark_sources.counted_requests`.
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from console.history.requests.zone import FURTHEST, QUARTER
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
