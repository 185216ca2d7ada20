"""What can't be read, written to the table `quarantine`, each thing once however often it is met."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from ..schema.records import QUARANTINE
from ..store.write import Write
from .tables import read_table, write_partitions


def quarantine(spark: SparkSession, write: Write, rows: DataFrame) -> int:
    """Appends rows of QUARANTINE (less `run_id`) that are not there yet; gives how many."""
    key = list(QUARANTINE.key)
    there = read_table(spark, write.lake, write.draft, QUARANTINE).select(*key)
    new = rows.dropDuplicates(key).join(there, on=key, how="left_anti")
    before = write.rows.get(QUARANTINE.name, 0)
    for partition, folders in write_partitions(write, QUARANTINE, new).items():
        for folder in folders:
            write.append(QUARANTINE.name, partition, folder)
    return write.rows.get(QUARANTINE.name, 0) - before
