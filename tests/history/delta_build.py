"""A process that builds tables as Delta tables, since Delta needs a session of its own.

`python -m tests.history.delta_build LAKE JARS` prints JSON: for each build the table's version in Delta, and how many
rows Delta reads of that version; or how the build failed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import timedelta

from pyspark.sql import SparkSession

from console.history.jobs.build import DELTA, build
from console.history.jobs.session import Settings, session
from console.history.jobs.steps import Source
from console.history.jobs.tables import SETTINGS
from console.history.store import Lake
from console.history.store.write import writing
from tests.history.lake_rows import START, snapshot_rows
from tests.history.tiny_steps import FAILING, STEPS
from tests.support.quick_spark import INTERPRETED, java_options

DAY_THREE = START + timedelta(days=2)
EVENTS = STEPS[0]
FAILS = replace(FAILING, reads=(Source("change_event"),))
DONE = ("made", "failed", "made again", "since day three", "one version kept")


def main() -> None:
    lake = Lake.open(sys.argv[1])
    more = {**SETTINGS, **INTERPRETED, "spark.jars": sys.argv[2], "spark.sql.warehouse.dir": lake.path("warehouse")}
    settings = Settings("delta", "local[2]", "1g", shuffle_partitions=2, java_options=java_options(), more=more)
    with session(settings) as spark:
        told: list[object] = []
        for done in DONE:
            try:
                one(spark, lake, done)
            except Exception as wrong:  # noqa: BLE001 - the test looks what it was
                told.append(str(wrong)[:2000])
            else:
                told.append(read(spark, lake, "change_event"))
    print(json.dumps(told))


def one(spark: SparkSession, lake: Lake, done: str) -> None:
    if done == "since day three":
        with writing(lake, "collect") as write:
            write.add_arrow("snapshot", snapshot_rows(30, days=3, first=200))
            write.commit()
    build(
        spark,
        lake,
        None,
        DAY_THREE if done == "since day three" else None,
        format=DELTA,
        keep=1 if done == "one version kept" else 10,
        steps=(EVENTS, FAILS) if done == "failed" else (EVENTS,),
    )


def read(spark: SparkSession, lake: Lake, table: str) -> tuple[int, int]:
    """Delta's version that the release names, and its rows as Delta reads them."""
    version = lake.current().tables[table].delta
    assert version is not None
    reader = spark.read.format("delta").option("versionAsOf", version)
    return version, reader.load(lake.path(f"data/{table}/delta")).count()


if __name__ == "__main__":
    main()
