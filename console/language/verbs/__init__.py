"""The registry of verbs, from the files of this folder, in the order of the help: by group, rank and name.

Each verb is a module here: its statements with their needs, edits and text, its grammar and its help. The docstring of
a module with several verbs names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from console.language.statements import OneEdit, Statement, Where
from console.language.verb import GROUPS, StatementKind, Verb
from console.plan.edits import Edit

_NAMES = sorted(each.name for each in iter_modules(__path__))
_FOUND = (verb for name in _NAMES for verb in getattr(import_module(f"console.language.verbs.{name}"), "VERBS", ()))
_ALL: tuple[Verb, ...] = tuple(sorted(_FOUND, key=lambda verb: (GROUPS.index(verb.group), verb.rank, verb.name)))

VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _ALL}
STATEMENT_KINDS: Mapping[type[Statement | Edit], StatementKind[Any]] = {
    kind.edit or kind.statement: kind for verb in _ALL for kind in verb.statements
}
"""Class of a statement, or of an edit that is a statement itself -> its kind."""


@cache
def verbs_for(where: Where) -> tuple[Verb, ...]:
    """Return the verbs of a prompt, in the order of the help."""
    return tuple(verb for verb in _ALL if verb.where & where)


def kind_of(statement: Statement) -> StatementKind[Any]:
    """Return the `StatementKind` of a statement's class."""
    return STATEMENT_KINDS[type(statement.edit if isinstance(statement, OneEdit) else statement)]
