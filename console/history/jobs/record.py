"""The record of a run: what it did, and the versions of the programs it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from console.history.store.write import Write

# What a job did.


@dataclass(frozen=True)
class Report:
    """What a run did.

    rows: written, by table. unchanged: inputs that had nothing new. notes: what the one who runs it should know, in
    words: a lock taken over, an input that could not be read.
    """

    run_id: str
    job: str
    rows: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


# Which programs a run was made with, for its record.


def note_versions(write: Write, spark: SparkSession) -> None:
    """Adds Spark's version, and the driver's Java."""
    write.versions["spark"] = spark.version
    jvm = spark.sparkContext._jvm
    if jvm is not None:
        write.versions["java"] = str(jvm.System.getProperty("java.version"))
