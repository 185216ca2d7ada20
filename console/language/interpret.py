"""The conversion of statements to edits, and of edits to the statements that stage them; the modules of verbs do both.
Pure.
"""

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
    """Return the edits that a statement stages. Contradictions with other edits are found when the edits are staged,
    not here.

    Args:
        snapshot: a snapshot that was read with `needs(statement, selected)`; entities missing in it count as absent.
        selected: the entity of a statement that names no entity; None if no entity is selected.
        plan: the edits already staged; a topic that they create counts as existing.
        secrets: key -> secret, for each secret that the statement needs; None for a statement without secrets.

    Returns:
        In the statement's order; several for a statement about several partitions or keys.

    Raises:
        CommandError: a name, key or value does not exist or is invalid on the cluster; with its place in the script.
    """
    # Each kind of statement makes its own edits: only the registry distinguishes kinds.
    return tuple(kind_of(statement).edits(statement, Staging(snapshot, selected, plan, secrets or {})))


def to_statement(edit: Edit) -> EditStatement:
    """Return the statement that stages an edit. In place of secrets, and of values of keys that look sensitive, the
    statement has ``?``, which prompts the operator.
    """
    return _by_edit()[type(edit)](edit)


def command_of(edit: Edit) -> str:
    """Return the statement that stages an edit, as text."""
    return unparse(to_statement(edit))


@cache
def _by_edit() -> Mapping[type[Edit], Callable[[Any], EditStatement]]:
    """Return kind of edit -> the function that makes its statement."""
    return {edit: of for kind in STATEMENT_KINDS.values() for edit, of in kind.of_edits.items()}
