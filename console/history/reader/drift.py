"""What differs: the rows of `drift`, and of `policy_violation`."""

from __future__ import annotations

from ..schema.gold import DRIFT, POLICY_VIOLATION
from .query import FILES, Where, known_time, time
from .rows import Drifted, Violation
from .tables import Tables

SCOPES = ("broker", "cluster", "baseline")
_ORDER = "CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END"


def drift(
    tables: Tables, cluster_id: str | None = None, scope: str | None = None, key: str | None = None
) -> list[Drifted]:
    """What differs from its peers, the severest first. scope: one of SCOPES. key: an attribute, or a pattern."""
    files = tables.files(DRIFT, tables.partitions(DRIFT, cluster_id))
    if not files:
        return []
    where = Where().equal("cluster_id", cluster_id).equal("scope", scope).like("attr", key)
    sql = f"""SELECT cluster_id, scope, entity_key, attr, majority_value, this_value, peers, differing, epoch_us(since),
 severity FROM {FILES} {where.sql} ORDER BY {_ORDER}, scope, attr, entity_key, cluster_id"""  # noqa: S608
    return [Drifted._make((*row[:8], time(row[8]), row[9])) for row in tables.ask(sql, [files, *where.parameters])]


def violations(tables: Tables, cluster_id: str | None = None, *, also_past: bool = False) -> list[Violation]:
    """What is against a policy, the severest first; also_past: what was, too."""
    files = tables.files(POLICY_VIOLATION, tables.partitions(POLICY_VIOLATION, cluster_id))
    if not files:
        return []
    where = Where().equal("cluster_id", cluster_id)
    if not also_past:
        where.add("last_seen IS NULL")
    sql = f"""SELECT cluster_id, policy_id, entity_key, attr, actual, expected, severity, epoch_us(first_seen),
 epoch_us(last_seen) FROM {FILES} {where.sql} ORDER BY {_ORDER}, policy_id, entity_key, attr"""  # noqa: S608
    return [
        Violation._make((*row[:7], known_time(row[7]), time(row[8])))
        for row in tables.ask(sql, [files, *where.parameters])
    ]
