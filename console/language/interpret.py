"""Turns statements into edits, and edits into the statements that stage them; verbs have both directions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from console.language.staging import Secrets, Staging
from console.language.statements import EditStatement, Subject
from console.language.unparse import unparse
from console.language.verbs import STATEMENT_KINDS, kind_of
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.plan.plan import EMPTY, AnyPlan


def to_edits(
    statement: EditStatement,
    snapshot: Snapshot,
    *,
    selected: Subject | None = None,
    plan: AnyPlan = EMPTY,
    secrets: Secrets | None = None,
) -> tuple[Edit, ...]:
    """Return the edits that a statement stages. Staging, not this function, checks whether edits contradict each other.

    Args:
        snapshot: a snapshot that was read with `needs(statement, selected)`; entities missing in it count as absent.
        selected: the entity of a statement that names no entity; None if no entity is selected.
        plan: the edits already staged; a topic that it creates exists.
        secrets: key -> its secret, for each slot of the statement; None for a statement without secrets.

    Returns:
        In the statement's order; several for a statement about many partitions, or with several keys.

    Raises:
        CommandError: a name, key or value that does not exist or is invalid on the cluster, with its span in the
            script.
    """
    # Each kind of statement makes its own edits: only the registry distinguishes kinds.
    return tuple(kind_of(statement).edits(statement, Staging(snapshot, selected, plan, secrets or {})))


def to_statement(edit: Edit) -> EditStatement:
    """Return the statement that stages an edit. It prompts for secrets and values of sensitive-looking keys."""
    return _by_edit()[type(edit)](edit)


def command_of(edit: Edit) -> str:
    """Return the statement that stages an edit, as text."""
    return unparse(to_statement(edit))


@cache
def _by_edit() -> Mapping[type[Edit], Callable[[Any], EditStatement]]:
    """Return the map from each kind of edit to the function that makes its statement."""
    return {edit: of for kind in STATEMENT_KINDS.values() for edit, of in kind.of_edits.items()}
