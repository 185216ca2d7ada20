"""Which programs a run was made with, for its record."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ..store.write import Write


def note_versions(write: Write, spark: SparkSession) -> None:
    """Adds Spark's version, and the driver's Java."""
    write.versions["spark"] = spark.version
    jvm = spark.sparkContext._jvm
    if jvm is not None:
        write.versions["java"] = str(jvm.System.getProperty("java.version"))
