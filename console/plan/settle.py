"""What becomes of edits once their requests are answered, or once it is clear that no answer comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.changes import Outcome, Status, Target
from console.model.cluster import ScramCredential, Topic
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, moved, wanted
from console.plan.edits import DeleteTopic, Edit, Slot, UpsertScram
from console.plan.plan import Plan, with_outcomes
from console.plan.requests import Step
from console.plan.staged import Staged, Was, subject

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


# -- lost answers ------------------------------------------------------------------------------------------------------


def verdicts(request: Iterable[Staged], now: Snapshot) -> Mapping[Slot, Status]:
    """For the edits of one request: APPLIED where the cluster has what they want and had not before, NOT_APPLIED where
    it has what was there before, UNKNOWN where that does not tell. All keys of an entity are applied or none, so that
    one that can be seen speaks for those that can't."""
    acls = frozenset(now.acls)
    edits = tuple(request)
    alone = {each.edit.slot: verdict(each.edit, each.was, current_state(each.edit, now, acls)) for each in edits}
    of_subject: dict[Target, set[Status]] = {}
    for slot, status in alone.items():
        of_subject.setdefault(subject(slot.target), set()).add(status)
    return {slot: _with_its_kin(status, of_subject[subject(slot.target)]) for slot, status in alone.items()}


def _with_its_kin(status: Status, kin: set[Status]) -> Status:
    seen = kin - {Status.UNKNOWN}
    return next(iter(seen)) if status is Status.UNKNOWN and len(seen) == 1 else status


def verdict(edit: Edit, was: Was, now: Was) -> Status:
    """The same for one edit, of which `was` stood in its place before and `now` does."""
    changed = moved(edit, was, now)
    if isinstance(edit, DeleteTopic) and isinstance(now, Topic):
        return Status.APPLIED if changed and _made_anew(was, now) else Status.NOT_APPLIED
    if isinstance(edit, UpsertScram) and isinstance(now, ScramCredential):
        return Status.APPLIED if changed and now.iterations == edit.iterations else Status.UNKNOWN
    as_wanted = wanted(edit, now)
    if as_wanted is None or as_wanted is not changed:
        # As wanted and as before: it changed nothing. Neither the one nor the other: somebody else was there.
        return Status.UNKNOWN
    return Status.APPLIED if as_wanted else Status.NOT_APPLIED


def _made_anew(was: Was, now: Topic) -> bool:
    return isinstance(was, Topic) and was.topic_id != now.topic_id
