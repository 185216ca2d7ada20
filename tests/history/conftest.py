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
    from console.history.jobs.session import session
    from tests.support.quick_spark import quick

    folder = tmp_path_factory.mktemp("spark")
    settings = quick({"spark.local.dir": str(folder), "spark.sql.warehouse.dir": (folder / "warehouse").as_uri()})
    with (folder / "spark.log").open("wb") as log, session(settings, log) as started:
        yield started
