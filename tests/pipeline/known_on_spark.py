"""The known changes' own logs, and the polls before and after them, brought into a lake by the sources."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from console.pipeline.app import update
from console.pipeline.inputs import Inputs, MetadataLog, RequestLog
from console.pipeline.lake import Lake
from console.pipeline.landing import Landed, deliver
from console.pipeline.runs import Plan, Report
from tests.pipeline.golden import KNOWN, KNOWN_ZONE, Rows, World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROW = ("kind", "entity_type", "entity_key", "attr", "value", "source", "is_sensitive")


def unpacked(folder: Path, cluster_id: str) -> Inputs:
    """The metadata log and the request logs of the known changes, in a folder."""
    with zipfile.ZipFile(KNOWN) as archive:
        archive.extractall(folder)
    logs = [
        RequestLog((str(folder / f"broker-{each}" / "request.log"),), cluster_id, each, KNOWN_ZONE) for each in (1, 2)
    ]
    return Inputs((MetadataLog(str(folder / "data" / "__cluster_metadata-0")),), tuple(logs))


def deliver_polls(lake: Lake, rows: Rows, name: str) -> None:
    """Rows of `snapshot`, as a host delivers them."""
    polls = {(row["cluster_id"], row["observed_ts"]): list[Sequence[object]]() for row in rows}
    for row in rows:
        of_row = [row.get(each) for each in _ROW]
        polls[row["cluster_id"], row["observed_ts"]].append((*of_row[:-1], bool(of_row[-1])))
    deliver(lake, [Landed(cluster, at, found) for (cluster, at), found in polls.items()], name)  # type: ignore[arg-type]


def taken_in(spark: SparkSession, lake: Lake, world: World, folder: Path) -> list[Report]:
    """Updates of a lake: of the poll before the changes, of the logs with the poll after them, and of nothing new."""
    first, second = world.steps
    inputs = unpacked(folder, first["snapshot"][0]["cluster_id"])
    reports = []
    for number, (step, given) in enumerate(((first, Inputs()), (second, inputs), ({}, inputs))):
        if rows := [*step.get("snapshot", ()), *step.get("poll", ())]:
            deliver_polls(lake, rows, f"poll-{number}")
        reports.append(update(Plan(lake, given), lambda: nullcontext(spark)))
    return reports
