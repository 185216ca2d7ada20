"""The edits that a key press stages from a next step of triage: the step's command and its risks. Nothing is read from
the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.answers.triage import step_in_short
from console.language.errors import LanguageError
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.statements import EditStatement, Where
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.plan.plan import EMPTY, Plan, stage
from console.plan.risks import risks
from console.plan.staged import Staged
from console.present.triage import Staging
from console.triage.cause import Next

MOST = 50
"""Maximum number of edits whose risks are named; a step may have an edit for each partition."""
MOST_RISKS = 2


def first_step(steps: Sequence[Next]) -> Next | None:
    """Return the step that a press of the staging key stages: the first one that has edits or a command. Return None if
    no step has either. Steps after it are alternatives, or follow later.
    """
    return next((step for step in steps if step.edits or step.command), None)


def staging_of(
    steps: Sequence[Next], snapshot: Snapshot, plan: Plan = EMPTY, *, read_only: bool = False
) -> Staging | None:
    """Return what a press of the staging key would stage: the first step that has edits or a command, with its risks.
    Return None if no step has either.

    The risks, and whether the step is refused, depend on the known state of the cluster; an apply reads what is
    unknown.

    Args:
        plan: the edits that are staged already, which the step's edits join.
        read_only: whether the context permits no edits.
    """
    step = first_step(steps)
    if step is None:
        return None
    others = [
        f"{each.text}: {step_in_short(each)}" for each in steps if each is not step and (each.edits or each.command)
    ]
    edits = step.edits or _edits(step.command, snapshot)
    report = stage(plan, (edits or ())[:MOST], snapshot)
    refused = "; ".join(dict.fromkeys(each.reason for each in report.refused))
    if not refused and report.dropped and not report.added:
        refused = report.dropped[0].reason
    if read_only and edits is not None:
        refused = "this context is read-only"
    return Staging(step.text, step_in_short(step), edits is not None, _risks(report.added, snapshot), others, refused)


def _edits(command: str, snapshot: Snapshot) -> list[Edit] | None:
    """Return the edits of a command; an empty list if it needs data that was not read; None if the command makes no
    edits.
    """
    edits: list[Edit] = []
    try:
        statements = parse(command, Where.BAR)
        if not all(isinstance(each, EditStatement) for each in statements):
            return None
        for statement in statements:
            if isinstance(statement, EditStatement):
                edits += to_edits(statement, snapshot)
    except LanguageError:
        return []
    return edits


def _risks(staged: Sequence[Staged], snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(dict.fromkeys(risk.text for risk in risks(staged, snapshot)))[:MOST_RISKS]
