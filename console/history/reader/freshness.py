"""How fresh the tables are: the newest observation that they know of, and when they were built."""

from __future__ import annotations

from datetime import datetime

from ..schema.bronze import KRAFT_RECORD, SNAPSHOT
from ..schema.gold import DRIFT, HISTORY, POLICY_VIOLATION, QUOTA_USAGE
from ..schema.silver import CHANGE_EVENT
from ..schema.table import Table
from .query import FILES, known_time
from .rows import Freshness
from .tables import Tables
from .usage import newest_minute

SHOWN = (HISTORY, DRIFT, QUOTA_USAGE, POLICY_VIOLATION)
_LOOKS = ((SNAPSHOT, "observed_ts"), (KRAFT_RECORD, "record_ts"), (CHANGE_EVENT, "event_ts"))


def freshness(tables: Tables, cluster_id: str, *, of: tuple[Table, ...] = SHOWN) -> list[Freshness]:
    """For each table: what it tells of a cluster, as of when, and when it was built."""
    looked = _last_look(tables, cluster_id) if set(of) - {QUOTA_USAGE} else None
    made = []
    for table in of:
        partitions = tables.partitions(table, cluster_id)
        built = tables.built(table, partitions)
        as_of = newest_minute(tables, cluster_id) if table is QUOTA_USAGE else looked
        if as_of is not None and built is not None and table is not QUOTA_USAGE:
            as_of = min(as_of, built)  # what was seen since is not in it
        made.append(Freshness(table, as_of, built, tables.rows(table, partitions)))
    return made


def _last_look(tables: Tables, cluster_id: str) -> datetime | None:
    """When a cluster was last heard of, by whatever source. Only the newest day of each is read."""
    found = []
    for table, column in _LOOKS:
        days = [part for part in tables.partitions(table, cluster_id) if "day=" in part]
        if not days:
            continue
        files = tables.files(table, [max(days, key=lambda part: part.rpartition("day=")[2])])
        sql = f"SELECT epoch_us(max({column})) FROM {FILES} WHERE cluster_id = ?"  # noqa: S608
        found += [at for (at,) in tables.ask(sql, [files, cluster_id]) if at is not None]
    return known_time(max(found)) if found else None
