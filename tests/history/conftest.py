"""One session of Spark for all tests of the pipeline, started by the first that asks for it."""

from __future__ import annotations

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
    """Spark on two cores of this machine, in UTC, with two partitions after a shuffle."""
    from console.history.jobs.session import Settings, session

    folder = tmp_path_factory.mktemp("spark")
    settings = Settings(
        name="tests",
        master="local[2]",
        memory="1g",
        shuffle_partitions=2,
        # Tests have little data: they are done before the second compiler is.
        java_options=("-XX:TieredStopAtLevel=1",),
        more={"spark.local.dir": str(folder), "spark.sql.warehouse.dir": (folder / "warehouse").as_uri()},
    )
    with (folder / "spark.log").open("wb") as log, session(settings, log) as started:
        yield started


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Plans are not compiled: for small tables and large plans that takes longer than running them."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)
