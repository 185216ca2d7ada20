"""Takes in request logs: lines after those that were read before, whatever their files are called by now.

Requests by the second add up, so lines that come late change the hours that they are of, and no other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from glob import glob
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from ..requests import progress
from ..requests.parts import BrokerLog
from ..schema.bronze import ALTER_REQUEST
from ..schema.silver import REQUEST_1S
from ..schema.table import Table
from ..sources.request_log import is_damaged, request_lines
from ..sources.request_log_duckdb import counted_seconds, executors_have_duckdb, request_1s_of
from ..store.write import Write
from ..transforms.alter_request import alter_request
from ..transforms.damaged_request import damaged_request
from ..transforms.request_1s import merge_request_1s, request_1s
from .inputs import RequestLog
from .quarantined import quarantine
from .tables import read_table, write_partitions
from .taken import Taken, UnreadableInput

SOURCE = "request_log"
_REMEMBERED = "request_log:"
REMEMBERED_DAYS = 30
"""How long a file is remembered that is not there any more. One that comes back later would be counted again."""


def take_request_logs(spark: SparkSession, write: Write, logs: Sequence[RequestLog]) -> Taken:
    """What is new in these logs. UnreadableInput: no file is found, a file is cut, a zone is unknown. OSError."""
    brokers: list[BrokerLog] = []
    unchanged = 0
    remember: dict[str, object] = {}
    for log in logs:
        owner = f"{log.cluster_id}/{log.broker_id}"
        known = {**write.manifest.inputs.get(f"{_REMEMBERED}{owner}", {}), **_planned(remember, owner)}
        paths = _found(log)
        try:
            plan = progress.plan(paths, known, owner=owner)
            remember[f"{_REMEMBERED}{owner}"] = _still_known(plan.progress, paths, owner)
        except EOFError as wrong:
            raise UnreadableInput(f"A packed request log is cut: {wrong}. Wait until it is whole.") from wrong
        unchanged += plan.unchanged
        if plan.spans:
            brokers.append(BrokerLog(log.cluster_id, log.broker_id, plan.spans, _zone(log)))
    write.remember(remember)
    if not brokers:
        return Taken(SOURCE, "lines", unchanged=unchanged)
    seen = Observation("lines")
    _merge(spark, write, _seconds(spark, brokers, seen))
    counted = {name: count or 0 for name, count in seen.get.items()}
    _append(write, ALTER_REQUEST, alter_request(request_lines(spark, brokers, alters_only=True)))
    if counted["damaged"]:
        quarantine(spark, write, damaged_request(request_lines(spark, brokers)))
    bad = int(counted["damaged"])
    return Taken(SOURCE, "lines", int(counted["lines"]) - bad, bad, unchanged)


def _seconds(spark: SparkSession, brokers: Sequence[BrokerLog], seen: Observation) -> DataFrame:
    """REQUEST_1S; seen: learns of `lines` and `damaged` when it is written."""
    if executors_have_duckdb(spark):
        counted = counted_seconds(spark, brokers)
        return request_1s_of(counted.observe(seen, *(F.sum(name).alias(name) for name in ("lines", "damaged"))))
    damaged = F.count_if(is_damaged()).alias("damaged")
    return request_1s(request_lines(spark, brokers).observe(seen, F.count(F.lit(1)).alias("lines"), damaged))


def _still_known(known: progress.Progress, paths: Sequence[str], owner: str) -> dict[str, dict[str, int]]:
    """What is remembered of files, less those that are long gone. seen: the last day they were, since 1970."""
    today = int(time.time()) // 86_400
    there = {progress.identity_of(path, owner) for path in paths}
    dated = {
        identity: {**each, "seen": today if identity in there else each.get("seen", today)}
        for identity, each in known.items()
    }
    return {identity: each for identity, each in dated.items() if today - each["seen"] <= REMEMBERED_DAYS}


def _planned(remember: dict[str, object], owner: str) -> dict[str, dict[str, int]]:
    """What an entry before has planned of the same broker's log."""
    planned = remember.get(f"{_REMEMBERED}{owner}", {})
    assert isinstance(planned, dict)
    return planned


def _merge(spark: SparkSession, write: Write, rows: DataFrame) -> None:
    """Adds to the hours that are there, and puts the others beside them."""
    known = write.draft.table(REQUEST_1S).partitions
    written = write_partitions(write, REQUEST_1S, rows)
    both = [partition for partition in written if partition in known]
    for partition, folders in written.items():
        if partition not in known:
            write.append(REQUEST_1S.name, partition, folders[0])
    if not both:
        return
    old = read_table(spark, write.lake, write.draft, REQUEST_1S, both)
    new = spark.read.schema(REQUEST_1S.ddl).parquet(*(written[partition][0] for partition in both))
    write.replace(REQUEST_1S.name, write_partitions(write, REQUEST_1S, merge_request_1s(old, new)))
    for partition in both:
        write.lake.filesystem.remove(written[partition][0])


def _append(write: Write, table: Table, rows: DataFrame) -> None:
    for partition, folders in write_partitions(write, table, rows).items():
        for folder in folders:
            write.append(table.name, partition, folder)


def _found(log: RequestLog) -> list[str]:
    """Files of this machine by pattern; a URI names one file."""
    found = [path for pattern in log.paths for path in ([pattern] if "://" in pattern else glob(pattern))]  # noqa: PTH207 - absolute patterns, which Path.glob takes not
    if not found:
        raise UnreadableInput(f"No request log of broker {log.broker_id} is at {', '.join(log.paths)}.")
    return sorted(set(found))


def _zone(log: RequestLog) -> str:
    try:
        return ZoneInfo(log.time_zone).key
    except (ZoneInfoNotFoundError, ValueError) as wrong:
        raise UnreadableInput(f"{log.time_zone!r} is no time zone; they are called Europe/Berlin or UTC.") from wrong
