"""What a limit should be, and why.

Judged are all minutes that were given of who shares a limit, on all brokers, as long as the limit stays the same. The
limit suggested is for them alone, as a quota of their own: a limit of a default counts for others too.

1. No limit: none is suggested.
2. Throttled, and in such a minute 95 % of the rates reach 90 % of the limit (the log does not show all that brokers
   count): 1.25 × the highest rate, rounded up to two digits.
3. Throttled, and only bursts reach that: leave it; that is what a limit is for.
4. Throttled, and no rate comes near the limit: leave it; something else throttles.
5. Never throttled, an hour was seen or more, the highest rate is below a tenth of the limit, and the limit is of bytes
   and their own: 2 × the highest rate, rounded up to two digits. Of a request's time the log shows too little for that.
6. Else never throttled: leave it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.model.effective_quota import OWN_LEVELS, REQUEST_PERCENTAGE

AT_LIMIT = 0.9
RAISE = 1.25
FAR_BELOW = 0.1
LOWER = 2.0
ENOUGH_MINUTES = 60

_JUDGED = ("cluster_id", "quota_key", "scope_user", "scope_client", "quota_value", "level")


@dataclass(frozen=True)
class _Seen:
    """What the minutes say together."""

    limit: Column
    peak: Column
    minutes: Column
    throttled: Column
    """Minutes."""
    pressed: Column
    """The highest 95th percentile of the minutes that were throttled."""


def with_suggestion(minutes: DataFrame) -> DataFrame:
    """`minutes` with `suggested_value` and `reason`; it has the other columns of QUOTA_USAGE."""
    together = Window.partitionBy(*_JUDGED)
    was_throttled = F.col("throttle_ms") > 0
    # Minutes of the clock: one in which two brokers were used is one.
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
    """The next number with two digits that count: 1234 -> 1300. whole: where it must have no fraction, and be 1 at
    least."""
    unit = F.pow(F.lit(10.0), F.floor(F.log10(value)) - 1)
    # 0.29 * 100 is not 29: a last digit of the sixteen must not round up.
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
