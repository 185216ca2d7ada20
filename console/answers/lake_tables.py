"""Tables of a lake's timeline, drift and usage for the command line; the filter that selects a part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from console.answers.results import Column, Row, Table
from console.model.numbers import Data
from console.pipeline.reader import Change, Drifted, Usage
from console.plan.amounts import moment
from console.present.lake import (
    FIRST_SEEN,
    NOTHING,
    attr_text,
    drift_sides,
    entity_text,
    level_text,
    limit_text,
    pair_text,
    rate_text,
    sides,
    spark,
    typed_text,
    waited,
    who_text,
)

SPARK_WIDTH = 20


def history_table(
    changes: Sequence[Change], *, clusters: bool, first_polls: Mapping[str, datetime], zone: tzinfo | None = None
) -> Table:
    """Return a timeline.

    Args:
        clusters: with a column for the cluster.
        first_polls: by cluster, when it was first polled: what that showed may have changed long before.
        zone: of the times; None: this host's.
    """
    columns = ("When", *(("Cluster",) if clusters else ()), "Entity", "Key", "Was", "Became", "Who", "Known by")
    rows = tuple(_history_row(change, clusters, first_polls.get(change.cluster_id), zone) for change in changes)
    return Table("history", tuple(map(Column, columns)), rows, empty="nothing changed")


def _history_row(change: Change, clusters: bool, first_poll: datetime | None, zone: tzinfo | None) -> Row:
    if change.is_gap:
        until = _when(change.valid_to, zone) if change.valid_to is not None else "now"
        cells = ("not polled", "", "", f"until {until}", "", "")
    elif change.is_first_look:
        cells = ("first poll", "", FIRST_SEEN, change.new_value or "", "", "")
    else:
        old, new, _ = sides(change)
        old = FIRST_SEEN if change.is_first_seen(first_poll) else old
        how = change.attribution if change.principal is not None else "none"
        entity = entity_text(change.entity_type, change.entity_key)
        cells = (entity, attr_text(change.attr), old, new, who_text(change.principal), how)
    data: dict[str, Data] = {**change._asdict(), "valid_from": change.valid_from.isoformat(), "valid_to": None}
    if change.valid_to is not None:
        data["valid_to"] = change.valid_to.isoformat()
    return Row((_when(change.valid_from, zone), *((change.cluster_id,) if clusters else ()), *cells), data)


def drift_table(rows: Sequence[Drifted], *, clusters: bool, zone: tzinfo | None = None) -> Table:
    """Return what differs, the most severe first. zone: as in `history_table`."""
    names = (
        "Severity",
        "Among",
        *(("Cluster",) if clusters else ()),
        "Entity",
        "Key",
        "Most",
        "This",
        "Differ",
        "Since",
    )
    columns = tuple(Column(name, right=name == "Differ") for name in names)
    made = tuple(_drift_row(row, clusters, zone) for row in rows)
    return Table("drift", columns, made, empty="nothing differs")


def _drift_row(row: Drifted, clusters: bool, zone: tzinfo | None) -> Row:
    most, this = drift_sides(row)
    cells = (
        row.severity,
        {"broker": "brokers", "cluster": "clusters"}.get(row.scope, row.scope),
        *((row.cluster_id,) if clusters else ()),
        typed_text(row.entity_key),
        attr_text(row.attr),
        most,
        this,
        f"{row.differing} of {row.peers}",
        _when(row.since, zone) if row.since is not None else "always",
    )
    return Row(cells, {**row._asdict(), "since": row.since.isoformat() if row.since is not None else None})


_USAGE = ("User / client", "Key", "Highest", "Limit", "Used", "Level", "Waited", "Headroom", "Suggested", "Rate", "Why")
_RIGHT = frozenset({"Highest", "Limit", "Used", "Waited", "Headroom", "Suggested"})


def usage_table(rows: Sequence[Usage], *, clusters: bool) -> Table:
    """Return the pairs with the highest usage."""
    names = (*(("Cluster",) if clusters else ()), *_USAGE)
    columns = tuple(Column(name, right=name in _RIGHT) for name in names)
    made = tuple(_usage_row(row, clusters) for row in rows)
    return Table("usage", columns, made, empty="nothing was used in this window")


def _usage_row(row: Usage, clusters: bool) -> Row:
    key = row.pair.quota_key

    cells = (
        *((row.cluster_id,) if clusters else ()),
        pair_text(row.pair),
        key,
        rate_text(key, row.rate_max, row.quota_value),
        limit_text(row),
        NOTHING if row.utilisation is None else f"{row.utilisation:.0%}",
        level_text(row.level),
        waited(row),
        rate_text(key, row.headroom, row.quota_value),
        rate_text(key, row.suggested_value, row.quota_value),
        spark(row.series, SPARK_WIDTH, row.quota_value),
        row.reason,
    )
    data: dict[str, Data] = {**row._asdict(), **row.pair._asdict()}
    del data["pair"]
    data["series"] = [[at.isoformat(), rate] for at, rate in row.series]
    return Row(cells, data)


def _when(at: datetime, zone: tzinfo | None) -> str:
    return at.astimezone(zone).isoformat(sep=" ", timespec="seconds")


# Which part of the past, as words of a filter: ``since=2h key=retention.* by=alice dlq``.

NAMES = ("since", "until", "key", "by")


class LakeFilter(NamedTuple):
    """A query for a lake; None does not restrict it. text: what rows have to contain besides, as in every filter."""

    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    principal: str | None = None
    text: str = ""


def lake_filter(text: str, now: datetime) -> LakeFilter:
    """Parse the words of a filter: those of `NAMES` with their values, and text.

    Raises:
        ValueError: it has an invalid time. The message is for the operator.
    """
    found: dict[str, str] = {}
    rest = []
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or name not in NAMES:
            rest.append(word)
        elif value:
            found[name] = value
    since, until = (moment(found[name], now) if name in found else None for name in ("since", "until"))
    return LakeFilter(since, until, found.get("key"), found.get("by"), " ".join(rest))
