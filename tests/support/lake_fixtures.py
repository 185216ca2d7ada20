"""Fixtures of the lake: a new lake, and a Spark session that the first test with it starts and all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from console.lake.lake import Lake
    from tests.lake.two_lakes import TwoLakes


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that need Spark as slow."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A new, empty lake."""
    from console.lake.lake import Lake

    return Lake.create(str(tmp_path / "lake"))


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the Spark session, with its `spark.log`."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark(spark_folder: Path) -> Iterator[SparkSession]:
    """Spark with Delta on two cores of this machine, in UTC, with two partitions after a shuffle."""
    from console.collecting.gateway import session
    from console.collecting.java import Group, find_java, spark_jars
    from console.lake.spark import for_few_rows
    from tests.support.quick_spark import of_archive

    settings = {
        "spark.master": "local[2]",
        # An action brings keys and counts to the driver, but no rows.
        "spark.driver.maxResultSize": "4m",
        "spark.local.dir": str(spark_folder),
        "spark.sql.warehouse.dir": (spark_folder / "warehouse").as_uri(),
    }
    java = find_java(os.environ)
    jars = spark_jars(os.environ, {Group.DELTA}, java.program)
    options = of_archive(java, jars)
    with (
        (spark_folder / "spark.log").open("wb") as log,
        session(settings, java=java.program, jars=jars, options=options, log=log) as started,
    ):
        for_few_rows(started)
        yield started


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, spark_folder: Path) -> TwoLakes:
    """Two lakes of one site that all tests share: the runs of one never fail, the tests inject failures into the
    other.
    """
    from tests.lake.two_lakes import EventLog, TwoLakes

    events = spark_folder / "events"
    events.mkdir()
    return TwoLakes(tmp_path_factory.mktemp("two"), spark, EventLog(spark, events))
