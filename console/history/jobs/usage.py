"""Makes `quota_usage` again where something new was used, or limits differ."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from console.history.jobs.gold import first_polls, partitions_of
from console.history.jobs.plan_build import Built, new_files
from console.history.schema import HISTORY, QUOTA_USAGE, REQUEST_1S, Table
from console.history.store import Lake
from console.history.store.partitions import partition_values
from console.history.store.write import Write

if TYPE_CHECKING:  # where nothing was used Spark is not started
    from pyspark.sql import SparkSession

MOST_HOURS = 500
"""More are not named one by one: all of their clusters is made again."""
_Hour = tuple[str, int]
"""A cluster, and an hour since 1970."""


@dataclass(frozen=True)
class Used:
    """hours: of all partitions. new: in which something new was used. whole: clusters that are made again."""

    hours: dict[str, _Hour]
    new: frozenset[_Hour]
    whole: frozenset[str]

    @property
    def clusters(self) -> frozenset[str]:
        """All of which anything is made again."""
        return self.whole | {cluster_id for cluster_id, _ in self.new}


def newly_used(lake: Lake, write: Write, built: Built, differs: frozenset[tuple[str, str]]) -> Used:
    """What has to be made again. differs: cluster and entity type of the rows of `history` that differ."""
    table = write.draft.table(REQUEST_1S)
    hours = {each: _hour(each) for each in table.partitions}
    new = {hours[table.files[path].partition] for path in new_files(write.release, REQUEST_1S.name, built)}
    used = {cluster_id for cluster_id, _ in hours.values()}
    whole = _with_other_limits(lake, write, frozenset(each for each in differs if each[0] in used))
    if len(new) > MOST_HOURS:
        whole |= {cluster_id for cluster_id, _ in new}
    return Used(hours, frozenset(new), frozenset(whole))


def renew_usage(spark: SparkSession, lake: Lake, write: Write, used: Used) -> None:
    """The minutes of hours in which something new was used, and of clusters whose limits differ; what is suggested
    follows from all minutes of a cluster."""
    from pyspark.sql import functions as F

    from console.history.jobs.tables import read_table, write_partitions
    from console.history.transforms.quota_usage import SUGGESTED, used_minutes, with_suggestion

    times = {each for each in used.hours.values() if each[0] in used.clusters}
    # A rate reaches back ten seconds: into the hour before, and out of the hour after.
    wanted = {each for each in times if each[0] in used.whole or each in used.new or (each[0], each[1] - 1) in used.new}
    read = [each for each, at in used.hours.items() if at in wanted or (at[0], at[1] + 1) in wanted]
    seconds = read_table(spark, lake, write.draft, REQUEST_1S, read)
    hour = F.floor(F.unix_seconds("minute") / 3600)
    named = [f"{number} {cluster_id}" for cluster_id, number in wanted if cluster_id not in used.whole]
    of_whole = F.col("cluster_id").isin(sorted(used.whole)) if used.whole else F.lit(False)
    of_hours = F.concat_ws(" ", hour.cast("string"), "cluster_id").isin(named) if named else F.lit(False)
    is_new = of_whole | of_hours

    def rows(table: Table) -> Any:
        return read_table(spark, lake, write.draft, table, partitions_of(write.draft, table, used.clusters))

    minutes = used_minutes(seconds, rows(HISTORY)).where(is_new)
    old = rows(QUOTA_USAGE).drop(*SUGGESTED).where(~is_new)
    made = with_suggestion(minutes.unionByName(old)).select(*QUOTA_USAGE.names)
    former = {each: list[str]() for each in partitions_of(write.draft, QUOTA_USAGE, used.clusters)}
    write.replace(QUOTA_USAGE.name, {**former, **write_partitions(write, QUOTA_USAGE, made)})


def _with_other_limits(lake: Lake, write: Write, differs: frozenset[tuple[str, str]]) -> set[str]:
    """Clusters of whose quotas any differs, or the time since when one is known."""
    found = {cluster_id for cluster_id, entity_type in differs if entity_type == "quota"}
    others = {cluster_id for cluster_id, _ in differs} - found
    was, now = (first_polls(lake, release, others) for release in (write.release, write.draft))
    return found | {each for each in others if was.get(each) != now.get(each)}


def _hour(partition: str) -> _Hour:
    """The cluster of a partition of seconds, and its hour."""
    values = partition_values(partition)
    at = datetime.fromisoformat(f"{values['hour']}:00:00+00:00")
    return values["cluster_id"] or "", int(at.timestamp()) // 3600
