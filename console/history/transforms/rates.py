"""Rates as a broker sees them: over the ten seconds before each second, those without a request too.

A broker keeps 11 samples of a second and divides by at least ten seconds (`quota.window.num`,
`quota.window.size.seconds`; Rate.windowSize). The mean of a minute would hide what it throttles.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

WINDOW_SECONDS = 10
_MINUTE_SECONDS = 60
_ITSELF = -1


def rolling_rates(bins: DataFrame, scope: tuple[str, ...]) -> DataFrame:
    """`bins` with a column `rate`: per second, over ten seconds; and `is_clock`.

    bins: a row for each scope and `second` that has any, with an `amount`. Each minute that has a row gets 60 more,
    one for each second, `is_clock` true and empty but for the scope, the second and its rate: these are what figures of
    the minute are taken of. What is before the first row counts as nothing.
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
