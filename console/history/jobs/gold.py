"""Makes `drift`, `policy_violation` and `quota_usage` of `history`: all of it, or what differs.

The first two are made with the operator's files, in this process: about half a KB of memory for each current value of
the lake, and 1 KB for each row of the history of the largest cluster. Usage is made hour by hour: memory has the
seconds of one hour of a cluster, and all its minutes, some 200 bytes each. For more than `MOST_ROWS` there is Spark
(`by_entity`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from console.history.entities import CLUSTER, POLL_SOURCES
from console.history.jobs.plan_build import own_file, this_build
from console.history.jobs.record import UnreadableInput
from console.history.jobs.renew import Renewal, clusters_of, partitions_of
from console.history.policy_files import (
    BASELINE_FILE,
    POLICIES_FILE,
    default_policies,
    read_baseline,
    read_policies,
)
from console.history.schema import DRIFT, HISTORY, POLICY_VIOLATION, QUOTA_USAGE, REQUEST_1S, SNAPSHOT
from console.history.store import Release, parquet_files
from console.history.store.partitions import partition_values
from console.history.transforms.drift import drift
from console.history.transforms.policy_violation import policy_violation
from console.history.transforms.quota_usage import HOUR, SECOND, WINDOW_SECONDS, Limits, used_minutes, with_suggestions
from console.history.transforms.rows import rows_of
from console.model.yaml_places import FileProblem

T = TypeVar("T")
MOST_ROWS = 5_000_000
"""Seconds and former minutes that are read in this process."""
_Hour = tuple[str, int]
"""A cluster, and an hour since 1970."""


# -- drift and violations --------------------------------------------------------------------------------------------


def make_drift(run: Renewal) -> None:
    """All of `drift`, if anything that it is made of differs. UnreadableInput: the baseline is not what it should
    be."""
    if not (run.differs is None or run.differs or run.new(SNAPSHOT) or _file_differs(run, DRIFT.name)):
        return
    baseline = _of_operator(run, BASELINE_FILE, read_baseline, lambda: ())
    current = run.read(HISTORY, where=pc.field("is_current") & (pc.field("entity_type") != CLUSTER))
    seen = run.read(SNAPSHOT, where=(pc.field("kind") == "state") & (pc.field("entity_type") == "broker"))
    made = drift(current, _first_polls(run), seen, baseline)
    run.write.replace(DRIFT.name, run.write.put_arrow(DRIFT.name, made), whole=True)


def make_violations(run: Renewal) -> None:
    """`policy_violation` of the clusters whose history differs; of all if the policies do. UnreadableInput: the
    policies are not what they should be."""
    whole = run.differs is None or _file_differs(run, POLICY_VIOLATION.name)
    clusters = {cluster_id for cluster_id, _ in run.differs or ()}
    if not whole and not clusters:
        return
    policies = _of_operator(run, POLICIES_FILE, read_policies, default_policies)
    there = clusters_of(run.write.draft, HISTORY)
    types = pc.field("entity_type") != CLUSTER
    wanted = sorted(there if whole else there & clusters)
    made = [policy_violation(run.read(HISTORY, [each], where=types), policies) for each in wanted]
    folders = run.write.put_arrow(POLICY_VIOLATION.name, pa.concat_tables(made)) if made else {}
    former = {each: list[str]() for each in partitions_of(run.write.draft, POLICY_VIOLATION, clusters)}
    run.write.replace(POLICY_VIOLATION.name, {**former, **folders}, whole=whole)


def _file_differs(run: Renewal, table: str) -> bool:
    """Whether the operator's file that a table is made with is not as it was."""
    built = run.built
    return built is not None and this_build(run.write.lake, built.run).files[table] != built.files.get(table)


def _of_operator(run: Renewal, name: str, read: Callable[[str, str], T], otherwise: Callable[[], T]) -> T:
    """What a file of the operator says; where there is none, the other."""
    own = own_file(run.write.lake, name)
    try:
        return otherwise() if own is None else read(own.decode("utf-8-sig"), run.write.lake.path(name))
    except FileProblem as wrong:
        raise UnreadableInput(str(wrong)) from wrong


def _first_polls(run: Renewal, clusters: Iterable[str] | None = None, release: Release | None = None) -> dict[str, int]:
    """When a poll, or a snapshot of the log, first showed something, by cluster (None: of all), in microseconds."""
    looks = pc.field("source").isin(pa.array(POLL_SOURCES))
    rows = run.read(HISTORY, clusters, ["cluster_id", "valid_from"], where=looks, release=release)
    first = rows.group_by("cluster_id").aggregate([("valid_from", "min")])
    return dict(rows_of(first, "cluster_id", "valid_from_min"))


# -- usage -----------------------------------------------------------------------------------------------------------


def make_usage(run: Renewal) -> None:
    """The minutes of hours in which something new was used, and of clusters whose limits differ; what is suggested
    follows from all minutes of a cluster."""
    write, goes_on = run.write, run.built is not None
    draft = write.draft
    seconds = draft.table(REQUEST_1S)
    parts = {_hour(partition): partition for partition in seconds.partitions}
    wanted = set(parts)
    if goes_on and run.differs is not None:
        whole = _with_other_limits(run, run.differs)
        new = {_hour(seconds.files[path].partition) for path in run.new(REQUEST_1S)}
        # A rate reaches back ten seconds: out of the hour after.
        wanted = {(of, hour) for of, hour in parts if of in whole or {(of, hour), (of, hour - 1)} & new}
    clusters = sorted({of for of, _ in wanted})
    to_read = [part for (of, hour), part in parts.items() if {(of, hour), (of, hour + 1)} & wanted]
    former = partitions_of(draft, QUOTA_USAGE, clusters)
    kept = former if goes_on else []
    folders = {each: list[str]() for each in former}
    files = (*seconds.of(to_read).values(), *draft.table(QUOTA_USAGE).of(kept).values())
    if sum(file.rows for file in files) > MOST_ROWS:
        from console.history.jobs.by_entity import read_table, usage_of, write_partitions

        spark, limits = run.session(), {each: _limits(run, each) for each in clusters}
        used, before = (
            read_table(spark, write.lake, draft, *of) for of in ((REQUEST_1S, to_read), (QUOTA_USAGE, kept))
        )
        folders |= write_partitions(write, QUOTA_USAGE, usage_of(used, before, wanted, limits))
    else:
        for each in clusters:
            hours = sorted(hour for of, hour in wanted if of == each)
            limits_of = _limits(run, each)
            made = [used_minutes(_seconds(run, parts, each, hour), hour, limits_of) for hour in hours]
            minutes = run.read(QUOTA_USAGE, [each] if kept else [])
            again = pc.is_in(pc.divide(pc.cast(minutes["minute"], pa.int64()), HOUR * SECOND), pa.array(hours))
            made.append(minutes.filter(pc.invert(again)))
            folders |= write.put_arrow(QUOTA_USAGE.name, with_suggestions(pa.concat_tables(made)))
    if folders or not goes_on:
        write.replace(QUOTA_USAGE.name, folders, whole=not goes_on)


def _seconds(run: Renewal, parts: dict[_Hour, str], cluster_id: str, hour: int) -> pa.Table:
    """The seconds of an hour, and the last of the hour before."""
    lake = run.write.lake
    since = pa.scalar((hour * HOUR - WINDOW_SECONDS) * SECOND, pa.timestamp("us", "UTC"))
    near = [parts[cluster_id, each] for each in (hour - 1, hour) if (cluster_id, each) in parts]
    paths = lake.files(run.write.draft, REQUEST_1S, near)
    return parquet_files.read(lake.filesystem, paths, REQUEST_1S, where=pc.field("second") > since)


def _limits(run: Renewal, cluster_id: str) -> Limits:
    rows = run.read(HISTORY, [cluster_id], where=pc.field("entity_type") == "quota")
    return Limits(rows, _first_polls(run, [cluster_id]).get(cluster_id))


def _with_other_limits(run: Renewal, differs: frozenset[tuple[str, str]]) -> set[str]:
    """Clusters of whose quotas any differs, or the time since when one is known."""
    found = {cluster_id for cluster_id, entity_type in differs if entity_type == "quota"}
    others = {cluster_id for cluster_id, _ in differs} - found
    was, now = (_first_polls(run, others, release) for release in (run.write.release, None))
    return found | {each for each in others if was.get(each) != now.get(each)}


def _hour(partition: str) -> _Hour:
    """What a partition of seconds is of."""
    values = partition_values(partition)
    at = datetime.fromisoformat(f"{values['hour']}:00:00+00:00")
    return values["cluster_id"] or "", int(at.timestamp()) // HOUR
