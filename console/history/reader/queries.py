"""Queries on a lake's tables: the timeline of changes, drift and policy violations, quota usage, freshness."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from console.history.entities import CLUSTER, FIRST_LOOK, POLL_SOURCES, UNOBSERVED, acl_key
from console.history.reader.tables import (
    Change,
    Drifted,
    Freshness,
    Gap,
    Minute,
    Pair,
    Part,
    Rows,
    Tables,
    Usage,
    Violation,
    Where,
    known_time,
    time,
    time_column,
)
from console.history.schema import (
    CHANGE_EVENT,
    DRIFT,
    HISTORY,
    KRAFT_RECORD,
    POLICY_VIOLATION,
    QUOTA_SUGGESTION,
    QUOTA_USAGE,
    SNAPSHOT,
    Table,
)
from console.model.numbers import EPOCH

# -- the timeline: the rows of `history` from late to early ----------------------------------------------------------

PAGE = 500
_COLUMNS = """cluster_id, entity_type, entity_key, attr, old_value, new_value, epoch_us(valid_from), epoch_us(valid_to),
 is_current, is_deleted, principal, attribution, source"""

_TEXT = "concat_ws(' ', entity_type, entity_key, attr, old_value, new_value, principal)"


@dataclass(frozen=True)
class Wanted:
    """Which changes. None and () do not filter.

    entities: pairs of a type and a key; times in which the cluster was not polled are always included. since, until:
    [since, until). key: an attribute, or a pattern with `*` and `?`. principal: with or without its `User:`; also
    matches one of several possible authors. text: words that all occur in a row, in any case.
    """

    cluster_id: str | None = None
    entities: tuple[tuple[str, str], ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    principal: str | None = None
    text: str = ""

    @property
    def narrows(self) -> bool:
        """Whether it looks for something, and not for all that changed."""
        return bool(self.entities or self.key or self.principal or self.text)


def with_acls(type_: str, key: str) -> tuple[tuple[str, str], ...]:
    """An entity, with the ACLs on its name if its type can have any."""
    if type_ not in ("topic", "group"):
        return ((type_, key),)
    return (type_, key), ("acl", acl_key(type_.upper(), "LITERAL", key))


def timeline(tables: Tables, wanted: Wanted, limit: int = PAGE, *, folded: bool = False) -> list[Change]:
    """The latest changes. folded: what the first poll of a cluster showed is one row (`Change.is_first_look`)."""
    looks = _first_looks(tables, wanted) if folded else []
    where = _changes_where(wanted)
    if looks:
        times = [look.valid_from for look in looks]
        where.add(f"NOT ({_WAS_THERE} AND list_contains(?, valid_from))", POLL_SOURCES, times)
    order = "ORDER BY valid_from DESC, cluster_id, entity_type, entity_key, attr LIMIT ?"
    found = tables.select(_COLUMNS, HISTORY, _part(tables, wanted), where, order, limit)
    return sorted([*map(_change, found), *looks], key=lambda change: change.place)[:limit]


def _part(tables: Tables, wanted: Wanted) -> Part:
    """What of `history` is read: the entities, with those that gaps are of."""
    part = Part.of(wanted.cluster_id)
    if not wanted.entities:
        return part
    clusters = tables.clusters(HISTORY) if wanted.cluster_id is None else [wanted.cluster_id]
    return replace(part, entities=(*wanted.entities, *((CLUSTER, each) for each in clusters)))


_FOLDED_FROM = 10
"""Values that a first poll showed; fewer are shown as they are."""
_WAS_THERE = f"list_contains(?, source) AND old_value IS NULL AND NOT is_deleted AND entity_type <> '{CLUSTER}'"
"""What a first poll shows: `Change.is_first_seen`."""


def _first_looks(tables: Tables, wanted: Wanted) -> list[Change]:
    """A row in the place of all that the first poll of a cluster showed, where that is much."""
    rows = tables.rows(HISTORY, Part.of(wanted.cluster_id))
    if rows is None:
        return []
    where = _changes_where(wanted).add(f"{_WAS_THERE} AND valid_from = began", POLL_SOURCES)
    sql = f"""WITH seen AS MATERIALIZED (SELECT * FROM {rows.sql} WHERE list_contains(?, source)
  AND entity_type <> '{CLUSTER}'),
 first AS (SELECT cluster_id, min(valid_from) AS began FROM seen GROUP BY cluster_id)
 SELECT cluster_id, '{CLUSTER}', '', '{FIRST_LOOK}', NULL,
  format('{{:,}} values of {{:,}} entities', count(*), count(DISTINCT (entity_type, entity_key))),
  epoch_us(began), NULL, true, false, NULL, 'none', '{POLL_SOURCES[0]}'
 FROM seen JOIN first USING (cluster_id) {where.sql} GROUP BY cluster_id, began HAVING count(*) >= ?"""  # noqa: S608
    found = tables.ask(sql, [*rows.parameters, POLL_SOURCES, *where.parameters, _FOLDED_FROM])
    return list(map(_change, found))


def _changes_where(wanted: Wanted) -> Where:
    where = Where().equal("cluster_id", wanted.cluster_id).between("valid_from", wanted.since, wanted.until)
    if wanted.entities:
        either = " OR ".join("(entity_type = ? AND entity_key = ?)" for _ in wanted.entities)
        names = [name for entity in wanted.entities for name in entity]
        where.add(f"({either} OR (entity_type = ? AND attr = ?))", *names, CLUSTER, UNOBSERVED)
    where.like("attr", wanted.key)
    if wanted.principal is not None:
        name = wanted.principal
        where.add("list_has_any(string_split(principal, ', '), ?)", [name, name if ":" in name else f"User:{name}"])
    for word in wanted.text.split():
        where.add(f"contains(lower({_TEXT}), lower(?))", word)
    return where


def first_polls(tables: Tables, clusters: Collection[str]) -> dict[str, datetime]:
    """The time of the first poll of each of these clusters that was polled."""
    where = Where().add("list_contains(?, source)", POLL_SOURCES).add("attr <> ?", UNOBSERVED)
    part = Part(tuple(clusters))
    found = tables.select("cluster_id, epoch_us(min(valid_from))", HISTORY, part, where, "GROUP BY cluster_id")
    return {cluster: known_time(at) for cluster, at in found}


def gaps(tables: Tables, cluster_id: str | None, since: datetime | None = None) -> list[Gap]:
    """The times in which a cluster was not polled (None: any), the latest first; without those that ended before
    `since`."""
    where = Where().equal("entity_type", CLUSTER).equal("attr", UNOBSERVED)
    if since is not None:
        where.add("(valid_to IS NULL OR valid_to > ?)", since)
    columns, order = "cluster_id, epoch_us(valid_from), epoch_us(valid_to)", "ORDER BY valid_from DESC, cluster_id"
    of = tables.clusters(HISTORY) if cluster_id is None else [cluster_id]
    part = replace(Part.of(cluster_id), entities=tuple((CLUSTER, each) for each in of))
    found = tables.select(columns, HISTORY, part, where, order) if of else []
    return [Gap(known_time(begun), time(ended), of) for of, begun, ended in found]


def _change(row: Sequence[Any]) -> Change:
    """A row with _COLUMNS."""
    return Change(*(*row[:6], known_time(row[6]), time(row[7]), *row[8:]))


# -- drift and policy violations -------------------------------------------------------------------------------------

SCOPES = ("broker", "cluster", "baseline")
_BY_SEVERITY = "CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END"


def drift(
    tables: Tables, cluster_id: str | None = None, scope: str | None = None, key: str | None = None
) -> list[Drifted]:
    """What differs from its peers, by severity. scope: one of SCOPES. key: an attribute, or a pattern."""
    where = Where().equal("scope", scope).like("attr", key)
    columns = """cluster_id, scope, entity_key, attr, majority_value, this_value, peers, differing, epoch_us(since),
 severity"""
    order = f"ORDER BY {_BY_SEVERITY}, scope, attr, entity_key, cluster_id"
    found = tables.select(columns, DRIFT, Part.of(cluster_id), where, order)
    return [Drifted(*(*row[:8], time(row[8]), row[9])) for row in found]


def violations(tables: Tables, cluster_id: str | None = None) -> list[Violation]:
    """Violations of policies, by severity; with those that ended."""
    columns = """cluster_id, policy_id, entity_key, attr, actual, expected, severity, epoch_us(first_seen),
 epoch_us(last_seen)"""
    order = f"ORDER BY {_BY_SEVERITY}, policy_id, entity_key, attr"
    found = tables.select(columns, POLICY_VIOLATION, Part.of(cluster_id), None, order)
    return [Violation(*(*row[:7], known_time(row[7]), time(row[8]))) for row in found]


# -- quota usage by pair of user and client id -----------------------------------------------------------------------

WINDOW = timedelta(days=1)
MOST = 200
_ONE_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Window:
    """What usage is selected. None does not filter. since, until: [since, until); without `since` the last WINDOW that
    has usage. key: a quota's. principal: the user, with or without its `User:`."""

    cluster_id: str
    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    principal: str | None = None


_HOTTEST = """
WITH used AS MATERIALIZED (SELECT * FROM {usage} {where}),
hot AS (
 SELECT *, row_number() OVER () AS place FROM (
  SELECT scope_user, scope_client, quota_key, arg_max(broker_id, rate_max_10s) AS broker_id, max(rate_max_10s) AS most,
   max(utilisation) AS utilisation, sum(throttle_ms) AS throttle_ms, sum(throttled_requests) AS throttled
  FROM used GROUP BY ALL
  ORDER BY utilisation DESC NULLS LAST, throttle_ms DESC, most DESC, quota_key, scope_user, scope_client LIMIT ?
 )
),
of_hot AS (
 SELECT used.*, place, hot.broker_id AS hottest FROM used JOIN hot
  ON used.quota_key = hot.quota_key AND used.scope_user IS NOT DISTINCT FROM hot.scope_user
  AND used.scope_client IS NOT DISTINCT FROM hot.scope_client
),
latest AS (
 SELECT place, arg_max(struct_pack(quota := quota_value, level := level), minute) AS now, avg(rate_avg) AS mean,
  min(headroom) AS headroom
 FROM of_hot WHERE broker_id = hottest GROUP BY place
),
lines AS (
 SELECT place, list(epoch_us(minute) ORDER BY minute) AS stamps, list(rate ORDER BY minute) AS rates
 FROM (SELECT place, minute, max(rate_max_10s) AS rate FROM of_hot GROUP BY ALL) GROUP BY place
)
SELECT hot.scope_user, hot.scope_client, hot.quota_key, hot.broker_id, now.quota, now.level, most, mean, utilisation,
 throttle_ms, throttled, headroom, suggested.suggested_value, coalesce(reason, 'nothing is known yet'), stamps,
 rates
FROM hot JOIN latest USING (place) JOIN lines USING (place) LEFT JOIN {suggestions} suggested
 ON suggested.quota_key = hot.quota_key AND suggested.scope_user IS NOT DISTINCT FROM hot.scope_user
 AND suggested.scope_client IS NOT DISTINCT FROM hot.scope_client
 AND suggested.quota_value IS NOT DISTINCT FROM now.quota AND suggested.level IS NOT DISTINCT FROM now.level
ORDER BY place
"""


_NONE = (
    "(SELECT NULL quota_key, NULL scope_user, NULL scope_client, NULL quota_value, NULL level, NULL suggested_value, \
NULL reason LIMIT 0)"
)
"""Suggestions where there are none."""


def _latest(tables: Tables, table: Table, clusters: Collection[str], where: Where | None = None) -> dict[str, datetime]:
    """The latest time of each of these clusters in a table's first column of times. where: of which rows. Of a table
    that is apart by days the newest ones are read, and more of them for clusters that are not in these."""
    found: dict[str, datetime] = {}
    latest = f"cluster_id, epoch_us(max({time_column(table)}))"
    missing, days, count = tuple(clusters), tables.days(table, Part(tuple(clusters))), 1
    until = None
    while days and missing:
        since = days[:count][-1]
        for cluster, at in tables.select(latest, table, Part(missing, (), since, until), where, "GROUP BY cluster_id"):
            if at is not None:
                found[cluster] = known_time(at)
        missing = tuple(each for each in missing if each not in found)
        days, count, until = days[count:], 2 * count, since
    return found


def settled(tables: Tables, window: Window) -> Window | None:
    """The window with both ends; None if the cluster has no usage."""
    newest = _latest(tables, QUOTA_USAGE, [window.cluster_id]).get(window.cluster_id)
    if newest is None:
        return None
    until = window.until or newest + _ONE_MINUTE
    return replace(window, since=window.since or until - WINDOW, until=until)


def hottest(tables: Tables, window: Window, limit: int = MOST) -> list[Usage]:
    """The pairs nearest to their limits, or above; those without a limit come last, the busiest first."""
    whole = settled(tables, window)
    if whole is None or (usage := tables.rows(QUOTA_USAGE, _of_window(whole))) is None:
        return []
    suggestions = tables.rows(QUOTA_SUGGESTION, Part.of(whole.cluster_id)) or Rows(_NONE, [])
    where = Where().between("minute", whole.since, whole.until).like("quota_key", whole.key)
    if whole.principal is not None:
        where.equal("scope_user", whole.principal.removeprefix("User:"))
    sql = _HOTTEST.format(usage=usage.sql, where=where.sql, suggestions=suggestions.sql)
    found = tables.ask(sql, [*usage.parameters, *where.parameters, limit, *suggestions.parameters])
    return [_usage(whole.cluster_id, row) for row in found]


def _usage(cluster_id: str, row: tuple[Any, ...]) -> Usage:
    """A row of _HOTTEST."""
    pair, rest, stamps, rates = Pair(*row[:3]), row[3:14], row[14], row[15]
    series = tuple((known_time(at), rate) for at, rate in zip(stamps, rates, strict=True))
    return Usage._make((cluster_id, pair, *rest, series))


def minutes(tables: Tables, window: Window, pair: Pair) -> list[Minute]:
    """Every minute of a pair, by broker."""
    whole = settled(tables, window)
    if whole is None:
        return []
    where = Where().between("minute", whole.since, whole.until).equal("quota_key", pair.quota_key)
    where.add("scope_user IS NOT DISTINCT FROM ?", pair.scope_user)
    where.add("scope_client IS NOT DISTINCT FROM ?", pair.scope_client)
    columns = "epoch_us(minute), broker_id, quota_value, level, rate_avg, rate_max_10s, throttle_ms"
    found = tables.select(columns, QUOTA_USAGE, _of_window(whole), where, "ORDER BY minute, broker_id")
    return [Minute(known_time(row[0]), *row[1:]) for row in found]


def _of_window(window: Window) -> Part:
    return replace(Part.of(window.cluster_id), since=window.since, until=window.until)


# -- freshness -------------------------------------------------------------------------------------------------------

SHOWN = (HISTORY, DRIFT, QUOTA_USAGE, POLICY_VIOLATION)


class FleetFreshness(NamedTuple):
    """How fresh a table is for many clusters: how many, the newest observation of all and of the one that has the
    oldest, when it was built and by which run,
    and those that are not polled now."""

    clusters: int
    as_of: datetime | None
    oldest: datetime | None
    oldest_cluster: str
    built: datetime | None
    run: str | None
    unpolled: tuple[str, ...]


def fleet_freshness(tables: Tables, table: Table) -> FleetFreshness:
    """How fresh a table is for all clusters of which it has rows, in a few queries whatever their number."""
    clusters = tables.clusters(table)
    seen = _observed(tables, table, clusters)
    found = sorted((seen[cluster], cluster) for cluster in clusters if cluster in seen)
    oldest, of = found[0] if found else (None, "")
    open_gaps = tuple(gap.cluster_id for gap in gaps(tables, None) if gap.until is None)
    newest = found[-1][0] if found else None
    return FleetFreshness(len(clusters), newest, oldest, of, tables.built(table), tables.run(table), open_gaps)


def freshness(tables: Tables, cluster_id: str, *, of: tuple[Table, ...] = SHOWN) -> list[Freshness]:
    """How fresh each table is for a cluster: the newest observation in it, when it was built, and by which run."""
    made = []
    for table in of:
        built = tables.built(table, Part.of(cluster_id))
        as_of = _observed(tables, table, [cluster_id]).get(cluster_id)
        if as_of is None and "in_cluster_id" not in table.partitions:
            built = None  # what was written says nothing of this cluster
        if as_of is not None and built is not None and table is not QUOTA_USAGE:
            as_of = min(as_of, built)  # later observations are not in it
        made.append(Freshness(table, as_of, built, None if built is None else tables.run(table)))
    return made


def _observed(tables: Tables, table: Table, clusters: Collection[str]) -> dict[str, datetime]:
    """The newest observation that a table may have of clusters: of usage its last minute, else a poll or a record of
    the log; of those that have neither the last change that another source reports."""
    if table is QUOTA_USAGE:
        return _latest(tables, QUOTA_USAGE, clusters)
    found = _latest(tables, SNAPSHOT, clusters, Where().add("kind <> 'failed'"))
    for cluster, at in _latest(tables, KRAFT_RECORD, clusters).items():
        found[cluster] = max(at, found.get(cluster, EPOCH))
    return _latest(tables, CHANGE_EVENT, set(clusters) - found.keys()) | found
