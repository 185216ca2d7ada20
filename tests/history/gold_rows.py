"""Rows of `history` and `snapshot`, short to write; and what the log covers by rows of `change_event`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.history.schema import HISTORY, SNAPSHOT, arrow_schema
from console.history.transforms.coverage import LOG, Covered
from console.history.transforms.kraft_changes import SINCE_BEFORE
from console.history.transforms.rows import rows_of

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(minute: int) -> datetime:
    """A time of these rows."""
    return START + timedelta(minutes=minute)


def held(
    cluster: str,
    entity: str,
    attr: str,
    value: str | None,
    since: int = 0,
    until: int | None = None,
    *,
    deleted: bool = False,
    source: str = "kraft_log",
) -> dict[str, Any]:
    """A value of an entity, spelled `topic:orders`, for some minutes. None and not deleted: hidden."""
    entity_type, _, key = entity.partition(":")
    return {
        "cluster_id": cluster,
        "entity_type": entity_type,
        "entity_key": key,
        "attr": attr,
        "new_value": value,
        "valid_from": at(since),
        "valid_to": None if until is None else at(until),
        "is_current": until is None,
        "is_deleted": deleted,
        "attribution": "none",
        "source": source,
    }


def gone(cluster: str, entity: str, attr: str, since: int, until: int | None = None) -> dict[str, Any]:
    """A value that was taken away."""
    return held(cluster, entity, attr, None, since, until, deleted=True)


def in_file(cluster: str, broker: int, attr: str, value: str) -> dict[str, Any]:
    """A look that shows a broker's value in its server.properties."""
    return {
        "cluster_id": cluster,
        "observed_ts": at(0),
        "kind": "state",
        "entity_type": "broker",
        "entity_key": str(broker),
        "attr": attr,
        "value": value,
        "source": "STATIC_BROKER_CONFIG",
        "is_sensitive": False,
    }


def history_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """HISTORY's rows as Arrow."""
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(HISTORY))


def snapshot_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """SNAPSHOT's rows as Arrow."""
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(SNAPSHOT))


def covers_of(events: pa.Table) -> dict[str, Covered]:
    """The time that the metadata logs cover, by cluster. events: the columns cluster_id, event_ts, ts_uncertainty_ms
    and source of all rows of `change_event`."""
    of_log = events.filter(pc.is_in(events["source"], pa.array(LOG)))
    ends = of_log.group_by("cluster_id").aggregate([("event_ts", "min"), ("event_ts", "max")])
    by_snapshot = of_log.filter(pc.equal(of_log["source"], "kraft_snapshot"))
    told = by_snapshot.group_by(["cluster_id", "event_ts", "ts_uncertainty_ms"]).aggregate([])
    holes: dict[str, dict[int, int]] = defaultdict(dict)
    whole: dict[str, int] = {}
    for cluster_id, ts, uncertainty in rows_of(told, "cluster_id", "event_ts", "ts_uncertainty_ms"):
        if uncertainty > 0:
            holes[cluster_id][ts] = min(ts - uncertainty * 1000, holes[cluster_id].get(ts, ts))
        elif uncertainty == SINCE_BEFORE:
            whole[cluster_id] = min(ts, whole.get(cluster_id, ts))
    return {
        of: Covered(first, last, tuple(sorted((begins, end) for end, begins in holes[of].items())), whole.get(of))
        for of, first, last in rows_of(ends, "cluster_id", "event_ts_min", "event_ts_max")
    }
