"""Rows of `history` and `snapshot`, short to write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from console.history.schema import HISTORY, SNAPSHOT, arrow_schema

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
