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
from console.commands.sending import facts_of, send
from console.model.changes import Outcome, Status
from console.plan.compile import compile_plan
from console.plan.conflicts import Conflict, conflicts, left_over, rebase, rebased, surprises
from console.plan.diff import DiffGroup, diff
from console.plan.plan import Plan, with_outcomes
from console.plan.risks import risks
from console.plan.settle import record_check, settle
from console.plan.staged import Staged
from console.session.apply_report import ApplyOptions, ApplyReport, StepResult
from console.session.risk_reading import read_for_risks

if TYPE_CHECKING:
    from console.commands.session import Session

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Applied:
    """What the last apply changed: its lines as they stood before, the outcomes (in `plan`), and when it was, UTC."""

    groups: tuple[DiffGroup, ...]
    plan: Plan
    at: datetime


async def check_plan(session: Session) -> ApplyReport:
    """Send every request that has a validate-only twin as one; nothing changes."""
    return await _check(session, session.plan)


async def _check(session: Session, plan: Plan) -> ApplyReport:
    steps = compile_plan(plan, await facts_of(session, plan))
    outcomes = await asyncio.gather(*(send(session, step, validate_only=True) for step in steps))
    results = tuple(StepResult(step, found) for step, found in zip(steps, outcomes, strict=True))
    session.replan(record_check(session.plan, [(r.step, r.outcomes) for r in results]))
    return ApplyReport(results, sent=False)


async def apply_plan(session: Session, options: ApplyOptions) -> ApplyReport:
    """Check; read what warnings need, and describe again what the plan touches; write it into the journal; send, settle
    and describe again.

    Where a check fails nothing is sent, or with `valid_only` the rest; where something moved or a warning is not
    accepted, nothing. Between the last look at what a request touches and its arrival the protocol leaves a gap of one
    way there and one back: it has no conditional change. Raises JournalError where the journal can't be written, and
    AdminError where the cluster is lost before anything was sent.
    """
    checked = await _check(session, session.plan)
    if not checked.ok and not options.valid_only:
        return checked
    valid = tuple(staged for staged in session.plan.staged if _valid(session.plan, staged))
    facts_ = await read_for_risks(session, valid)
    fresh = await look(session, (staged.edit for staged in valid))
    hindering = options.hindering(await asyncio.to_thread(risks, valid, fresh, facts_))
    if hindering:
        return replace(checked, risks=hindering)
    found = conflicts(valid, fresh)
    standing = () if options.force else left_over(found, options.accepted)
    if standing:
        return await _stopped(session, checked, standing)
    session.replan(rebase(session.plan, {staged.edit.slot: staged for staged in rebased(valid, fresh)}))
    plan = Plan(tuple(staged for staged in session.plan.staged if _valid(session.plan, staged)))
    facts = await facts_of(session, plan, fresh.configs)
    steps = compile_plan(plan, facts)
    before = diff(plan, fresh)
    session.committed = True
    recording = await record(session, plan, steps, facts, fresh, found)
    delivery = Delivery(session, recording, facts, options.force)
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
        conflicts=() if options.force else late,
        overridden=(*found, *late) if options.force else found,
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
