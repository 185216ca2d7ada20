"""The registry of verbs, in the order of the help.

Each verb is a module here: its statements with their needs, edits and text, its grammar and its help. The docstring of
a module with several verbs names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from console.language.statements import OneEdit, Statement, Where
from console.language.verb import StatementKind, Verb
from console.language.verbs import (
    abort,
    access,
    alter,
    analyze,
    apply,
    cancel,
    check,
    clone,
    connector,
    create,
    delete,
    discard,
    effective,
    elect,
    explain,
    feature,
    go,
    grow,
    history,
    leave,
    listing,
    move,
    operations,
    panes,
    plan,
    produce,
    records,
    redrive,
    reset,
    revert,
    schema,
    scram,
    show,
    skip,
    token,
    undo,
    unregister,
    unset,
    voter,
    watch,
    whose,
)
from console.plan.edits import Edit

_LOOK = (show, listing, watch, whose, effective, explain, records, analyze)
_CHANGE = (
    *(alter, unset, create, grow, delete, connector, reset, skip, clone),
    *(produce, redrive, access, scram, token, schema, abort, elect, cancel),
)
_OF_NODES = (move, operations, unregister, feature, voter)
_PLAN = (plan, check, apply, discard, undo, revert, history)
_GO = (panes, go, leave)
_ALL: tuple[Verb, ...] = tuple(verb for module in (*_LOOK, *_CHANGE, *_OF_NODES, *_PLAN, *_GO) for verb in module.VERBS)

VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _ALL}
STATEMENT_KINDS: Mapping[type[Statement | Edit], StatementKind[Any]] = {
    kind.edit or kind.statement: kind for verb in _ALL for kind in verb.statements
}
"""Class of a statement, or of the edit that is a statement itself -> its kind."""


@cache
def verbs_for(where: Where) -> tuple[Verb, ...]:
    """Return the verbs of a prompt, in the order of the help."""
    return tuple(verb for verb in _ALL if verb.where & where)


def kind_of(statement: Statement) -> StatementKind[Any]:
    """Return the `StatementKind` of a statement's class."""
    return STATEMENT_KINDS[type(statement.edit if isinstance(statement, OneEdit) else statement)]
