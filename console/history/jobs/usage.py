"""Makes `quota_usage`, hour by hour: all of it, or where something new was used or limits differ.

In this process memory has the seconds of one hour of a cluster, and all its minutes, some 200 bytes each. For more than
`MOST_ROWS` there is Spark (`by_entity`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from console.history.jobs.gold import first_polls, partitions_of, read
from console.history.jobs.plan_build import Built, new_files
from console.history.schema import HISTORY, QUOTA_USAGE, REQUEST_1S
from console.history.store import Lake, parquet_files
from console.history.store.partitions import partition_values
from console.history.store.write import Write
from console.history.transforms.quota_usage import (
    HOUR,
    SECOND,
    WINDOW_SECONDS,
    Limits,
    used_minutes,
    with_suggestions,
)

if TYPE_CHECKING:  # small builds start no Spark
    from pyspark.sql import SparkSession

MOST_ROWS = 5_000_000
"""Seconds and former minutes that are read in this process."""
_Hour = tuple[str, int]
"""A cluster, and an hour since 1970."""


def make_usage(
    session: Callable[[], SparkSession],
    lake: Lake,
    write: Write,
    built: Built | None,
    differs: frozenset[tuple[str, str]] | None,
) -> None:
    """The minutes of hours in which something new was used, and of clusters whose limits differ; what is suggested
    follows from all minutes of a cluster. built: the last build; None: everything is made. differs: cluster and entity
    type of the rows of `history` that differ; None: any."""
    draft = write.draft
    seconds = draft.table(REQUEST_1S)
    parts = {_hour(partition): partition for partition in seconds.partitions}
    wanted = set(parts)
    if built is not None and differs is not None:
        whole = _with_other_limits(lake, write, differs)
        new = {_hour(seconds.files[path].partition) for path in new_files(write.release, REQUEST_1S.name, built)}
        # A rate reaches back ten seconds: out of the hour after.
        wanted = {(of, hour) for of, hour in parts if of in whole or {(of, hour), (of, hour - 1)} & new}
    clusters = sorted({of for of, _ in wanted})
    to_read = [part for (of, hour), part in parts.items() if {(of, hour), (of, hour + 1)} & wanted]
    former = partitions_of(draft, QUOTA_USAGE, clusters)
    kept = former if built is not None else []
    folders = {each: list[str]() for each in former}
    files = (*seconds.of(to_read).values(), *draft.table(QUOTA_USAGE).of(kept).values())
    if sum(file.rows for file in files) > MOST_ROWS:
        from console.history.jobs.by_entity import usage_of
        from console.history.jobs.tables import read_table, write_partitions

        spark, limits = session(), {each: _limits(lake, write, each) for each in clusters}
        used, before = (read_table(spark, lake, draft, *of) for of in ((REQUEST_1S, to_read), (QUOTA_USAGE, kept)))
        folders |= write_partitions(write, QUOTA_USAGE, usage_of(used, before, wanted, limits))
    else:
        for each in clusters:
            of_cluster = sorted(hour for of, hour in wanted if of == each)
            limits_of = _limits(lake, write, each)
            made = [used_minutes(_seconds(lake, write, parts, (each, hour)), hour, limits_of) for hour in of_cluster]
            minutes = read(lake, draft, QUOTA_USAGE, [each] if kept else [])
            again = pc.is_in(pc.divide(pc.cast(minutes["minute"], pa.int64()), HOUR * SECOND), pa.array(of_cluster))
            made.append(minutes.filter(pc.invert(again)))
            folders |= write.put_arrow(QUOTA_USAGE.name, with_suggestions(pa.concat_tables(made)))
    if folders or built is None:
        write.replace(QUOTA_USAGE.name, folders, whole=built is None)


def _seconds(lake: Lake, write: Write, parts: dict[_Hour, str], of: _Hour) -> pa.Table:
    """The seconds of an hour, and the last of the hour before."""
    cluster_id, hour = of
    since = pa.scalar((hour * HOUR - WINDOW_SECONDS) * SECOND, pa.timestamp("us", "UTC"))
    near = [parts[each] for each in ((cluster_id, hour - 1), of) if each in parts]
    paths = lake.files(write.draft, REQUEST_1S, near)
    return parquet_files.read(lake.filesystem, paths, REQUEST_1S, where=pc.field("second") > since)


def _limits(lake: Lake, write: Write, cluster_id: str) -> Limits:
    rows = read(lake, write.draft, HISTORY, [cluster_id], where=pc.field("entity_type") == "quota")
    return Limits(rows, first_polls(lake, write.draft, [cluster_id]).get(cluster_id))


def _with_other_limits(lake: Lake, write: Write, differs: frozenset[tuple[str, str]]) -> set[str]:
    """Clusters of whose quotas any differs, or the time since when one is known."""
    found = {cluster_id for cluster_id, entity_type in differs if entity_type == "quota"}
    others = {cluster_id for cluster_id, _ in differs} - found
    was, now = (first_polls(lake, release, others) for release in (write.release, write.draft))
    return found | {each for each in others if was.get(each) != now.get(each)}


def _hour(partition: str) -> _Hour:
    """What a partition of seconds is of."""
    values = partition_values(partition)
    at = datetime.fromisoformat(f"{values['hour']}:00:00+00:00")
    return values["cluster_id"] or "", int(at.timestamp()) // HOUR
