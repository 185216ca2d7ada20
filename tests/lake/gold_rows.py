"""Functions that make rows of the tables `history` and `snapshot`, and that compute facts about each cluster from whole
tables.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.lake.schema import HISTORY, SNAPSHOT, arrow_schema
from console.lake.transforms.change_event import Bronze, change_event
from console.lake.transforms.coverage import LOG, Covered, Polls
from console.lake.transforms.kraft_changes import SINCE_BEFORE, Epochs
from console.lake.transforms.rows import rows_of

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(minute: int) -> datetime:
    """Return the time that is `minute` minutes after `START`."""
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
    """Return a history row for a value of an entity.

    Args:
        entity: its type and key, as `topic:orders`.
        value: the value; None if it is deleted or, without `deleted`, hidden.
        since: from when it is valid, minutes after `START`.
        until: until when it is valid, minutes after `START`; None if it is the current value.
    """
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
    """Return a history row which says that an attribute has no value, because it was deleted. since, until: minutes
    after `START`; `until` None if it is the current state.
    """
    return held(cluster, entity, attr, None, since, until, deleted=True)


def in_file(cluster: str, broker: int, attr: str, value: str) -> dict[str, Any]:
    """Return a poll's row for a value that a broker has in its server.properties."""
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
    """Return rows of the table `history` as an Arrow table."""
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(HISTORY))


def snapshot_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Return rows of the table `snapshot` as an Arrow table."""
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(SNAPSHOT))


def epochs_of(records: pa.Table) -> dict[str, Epochs]:
    """Return cluster id -> the epochs of its metadata log. records: all rows of the logs, with the columns cluster_id,
    log_offset, in_snapshot and record_ts.
    """
    of_snapshot = pc.if_else(records["in_snapshot"], records["log_offset"], pa.scalar(None, pa.int64()))
    found = (
        records.select(["cluster_id", "log_offset", "record_ts"])
        .append_column("of_snapshot", of_snapshot)
        .group_by(["cluster_id", "of_snapshot"])
        .aggregate([("record_ts", "max"), ("log_offset", "min")])
    )
    snapshots: dict[str, dict[int, int]] = defaultdict(dict)
    first: dict[str, int] = {}
    for cluster_id, offset, ts, lowest in rows_of(
        found, "cluster_id", "of_snapshot", "record_ts_max", "log_offset_min"
    ):
        if offset is None:
            first[cluster_id] = lowest
        else:
            snapshots[cluster_id][offset] = ts
    return {each: Epochs(snapshots[each], first.get(each)) for each in {*first, *snapshots}}


def polls_of(snapshot: pa.Table) -> dict[str, Polls]:
    """Return cluster id -> its polls, stored as eight bytes for each poll.

    snapshot: all rows of the table, with the columns cluster_id, kind, entity_type, entity_key and observed_ts.
    """
    names = ["cluster_id", "entity_type", "observed_ts"]
    beats = snapshot.filter(pc.equal(snapshot["kind"], "heartbeat")).select(names)
    found = beats.group_by(names[:2], use_threads=False).aggregate([("observed_ts", "list")])
    times: dict[str, list[tuple[str, Iterable[int]]]] = defaultdict(list)
    for cluster_id, types, when in zip(*(found.column(name) for name in found.column_names), strict=True):
        times[cluster_id.as_py()].append((types.as_py(), when.values.cast(pa.int64()).to_pylist()))
    is_broker = pc.and_(pc.equal(snapshot["kind"], "state"), pc.equal(snapshot["entity_type"], "broker"))
    seen = snapshot.filter(is_broker).group_by(["cluster_id", "entity_key"]).aggregate([])
    brokers: dict[str, set[str]] = defaultdict(set)
    for cluster_id, key in rows_of(seen, "cluster_id", "entity_key"):
        brokers[cluster_id].add(key)
    return {each: Polls.of(times[each], brokers[each]) for each in {*times, *brokers}}


def events_of(bronze: Bronze) -> pa.Table:
    """Return the rows of the table `change_event` that follow from `bronze`, which must have all rows of its
    clusters.
    """
    return change_event(bronze, epochs_of(bronze.kraft_record), polls_of(bronze.snapshot))


def covers_of(events: pa.Table) -> dict[str, Covered]:
    """Return cluster id -> the time that its metadata log covers. events: all rows of `change_event`, with the columns
    cluster_id, event_ts, ts_uncertainty_ms and source.
    """
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
