"""`quota_usage`: who used how much of which quota, an estimate of what brokers measure, from request logs.

Bytes are those of record batches; a broker counts headers too. A request's time is `local_ms`; a broker adds that of
its network threads. A broker logs how long a request is throttled, not by which quota: Produce and Fetch are throttled
by their byte rate if there is such a limit, else, like all other requests, by `request_percentage`; requests that
change topics by `controller_mutation_rate`, which is not in this table.

Rows are by the users and clients that share the limit that counted in that second; of a minute in which a limit
changed, the last one is shown. Users without a limit are shown as pairs with their client ids. Rates over ten seconds
need the ten seconds before: give whole days.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.history.schema import QUOTA_USAGE
from console.history.transforms.quota_levels import effective_quotas, limits_by_lookup, quota_values
from console.model.quota import (
    CLIENT_LEVELS,
    CONSUMER_BYTE_RATE,
    OWN_LEVELS,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER_LEVELS,
)

# -- rates as a broker computes them. It keeps 11 samples of a second and divides by at least ten seconds
# (`quota.window.num`, `quota.window.size.seconds`; Rate.windowSize). The mean of a minute would hide what it throttles.

WINDOW_SECONDS = 10
_MINUTE_SECONDS = 60
_ITSELF = -1


def rolling_rates(bins: DataFrame, scope: tuple[str, ...]) -> DataFrame:
    """`bins` with a column `rate`: per second, over the ten seconds before; and `is_clock`.

    bins: a row for each scope and `second` with an `amount`. Each minute that has a row gets 60 more, one for each
    second, `is_clock` true and empty but for the scope, the second and its rate: figures of the minute are computed
    from these. Time before the first row counts as no use.
    """
    minute = F.date_trunc("minute", "second")
    of_minute = Window.partitionBy(*scope, minute).orderBy("second")
    clock = F.sequence(F.lit(_ITSELF), F.lit(_MINUTE_SECONDS - 1))
    slots = F.when(F.row_number().over(of_minute) == 1, clock).otherwise(F.array(F.lit(_ITSELF)))
    is_clock = F.col("slot") != _ITSELF
    at = F.when(is_clock, F.timestamp_seconds(F.unix_seconds(minute) + F.col("slot"))).otherwise(F.col("second"))
    others = [name for name in bins.columns if name not in (*scope, "second")]
    ten_seconds = (
        Window.partitionBy(*scope).orderBy(F.unix_seconds("second")).rangeBetween(1 - WINDOW_SECONDS, Window.currentRow)
    )
    return (
        bins.withColumn("slots", slots)
        .select("*", F.explode("slots").alias("slot"))
        .select(
            *scope,
            at.alias("second"),
            *(F.when(~is_clock, F.col(name)).alias(name) for name in others),
            is_clock.alias("is_clock"),
        )
        .withColumn("rate", F.coalesce(F.sum("amount").over(ten_seconds), F.lit(0.0)) / WINDOW_SECONDS)
    )


def mean_of_minute(amount: Column) -> Column:
    """Per second, over a whole minute. An aggregate over the rows of a minute."""
    return F.coalesce(F.sum(amount), F.lit(0.0)) / _MINUTE_SECONDS


# -- suggestions -----------------------------------------------------------------------------------------------------

AT_LIMIT = 0.9
RAISE = 1.25
FAR_BELOW = 0.1
LOWER = 2.0
ENOUGH_MINUTES = 60

_JUDGED = ("cluster_id", "quota_key", "scope_user", "scope_client", "quota_value", "level")


@dataclass(frozen=True)
class _Seen:
    """Figures of all minutes together."""

    limit: Column
    peak: Column
    minutes: Column
    throttled: Column
    """Minutes."""
    pressed: Column
    """The highest 95th percentile of the throttled minutes."""


def with_suggestion(minutes: DataFrame) -> DataFrame:
    """`minutes` with `suggested_value` and `reason`; it has the other columns of QUOTA_USAGE.

    All minutes of a scope count together, on all brokers, as long as the limit stays the same. The suggested limit is
    for this scope alone, as a quota of its own: a default's limit applies to others too.

    1. No limit: no suggestion.
    2. Throttled, and in such a minute 95 % of the rates reach 90 % of the limit (the log lacks some of what brokers
       count): 1.25 × the highest rate, rounded up to two digits.
    3. Throttled, and only bursts reach that: leave it; that is what a limit is for.
    4. Throttled, and no rate comes near the limit: leave it; something else throttles.
    5. Never throttled, an hour or more was seen, the highest rate is below a tenth of the limit, and the limit is of
       bytes and of a named entity: 2 × the highest rate, rounded up to two digits. Of a request's time the log has too
       little.
    6. Otherwise never throttled: leave it.
    """
    together = Window.partitionBy(*_JUDGED)
    was_throttled = F.col("throttle_ms") > 0
    # Minutes of the clock: a minute in which two brokers were used counts once.
    minute = F.col("minute")
    seen = _Seen(
        limit=F.col("quota_value"),
        peak=F.max("rate_max_10s").over(together),
        minutes=F.size(F.collect_set(minute).over(together)),
        throttled=F.size(F.collect_set(F.when(was_throttled, minute)).over(together)),
        pressed=F.coalesce(F.max(F.when(was_throttled, F.col("rate_p95_10s"))).over(together), F.lit(0.0)),
    )
    named = minutes.select(
        "*",
        seen.peak.alias("peak"),
        seen.minutes.alias("minutes_seen"),
        seen.throttled.alias("minutes_throttled"),
        seen.pressed.alias("pressed"),
    )
    there = _Seen(*(F.col(name) for name in ("quota_value", "peak", "minutes_seen", "minutes_throttled", "pressed")))
    suggested = _suggested(there)
    return named.withColumn("suggested_value", suggested).withColumn("reason", _reason(there))


def two_digits_up(value: Column, whole: Column) -> Column:
    """The next number with two significant digits: 1234 -> 1300. whole: where it must be an integer of at least 1."""
    unit = F.pow(F.lit(10.0), F.floor(F.log10(value)) - 1)
    # 0.29 * 100 is not 29: the last of sixteen digits must not round up.
    rounded = F.ceil(F.round(value / unit, 9)) * unit
    return F.when(whole, F.greatest(F.ceil(rounded).cast("double"), F.lit(1.0))).otherwise(F.round(rounded, 4))


def _raises(seen: _Seen) -> Column:
    return (seen.throttled > 0) & (seen.pressed >= seen.limit * AT_LIMIT)


def _lowers(seen: _Seen) -> Column:
    far_below = (seen.peak > 0) & (seen.peak < seen.limit * FAR_BELOW)
    of_bytes = F.col("quota_key") != REQUEST_PERCENTAGE
    for_long = (seen.throttled == 0) & (seen.minutes >= ENOUGH_MINUTES)
    return for_long & far_below & of_bytes & F.col("level").isin(*OWN_LEVELS)


def _suggested(seen: _Seen) -> Column:
    whole = F.col("quota_key") != REQUEST_PERCENTAGE
    return F.when(_raises(seen), two_digits_up(seen.peak * RAISE, whole)).when(
        _lowers(seen), two_digits_up(seen.peak * LOWER, whole)
    )


def _reason(seen: _Seen) -> Column:
    peak = _rate(seen.peak)
    of_limit = F.round(F.try_divide(seen.peak, seen.limit) * 100).cast("bigint")
    throttled = F.format_string("throttled in %d of %d minutes", seen.throttled, seen.minutes)
    never = F.format_string(
        "never throttled in %d minutes, peak %s is %d %% of the limit", seen.minutes, peak, of_limit
    )
    whose = (
        F.when(F.col("scope_user").isNull(), "this client id")
        .when(F.col("scope_client").isNull(), "this user")
        .otherwise("this user with this client id")
    )
    return (
        F.when(seen.limit.isNull(), F.concat(F.lit("no limit; peak "), peak))
        .when(_raises(seen), F.concat(throttled, F.lit(", at up to "), peak, F.lit(": 1.25 × that for "), whose))
        .when(
            (seen.throttled > 0) & (seen.peak >= seen.limit * AT_LIMIT),
            F.concat(throttled, F.lit(", in bursts of up to "), peak, F.lit(" alone: leave it")),
        )
        .when(
            seen.throttled > 0,
            F.concat(throttled, F.lit(", though its peak is "), peak, F.lit(": another quota, or what is not logged")),
        )
        .when(_lowers(seen), F.concat(never, F.lit(": 2 × the peak would do")))
        .otherwise(F.concat(never, F.lit(": leave it")))
    )


def _rate(value: Column) -> Column:
    return (
        F.when(F.col("quota_key") == REQUEST_PERCENTAGE, F.format_string("%.1f %%", value))
        .when(value >= 1e6, F.format_string("%.1f MB/s", value / 1e6))
        .when(value >= 1e3, F.format_string("%.1f kB/s", value / 1e3))
        .otherwise(F.format_string("%.0f B/s", value))
    )


# -- the table -------------------------------------------------------------------------------------------------------

_SCOPE = ("cluster_id", "broker_id", "quota_key", "scope_user", "scope_client")
SUGGESTED = ("suggested_value", "reason")
_MUTATIONS = ("CREATE_TOPICS", "DELETE_TOPICS", "CREATE_PARTITIONS")
_PERCENT_SECONDS_PER_MS = 0.1


def quota_usage(request_1s: DataFrame, history: DataFrame) -> DataFrame:
    """QUOTA_USAGE's columns; request_1s, history: REQUEST_1S's and HISTORY's."""
    return with_suggestion(used_minutes(request_1s, history)).select(*QUOTA_USAGE.names)


def used_minutes(request_1s: DataFrame, history: DataFrame) -> DataFrame:
    """The same less `SUGGESTED`, which all minutes of a scope make together."""
    # Brokers compare the principal's name and never its type.
    uses = request_1s.withColumn("user", F.regexp_replace("principal", "^[^:]*:", ""))
    limits = limits_by_lookup(quota_values(history))
    used = _by_key(effective_quotas(uses, limits, at="second"))
    measured = [name for name in QUOTA_USAGE.names if name not in SUGGESTED]
    return _by_minute(rolling_rates(_by_second(used), _SCOPE)).select(*measured)


def _by_key(uses: DataFrame) -> DataFrame:
    """A row for each quota that a use counts for, and the scope that shares its limit."""
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
    """amount: bytes, or percent times seconds. waits: whether this quota throttled it."""
    waited = F.when(waits, F.col("throttle_ms_sum")).otherwise(F.lit(0))
    # No request waited longer than the longest, so at least this many waited.
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
