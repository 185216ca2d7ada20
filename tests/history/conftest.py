"""One session of Spark for all tests of the pipeline, started by the first that asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_itemcollected(item: pytest.Item) -> None:
    """What needs Spark is slow."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark with Delta on two cores of this machine, in UTC, with two partitions after a shuffle."""
    from console.history.spark import for_few_rows, session
    from console.lake.jars import Group, spark_jars
    from console.lake.java import find_java

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.master": "local[2]",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }
    java = find_java(os.environ).program
    jars = spark_jars(os.environ, {Group.DELTA}, java)
    with (folder / "spark.log").open("wb") as log, session(settings, java=java, jars=jars, log=log) as started:
        for_few_rows(started)
        yield started
