"""What changed: the rows of `history` from late to early."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ..entities import acl_key
from ..schema.gold import HISTORY
from .query import FILES, Where, known_time, time
from .rows import CLUSTER, LOOKS, UNOBSERVED, Change, Gap, Place
from .tables import Tables

PAGE = 500
_COLUMNS = """cluster_id, entity_type, entity_key, attr, old_value, new_value, epoch_us(valid_from), epoch_us(valid_to),
 is_current, is_deleted, principal, attribution, source"""

_TEXT = "concat_ws(' ', entity_type, entity_key, attr, old_value, new_value, principal)"


@dataclass(frozen=True)
class Wanted:
    """Which changes. None and () ask for nothing.

    entities: pairs of a type and a key; the times in which nobody looked at the cluster always come with them. since,
    until: [since, until). key: an attribute, or a pattern with `*` and `?`. principal: with or without its `User:`;
    also one of several who may have done it. text: words that all occur in a row, in any case.
    """

    cluster_id: str | None = None
    entities: tuple[tuple[str, str], ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    principal: str | None = None
    text: str = ""


def with_acls(type_: str, key: str) -> tuple[tuple[str, str], ...]:
    """An entity, with the ACLs upon its very name where there may be some."""
    if type_ not in ("topic", "group"):
        return ((type_, key),)
    return (type_, key), ("acl", acl_key(type_.upper(), "LITERAL", key))


def timeline(tables: Tables, wanted: Wanted, limit: int = PAGE, after: Place | None = None) -> list[Change]:
    """The latest changes, or those that come after a place."""
    files = tables.files(HISTORY, tables.partitions(HISTORY, wanted.cluster_id))
    if not files:
        return []
    where = _where(wanted)
    if after is not None:
        where.add(
            "valid_from <= ? AND (valid_from < ? OR (cluster_id, entity_type, entity_key, attr) > (?, ?, ?, ?))",
            after.valid_from,
            after.valid_from,
            *after[1:],
        )
    sql = f"""SELECT {_COLUMNS} FROM {FILES} {where.sql}
 ORDER BY valid_from DESC, cluster_id, entity_type, entity_key, attr LIMIT ?"""  # noqa: S608
    return [_change(*row) for row in tables.ask(sql, [files, *where.parameters, limit])]


def _where(wanted: Wanted) -> Where:
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


def first_look(tables: Tables, cluster_id: str) -> datetime | None:
    """When a cluster was first looked at; None where nobody ever did."""
    files = tables.files(HISTORY, tables.partitions(HISTORY, cluster_id))
    if not files:
        return None
    where = Where().equal("cluster_id", cluster_id).add("list_contains(?, source)", list(LOOKS))
    where.add("attr <> ?", UNOBSERVED)
    sql = f"SELECT epoch_us(min(valid_from)) FROM {FILES} {where.sql}"  # noqa: S608
    ((found,),) = tables.ask(sql, [files, *where.parameters])
    return time(found)


def first_looks(tables: Tables, changes: Iterable[Change]) -> dict[str, datetime | None]:
    """By cluster `first_look`, of those clusters of whose changes some may be what it showed."""
    clusters = {change.cluster_id for change in changes if change.is_first_seen(change.valid_from)}
    return {cluster_id: first_look(tables, cluster_id) for cluster_id in clusters}


def gaps(tables: Tables, cluster_id: str, since: datetime | None = None) -> list[Gap]:
    """The times in which nobody looked at a cluster, the latest first; those that ended before `since` are left out."""
    files = tables.files(HISTORY, tables.partitions(HISTORY, cluster_id))
    if not files:
        return []
    where = Where().equal("cluster_id", cluster_id).equal("entity_type", CLUSTER).equal("attr", UNOBSERVED)
    if since is not None:
        where.add("(valid_to IS NULL OR valid_to > ?)", since)
    sql = f"""SELECT epoch_us(valid_from), epoch_us(valid_to) FROM {FILES} {where.sql}
 ORDER BY valid_from DESC"""  # noqa: S608
    return [Gap(known_time(begun), time(ended)) for begun, ended in tables.ask(sql, [files, *where.parameters])]


def _change(  # the columns, in their order
    cluster_id: str,
    entity_type: str,
    entity_key: str,
    attr: str,
    old_value: str | None,
    new_value: str | None,
    valid_from: int,
    valid_to: int | None,
    is_current: bool,
    is_deleted: bool,
    principal: str | None,
    attribution: str,
    source: str,
) -> Change:
    return Change(
        cluster_id,
        entity_type,
        entity_key,
        attr,
        old_value,
        new_value,
        known_time(valid_from),
        time(valid_to),
        is_current,
        is_deleted,
        principal,
        attribution,
        source,
    )
