"""A little of everything that the pipeline does with Spark: ``python -m console.history.jobs.warm_up [JAVA OPTION …]``.

With ``-XX:ArchiveClassesAtExit=FILE`` Java writes the classes that it took part in into an archive, which later starts
load in a fraction of the time (JEP 350).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from .session import Settings, session

SECONDS_TO_WRITE = 300
_ROWS = 2000
_WORDS = "struct<name:string,parts:array<struct<size:bigint>>,at:double>"


def warm_up(spark: SparkSession, folder: Path) -> int:
    """Reads JSON, joins, aggregates, ranks, and writes and reads Parquet in the folder; the rows at the end."""
    lines = spark.range(_ROWS, numPartitions=2).select(
        F.format_string(
            '[2026-01-01 00:00:%02d,000] x:{"name":"n%d","parts":[{"size":%d}],"at":0.5}',
            (F.col("id") % 60).cast("int"),
            F.col("id") % 10,
            F.col("id"),
        ).alias("value")
    )
    lines.write.mode("overwrite").text(str(folder / "lines"))
    parsed = (
        spark.read.text(str(folder / "lines"))
        .select(
            F.to_timestamp(F.substring("value", 2, 23), "yyyy-MM-dd HH:mm:ss,SSS").alias("at"),
            F.from_json(F.regexp_extract("value", r"(\{.*\})$", 1), _WORDS).alias("said"),
        )
        .select("at", "said.name", F.explode("said.parts").alias("part"))
    )
    summed = parsed.groupBy("name", F.date_trunc("second", "at").alias("second")).agg(
        F.sum("part.size").alias("size"), F.count(F.lit(1)).alias("count"), F.max("part.size").alias("most")
    )
    names = summed.groupBy("name").agg(
        F.percentile_approx("size", 0.95).alias("p95"), F.collect_set("count").alias("c")
    )
    by_time = Window.partitionBy("name").orderBy("second")
    last_ten = by_time.rangeBetween(-10, 0)
    ranked = (
        summed.join(F.broadcast(names), on="name", how="left")
        .withColumn("second", F.col("second").cast("bigint"))
        .withColumn("rate", F.sum("size").over(last_ten))
        .withColumn("before", F.lag("size").over(by_time))
        .withColumn("key", F.sha2(F.concat_ws(",", "name", "size"), 256))
        .join(names.select("name", F.lit(1).alias("known")), on="name", how="inner")
    )
    ranked.write.mode("overwrite").partitionBy("name").parquet(str(folder / "ranked"))
    again = spark.read.parquet(str(folder / "ranked"))
    kept = again.unionByName(ranked.select(*again.columns)).where(F.col("size") > 0)
    return kept.orderBy("name", "second").mapInArrow(lambda batches: batches, kept.schema).count()


def main(argv: Sequence[str]) -> int:
    """Warm up on this machine with these options of Java."""
    settings = Settings(name="warm up", master="local[2]", memory="1g", shuffle_partitions=2, java_options=tuple(argv))
    with (
        tempfile.TemporaryDirectory(prefix="kac-warm-up-") as folder,
        session(settings, seconds_to_end=SECONDS_TO_WRITE) as spark,
    ):
        rows = warm_up(spark, Path(folder))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
