"""Check and send a plan. Only this module sends the requests that change a cluster; `apply_flow` has asked the operator
before.

The functions are in the order of an apply's steps. Each step gets the run and returns it with its result. A step that
finds a reason to send nothing ends the run with a report.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.admin.errors import AdminError
from console.journal.entries import Answered, Ended, Entry, Intent, Note, this_operator, this_process
from console.journal.segments import JournalError
from console.model.changes import AlterConfigs, ChangeRequest, Outcome, Status
from console.model.codes import CONNECTOR
from console.model.failure import Failure
from console.model.journal_lines import Request, Sending
from console.model.snapshot import Snapshot
from console.plan import conflicts as plan_conflicts
from console.plan import edits
from console.plan import reconcile as plan_reconcile
from console.plan.compile import compile_plan
from console.plan.current_state import moved
from console.plan.diff import diff
from console.plan.effective_values import DiffGroup
from console.plan.kinds.registry import kind_of
from console.plan.plan import Plan, with_outcomes
from console.plan.requests import Facts, Step
from console.plan.reversal import way_back
from console.plan.risks import risks
from console.plan.staged import Staged
from console.sensitive import is_reference, seems_sensitive
from console.session.apply_run import ApplyRun, Recorded
from console.session.checking import checked
from console.session.describe_again import describe_again
from console.session.plan_facts import read_for_risks
from console.session.read_again import read_again
from console.session.request_facts import read_facts
from console.session.session import Applied, Session, Work
from console.session.snapshot_reader import Client, Refused

if TYPE_CHECKING:
    from console.contexts import Context
    from console.journal.file import JournalFile
    from console.model.journal_lines import Origin
    from console.plan.risk_rules import RiskFacts

log = logging.getLogger(__name__)

CONFLICT = Failure(
    "CONFLICT",
    "another client changed it since it was read",
    "Look at what is there now; then discard the edit, or apply with --force to overwrite it.",
)
NOT_READ = Failure(
    "NOT_READ",
    "it could not be read again, so whether another client changed it is not known",
    "Look why it can't be read; or apply with --force to send the edit all the same.",
)
STOPPED = Failure(
    "STOPPED",
    "not sent: another client changed something else that the plan touches",
    "Look at what changed, and apply again.",
)
INTERRUPTED = Failure("INTERRUPTED", "not sent: the apply was ended before it", "Apply again to send it.")
NOT_KEPT = Failure(
    "NOT_KEPT",
    "not sent: the records that it passes over are not all written to the dead-letter topic",
    "Apply this plan again: it writes only what is missing; a new run writes all again. Or discard it, and pass over "
    "the records without sending them.",
)
SKIPPED = Failure("SKIPPED", "not sent: a change that it depends on failed", "Correct what failed, and apply again.")


async def check_plan(session: Session) -> plan_reconcile.ApplyReport:
    """Let the brokers validate a session's plan, without any change: send each request in its validate-only form, if it
    has one.

    Returns:
        A report of the check. Edits whose request has no such form are UNCHECKED in it.

    Raises:
        Refused: the context is read-only, the plan is being checked or applied already, or another cluster answers.
        AdminError: the connection to the cluster is lost.
    """
    session.refuse_to_work()
    task = asyncio.ensure_future(_take_steps(session, ApplyRun(), sends=False))
    session.work.begin(task)
    return plan_reconcile.ApplyReport((await task).checked, sent=False)


async def send_plan(session: Session, run: ApplyRun) -> ApplyRun:
    """Check a session's plan, record it in the journal, send it, and read the changed resources again.

    Nothing is sent in three cases: a check fails, and the option `valid_only` is not set; another client changed a
    value of the plan since it was read, and neither the option `force` nor `accepted` allows to overwrite it; or a
    warning is not accepted.

    A first cancellation of this call waits for the request in flight, sends nothing more, and raises Interrupted with
    the report. A second one stops waiting: the request's outcome is then unknown.

    Args:
        run: the apply so far. Results of an earlier attempt are dropped.

    Returns:
        The run with the report of this attempt.

    Raises:
        Refused: nothing was sent: the context is read-only, the plan is being applied already, another cluster answers,
            or the journal can't be written.
        AdminError: nothing was sent: the connection to the cluster is lost.
        Interrupted: the call was cancelled; the report has the requests that were sent.
    """
    session.refuse_to_work()
    task = asyncio.ensure_future(_take_steps(session, run.again()))
    session.work.begin(task)
    try:
        # Without the shield, a cancelled caller would drop the request in flight and lose its outcome.
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled() or session.work.stopping:
            raise
        # Stop the work, don't cancel it: the request in flight is answered and recorded, and its outcome is in the
        # report.
        session.work.stop()
        ended = await asyncio.shield(task)
        assert ended.report is not None
        raise plan_reconcile.Interrupted(ended.report) from None


async def _take_steps(session: Session, run: ApplyRun, *, sends: bool = True) -> ApplyRun:
    """Run the steps of an attempt in order, until one ends it with a report. sends: whether to send the plan after the
    check; if False, end with the report of the check.
    """
    await session.read_cluster()  # the check of another cluster would be meaningless
    run = await _check(session.client, session.plan, session.snapshot, run)
    session.replan(plan_reconcile.record_check(session.plan, [(each.step, each.outcomes) for each in run.checked]))
    if run.report is not None or not sends:
        return run
    valid = _valid(session.plan)
    known = await read_for_risks(session, valid)
    fresh = await describe_again(session.client, session.context, session.snapshot, _edits(valid))
    run = await _judge(run, valid, fresh, known)
    if run.report is not None:
        return run
    run, plan = _compare(run, session.plan)
    session.replan(plan)
    if run.report is not None:
        # Read the conflicting values again: the operator sees the other client's value, and later edits start from it.
        await read_again(session, [conflict.staged.edit for conflict in run.report.conflicts])
        return run
    run = await _compile(session.client, session.snapshot, replace(run, plan=Plan(_valid(plan))))
    # Set this before the next await: from here on, `Work.stop` lets the work end with a report, instead of cancelling
    # it.
    session.work.committed = True
    if session.context.journal:
        intent = _intent(run, session.context, this_process(session.front_end), session.operation)
        run = await _record(await session.journal(), intent, run)
    run = await _send_requests(session.client, session.context, session.snapshot, session.work, session.progress, run)
    answered = [(result.step, result.outcomes) for result in run.results]
    outcomes = plan_reconcile.record_check(run.plan, answered)
    session.applied = _applied(run.before, outcomes, run.change)
    session.replan(plan_reconcile.reconcile(session.plan, answered))

    async def looked(again: Iterable[Staged]) -> Snapshot | None:
        return session.snapshot if await read_again(session, _edits(again)) else None

    # Read the targets of the whole plan, not only of applied edits: a request without an answer may have been carried
    # out.
    now = await looked(run.plan.staged)
    back = await _set_back(session.work, session.progress, _done(outcomes), looked, now)
    return run.ended(replace(_report(run, outcomes, session.snapshot), set_back=back))


LOOK_EVERY = 1.0
"""Seconds between two reads of applied values that another client, or the cluster itself, may revert."""
SPREADS_WITHIN = 3.0
"""Seconds within which every broker returns a new value. A value that is still the former one after this time counts as
reverted.
"""


async def _set_back(
    work: Work,
    progress: _Tell,
    applied: Iterable[Staged],
    looked: Callable[[Iterable[Staged]], Awaitable[Snapshot | None]],
    now: Snapshot | None,
) -> tuple[plan_conflicts.Conflict, ...]:
    """Read the targets of applied edits again, for a limited time, and return a conflict for each edit that was
    reverted.

    A target that still has the former value is read until it has the new one, at most `SPREADS_WITHIN` (3) seconds.
    Edits that the cluster itself may revert are read longer, until one of them is reverted. A failed read counts as no
    revert.

    Args:
        looked: function that reads the targets of edits; it returns None if they can't be read.
        now: the state after the edits, as read before; None if it could not be read.
    """
    if now is None:
        return ()
    done = tuple(applied)
    late = _as_before(done, now)
    began = time.monotonic()
    while late and time.monotonic() - began < SPREADS_WITHIN and not work.stopping:
        await asyncio.sleep(LOOK_EVERY)
        seen = await looked([each.staged for each in late])
        late = () if seen is None else _as_before([each.staged for each in late], seen)
    waits = [(each, kind_of(each.edit).relapses(each.edit, now)) for each in done]
    watched = [each for each, seconds in waits if seconds > 0]
    began, most = time.monotonic(), max((seconds for _, seconds in waits), default=0.0)
    while watched and (passed := time.monotonic() - began) < most and not work.stopping:
        progress("seconds of looking whether it lasts", round(passed), round(most))
        await asyncio.sleep(LOOK_EVERY)
        seen = await looked(watched)
        if seen is not None and (back := plan_conflicts.set_back(watched, seen)):
            return (*late, *back)
    return late


def _as_before(applied: Iterable[Staged], now: Snapshot) -> tuple[plan_conflicts.Conflict, ...]:
    """Return a conflict for each applied edit of a config, a quota or an ACL whose target has the former value. Edits
    of other kinds are ignored, since they may take effect later.
    """
    mine = [each for each in applied if isinstance(each.edit, edits.ConfigEdit | edits.QuotaEdit | edits.AclEdit)]
    return tuple(
        each for each in plan_conflicts.set_back(mine, now) if not moved(each.staged.edit, each.staged.was, each.now)
    )


def _edits(staged: Iterable[Staged]) -> list[edits.Edit]:
    return [each.edit for each in staged]


# -- conditions before anything is sent --------------------------------------------------------------------------------


async def _check(client: Client, plan: Plan, snapshot: Snapshot, run: ApplyRun) -> ApplyRun:
    """Let the brokers validate the requests that have a validate-only form.

    Args:
        snapshot: the cluster state on which the plan was staged.

    Returns:
        The run with `checked`. The run is ended if a broker refuses a request, unless the option `valid_only` is set.

    Raises:
        AdminError: the connection to the cluster is lost.
    """
    run = replace(run, checked=await checked(client, plan, snapshot))
    report = plan_reconcile.ApplyReport(run.checked, sent=False)
    return run if report.ok or run.options.valid_only else run.ended(report)


async def _judge(run: ApplyRun, valid: tuple[Staged, ...], fresh: Snapshot, known: RiskFacts) -> ApplyRun:
    """Find the warnings about the valid edits, based on the state in `fresh`.

    Returns:
        The run with `fresh`, and with `plan`, which has only the valid edits. The run is ended if a warning is not
        accepted.
    """
    # Judging many edits or topics takes long; in a thread, the screen stays responsive.
    hindering = run.options.hindering(await asyncio.to_thread(risks, valid, fresh, known))
    run = replace(run, plan=Plan(valid), fresh=fresh)
    return run.ended(plan_reconcile.ApplyReport(run.checked, sent=False, risks=hindering)) if hindering else run


def _compare(run: ApplyRun, plan: Plan) -> tuple[ApplyRun, Plan]:
    """Compare the former values on which the edits were staged with the present ones.

    Returns:
        The run with `conflicts`, and the plan. If a conflict is not accepted, the run is ended, and the plan marks the
        edits with conflicts as not applied. Otherwise the plan's edits have the present values as former ones.
    """
    valid = run.plan.staged
    run = replace(run, conflicts=plan_conflicts.conflicts(valid, run.fresh))
    standing = () if run.options.force else plan_conflicts.left_over(run.conflicts, run.options.accepted)
    if standing:
        failed = {c.staged.edit.slot: Outcome(c.staged.edit.target, Status.NOT_APPLIED, _why(c)) for c in standing}
        marked = with_outcomes(plan, {**plan.outcomes, **failed})
        return run.ended(plan_reconcile.ApplyReport(run.checked, sent=False, conflicts=standing)), marked
    # Take the fresh values as the former ones, so that the diff, the journal and a revert name the values that this
    # apply replaces.
    return run, plan_conflicts.rebase(
        plan, {staged.edit.slot: staged for staged in plan_conflicts.rebased(valid, run.fresh)}
    )


def _why(conflict: plan_conflicts.Conflict) -> Failure:
    return NOT_READ if conflict.is_unknown else CONFLICT


async def _compile(client: Client, snapshot: Snapshot, run: ApplyRun) -> ApplyRun:
    """Build the requests from the present state.

    Returns:
        The run with `facts`, `requests` and `before`.

    Raises:
        AdminError: the connection to the cluster is lost.
    """
    facts = await read_facts(client, run.plan, snapshot, run.fresh.configs)
    return replace(run, facts=facts, requests=compile_plan(run.plan, facts), before=diff(run.plan, run.fresh))


# -- the journal: the whole change before anything is sent, then each request before it is sent and after its answer ---


def _intent(run: ApplyRun, context: Context, by: Origin, operation: int | None) -> Intent:
    """Return the journal's entry for a change that is about to be sent.

    Args:
        by: the identity of this process.
        operation: the number of the operation that makes the change; None if it belongs to no operation.
    """
    at, slots = _now(), run.slots
    overridden = frozenset(conflict.staged.edit.slot for conflict in run.conflicts)
    return Intent(
        at,
        context.name,
        this_operator(context.principal, os.environ),
        by,
        tuple(_entry(staged, run.fresh, at, overridden) for staged in run.plan.staged),
        tuple(_request(step, run.facts, slots) for step in run.requests),
        operation,
    )


async def _record(journal: JournalFile, intent: Intent, run: ApplyRun) -> ApplyRun:
    """Write the change to the journal before it is sent.

    Returns:
        The run with `recorded`.

    Raises:
        Refused: the journal can't be written, so nothing may be sent.
    """
    try:
        # Write the whole change before the first request: after a crash the next start knows every edit that may have
        # been sent.
        number = await asyncio.to_thread(journal.begin, intent)
    except JournalError as error:
        raise Refused(error.failure) from error
    return replace(run, recorded=Recorded(journal, number, run.slots))


def _entry(staged: Staged, fresh: Snapshot, at: datetime, overridden: frozenset[edits.Slot]) -> Entry:
    until = at + timedelta(milliseconds=staged.lasts_ms) if staged.lasts_ms is not None else None
    recorded = kind_of(staged.edit).recorded(staged.edit, fresh)
    return Entry(staged, until, staged.edit.slot in overridden, recorded, _is_secret(staged.edit))


def _is_secret(edit: edits.Edit) -> bool:
    """Return whether the journal must not have the value of an edit: it is a Secret, or a text under a key that looks
    sensitive.
    """
    if edit.holds_secret or not isinstance(edit, edits.SetConfig):
        return edit.holds_secret
    is_safe = edit.resource.type == CONNECTOR and is_reference(str(edit.value))
    return seems_sensitive(edit.key) and not is_safe


def _request(step: Step, facts: Facts, slots: Mapping[edits.Slot, int]) -> Request:
    broker = step.request.broker if isinstance(step.request, AlterConfigs) else None
    return Request(api_name(step.request, facts), broker, tuple(slots[staged.edit.slot] for staged in step.staged))


def api_name(request: ChangeRequest, facts: Facts) -> str:
    """Return Kafka's name of the API that the request calls."""
    if isinstance(request, AlterConfigs) and not facts.incremental:
        return "AlterConfigs"
    return request.api


async def _noted(run: ApplyRun, note: Callable[[Recorded], Note]) -> ApplyRun:
    """Write a line about the change to the journal; do nothing without a journal, or after a failure to write it. note:
    function that makes the line.

    Return the run; if the line can't be written, with the failure in `recorded`.
    """
    if run.recorded is None or run.recorded.problem is not None:
        return run
    try:
        await asyncio.to_thread(run.recorded.journal.note, note(run.recorded))
    except JournalError as error:
        # A request may have been sent: its outcome is still reported, but nothing more is sent.
        log.warning("the journal: %s", error.failure)
        return replace(run, recorded=replace(run.recorded, problem=error.failure))
    return run


def _sending(index: int, recorded: Recorded) -> Sending:
    return Sending(recorded.number, index, _now())


def _answered(index: int, result: plan_reconcile.StepResult, recorded: Recorded) -> Answered:
    of_slot = plan_reconcile.record_check(Plan(result.step.staged), [(result.step, result.outcomes)]).outcomes
    ended = {recorded.slots[slot]: _ended(outcome) for slot, outcome in of_slot.items()}
    return Answered(recorded.number, index, _now(), ended)


def _ended(outcome: Outcome) -> Ended:
    return Ended(outcome.status, outcome.failure, outcome.topic_id, outcome.offset)


# -- the requests: each is recorded, and its targets described once more, before it is sent ----------------------------


_Tell = Callable[[str, int, int], None]
"""Function that shows the progress of work, called with its name, the finished units and the number of all units (0 if
unknown).
"""


async def _send_requests(
    client: Client, context: Context, known: Snapshot, work: Work, progress: _Tell, run: ApplyRun
) -> ApplyRun:
    """Send all requests in order, until the work is stopped.

    Errors of the cluster or the disk are not raised: they become outcomes of the requests.

    Args:
        known: the session's snapshot of the cluster.

    Returns:
        The run with a result for each request.
    """
    for index in range(len(run.requests)):
        progress("apply", index, len(run.requests))
        run = await _send_next(client, context, known, work, progress, run)
        result = run.results[index]
        run = await _noted(run, partial(_answered, index, result))
        log.info("%s: %s", type(result.step.request).__name__, tally(result.outcomes))
    progress("apply", len(run.requests), len(run.requests))
    return run


async def _send_next(
    client: Client, context: Context, known: Snapshot, work: Work, progress: _Tell, run: ApplyRun
) -> ApplyRun:
    """Send the pending request, unless its targets changed or the work was stopped.

    The targets are read once more right before, because recording and the earlier requests took time. Only the targets'
    own values are compared, since the earlier requests may have changed inherited ones. Kafka's protocol has no
    conditional change, so a change by another client within the last round trip stays undetected.

    Returns:
        The run with the outcomes of the request, whether it was sent or not.
    """
    step, force = run.pending, run.options.force
    # Hold back a request that depends on a failed one: the config of a topic that was not created, for example, would
    # fail with a misleading error.
    if failed := [run.requests[other] for other in step.after if run.results[other].failed]:
        letters = {place for other in failed for each in other.staged for place in each.edit.first_for}
        # NOT_KEPT: the letter for this record was not written. Other edits of the request are only skipped.
        told = {each.edit.target: NOT_KEPT if each.edit.passes in letters else SKIPPED for each in step.staged}
        return run.with_result(tuple(Outcome(target, Status.NOT_APPLIED, why) for target, why in told.items()))
    if run.overtaken and not force:
        return run.kept_back(STOPPED)
    if work.stopping:
        return run.kept_back(INTERRUPTED)
    # Record the request before sending it: a process that dies right after leaves an unknown outcome, not a change
    # without a trace.
    run = await _noted(run, partial(_sending, len(run.results)))
    if run.unrecorded is not None:
        return run.kept_back(run.unrecorded)
    try:
        fresh = await describe_again(client, context, known, _edits(step.staged))
    except (AdminError, Refused) as error:
        return run.kept_back(error.failure)
    # A conflict found here also stops the requests after it, unless the operator overwrites.
    overtaken = plan_conflicts.changed_since(step.staged, fresh)
    run = replace(run, overtaken=(*run.overtaken, *overtaken))
    if overtaken and not force:
        return run.kept_back(next((CONFLICT for each in overtaken if not each.is_unknown), NOT_READ))
    if work.stopping:
        return run.kept_back(INTERRUPTED)
    # Before this line, a stop holds the request back; after it, a stop waits for the answer.
    work.in_flight = plan_reconcile.InFlight(run.change, api_name(step.request, run.facts), len(step.staged), _now())
    try:
        outcomes = await _send(client, progress, step)
    finally:
        work.in_flight = None
    return replace(run.with_result(outcomes), sent=run.sent + 1)


async def _send(client: Client, progress: _Tell, step: Step) -> tuple[Outcome, ...]:
    """Send a request, and convert each error of the cluster to an outcome.

    Returns:
        The outcome for each target of the request.
    """
    from console.admin import changes

    loop = asyncio.get_running_loop()

    def waiting(done: int, total: int) -> None:
        # The client calls this on its own thread, but listeners of the session have to run on this loop.
        loop.call_soon_threadsafe(progress, "waiting for leaders", done, total)

    try:
        return await client.run(changes.send, step.request, validate_only=False, on_progress=waiting)
    except AdminError as error:
        # AdminError means that the request was not sent; a request that was sent has an unknown outcome instead.
        log.warning("%s not sent: %s", type(step.request).__name__, error.failure)
        return plan_reconcile.not_sent(step, error.failure, Status.FAILED)


def tally(outcomes: Iterable[Outcome]) -> str:
    """Return how many outcomes have each status, as ``3 applied, 1 failed``."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status.value] = counts.get(outcome.status.value, 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())


# -- the report of an attempt ------------------------------------------------------------------------------------------


def _report(run: ApplyRun, outcomes: Plan, now: Snapshot) -> plan_reconcile.ApplyReport:
    """Return the report of an attempt.

    Args:
        outcomes: the plan, in which each edit has its outcome.
        now: the targets as read after the requests.
    """
    refused = tuple(result for result in run.checked if result.failed)
    force = run.options.force
    return plan_reconcile.ApplyReport(
        (*run.results, *refused),
        sent=run.sent > 0,
        conflicts=() if force else run.overtaken,
        overridden=(*run.conflicts, *run.overtaken) if force else run.conflicts,
        surprises=plan_conflicts.surprises(_done(outcomes), now),
        change=run.change,
        unrecorded=run.unrecorded,
    )


def _applied(before: tuple[DiffGroup, ...], plan: Plan, change: int | None) -> Applied | None:
    """Return the applied edits with their former values; None if no edit was applied. change: the number of the change
    in the journal; None without a journal.
    """
    done = {staged.edit.slot for staged in _done(plan)}
    groups = []
    for group in before:
        lines = tuple(line for line in group.lines if line.staged.edit.slot in done)
        if lines:
            groups.append(DiffGroup(group.target, lines))
    return Applied(tuple(groups), plan, datetime.now(UTC), way_back(_done(plan), change)) if groups else None


def _done(plan: Plan) -> tuple[Staged, ...]:
    return tuple(s for s in plan.staged if (o := plan.outcome(s.edit)) is not None and o.status is Status.APPLIED)


def _valid(plan: Plan) -> tuple[Staged, ...]:
    """Return the edits that no broker refused."""
    return tuple(s for s in plan.staged if (outcome := plan.outcome(s.edit)) is None or outcome.ok)


def _now() -> datetime:
    return datetime.now(UTC)
