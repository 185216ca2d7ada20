"""The denials in a lake's authorizer logs: the principal, the denied access, the first denial, and the change before
it. Needs no Spark. Texts come from clients: untrusted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from console.lake import entities, reader, schema
from console.model import authorizer
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

MOST = 200
BEFORE = timedelta(days=7)
"""Maximum time from a change to the first denial that it may have caused. It is a week because a job that runs once
a week is denied for the first time at most a week after the change.
"""
_SLACK = timedelta(seconds=2)
"""Maximum difference between the clocks of brokers and controllers."""
_MOST_CHANGES = 20_000
_THING = ("cluster_id", "principal", "operation", "resource_type", "resource_name")


class Denied(NamedTuple):
    """The denials of one access (an operation on a resource) for one principal, within the window.

    Attributes:
        denials: the number of denials.
        since: the time of the first denial after the access was last allowed, if it was allowed before `last`. If the
            lake does not show that, the time of the first denial of all.
        last: the time of the last denial.
        last_allowed: the last time that the access was allowed, before or after the denials; None if unknown: brokers
            log allowed accesses only at DEBUG.
        hosts: the addresses from which the access was denied.
        requests: the requests that were denied, by Kafka's names.
        rule: the rule of the last denial, as the broker writes it; None if the broker does not write it.
        change: the change that most likely caused the denials: first the removal of an ALLOW or the addition of a DENY
            for this principal, then a change of other principals' ACLs on the resource or of the user's SCRAM
            credentials. None if no change fits.
    """

    cluster_id: str
    principal: str
    operation: str
    resource_type: str
    resource_name: str
    denials: int
    since: datetime
    last: datetime
    last_allowed: datetime | None
    hosts: tuple[str, ...]
    requests: tuple[str, ...]
    rule: str | None
    change: reader.Change | None = None


@dataclass(frozen=True)
class Wanted:
    """A filter of denials. An attribute that is None does not filter."""

    cluster_id: str | None = None
    since: datetime | None = None
    """The start of the time range, included."""
    until: datetime | None = None
    """The end of the time range, excluded."""
    principal: str | None = None
    """A principal, with or without `User:`."""
    resource: tuple[str, str] | None = None
    """The type of the resource as Kafka names it, and its name."""


_DENIED = f"""
WITH access AS MATERIALIZED (SELECT * FROM {{access}} {{where}}),
denied AS (SELECT {", ".join(_THING)}, max(last_ts) AS last FROM access WHERE NOT is_allowed {{window}}
 GROUP BY ALL ORDER BY last DESC, {", ".join(_THING)} LIMIT ?),
allowed AS (SELECT {", ".join(_THING)}, max(last_ts) AS allowed_ts FROM access JOIN denied USING ({", ".join(_THING)})
 WHERE is_allowed AND last_ts < last GROUP BY ALL)
SELECT {", ".join(_THING)}, sum(checks) FILTER (NOT is_allowed {{window}}),
 epoch_us(coalesce(min(greatest(first_ts, allowed_ts)) FILTER (NOT is_allowed AND last_ts > allowed_ts),
  min(first_ts) FILTER (NOT is_allowed))), epoch_us(any_value(last)), epoch_us(max(last_ts) FILTER (is_allowed)),
 list_sort(list(DISTINCT host) FILTER (NOT is_allowed {{window}})),
 list(DISTINCT requests) FILTER (NOT is_allowed {{window}}),
 arg_max(rule, last_ts) FILTER (NOT is_allowed {{window}}), epoch_us(any_value(allowed_ts))
FROM access JOIN denied USING ({", ".join(_THING)}) LEFT JOIN allowed USING ({", ".join(_THING)})
GROUP BY {", ".join(_THING)} ORDER BY max(last) DESC, {", ".join(_THING)}
"""  # noqa: S608 - no text of a cluster is in it


def denials(tables: reader.Tables, wanted: Wanted, limit: int = MOST) -> list[Denied]:
    """Return at most `limit` denied accesses, those with the latest denial first, each with the change that most likely
    caused its denials; empty if no authorizer log in the lake has a denial that matches. Raises LakeError.
    """
    access = tables.rows(schema.ACCESS, reader.Part.of(wanted.cluster_id))
    if access is None:
        return []
    where, window = reader.Where(), reader.Where()
    if wanted.principal is not None:
        name = wanted.principal
        where.add("principal = ?", name if ":" in name else f"User:{name}")
    if wanted.resource is not None:
        where.equal("resource_type", wanted.resource[0]).equal("resource_name", wanted.resource[1])
    if wanted.until is not None:
        where.add("first_ts < ?", wanted.until)
    if wanted.since is not None:
        window.add("last_ts >= ?", wanted.since)
    in_window = window.sql.replace("WHERE", "AND", 1)
    sql = _DENIED.format(access=access.sql, where=where.sql, window=in_window)
    parameters = [*access.parameters, *where.parameters, *window.parameters, limit, *window.parameters * 4]
    return _with_changes(tables, [_denied(row) for row in tables.ask(sql, parameters)])


def _denied(row: Sequence[Any]) -> tuple[Denied, datetime | None]:
    """Convert a row of `_DENIED` to a Denied. Also return the last time, before the last denial, at which the access
    was allowed; None if unknown.
    """
    *thing, count, since, last, allowed, hosts, requests, rule, before = row
    times = (reader.known_time(since), reader.known_time(last), reader.time(allowed))
    asked = sorted({name for each in requests for name in each.split(", ")})
    denied = Denied._make((*thing, int(count), *times, tuple(hosts), tuple(asked), rule, None))
    return denied, reader.time(before)


# -- the change before a denial ----------------------------------------------------------------------------------------


class Maker(NamedTuple):
    """A change that may have caused denials."""

    change: reader.Change
    earliest: datetime
    """The earliest time at which the change may have been made: before the time in `history`, if only a later poll
    showed the change.
    """
    acl: Acl | None
    """The ACL that was set or removed; None for a change of SCRAM credentials."""


def _with_changes(tables: reader.Tables, rows: Sequence[tuple[Denied, datetime | None]]) -> list[Denied]:
    if not rows:
        return []
    makers = defaultdict(list)
    for each in _makers(tables, {row.cluster_id for row, _ in rows}, min(row.since for row, _ in rows) - BEFORE):
        makers[each.change.cluster_id].append(each)
    return [row._replace(change=maker_of(row, allowed, makers[row.cluster_id])) for row, allowed in rows]


def maker_of(row: Denied, allowed: datetime | None, makers: Collection[Maker]) -> reader.Change | None:
    """Return the change that most likely caused the denials; None if no change fits in time and content.

    Args:
        allowed: the last time before the last denial that the access was allowed; None if unknown.
        makers: the changes to choose from.
    """
    since = row.since - BEFORE if allowed is None else allowed
    fitting = []
    for each in makers:
        at = each.change.valid_from
        if each.earliest - _SLACK <= row.since and at >= since - _SLACK and (rank := _rank(row, each)) is not None:
            fitting.append((rank, abs(row.since - at), each.change))
    return min(fitting, key=lambda each: each[:2])[2] if fitting else None


def _rank(row: Denied, maker: Maker) -> int | None:
    """Return 0 for a change that takes the denied access away from the principal, 1 for a change that may do so, None
    for any other change.
    """
    acl, removed = maker.acl, maker.change.is_deleted
    if acl is None:
        return 1 if row.principal == f"User:{maker.change.entity_key}" else None
    try:
        type_, operation = AclResourceType.parse(row.resource_type), AclOperation.parse(row.operation)
    except ValueError:
        return None
    if not authorizer.covers(authorizer.pattern_of(acl), type_, row.resource_name):
        return None
    is_about = acl.principal in (row.principal, authorizer.EVERYBODY) and authorizer.grants(acl, operation)
    is_from = acl.host == authorizer.WILDCARD or acl.host in row.hosts
    takes = removed if acl.permission == authorizer.ALLOW else not removed
    if is_about and is_from:
        return 0 if takes else None
    # With allow.everyone.if.no.acl.found, the first ACL on a resource denies it to all other principals.
    return 1 if acl.permission == authorizer.ALLOW and not removed else None


def _makers(tables: reader.Tables, clusters: Collection[str], since: datetime) -> Iterator[Maker]:
    """Yield the changes of ACLs and SCRAM credentials in these clusters since a time, without the values that a
    cluster's first poll found.
    """
    part = reader.Part(tuple(sorted(clusters)))
    about = reader.Where().add("entity_type IN ('acl', 'scram')")
    found = reader.changes(tables, part, about.between("valid_from", since, None), _MOST_CHANGES)
    if not found:
        return
    first = reader.first_polls(tables, clusters)
    reach = _reach(tables, part, since)
    for change in found:
        if change.is_first_seen(first.get(change.cluster_id)):
            continue
        acl = None
        if change.entity_type == "acl" and (acl := _acl(change.entity_key, change.attr)) is None:
            continue
        ago = reach.get((*change[:4], change.valid_from), timedelta(0))
        yield Maker(change, change.valid_from - ago, acl)


_At = tuple[str, str, str, str, datetime]


def _reach(tables: reader.Tables, part: reader.Part, since: datetime) -> Mapping[_At, timedelta]:
    """Return the changes that only a poll showed, not the metadata log: change -> the maximum time by which it may
    have been made before its time in `history`. This is the time since the poll before, but at most `BEFORE` (7
    days); `BEFORE` also if the poll before is unknown.
    """
    where = reader.Where().add("entity_type IN ('acl', 'scram')").between("event_ts", since, None)
    where.add("list_contains(?, source)", entities.POLL_SOURCES)
    columns = "cluster_id, entity_type, entity_key, attr, epoch_us(event_ts), ts_uncertainty_ms"
    order = f"ORDER BY event_ts DESC LIMIT {_MOST_CHANGES}"
    rows = tables.select(columns, schema.CHANGE_EVENT, part, where, order)
    return {
        (*row[:4], reader.known_time(row[4])): BEFORE if row[5] < 0 else min(BEFORE, timedelta(milliseconds=row[5]))
        for row in rows
    }


def _acl(key: str, attr: str) -> Acl | None:
    """Return the ACL that the key and the attribute of its entity spell; None if they contain an enumeration name that
    kac does not know.
    """
    try:
        type_, pattern, name = entities.acl_resource(key)
        permission, operation, principal, host = entities.acl_parts(attr)
        return Acl(
            *(AclResourceType.parse(type_), name, PatternType.parse(pattern), principal, host),
            *(AclOperation.parse(operation), Permission.parse(permission)),
        )
    except ValueError:
        return None
