"""Who used how much of which quota: an estimate of what brokers measure, from request logs.

Bytes are those of record batches; a broker counts headers too. A request's time is `local_ms`; a broker adds that of
its network threads. A broker says of a request how long it waits, not for which quota: Produce and Fetch wait for
their byte rate where there is such a limit, else, as all other requests, for `request_percentage`; requests that
change topics wait for `controller_mutation_rate`, which is not here.

Rows are by who shares the limit that counted in that second; of a minute in which a limit changed, the last one is
shown. Who has no limit is shown as a pair. Rates over ten seconds need the ten seconds before: give whole days.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from console.model.effective_quota import (
    CLIENT_LEVELS,
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER_LEVELS,
)

from ..schema.gold import QUOTA_USAGE
from .quota_levels import effective_quotas, limits_by_lookup, quota_values
from .quota_suggestion import with_suggestion
from .rates import mean_of_minute, rolling_rates

_SCOPE = ("cluster_id", "broker_id", "quota_key", "scope_user", "scope_client")
_MUTATIONS = ("CREATE_TOPICS", "DELETE_TOPICS", "CREATE_PARTITIONS")
_PERCENT_SECONDS_PER_MS = 0.1


def quota_usage(request_1s: DataFrame, history: DataFrame) -> DataFrame:
    """QUOTA_USAGE's columns; request_1s, history: REQUEST_1S's and HISTORY's."""
    # Brokers look at the principal's name and never at its type.
    uses = request_1s.withColumn("user", F.regexp_replace("principal", "^[^:]*:", ""))
    limits = limits_by_lookup(quota_values(history))
    used = _by_key(effective_quotas(uses, limits, at="second"))
    minutes = _by_minute(rolling_rates(_by_second(used), _SCOPE))
    return with_suggestion(minutes).select(*QUOTA_USAGE.names)


def _by_key(uses: DataFrame) -> DataFrame:
    """A row for each quota that a use counts for, and whoever shares its limit."""
    waits_for_percentage = F.col(REQUEST_PERCENTAGE).isNotNull()
    bytes_key = {"PRODUCE": PRODUCER_BYTE_RATE, "FETCH": CONSUMER_BYTE_RATE}
    moved = [
        F.when(
            F.col("api") == api,
            _use(key, F.col(amount).cast("double"), F.col(key).isNotNull() | ~waits_for_percentage),
        )
        for (api, key), amount in zip(bytes_key.items(), ("bytes_in", "bytes_out"), strict=True)
    ]
    waits_for_bytes = F.lit(False)
    for api, key in bytes_key.items():
        waits_for_bytes |= (F.col("api") == api) & (F.col(key).isNotNull() | ~waits_for_percentage)
    worked = _use(
        REQUEST_PERCENTAGE,
        F.col("local_ms") * _PERCENT_SECONDS_PER_MS,
        ~waits_for_bytes & ~F.col("api").isin(*_MUTATIONS),
    )
    return (
        uses.withColumn("use", F.explode(F.array_compact(F.array(*moved, worked))))
        .select("cluster_id", "broker_id", "second", "user", "client_id", "use.*")
        .withColumn("scope_user", _unless_shared("user", CLIENT_LEVELS))
        .withColumn("scope_client", _unless_shared("client_id", USER_LEVELS))
    )


def _use(key: str, amount: Column, waits: Column) -> Column:
    """amount: bytes, or percent times seconds. waits: whether the time that it waited is for this quota."""
    waited = F.when(waits, F.col("throttle_ms_sum")).otherwise(F.lit(0))
    # None waited longer than the longest, so at least as many waited.
    at_least = F.when(F.col("throttle_ms_max") > 0, F.ceil(waited / F.col("throttle_ms_max"))).otherwise(F.lit(0))
    return F.struct(
        F.lit(key).alias("quota_key"),
        amount.alias("amount"),
        F.col(key).alias("quota_value"),
        F.col(f"{key}_level").alias("level"),
        waited.cast("bigint").alias("throttle_ms"),
        at_least.cast("bigint").alias("throttled_requests"),
    )


def _unless_shared(name: str, levels: tuple[int, ...]) -> Column:
    shared = F.coalesce(F.col("level").isin(*levels), F.lit(False))
    return F.when(~shared, F.col(name))


def _by_second(used: DataFrame) -> DataFrame:
    # All that share a scope in a second fall under one limit.
    return used.groupBy(*_SCOPE, "second").agg(
        F.sum("amount").alias("amount"),
        F.max(F.struct("quota_value", "level")).alias("limit"),
        F.sum("throttle_ms").alias("throttle_ms"),
        F.sum("throttled_requests").alias("throttled_requests"),
    )


def _by_minute(seconds: DataFrame) -> DataFrame:
    rate = F.when(F.col("is_clock"), F.col("rate"))
    used_at = F.when(~F.col("is_clock"), F.col("second"))
    return (
        seconds.groupBy(*_SCOPE, F.date_trunc("minute", "second").alias("minute"))
        .agg(
            mean_of_minute(F.col("amount")).alias("rate_avg"),
            F.percentile(rate, 0.95).alias("rate_p95_10s"),
            F.max(rate).alias("rate_max_10s"),
            F.max_by("limit", used_at).alias("limit"),
            F.sum("throttle_ms").alias("throttle_ms"),
            F.sum("throttled_requests").alias("throttled_requests"),
        )
        .select("*", "limit.*")
        .withColumn("utilisation", F.try_divide(F.col("rate_max_10s"), F.col("quota_value")))
        .withColumn("headroom", F.col("quota_value") - F.col("rate_max_10s"))
    )
