"""What becomes of a plan when its requests were answered: successes leave it, failures stay with the broker's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.changes import Outcome, Status, Target
from console.model.failure import Failure
from console.plan.edits import Slot
from console.plan.plan import Plan, with_outcomes
from console.plan.staged import Staged, subject
from console.plan.step import Step

Answered = Iterable[tuple[Step, Iterable[Outcome]]]
"""Steps that were sent, each with the outcomes of its targets."""

_SILENT = Failure(
    "NO_ANSWER", "the broker's answer does not mention it", "Refresh and look whether it was done, then apply again."
)


def settle(plan: Plan, answered: Answered) -> Plan:
    """After an apply: applied edits are gone, the others stay in their order, each with its outcome. Edits that were
    not in these steps, or were staged anew since, stay as they are. What is applied can't be undone by unstaging: once
    something is, nothing is left to undo or redo."""
    outcomes = _by_slot(answered)
    kept = []
    left: dict[Slot, Outcome] = {}
    for staged in plan.staged:
        slot = staged.edit.slot
        sent, outcome = outcomes.get(slot, (None, None))
        if outcome is not None and sent == staged:
            if outcome.status is Status.APPLIED:
                continue
            left[slot] = outcome
        elif slot in plan.outcomes:
            left[slot] = plan.outcomes[slot]
        kept.append(staged)
    return with_outcomes(plan, left) if len(kept) == len(plan.staged) else Plan(tuple(kept), outcomes=left)


def record_check(plan: Plan, answered: Answered) -> Plan:
    """After a validate-only: the same edits, each with what the brokers said of it; earlier outcomes are gone."""
    outcomes = _by_slot(answered)
    current: dict[Slot, Outcome] = {}
    for staged in plan.staged:
        sent, outcome = outcomes.get(staged.edit.slot, (None, None))
        if outcome is not None and sent == staged:
            current[staged.edit.slot] = outcome
    return with_outcomes(plan, current)


def _by_slot(answered: Answered) -> Mapping[Slot, tuple[Staged, Outcome]]:
    """Of each edit that was sent, the outcome of its target; a config that was folded into a topic's creation shares
    that topic's."""
    found = {}
    for step, outcomes in answered:
        of: dict[Target, Outcome] = {subject(outcome.target): outcome for outcome in outcomes}
        for staged in step.staged:
            target = staged.edit.target
            outcome = of.get(subject(target)) or Outcome(target, Status.UNKNOWN, _SILENT)
            found[staged.edit.slot] = (staged, outcome)
    return found
