"""Spark's session: its settings, and nothing left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lake.spark_session import MIB, Machine, memory

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


def test_small_inputs_get_a_small_heap() -> None:
    machine = Machine(memory=64 << 30, free=48 << 30, cores=4)
    assert memory(machine) == "16384m"
    assert memory(machine, 10 * MIB) == "1184m"
    assert memory(machine, 1 << 40) == memory(machine)
    assert memory(Machine(memory=2 << 30, free=1 << 30, cores=2), 10 * MIB) == "1024m"
