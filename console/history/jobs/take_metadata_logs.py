"""Takes in metadata logs: what came after the offset that was read to the last time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from console.history.schema import KRAFT_RECORD, QUARANTINE, arrow_schema
from console.history.spark_sources import SOURCE, KraftLog, KraftLogQuarantine
from console.model.numbers import json_text

from ..store.write import Write
from .inputs import MetadataLog
from .plan_metadata_logs import NewOfLog, plan_metadata_logs, remembered
from .quarantined import quarantine, quarantine_arrow
from .tables import write_partitions
from .taken import Taken


def take_metadata_logs(spark: SparkSession, write: Write, logs: Sequence[MetadataLog]) -> Taken:
    """What is new in these logs; several folders of one cluster, as of its controllers, are one log.

    UnreadableInput: a folder is no metadata log. OSError.
    """
    spark.dataSource.register(KraftLog)
    spark.dataSource.register(KraftLogQuarantine)
    key = write.lake.key()
    plans = plan_metadata_logs(write, logs)
    new = [each for each in plans if each.plan.splits]
    bad = quarantine_arrow(write, _damaged(plans))
    rows, unknown = _write(write, [_read(spark, each, SOURCE, key) for each in new]) if new else (0, 0)
    if unknown:
        bad += quarantine(spark, write, _united([_read(spark, each, f"{SOURCE}_quarantine", key) for each in new]))
    write.remember(remembered(plans))
    notes = tuple(
        f"The metadata log of {cluster_id} ends within a transaction, from offset {offset} on: what follows is taken "
        "in once that has ended."
        for each in plans
        for cluster_id, offset in each.plan.open_at.items()
    )
    return Taken(SOURCE, "records and batches", rows, bad, len(plans) - len(new), notes)


def _read(spark: SparkSession, log: NewOfLog, source: str, key: bytes) -> DataFrame:
    """Up to where the plan has seen it: what the broker writes meanwhile is for the next time."""
    options = {
        "paths": json_text(log.folders),
        "cluster_id": log.cluster_id,
        "start_offset": str(log.start),
        "end_offset": str(log.next_offset),
        "hmac_secret": key.hex(),
    }
    return spark.read.format(source).options(**options).load()


def _damaged(plans: Sequence[NewOfLog]) -> pa.Table:
    """Damaged batches; those of former runs are among them as long as the log has them."""
    troubles = [{"source": SOURCE, **asdict(trouble)} for each in plans for trouble in each.plan.troubles]
    schema = arrow_schema(QUARANTINE)
    return pa.Table.from_pylist(troubles, schema=schema.remove(schema.get_field_index("run_id")))


def _write(write: Write, read: list[DataFrame]) -> tuple[int, int]:
    """Gives the rows written, and how many of them are of records that may be damaged."""
    seen = Observation("records")
    unknown = F.count_if(F.col("record_type").startswith("UNKNOWN")).alias("unknown")
    rows = _united(read).observe(seen, F.count(F.lit(1)).alias("rows"), unknown)
    for partition, folders in write_partitions(write, KRAFT_RECORD, rows).items():
        for folder in folders:
            write.append(KRAFT_RECORD.name, partition, folder)
    counted = seen.get
    return int(counted["rows"]), int(counted["unknown"])


def _united(read: list[DataFrame]) -> DataFrame:
    made = read[0]
    for each in read[1:]:
        made = made.unionByName(each)
    return made
