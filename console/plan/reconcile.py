"""Options and reports of an apply, and the plan after its requests are answered, or after their responses are lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from console.model.changes import Outcome, ShownOnce, Status, Target
from console.model.failure import Failure
from console.model.grouping import grouped
from console.model.numbers import time_of_day
from console.model.snapshot import Snapshot
from console.plan.conflicts import Conflict
from console.plan.current_state import current_state, verdict
from console.plan.edits import Slot
from console.plan.plan import Plan, with_outcomes
from console.plan.requests import Step
from console.plan.risk_rules import Risk
from console.plan.staged import Described, Staged, subject

Answered = Iterable[tuple[Step, Iterable[Outcome]]]
"""Steps that were sent, each with its targets' outcomes."""

_SILENT = Failure(
    "NO_ANSWER", "the broker's answer does not mention it", "Refresh and look whether it was done, then apply again."
)


def reconcile(plan: Plan, answered: Answered) -> Plan:
    """Return the plan after an apply: without the applied edits; the others stay in their order, each with its outcome.

    Edits that were not in these steps, or were staged again since, stay unchanged, except that an edit that passes over
    records is marked if the letters of these records were applied. Undo can't revert applied edits, so the history is
    cleared once an edit was applied.

    Args:
        answered: the steps that were sent, with the outcomes of their targets; a target without one counts as unknown.
    """
    outcomes = _by_slot(answered)
    applied = [sent.edit for sent, outcome in outcomes.values() if outcome.status is Status.APPLIED]
    written = {place for edit in applied for place in edit.first_for}
    kept = []
    left: dict[Slot, Outcome] = {}
    for staged in plan.staged:
        slot = staged.edit.slot
        # An edit that was staged again while the request was in flight is a new one: keep it, as this outcome belongs
        # to the former edit.
        sent, outcome = outcomes.get(slot, (None, None))
        if outcome is not None and sent == staged:
            if outcome.status is Status.APPLIED:
                continue
            left[slot] = outcome
        elif slot in plan.outcomes:
            left[slot] = plan.outcomes[slot]
        kept.append(replace(staged, letters_written=True) if staged.edit.passes in written else staged)
    # Clear the history: undo must not restore an applied edit, which would look as if it was not sent.
    return with_outcomes(plan, left) if len(kept) == len(plan.staged) else Plan(tuple(kept), outcomes=left)


def record_check(plan: Plan, answered: Answered) -> Plan:
    """Return the plan after a validate-only request: the same edits, each with the brokers' response, without earlier
    outcomes.
    """
    outcomes = _by_slot(answered)
    current: dict[Slot, Outcome] = {}
    for staged in plan.staged:
        sent, outcome = outcomes.get(staged.edit.slot, (None, None))
        if outcome is not None and sent == staged:
            current[staged.edit.slot] = outcome
    return with_outcomes(plan, current)


def _by_slot(answered: Answered) -> Mapping[Slot, tuple[Staged, Outcome]]:
    """Return each sent edit with its target's outcome; a config that was sent with a topic's creation shares the
    topic's outcome.
    """
    found = {}
    for step, outcomes in answered:
        of: dict[Target, Outcome] = {subject(outcome.target): outcome for outcome in outcomes}
        for staged in step.staged:
            target = staged.edit.target
            # A target that a broker omits from its response may or may not have been changed.
            outcome = of.get(subject(target)) or Outcome(target, Status.UNKNOWN, _SILENT)
            found[staged.edit.slot] = (staged, outcome)
    return found


# -- lost answers ------------------------------------------------------------------------------------------------------


def verdicts(request: Iterable[Staged], now: Snapshot) -> Mapping[Slot, Status]:
    """Return the outcome of each edit of a request without a response, from the present state of the cluster.

    A broker applies all keys of an entity or none, so an edit with a visible effect decides for the invisible ones of
    the same entity (secrets).

    Args:
        request: the edits of one request.
        now: a snapshot in which all their targets were described after the request was sent.

    Returns:
        APPLIED if the cluster has a new state that the edit wants, NOT_APPLIED if it has the former state, UNKNOWN if
        neither is visible.
    """
    seen = Described(now)
    edits = tuple(request)
    # First compare each edit alone: an edit with a visible effect also decides about the others of its entity.
    alone = {each.edit.slot: verdict(each.edit, each.was, current_state(each.edit, seen)) for each in edits}
    kin = grouped((subject(slot.target), status) for slot, status in alone.items())
    return {slot: _with_its_kin(status, kin[subject(slot.target)]) for slot, status in alone.items()}


def _with_its_kin(status: Status, kin: Iterable[Status]) -> Status:
    seen = {*kin} - {Status.UNKNOWN}
    return next(iter(seen)) if status is Status.UNKNOWN and len(seen) == 1 else status


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
    """The result of a check or an apply: the outcomes, the conflicts and the warnings."""

    results: tuple[StepResult, ...]
    sent: bool
    """Whether any request to change the cluster was sent."""
    conflicts: tuple[Conflict, ...] = ()
    """Changes by other clients since the read, which stopped these edits and all later ones."""
    overridden: tuple[Conflict, ...] = ()
    """Conflicts that the apply overrode."""
    surprises: tuple[Conflict, ...] = ()
    """States read afterwards that are neither the former nor the wanted state."""
    set_back: tuple[Conflict, ...] = ()
    """Applied edits that the cluster itself or another client has reverted."""
    change: int | None = None
    """The number of the change in the journal; None without a journal."""
    unrecorded: Failure | None = None
    """The reason why the journal lacks some of the outcomes; None if the journal has them all."""
    risks: tuple[Risk, ...] = ()
    """Warnings that were not accepted, which stopped the apply."""

    @property
    def made(self) -> tuple[ShownOnce, ...]:
        """The secrets of created entities, which are only for the operator."""
        outcomes = (outcome for result in self.results for outcome in result.outcomes)
        return tuple(outcome.made for outcome in outcomes if outcome.made is not None)

    @property
    def ok(self) -> bool:
        """Whether all requests succeeded, no conflict or warning prevented one, and no applied edit was reverted."""
        return not (self.conflicts or self.risks or self.set_back) and not any(result.failed for result in self.results)


class ApplyOptions(Struct, frozen=True):
    """The options of an apply: whether it only checks, and what the operator accepts."""

    valid_only: bool = False
    """Whether to send the valid edits if others fail the check."""
    force: bool = False
    """Whether to overwrite changes by other clients."""
    accepted: tuple[Conflict, ...] = ()
    """The conflicts to overwrite, which the operator has seen; no others are overwritten."""
    risks: frozenset[str] = frozenset()
    """The warnings that do not stop the apply, named as in `Risk.accepted_as`."""
    seen: tuple[Risk, ...] = ()
    """The warnings that the operator has seen and accepted; no others are."""

    def hindering(self, risks: Iterable[Risk]) -> tuple[Risk, ...]:
        """Return the warnings that are not accepted."""
        seen = {(risk.slot, risk.accepted_as) for risk in self.seen}
        return tuple(
            risk for risk in risks if risk.accepted_as not in self.risks and (risk.slot, risk.accepted_as) not in seen
        )


DEFAULTS = ApplyOptions()
"""With these options, any conflict, warning or failed check stops the apply."""


class InFlight(Struct, frozen=True):
    """A request to change the cluster that was sent and has no response yet."""

    change: int | None
    """The number of the change in the journal; None without a journal."""
    api: str
    """Kafka's name of the request."""
    edits: int
    """The number of edits."""
    since: datetime
    """The time of sending, UTC."""

    @property
    def unknown(self) -> str:
        """The message for a request whose response did not come in time."""
        if self.change is None:
            return "outcome unknown: no journal is kept, describe what the plan touched"
        return f"outcome unknown: change {self.change}, `kac history` settles it"

    def waiting(self, now: datetime) -> str:
        """Return the request without a response and its age, as text."""
        number = f"change {self.change}: " if self.change is not None else ""
        edits = f"{self.edits:,} {'edit' if self.edits == 1 else 'edits'}"
        at = time_of_day(self.since)
        seconds = max(0, int((now - self.since).total_seconds()))
        return f"{number}{self.api} with {edits} was sent at {at}, {seconds} s ago, and is not answered yet"


class Interrupted(asyncio.CancelledError):
    """Raised when a cancelled apply has ended; the report has the outcomes of the sent requests."""

    def __init__(self, report: ApplyReport) -> None:
        super().__init__()
        self.report = report
