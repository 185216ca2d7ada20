"""Check and apply a plan: the one way by which anything changes a cluster."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.commands.delivery import CONFLICT, Delivery
from console.commands.journaling import record
from console.commands.look import look, read_again
from console.commands.sending import StepResult, facts_of, send
from console.model.changes import Outcome, Status
from console.model.failure import Failure
from console.plan.compile import compile_plan
from console.plan.conflicts import Conflict, conflicts, left_over, rebase, rebased, surprises
from console.plan.diff import DiffGroup, diff
from console.plan.effects.risks import Risk, risks, unaccepted
from console.plan.plan import Plan, with_outcomes
from console.plan.settle import record_check, settle
from console.plan.staged import Staged

if TYPE_CHECKING:
    from console.commands.session import Session

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What a check or an apply did.

    sent: whether anything was sent to change the cluster. conflicts: what somebody changed since it was read, so that
    it was not sent, nor anything after it. overridden: the same where it was sent all the same. surprises: what was
    found afterwards that is neither as before nor as wanted. change: the number in the journal, None where none was
    kept. unrecorded: why the journal does not say how all of it went. risks: warnings that nobody accepted, for which
    nothing was sent.
    """

    results: tuple[StepResult, ...]
    sent: bool
    conflicts: tuple[Conflict, ...] = ()
    overridden: tuple[Conflict, ...] = ()
    surprises: tuple[Conflict, ...] = ()
    change: int | None = None
    unrecorded: Failure | None = None
    risks: tuple[Risk, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing failed and nothing stood in the way."""
        return not self.conflicts and not self.risks and not any(result.failed for result in self.results)


@dataclass(frozen=True, slots=True)
class Applied:
    """What the last apply changed: its lines as they stood before, the outcomes (in `plan`), and when it was, UTC."""

    groups: tuple[DiffGroup, ...]
    plan: Plan
    at: datetime


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to apply. valid_only: send what passed the check where something did not. force: go over whatever somebody
    changed meanwhile. accepted: go over these changes, which the operator has seen, and no others. risks: the names of
    the warnings (console.plan.effects.risks) that are no hindrance."""

    valid_only: bool = False
    force: bool = False
    accepted: tuple[Conflict, ...] = ()
    risks: tuple[str, ...] = ()


async def check_plan(session: Session) -> ApplyReport:
    """Send every request that has a validate-only twin as one; nothing changes."""
    return await _check(session, session.plan)


async def _check(session: Session, plan: Plan) -> ApplyReport:
    steps = compile_plan(plan, await facts_of(session, plan))
    outcomes = await asyncio.gather(*(send(session, step, validate_only=True) for step in steps))
    results = tuple(StepResult(step, found) for step, found in zip(steps, outcomes, strict=True))
    session.replan(record_check(session.plan, [(r.step, r.outcomes) for r in results]))
    return ApplyReport(results, sent=False)


async def apply_plan(session: Session, wishes: Wishes) -> ApplyReport:
    """Check; describe again what the plan touches; write it into the journal; send, settle and describe again.

    Where a check fails nothing is sent, or with `valid_only` the rest; where something moved, nothing. Between the last
    look at what a request touches and its arrival the protocol leaves a gap of one way there and one back: it has no
    conditional change. Raises JournalError where the journal can't be written, and AdminError where the cluster is lost
    before anything was sent.
    """
    checked = await _check(session, session.plan)
    if not checked.ok and not wishes.valid_only:
        return checked
    valid = tuple(staged for staged in session.plan.staged if _valid(session.plan, staged))
    fresh = await look(session, (staged.edit for staged in valid))
    warned = unaccepted(risks(valid, fresh), wishes.risks)
    if warned:
        return replace(checked, risks=warned)
    found = conflicts(valid, fresh)
    standing = () if wishes.force else left_over(found, wishes.accepted)
    if standing:
        return await _stopped(session, checked, standing)
    session.replan(rebase(session.plan, {staged.edit.slot: staged for staged in rebased(valid, fresh)}))
    plan = Plan(tuple(staged for staged in session.plan.staged if _valid(session.plan, staged)))
    facts = await facts_of(session, plan, fresh.configs)
    steps = compile_plan(plan, facts)
    before = diff(plan, fresh)
    recording = await record(session, plan, steps, facts, fresh, found)
    delivery = Delivery(session, recording, wishes.force)
    await delivery.send(steps)
    answered = [(result.step, result.outcomes) for result in delivery.results]
    outcomes = record_check(plan, answered)
    session.applied = _applied(before, outcomes)
    session.replan(settle(session.plan, answered))
    await read_again(session, (staged.edit for staged in plan.staged))
    refused = tuple(result for result in checked.results if result.failed)
    late = delivery.conflicts
    return ApplyReport(
        (*delivery.results, *refused),
        sent=delivery.sent > 0,
        conflicts=() if wishes.force else late,
        overridden=(*found, *late) if wishes.force else found,
        surprises=surprises(_done(outcomes), session.snapshot),
        change=recording.number,
        unrecorded=recording.problem,
    )


async def _stopped(session: Session, checked: ApplyReport, found: tuple[Conflict, ...]) -> ApplyReport:
    """Nothing is sent: the rows say why, and the session knows what is there now."""
    failed = {c.staged.edit.slot: Outcome(c.staged.edit.target, Status.NOT_APPLIED, CONFLICT) for c in found}
    session.replan(with_outcomes(session.plan, {**session.plan.outcomes, **failed}))
    await read_again(session, (conflict.staged.edit for conflict in found))
    return replace(checked, conflicts=found)


def _applied(before: tuple[DiffGroup, ...], plan: Plan) -> Applied | None:
    """The lines that were applied; None where there are none."""
    done = {staged.edit.slot for staged in _done(plan)}
    groups = []
    for group in before:
        lines = tuple(line for line in group.lines if line.staged.edit.slot in done)
        if lines:
            groups.append(DiffGroup(group.target, lines))
    return Applied(tuple(groups), plan, datetime.now(UTC)) if groups else None


def _done(plan: Plan) -> tuple[Staged, ...]:
    return tuple(s for s in plan.staged if (o := plan.outcome(s.edit)) is not None and o.status is Status.APPLIED)


def _valid(plan: Plan, staged: Staged) -> bool:
    outcome = plan.outcome(staged.edit)
    return outcome is None or outcome.ok
