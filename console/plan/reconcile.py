"""What an apply is asked to do and what it did, and how a plan goes on once requests are answered, or no answer
comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from console.model.changes import MadeToken, Outcome, Status, Target
from console.model.failure import Failure
from console.model.numbers import time_of_day
from console.model.snapshot import Snapshot
from console.plan.conflicts import Conflict
from console.plan.current_state import current_state, verdict
from console.plan.edits import Slot
from console.plan.plan import Plan, with_outcomes
from console.plan.requests import Step
from console.plan.risk_rules import Risk
from console.plan.staged import Described, Staged, subject

# What becomes of edits once their requests are answered, or once it is clear that no answer comes.

Answered = Iterable[tuple[Step, Iterable[Outcome]]]
"""Steps that were sent, each with the outcomes of its targets."""

_SILENT = Failure(
    "NO_ANSWER", "the broker's answer does not mention it", "Refresh and look whether it was done, then apply again."
)


def reconcile(plan: Plan, answered: Answered) -> Plan:
    """Return the plan after an apply: without the edits that were applied, the others in their order, each with its
    outcome.

    Edits that were not in these steps, or were staged again since, stay as they are. Unstaging does not undo what is
    applied: once an edit was, nothing is left to undo or redo.

    Args:
        answered: the steps that were sent, with the outcomes of their targets; a target without one counts as unknown.
    """
    outcomes = _by_slot(answered)
    kept = []
    left: dict[Slot, Outcome] = {}
    for staged in plan.staged:
        slot = staged.edit.slot
        # An edit that was staged again while the request was on its way is another one: it stays, and this outcome is
        # not its own.
        sent, outcome = outcomes.get(slot, (None, None))
        if outcome is not None and sent == staged:
            if outcome.status is Status.APPLIED:
                continue
            left[slot] = outcome
        elif slot in plan.outcomes:
            left[slot] = plan.outcomes[slot]
        kept.append(staged)
    # What was applied must not come back by undo: it would look unsent. So the history goes with it.
    return with_outcomes(plan, left) if len(kept) == len(plan.staged) else Plan(tuple(kept), outcomes=left)


def record_check(plan: Plan, answered: Answered) -> Plan:
    """Return the plan after a validate-only request: the same edits, each with the brokers' answer; earlier outcomes
    go.
    """
    outcomes = _by_slot(answered)
    current: dict[Slot, Outcome] = {}
    for staged in plan.staged:
        sent, outcome = outcomes.get(staged.edit.slot, (None, None))
        if outcome is not None and sent == staged:
            current[staged.edit.slot] = outcome
    return with_outcomes(plan, current)


def _by_slot(answered: Answered) -> Mapping[Slot, tuple[Staged, Outcome]]:
    """Return each edit that was sent with its target's outcome; a config that went with a topic's creation shares that
    of the topic.
    """
    found = {}
    for step, outcomes in answered:
        of: dict[Target, Outcome] = {subject(outcome.target): outcome for outcome in outcomes}
        for staged in step.staged:
            target = staged.edit.target
            # A broker that leaves a target out of its answer has neither applied nor refused it, as far as can be
            # known.
            outcome = of.get(subject(target)) or Outcome(target, Status.UNKNOWN, _SILENT)
            found[staged.edit.slot] = (staged, outcome)
    return found


# -- lost answers ------------------------------------------------------------------------------------------------------


def verdicts(request: Iterable[Staged], now: Snapshot) -> Mapping[Slot, Status]:
    """Return the outcome of each edit of a request that was not answered, by what the cluster has now.

    A broker applies all keys of an entity or none, so an edit that can be seen decides for those of the same entity
    that can't (secrets).

    Args:
        request: the edits of one request.
        now: a snapshot in which all that they touch was described after the request was sent.

    Returns:
        APPLIED where the cluster has what the edit wants and had not before, NOT_APPLIED where it has what it had
            before, UNKNOWN where neither is visible.
    """
    seen = Described(now)
    edits = tuple(request)
    # Each edit is judged alone first: only one that shows something can decide for its entity.
    alone = {each.edit.slot: verdict(each.edit, each.was, current_state(each.edit, seen)) for each in edits}
    of_subject: dict[Target, set[Status]] = {}
    for slot, status in alone.items():
        of_subject.setdefault(subject(slot.target), set()).add(status)
    return {slot: _with_its_kin(status, of_subject[subject(slot.target)]) for slot, status in alone.items()}


def _with_its_kin(status: Status, kin: set[Status]) -> Status:
    seen = kin - {Status.UNKNOWN}
    return next(iter(seen)) if status is Status.UNKNOWN and len(seen) == 1 else status


# What an apply is asked to do, what it is waiting for, and what it did.


class StepResult(Struct, frozen=True):
    """A request and the outcomes of its targets."""

    step: Step
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes that are neither applied nor valid."""
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)


def not_sent(step: Step, why: Failure, status: Status = Status.NOT_APPLIED) -> tuple[Outcome, ...]:
    """Return the outcomes of a request that was not sent."""
    targets: Iterable[Target] = dict.fromkeys(staged.edit.target for staged in step.staged)
    return tuple(Outcome(target, status, why) for target in targets)


class ApplyReport(Struct, frozen=True):
    """The result of a check or an apply.

    sent: whether anything was sent to change the cluster. conflicts: what another client changed since it was read, so
    that neither it nor anything after it was sent. overridden: conflicts over which the apply went on. surprises:
    states that were read afterwards and are neither as before nor as wanted. set_back: what was applied, and taken back
    since by the cluster itself or another client. change: the number in the journal, None
    where none was kept. unrecorded: why the journal lacks some of the outcomes. risks: warnings that are not accepted,
    because of which nothing was sent.
    """

    results: tuple[StepResult, ...]
    sent: bool
    conflicts: tuple[Conflict, ...] = ()
    overridden: tuple[Conflict, ...] = ()
    surprises: tuple[Conflict, ...] = ()
    set_back: tuple[Conflict, ...] = ()
    change: int | None = None
    unrecorded: Failure | None = None
    risks: tuple[Risk, ...] = ()

    @property
    def made_tokens(self) -> tuple[MadeToken, ...]:
        """The delegation tokens that were made: what proves them is for the operator's eyes alone."""
        outcomes = (outcome for result in self.results for outcome in result.outcomes)
        return tuple(outcome.made for outcome in outcomes if outcome.made is not None)

    @property
    def ok(self) -> bool:
        """Whether nothing failed and nothing prevented it."""
        return not (self.conflicts or self.risks or self.set_back) and not any(result.failed for result in self.results)


class ApplyOptions(Struct, frozen=True):
    """How to apply.

    valid_only: send what passed the check where something did not. force: overwrite what another client changed.
    accepted: conflicts that the operator has seen and that are overwritten, no others. risks: warnings that do not stop
    the apply, as `Risk.accepted_as` has them. seen: warnings that the operator has seen and accepted, no others.
    """

    valid_only: bool = False
    force: bool = False
    accepted: tuple[Conflict, ...] = ()
    risks: frozenset[str] = frozenset()
    seen: tuple[Risk, ...] = ()

    def hindering(self, risks: Iterable[Risk]) -> tuple[Risk, ...]:
        """Return the warnings that are not accepted."""
        seen = {(risk.slot, risk.accepted_as) for risk in self.seen}
        return tuple(
            risk for risk in risks if risk.accepted_as not in self.risks and (risk.slot, risk.accepted_as) not in seen
        )


DEFAULTS = ApplyOptions()
"""Any conflict, warning or failed check stops the apply."""


class InFlight(Struct, frozen=True):
    """A request that was sent to change the cluster and has no answer yet.

    change: the number in the journal, None where none is kept. api: Kafka's name of the request; edits: how many it
    carries; since: when it was sent, UTC.
    """

    change: int | None
    api: str
    edits: int
    since: datetime

    @property
    def unknown(self) -> str:
        """The message for when the answer is no longer waited for."""
        if self.change is None:
            return "outcome unknown: no journal is kept, describe what the plan touched"
        return f"outcome unknown: change {self.change}, `kac history` settles it"

    def waiting(self, now: datetime) -> str:
        """Return which request is waited for, and for how long, as text."""
        number = f"change {self.change}: " if self.change is not None else ""
        edits = f"{self.edits:,} {'edit' if self.edits == 1 else 'edits'}"
        at = time_of_day(self.since)
        seconds = max(0, int((now - self.since).total_seconds()))
        return f"{number}{self.api} with {edits} was sent at {at}, {seconds} s ago, and is not answered yet"


class Interrupted(asyncio.CancelledError):
    """A cancelled apply has ended: the report has the outcomes of what was sent."""

    def __init__(self, report: ApplyReport) -> None:
        super().__init__()
        self.report = report
