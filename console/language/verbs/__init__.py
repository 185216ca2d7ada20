"""The registry of verbs, in the order of the help. A verb is one module here: its statements and what they need, stage
and are as text, its grammar and its help. Modules that hold a family say so."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from console.language.statements import Statement, Where
from console.language.verb import StatementKind, Verb
from console.language.verbs import (
    abort,
    access,
    alter,
    apply,
    at,
    cancel,
    check,
    clone,
    create,
    ctx,
    delete,
    discard,
    effective,
    elect,
    explain,
    feature,
    grow,
    help,
    history,
    leave,
    listing,
    move,
    operations,
    panes,
    plan,
    record,
    records,
    reset,
    revert,
    scram,
    show,
    skip,
    theme,
    token,
    undo,
    unregister,
    unset,
    voter,
)

_ALL: tuple[Verb, ...] = (
    *show.VERBS,
    *listing.VERBS,
    *effective.VERBS,
    *explain.VERBS,
    *records.VERBS,
    *alter.VERBS,
    *unset.VERBS,
    *create.VERBS,
    *grow.VERBS,
    *delete.VERBS,
    *reset.VERBS,
    *skip.VERBS,
    *clone.VERBS,
    *access.VERBS,
    *scram.VERBS,
    *token.VERBS,
    *abort.VERBS,
    *elect.VERBS,
    *cancel.VERBS,
    *move.VERBS,
    *operations.VERBS,
    *unregister.VERBS,
    *feature.VERBS,
    *voter.VERBS,
    *plan.VERBS,
    *check.VERBS,
    *apply.VERBS,
    *discard.VERBS,
    *undo.VERBS,
    *revert.VERBS,
    *history.VERBS,
    *panes.VERBS,
    *ctx.VERBS,
    *theme.VERBS,
    *record.VERBS,
    *at.VERBS,
    *help.VERBS,
    *leave.VERBS,
)

VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in _ALL})
STATEMENT_KINDS: Mapping[type[Statement], StatementKind[Any]] = MappingProxyType(
    {kind.statement: kind for verb in _ALL for kind in verb.statements}
)


@cache
def verbs_for(where: Where) -> tuple[Verb, ...]:
    """Return the verbs of a prompt, in the order of the help."""
    return tuple(verb for verb in _ALL if verb.where & where)


def kind_of(statement: Statement) -> StatementKind[Any]:
    """Return the `StatementKind` of a statement's class."""
    return STATEMENT_KINDS[type(statement)]
