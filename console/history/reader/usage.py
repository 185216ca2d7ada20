"""Who uses what of which quota: `quota_usage` by pair of user and client id."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ..schema.gold import QUOTA_USAGE
from .query import FILES, Where, known_time
from .rows import Minute, Pair, Usage
from .tables import Tables

WINDOW = timedelta(days=1)
MOST = 200
_ONE_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Window:
    """What usage is asked of. None asks for nothing. since, until: [since, until); without `since` the last WINDOW that
    there is something of. key: a quota's. principal: the user, with or without its `User:`."""

    cluster_id: str
    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    principal: str | None = None


_HOTTEST = """
WITH used AS (SELECT * FROM {files} {where}),
hot AS (
 SELECT scope_user, scope_client, quota_key, arg_max(broker_id, rate_max_10s) AS broker_id, max(rate_max_10s) AS most,
  max(utilisation) AS utilisation, sum(throttle_ms) AS throttle_ms, sum(throttled_requests) AS throttled
 FROM used GROUP BY ALL
 ORDER BY utilisation DESC NULLS LAST, throttle_ms DESC, most DESC, quota_key, scope_user, scope_client LIMIT ?
),
of_hot AS (
 SELECT used.*, hot.broker_id AS hottest FROM used JOIN hot
  ON used.quota_key = hot.quota_key AND used.scope_user IS NOT DISTINCT FROM hot.scope_user
  AND used.scope_client IS NOT DISTINCT FROM hot.scope_client
),
latest AS (
 SELECT scope_user, scope_client, quota_key,
  arg_max(struct_pack(quota := quota_value, level := level, why := reason), minute) AS now,
  max(suggested_value) AS suggested, arg_max(reason, suggested_value) AS why, avg(rate_avg) AS mean,
  min(headroom) AS headroom
 FROM of_hot WHERE broker_id = hottest GROUP BY ALL
),
minutes AS (
 SELECT scope_user, scope_client, quota_key, minute, max(rate_max_10s) AS rate FROM of_hot GROUP BY ALL
),
lines AS (
 SELECT scope_user, scope_client, quota_key, list(epoch_us(minute) ORDER BY minute) AS stamps,
  list(rate ORDER BY minute) AS rates
 FROM minutes GROUP BY ALL
)
SELECT hot.scope_user, hot.scope_client, hot.quota_key, hot.broker_id, now.quota, now.level, hot.most, mean,
 hot.utilisation, hot.throttle_ms, hot.throttled, headroom, suggested, coalesce(latest.why, now.why), stamps, rates
FROM hot
JOIN latest ON latest.quota_key = hot.quota_key AND latest.scope_user IS NOT DISTINCT FROM hot.scope_user
 AND latest.scope_client IS NOT DISTINCT FROM hot.scope_client
JOIN lines ON lines.quota_key = hot.quota_key AND lines.scope_user IS NOT DISTINCT FROM hot.scope_user
 AND lines.scope_client IS NOT DISTINCT FROM hot.scope_client
ORDER BY hot.utilisation DESC NULLS LAST, hot.throttle_ms DESC, hot.most DESC,
 hot.quota_key, hot.scope_user, hot.scope_client
"""


def newest_minute(tables: Tables, cluster_id: str) -> datetime | None:
    """The last minute of which something of a cluster's usage is known."""
    days = [part for part in tables.partitions(QUOTA_USAGE, cluster_id) if "day=" in part]
    if not days:
        return None
    # Of the newest day alone: the others can't have a later one.
    files = tables.files(QUOTA_USAGE, [max(days, key=lambda part: part.rpartition("day=")[2])])
    sql = f"SELECT epoch_us(max(minute)) FROM {FILES} WHERE cluster_id = ?"  # noqa: S608
    ((found,),) = tables.ask(sql, [files, cluster_id])
    return None if found is None else known_time(found)


def settled(tables: Tables, window: Window) -> Window | None:
    """The window with its ends, where they were left open; None where there is nothing of the cluster."""
    newest = newest_minute(tables, window.cluster_id)
    if newest is None:
        return None
    until = window.until or newest + _ONE_MINUTE
    return replace(window, since=window.since or until - WINDOW, until=until)


def hottest(tables: Tables, window: Window, limit: int = MOST) -> list[Usage]:
    """The pairs nearest to their limits, or above; those without one come last, the busiest first."""
    whole = settled(tables, window)
    if whole is None or not (files := _files(tables, whole)):
        return []
    where = _where(whole).like("quota_key", whole.key)
    if whole.principal is not None:
        where.equal("scope_user", whole.principal.removeprefix("User:"))
    found = tables.ask(_HOTTEST.format(files=FILES, where=where.sql), [files, *where.parameters, limit])
    return [_usage(whole.cluster_id, row) for row in found]


def _usage(cluster_id: str, row: tuple[Any, ...]) -> Usage:
    """A row as _HOTTEST asks for it."""
    pair, rest, stamps, rates = Pair(*row[:3]), row[3:14], row[14], row[15]
    series = tuple((known_time(at), rate) for at, rate in zip(stamps, rates, strict=True))
    return Usage._make((cluster_id, pair, *rest, series))


def minutes(tables: Tables, window: Window, pair: Pair) -> list[Minute]:
    """Every minute of a pair, by broker."""
    whole = settled(tables, window)
    if whole is None or not (files := _files(tables, whole)):
        return []
    where = _where(whole).equal("quota_key", pair.quota_key)
    where.add("scope_user IS NOT DISTINCT FROM ?", pair.scope_user)
    where.add("scope_client IS NOT DISTINCT FROM ?", pair.scope_client)
    sql = f"""SELECT epoch_us(minute), broker_id, quota_value, level, rate_avg, rate_max_10s, throttle_ms
 FROM {FILES} {where.sql} ORDER BY minute, broker_id"""  # noqa: S608
    return [Minute(known_time(row[0]), *row[1:]) for row in tables.ask(sql, [files, *where.parameters])]


def _where(window: Window) -> Where:
    return Where().equal("cluster_id", window.cluster_id).between("minute", window.since, window.until)


def _files(tables: Tables, window: Window) -> list[str]:
    since, until = (None if at is None else f"{at:%Y-%m-%d}" for at in (window.since, window.until))
    days = None if since is None or until is None else (since, until)
    return tables.files(QUOTA_USAGE, tables.partitions(QUOTA_USAGE, window.cluster_id, days))
