"""Says whether an empty list proves that there are no entities: brokers leave out, without an error, entities that a
principal may not describe. Pure.
"""

from __future__ import annotations

from console.model.failure import Failure
from console.model.parts import Part
from console.model.snapshot import Snapshot

NOT_VISIBLE = "NOT_VISIBLE"
"""The name of the failure for an empty list whose entities the principal may not be allowed to see."""
_SEES_ALL_GROUPS = frozenset({"DESCRIBE", "ALL"})
"""Operations on the cluster: brokers list all groups to a principal that may do one of them."""


def unseen_topics(snapshot: Snapshot, who: str) -> Failure | None:
    """Return a failure if an empty listing of topics may be due to missing rights; None if it proves that there are no
    topics.

    An empty listing is a proof if the log directories of all brokers were read, and have no replicas.

    Args:
        who: the principal; ``""`` if it is unknown.
    """
    dirs = snapshot.log_dirs.values()
    held = {topic for mine in dirs for each in mine for topic in each.sizes}
    whole = (
        bool(snapshot.log_dirs)
        and not any(each.part == Part.LOG_DIRS for each in snapshot.failures)
        and all(each.failure is None for mine in dirs for each in mine)
    )
    if whole and not held:
        return None
    others = {move.topic for move in snapshot.reassignments}
    others |= {each.topic for lag in snapshot.lags.values() for each in lag.partitions}
    if held:
        seen = f"; log directories hold {len(held):,}"
    else:
        seen = f"; moves and groups name {len(others):,}" if others else ""
    return _unseen("TOPIC", who, seen)


def unseen_groups(snapshot: Snapshot, who: str) -> Failure | None:
    """Return a failure if an empty listing of groups may be due to missing rights; None if it proves that there are no
    groups.

    An empty listing is a proof for a principal that may DESCRIBE the cluster, because brokers list all groups to it.
    None also if the server does not report the principal's operations on the cluster.

    Args:
        who: the principal; ``""`` if it is unknown.
    """
    rights = snapshot.cluster.operations
    if rights is None or rights & _SEES_ALL_GROUPS:
        return None
    return _unseen("GROUP", who, "")


def _unseen(type_: str, who: str, seen: str) -> Failure:
    return Failure(
        NOT_VISIBLE,
        f"none is visible to {who or 'this principal'}; brokers leave out those it may not DESCRIBE{seen}",
        f"Ask an administrator of the cluster for an ACL: DESCRIBE on {type_}.",
    )
