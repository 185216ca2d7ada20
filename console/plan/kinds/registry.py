"""All kinds of edits, and the order in which they are sent."""

from __future__ import annotations

from console.plan.edit_kind import Batch, EditKind
from console.plan.edits import Edit
from console.plan.kinds import (
    acls,
    configs,
    connectors,
    features,
    group_offsets,
    groups,
    leaders,
    moves,
    new_records,
    quotas,
    records,
    registrations,
    replica_dirs,
    schemas,
    scram,
    tokens,
    topic_creation,
    topics,
    transactions,
    voters,
)

_MODULES = (
    *(configs, quotas, acls, topic_creation, topics, scram, tokens, schemas, transactions, leaders),
    *(moves, replica_dirs, records, new_records, registrations, features, group_offsets, groups, voters, connectors),
)
KINDS: tuple[EditKind, ...] = tuple(kind for module in _MODULES for kind in module.KINDS)

BATCHES: tuple[Batch, ...] = (
    topic_creation.CREATIONS,
    topics.GROWTH,
    features.FEATURES,
    configs.CONFIGS,
    configs.BY_LEVEL,
    acls.ADDITIONS,
    quotas.QUOTAS,
    scram.UPSERTS,
    tokens.LIVING,
    schemas.ADDITIONS,
    connectors.CREATIONS,
    connectors.STOPS,
    connectors.OFFSETS,
    connectors.STARTS,
    new_records.WRITES,
    moves.CANCELLATIONS,
    moves.MOVES,
    replica_dirs.DIRECTORIES,
    leaders.ELECTIONS,
    scram.DELETIONS,
    tokens.EXPIRATIONS,
    schemas.DELETIONS,
    group_offsets.RESETS,
    group_offsets.DELETIONS,
    acls.REMOVALS,
    transactions.ABORTS,
    voters.VOTERS,
    registrations.UNREGISTERING,
    records.TRIMS,
    connectors.DELETIONS,
    groups.DELETIONS,
    topics.DELETIONS,
)
"""The order in which batches are sent: additions before removals, topics last. Levels of features come before configs,
because some configs depend on them.
"""

_BY_EDIT = {kind.edit: kind for kind in KINDS}
BY_OP = {str(kind.edit.__struct_config__.tag): kind for kind in KINDS}
"""The kinds by the ``op`` in the JSON form of their edits."""


def kind_of(edit: Edit) -> EditKind:
    """Return an edit's kind."""
    return _BY_EDIT[type(edit)]
