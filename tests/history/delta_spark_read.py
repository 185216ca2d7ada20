"""Reads a lake with Delta's own Spark, in a session of its own: `python -m tests.history.delta_spark_read LAKE JARS`.

Prints JSON: by table, the rows of the version that the release names; of `snapshot` those of one partition and of one
hour, too. Then it appends rows to `snapshot`.
"""

from __future__ import annotations

import json
import sys

from console.history.jobs.session import session
from console.history.store import Lake
from tests.support.quick_spark import quick

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def main() -> None:
    lake = Lake.open(sys.argv[1])
    settings = quick({**DELTA, "spark.jars": sys.argv[2], "spark.sql.warehouse.dir": lake.path("warehouse")})
    with session(settings) as spark:
        told = {}
        for name, version in lake.current().versions.items():
            rows = spark.read.format("delta").option("versionAsOf", version).load(lake.path(f"data/{name}"))
            told[name] = rows.count()
        rows = spark.read.format("delta").load(lake.path("data/snapshot"))
        told["one day"] = rows.where("in_day = '2026-11-01'").count()
        told["one hour"] = rows.where("observed_ts >= '2026-11-02' and observed_ts < '2026-11-02T00:00:10'").count()
        rows.limit(2).write.format("delta").mode("append").save(lake.path("data/snapshot"))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
