"""The options and the report of an apply, and the plan after the apply, also if responses were lost."""

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
"""Steps that were sent, each with the outcomes of its targets."""

_SILENT = Failure(
    "NO_ANSWER", "the broker's answer does not mention it", "Refresh and look whether it was done, then apply again."
)


def reconcile(plan: Plan, answered: Answered) -> Plan:
    """Return the plan after an apply: without the applied edits. The other edits stay in their order; those that were
    sent get their outcomes.

    An edit is unchanged if it was staged again after its request was sent, or was not in these steps. One exception: an
    edit that skips or deletes records gets `letters_written` if the apply wrote the dead letters of the records. Undo
    can't revert applied edits, so the history is cleared if any edit was applied.

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
    """Return the plan after a validate-only request: the same edits, each with the brokers' outcome for it. Earlier
    outcomes are removed. An edit that was staged again after the request was sent has no outcome.
    """
    outcomes = _by_slot(answered)
    current: dict[Slot, Outcome] = {}
    for staged in plan.staged:
        sent, outcome = outcomes.get(staged.edit.slot, (None, None))
        if outcome is not None and sent == staged:
            current[staged.edit.slot] = outcome
    return with_outcomes(plan, current)


def _by_slot(answered: Answered) -> Mapping[Slot, tuple[Staged, Outcome]]:
    """Return slot -> the sent edit and the outcome of its target. A config that was sent in the creation of a topic has
    the outcome of the topic.
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
    """Return slot -> the status of each edit of a request whose response was lost, from the present state of the
    cluster.

    A broker applies all keys of an entity or none, so an edit whose effect is visible also decides for edits of the
    same entity whose effect is invisible (secrets).

    Args:
        request: the edits of one request.
        now: a snapshot in which all their targets were described after the request was sent.

    Returns:
        APPLIED if the target has changed to the wanted state, NOT_APPLIED if it has the former state, UNKNOWN if the
        state shows neither.
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
    """A step and the outcomes of the targets of its request."""

    step: Step
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes that are not `ok`: failed, not applied, or unknown."""
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)


def not_sent(step: Step, why: Failure, status: Status = Status.NOT_APPLIED) -> tuple[Outcome, ...]:
    """Return outcomes for all targets of a step that was not sent. why: the reason."""
    targets: Iterable[Target] = dict.fromkeys(staged.edit.target for staged in step.staged)
    return tuple(Outcome(target, status, why) for target in targets)


class ApplyReport(Struct, frozen=True):
    """The result of a check or an apply: the outcomes, the conflicts and the warnings."""

    results: tuple[StepResult, ...]
    sent: bool
    """Whether any request to change the cluster was sent."""
    conflicts: tuple[Conflict, ...] = ()
    """Conflicts with changes by other clients since staging. Because of them, these edits and all later ones were not
    sent.
    """
    overridden: tuple[Conflict, ...] = ()
    """Conflicts despite which edits were sent, so that they overwrote other clients' changes."""
    surprises: tuple[Conflict, ...] = ()
    """Conflicts after the apply: a target has neither the former nor the wanted state."""
    set_back: tuple[Conflict, ...] = ()
    """Conflicts after the apply: the cluster itself or another client has reverted an applied edit."""
    change: int | None = None
    """The number of the change in the journal; None if there is no journal."""
    unrecorded: Failure | None = None
    """The failure to write some of the outcomes into the journal; None if the journal has them all."""
    risks: tuple[Risk, ...] = ()
    """Warnings that the operator has not accepted, because of which nothing was sent."""

    @property
    def made(self) -> tuple[ShownOnce, ...]:
        """The secrets of new entities; only the operator may see them."""
        outcomes = (outcome for result in self.results for outcome in result.outcomes)
        return tuple(outcome.made for outcome in outcomes if outcome.made is not None)

    @property
    def ok(self) -> bool:
        """Whether all requests succeeded, no conflict or warning prevented any, and no applied edit was reverted
        afterwards.
        """
        return not (self.conflicts or self.risks or self.set_back) and not any(result.failed for result in self.results)


class ApplyOptions(Struct, frozen=True):
    """The options of an apply: whether it only checks, and which conflicts and warnings the operator accepts."""

    valid_only: bool = False
    """Whether to send the valid edits if brokers refuse others in the check."""
    force: bool = False
    """Whether to overwrite all changes by other clients."""
    accepted: tuple[Conflict, ...] = ()
    """The conflicts that the operator has seen and lets the apply overwrite."""
    risks: frozenset[str] = frozenset()
    """The warnings that do not stop the apply, in the form of `Risk.accepted_as`."""
    seen: tuple[Risk, ...] = ()
    """The warnings that the operator has seen and accepted, which do not stop the apply either."""

    def hindering(self, risks: Iterable[Risk]) -> tuple[Risk, ...]:
        """Return those of the warnings that neither `risks` nor `seen` accepts."""
        seen = {(risk.slot, risk.accepted_as) for risk in self.seen}
        return tuple(
            risk for risk in risks if risk.accepted_as not in self.risks and (risk.slot, risk.accepted_as) not in seen
        )


DEFAULTS = ApplyOptions()
"""With these options, any conflict, warning or failed check stops the apply."""


class InFlight(Struct, frozen=True):
    """A request to change the cluster that was sent and has not been answered yet."""

    change: int | None
    """The number of the change in the journal; None if there is no journal."""
    api: str
    """Kafka's name of the request."""
    edits: int
    """The number of edits in the request."""
    since: datetime
    """The time at which the request was sent, UTC."""

    @property
    def unknown(self) -> str:
        """The message that the response did not arrive in time."""
        if self.change is None:
            return "outcome unknown: no journal is kept, describe what the plan touched"
        return f"outcome unknown: change {self.change}, `kac history` settles it"

    def waiting(self, now: datetime) -> str:
        """Return a text with the request and the time since it was sent. now: UTC."""
        number = f"change {self.change}: " if self.change is not None else ""
        edits = f"{self.edits:,} {'edit' if self.edits == 1 else 'edits'}"
        at = time_of_day(self.since)
        seconds = max(0, int((now - self.since).total_seconds()))
        return f"{number}{self.api} with {edits} was sent at {at}, {seconds} s ago, and is not answered yet"


class Interrupted(asyncio.CancelledError):
    """Raised after a cancelled apply has ended; its report has the outcomes of the requests that were sent."""

    def __init__(self, report: ApplyReport) -> None:
        super().__init__()
        self.report = report
