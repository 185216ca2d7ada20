"""Spark's session: its settings, and nothing left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_session_is_in_utc_and_on_loopback(spark: SparkSession) -> None:
    assert spark.sql("select string(timestamp '1970-01-01 00:00:00') t, hour(timestamp_seconds(0)) h").first() == (
        "1970-01-01 00:00:00",
        0,
    )
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.range(10).repartition(5).groupBy("id").count().count() == 10
