"""Checks and applies a plan: the only code that changes a cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.model.changes import Outcome, Status, Target
from console.model.config import ConfigResource, ConfigSet
from console.model.failure import Failure
from console.plan.compile import compile_plan
from console.plan.conflicts import Conflict, changed_since, conflicts, left_over, rebase, rebased, surprises
from console.plan.diff import diff
from console.plan.effective_values import DiffGroup
from console.plan.kinds.topic_creation import default_partitions
from console.plan.plan import Plan, with_outcomes
from console.plan.requests import Facts, Step
from console.plan.reversal import reversal
from console.plan.risks import risks
from console.plan.settle import (
    DEFAULTS,
    ApplyOptions,
    ApplyReport,
    InFlight,
    Interrupted,
    StepResult,
    record_check,
    settle,
)
from console.plan.staged import Staged
from console.session.describe_again import describe_again, read_again
from console.session.plan_facts import read_for_risks
from console.session.recording import Recording, api_name, record
from console.session.session import Applied, Session
from console.session.snapshot_reader import Refused

if TYPE_CHECKING:
    from console.admin.link import Link

log = logging.getLogger(__name__)


# -- one request -----------------------------------------------------------------------------------------------------


async def send(session: Session, step: Step, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Send a request or its check. Returns an outcome for each target. Never raises for what a cluster does."""
    from console.admin import changes
    from console.admin.errors import AdminError

    loop = asyncio.get_running_loop()

    def progress(done: int, total: int) -> None:
        loop.call_soon_threadsafe(session.progress, "waiting for leaders", done, total)

    try:
        return await session.client.run(changes.send, step.request, validate_only=validate_only, on_progress=progress)
    except AdminError as error:
        # The request was not sent: for one that was, an unknown outcome is returned.
        log.warning("%s not sent: %s", type(step.request).__name__, error.failure)
        return not_sent(step, error.failure, Status.FAILED)


def not_sent(step: Step, why: Failure, status: Status = Status.NOT_APPLIED) -> tuple[Outcome, ...]:
    """The outcomes of a request that was not sent."""
    targets: Iterable[Target] = dict.fromkeys(staged.edit.target for staged in step.staged)
    return tuple(Outcome(target, status, why) for target in targets)


SKIPPED = Failure("SKIPPED", "not sent: a change that it depends on failed", "Correct what failed, and apply again.")


def tally(outcomes: Iterable[Outcome]) -> str:
    """``3 applied, 1 failed``."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status.value] = counts.get(outcome.status.value, 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())


async def facts_of(session: Session, plan: Plan, configs: Mapping[ConfigResource, ConfigSet] | None = None) -> Facts:
    """Which of the named brokers are reachable, and whether they have IncrementalAlterConfigs. configs: as described
    last, if not those of the session."""
    named = {
        int(resource.name)
        for staged in plan.staged
        if isinstance(resource := staged.edit.target, ConfigResource)
        and resource.type.entity.at_broker
        and resource.name.isdecimal()
    }
    reachable, incremental = await session.client.run(_probe, frozenset(named))
    snapshot = session.snapshot
    known = snapshot.configs if configs is None else configs
    return Facts(reachable, incremental, known, len(snapshot.acls), default_partitions(snapshot))


async def _probe(link: Link, named: frozenset[int]) -> tuple[frozenset[int], bool]:
    from console.admin.errors import AdminError
    from console.admin.link import ANY, broker

    api = "incremental_alter_configs"

    async def version_at(broker_id: int) -> tuple[int, int | None] | None:
        try:
            return broker_id, await link.version(api, broker(broker_id))
        except AdminError:
            return None

    found = [answer for answer in await asyncio.gather(*map(version_at, named)) if answer is not None]
    versions = [version for _, version in found] or [await link.version(api, ANY)]
    return frozenset(broker_id for broker_id, _ in found), all(version is not None for version in versions)


# -- the requests of a plan: each is recorded, and what it touches described once more, before it goes out ------------

CONFLICT = Failure(
    "CONFLICT",
    "another client changed it since it was read",
    "Look at what is there now; then discard the edit, or apply with --force to overwrite it.",
)
STOPPED = Failure(
    "STOPPED",
    "not sent: another client changed something else that the plan touches",
    "Look at what changed, and apply again.",
)
INTERRUPTED = Failure("INTERRUPTED", "not sent: the apply was ended before it", "Apply again to send it.")


@dataclass
class Delivery:
    """Sends steps in their order, until the session is stopped. force: overwrite another client's changes.

    results: of each step. conflicts: what another client changed after the whole plan was described again: with `force`
    it was overwritten, else this request and all later ones were not sent. sent: the number of requests sent.
    """

    session: Session
    recording: Recording
    facts: Facts
    force: bool
    results: list[StepResult] = field(default_factory=list)
    conflicts: tuple[Conflict, ...] = ()
    sent: int = 0

    async def send(self, steps: Sequence[Step]) -> None:
        """Send all steps. Never raises for what a cluster or a disk does: the outcomes report it."""
        for place, step in enumerate(steps):
            self.session.progress("apply", place, len(steps))
            result = StepResult(step, await self._next(step, place))
            self.results.append(result)
            await self.recording.answered(place, result)
            log.info("%s: %s", type(step.request).__name__, tally(result.outcomes))
        self.session.progress("apply", len(steps), len(steps))

    async def _next(self, step: Step, place: int) -> tuple[Outcome, ...]:
        if any(self.results[other].failed for other in step.after):
            return not_sent(step, SKIPPED)
        if self.conflicts and not self.force:
            return not_sent(step, STOPPED)
        if self.session.stopping:
            return not_sent(step, INTERRUPTED)
        if not await self.recording.sending(place):
            return not_sent(step, self.recording.problem or SKIPPED)
        if (kept_back := await self._moved(step)) is not None:
            return kept_back
        if self.session.stopping:
            return not_sent(step, INTERRUPTED)
        self.sent += 1
        api = api_name(step.request, self.facts)
        self.session.in_flight = InFlight(self.recording.number, api, len(step.staged), datetime.now(UTC))
        try:
            return await send(self.session, step, validate_only=False)
        finally:
            self.session.in_flight = None

    async def _moved(self, step: Step) -> tuple[Outcome, ...] | None:
        """The outcomes of a request that must not be sent, since what it touches has changed; None if it may.

        Recording it and sending the requests before it took time. Inherited values may have been changed by those very
        requests, so only own values count.
        """
        from console.admin.errors import AdminError

        try:
            fresh = await describe_again(self.session, (staged.edit for staged in step.staged))
        except (AdminError, Refused) as error:
            return not_sent(step, error.failure)
        found = changed_since(step.staged, fresh)
        self.conflicts += found
        return not_sent(step, CONFLICT) if found and not self.force else None


# -- a plan ----------------------------------------------------------------------------------------------------------


async def check_plan(session: Session) -> ApplyReport:
    """Let the brokers validate a session's plan: every request that has a validate-only form is sent in it.

    Raises Refused, AdminError.
    """
    return await session.exclusively(lambda: _check(session, session.plan))


async def apply_plan(session: Session, options: ApplyOptions = DEFAULTS) -> ApplyReport:
    """Check a session's plan, record it in the journal, send it, and describe again what it touched.

    Nothing is sent where a check fails, unless `valid_only`; where another client changed what the plan touches since
    it was read, unless `force` or `accepted`; where there are warnings that are not accepted.

    Never cancelled midway: a first cancellation waits for the request that is on its way, sends nothing more and raises
    Interrupted with the report. A second one gives up: the outcome is unknown.

    Raises Refused, AdminError: nothing was sent.
    """
    applying = asyncio.ensure_future(session.exclusively(lambda: _apply(session, options)))
    try:
        return await asyncio.shield(applying)
    except asyncio.CancelledError:
        if applying.cancelled() or session.stopping:
            raise
        session.stop()
        raise Interrupted(await asyncio.shield(applying)) from None


async def _check(session: Session, plan: Plan) -> ApplyReport:
    await session.read_cluster()  # what another cluster would say of the plan says nothing
    steps = compile_plan(plan, await facts_of(session, plan))
    outcomes = await asyncio.gather(*(_validated(session, step) for step in steps))
    results = tuple(StepResult(step, found) for step, found in zip(steps, outcomes, strict=True))
    session.replan(record_check(session.plan, [(r.step, r.outcomes) for r in results]))
    return ApplyReport(results, sent=False)


async def _validated(session: Session, step: Step) -> tuple[Outcome, ...]:
    if step.unchecked:
        return tuple(Outcome(target, Status.UNCHECKED) for target in dict.fromkeys(s.edit.target for s in step.staged))
    return await send(session, step, validate_only=True)


async def _apply(session: Session, options: ApplyOptions) -> ApplyReport:
    """Between the last description of what a request touches and its arrival the protocol leaves a gap of one round
    trip: it has no conditional change. Raises JournalError where the journal can't be written."""
    checked = await _check(session, session.plan)
    if not checked.ok and not options.valid_only:
        return checked
    valid = tuple(staged for staged in session.plan.staged if _valid(session.plan, staged))
    facts_ = await read_for_risks(session, valid)
    fresh = await describe_again(session, (staged.edit for staged in valid))
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
    session.applied = _applied(before, outcomes, recording.number)
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
    """The report of a plan that is not sent because of conflicts; the session reads what is there now."""
    failed = {c.staged.edit.slot: Outcome(c.staged.edit.target, Status.NOT_APPLIED, CONFLICT) for c in found}
    session.replan(with_outcomes(session.plan, {**session.plan.outcomes, **failed}))
    await read_again(session, (conflict.staged.edit for conflict in found))
    return replace(checked, conflicts=found)


def _applied(before: tuple[DiffGroup, ...], plan: Plan, change: int | None) -> Applied | None:
    """The lines that were applied, None if there are none. change: its number in the journal."""
    done = {staged.edit.slot for staged in _done(plan)}
    back = change if any(reversal(staged).edits for staged in _done(plan)) else None
    groups = []
    for group in before:
        lines = tuple(line for line in group.lines if line.staged.edit.slot in done)
        if lines:
            groups.append(DiffGroup(group.target, lines))
    return Applied(tuple(groups), plan, datetime.now(UTC), back) if groups else None


def _done(plan: Plan) -> tuple[Staged, ...]:
    return tuple(s for s in plan.staged if (o := plan.outcome(s.edit)) is not None and o.status is Status.APPLIED)


def _valid(plan: Plan, staged: Staged) -> bool:
    outcome = plan.outcome(staged.edit)
    return outcome is None or outcome.ok
