"""Makes `drift` and `policy_violation` of `history`, with the operator's files, in this process: about half a KB of
memory for each current value of the lake, and 1 KB for each row of the history of the largest cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from console.history.entities import CLUSTER, POLL_SOURCES
from console.history.jobs.plan_build import own_file
from console.history.jobs.record import UnreadableInput
from console.history.policy_files import (
    BASELINE_FILE,
    POLICIES_FILE,
    default_policies,
    read_baseline,
    read_policies,
)
from console.history.schema import DRIFT, HISTORY, POLICY_VIOLATION, SNAPSHOT, Table
from console.history.store import Lake, Release, parquet_files
from console.history.store.partitions import partition_values
from console.history.store.write import Write
from console.history.transforms.drift import drift
from console.history.transforms.policy_violation import policy_violation
from console.history.transforms.rows import rows_of
from console.model.yaml_places import FileProblem

T = TypeVar("T")


def first_polls(lake: Lake, release: Release, clusters: Iterable[str] | None = None) -> dict[str, int]:
    """When a poll, or a snapshot of the log, first showed something, by cluster (None: of all), in microseconds."""
    looks = pc.field("source").isin(pa.array(POLL_SOURCES))
    rows = read(lake, release, HISTORY, clusters, columns=["cluster_id", "valid_from"], where=looks)
    first = rows.group_by("cluster_id").aggregate([("valid_from", "min")])
    return dict(rows_of(first, "cluster_id", "valid_from_min"))


def read(
    lake: Lake,
    release: Release,
    table: Table,
    clusters: Iterable[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    where: pc.Expression | None = None,
) -> pa.Table:
    """A table as it is in that version; of these clusters (None: of all)."""
    wanted = None if clusters is None else partitions_of(release, table, clusters)
    return parquet_files.read(lake.filesystem, lake.files(release, table, wanted), table, columns=columns, where=where)


def partitions_of(release: Release, table: Table, clusters: Iterable[str]) -> list[str]:
    """The partitions of these clusters."""
    wanted = frozenset(clusters)
    return [each for each in release.table(table).partitions if partition_values(each)["cluster_id"] in wanted]


def clusters_of(release: Release, table: Table) -> set[str]:
    """The clusters that a table has rows of."""
    found = {partition_values(each)["cluster_id"] for each in release.table(table).partitions}
    return {cluster_id for cluster_id in found if cluster_id is not None}


def make_drift(lake: Lake, write: Write) -> None:
    """All of `drift`. UnreadableInput: the baseline is not what it should be."""
    baseline = _of_operator(lake, BASELINE_FILE, read_baseline, lambda: ())
    is_now = pc.field("is_current") & (pc.field("entity_type") != CLUSTER)
    of_brokers = (pc.field("kind") == "state") & (pc.field("entity_type") == "broker")
    current = read(lake, write.draft, HISTORY, where=is_now)
    seen = read(lake, write.draft, SNAPSHOT, where=of_brokers)
    made = drift(current, first_polls(lake, write.draft), seen, baseline)
    write.replace(DRIFT.name, write.put_arrow(DRIFT.name, made), whole=True)


def make_violations(lake: Lake, write: Write, clusters: Iterable[str] | None) -> None:
    """`policy_violation` of these clusters (None: of all). UnreadableInput: the policies are not what they should
    be."""
    policies = _of_operator(lake, POLICIES_FILE, read_policies, default_policies)
    draft = write.draft
    there = clusters_of(draft, HISTORY)
    types = pc.field("entity_type") != CLUSTER
    wanted = sorted(there if clusters is None else there.intersection(clusters))
    made = [policy_violation(read(lake, draft, HISTORY, [each], where=types), policies) for each in wanted]
    folders = write.put_arrow(POLICY_VIOLATION.name, pa.concat_tables(made)) if made else {}
    former = {each: list[str]() for each in partitions_of(draft, POLICY_VIOLATION, clusters or ())}
    write.replace(POLICY_VIOLATION.name, {**former, **folders}, whole=clusters is None)


def _of_operator(lake: Lake, name: str, read: Callable[[str, str], T], otherwise: Callable[[], T]) -> T:
    """What a file of the operator says; where there is none, the other."""
    own = own_file(lake, name)
    try:
        return otherwise() if own is None else read(own.decode("utf-8-sig"), lake.path(name))
    except FileProblem as wrong:
        raise UnreadableInput(str(wrong)) from wrong
