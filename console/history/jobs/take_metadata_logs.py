"""Takes in metadata logs: what came after the offset that was read to the last time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from ..kraft.log_files import NoMetadataLogError, log_files
from ..kraft.plan import LogPlan, plan_log
from ..schema.arrow import arrow_schema
from ..schema.bronze import KRAFT_RECORD
from ..schema.records import QUARANTINE
from ..sources.kraft_log import SOURCE, KraftLog, KraftLogQuarantine
from ..store.write import Write
from .inputs import MetadataLog
from .quarantined import quarantine, quarantine_arrow
from .tables import write_partitions
from .taken import Taken, UnreadableInput

_REMEMBERED = "kraft_log:"


def take_metadata_logs(spark: SparkSession, write: Write, logs: Sequence[MetadataLog]) -> Taken:
    """What is new in these logs; several folders of one cluster, as of its controllers, are one log.

    UnreadableInput: a folder is no metadata log. OSError.
    """
    spark.dataSource.register(KraftLog)
    spark.dataSource.register(KraftLogQuarantine)
    key = write.lake.key()
    try:
        refuse_another(write, logs)
        plans = [_Log(write, cluster_id, folders) for cluster_id, folders in folders_of(logs).items()]
    except NoMetadataLogError as wrong:
        raise UnreadableInput(str(wrong)) from wrong
    new = [each for each in plans if each.plan.splits]
    bad = quarantine_arrow(write, _damaged(plans))
    rows, unknown = _write(write, [each.read(spark, SOURCE, key) for each in new]) if new else (0, 0)
    if unknown:
        bad += quarantine(spark, write, _united([each.read(spark, f"{SOURCE}_quarantine", key) for each in new]))
    write.remember(
        {
            f"{_REMEMBERED}{each.cluster_id}": {"next_offset": each.next_offset, "folders": each.folders}
            for each in plans
        }
    )
    notes = tuple(
        f"The metadata log of {cluster_id} ends within a transaction, from offset {offset} on: what follows is taken "
        "in once that has ended."
        for each in plans
        for cluster_id, offset in each.plan.open_at.items()
    )
    return Taken(SOURCE, "records and batches", rows, bad, len(plans) - len(new), notes)


def folders_of(logs: Sequence[MetadataLog]) -> dict[str, list[str]]:
    """The folders by cluster. NoMetadataLogError, OSError; UnreadableInput: a folder says for itself that it is of a
    cluster that another folder has, too, as a controller that was cloned does."""
    made: dict[str, list[MetadataLog]] = {}
    for log in logs:
        for cluster_id in dict.fromkeys(file.cluster_id for file in log_files([log.path], log.cluster_id)):
            made.setdefault(cluster_id, []).append(log)
    for cluster_id, folders in made.items():
        if len({each.path for each in folders}) > 1 and any(each.cluster_id is None for each in folders):
            paths = " and ".join(dict.fromkeys(each.path for each in folders))
            raise UnreadableInput(
                f"{paths} both say that they are of the cluster {cluster_id}, and one of them may be wrong. If they "
                f"are controllers of one cluster, name it: --cluster-id {cluster_id}, or id: {cluster_id} in "
                "sources.yaml. If not, one was formatted with the other's id: leave it out."
            )
    return {cluster_id: [each.path for each in folders] for cluster_id, folders in made.items()}


def refuse_another(write: Write, logs: Sequence[MetadataLog]) -> None:
    """Raises UnreadableInput where a folder says for itself that it is of a cluster, and that cluster's log was read
    from other folders before; NoMetadataLogError, OSError."""
    named = {log.cluster_id for log in logs}
    for cluster_id, folders in folders_of(logs).items():
        former = write.manifest.inputs.get(f"{_REMEMBERED}{cluster_id}", {}).get("folders", folders)
        if cluster_id not in named and not set(former) & set(folders):
            raise UnreadableInput(
                f"{' and '.join(folders)} says that it is of the cluster {cluster_id}, whose metadata log was read "
                f"from {' and '.join(former)} before. If it is the same cluster, name it: --cluster-id {cluster_id}, "
                f"or id: {cluster_id} in sources.yaml. If not, it was formatted with the other's id: leave it out."
            )


class _Log:
    """The log of one cluster, and what of it is new."""

    def __init__(self, write: Write, cluster_id: str, folders: list[str]) -> None:
        self.cluster_id = cluster_id
        self.folders = folders
        self.start = int(write.manifest.inputs.get(f"{_REMEMBERED}{cluster_id}", {}).get("next_offset", 0))
        self.plan: LogPlan = plan_log(folders, cluster_id=cluster_id, start_offset=self.start)
        self.next_offset = self.plan.next_offset.get(cluster_id, self.start)

    def read(self, spark: SparkSession, source: str, key: bytes) -> DataFrame:
        """Up to where the plan has seen it: what the broker writes meanwhile is for the next time."""
        options = {
            "paths": json.dumps(self.folders),
            "cluster_id": self.cluster_id,
            "start_offset": str(self.start),
            "end_offset": str(self.next_offset),
            "hmac_secret": key.hex(),
        }
        return spark.read.format(source).options(**options).load()


def _damaged(plans: Sequence[_Log]) -> pa.Table:
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
