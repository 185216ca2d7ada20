"""Work on operations (changes in many steps, such as moving replicas): begin one, continue one that another process
left, and pass on an operator's requests to the process that works on one.

Each poll of the cluster leads to one decision (`console.operations.next_step`). Its edits are an ordinary change, which
`apply_flow` sends. The process may be killed at any time: the journal has what it did and what it was about to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from console.journal import operations as journal_operations
from console.journal.entries import this_operator, this_process
from console.language.snapshot_parts import Needs
from console.model.changes import Status
from console.model.codes import BROKER, TOPIC
from console.model.dead_letters import Redrive
from console.model.failure import Failure, sentences
from console.model.journal_lines import Origin
from console.model.numbers import plural
from console.model.snapshot import Snapshot
from console.operations.goals import Goal, Restore, brokers_of
from console.operations.next_step import MOST_REASONS, End, Send, Wait, next_step
from console.operations.operation import Operation, Progress, State, Step, copied_bytes
from console.operations.placement import PARTS
from console.plan.edits import SetConfig, UnsetConfig
from console.plan.reconcile import ApplyOptions
from console.plan.risk_rules import MOVE_UNTHROTTLED, ONE_REPLICA
from console.session.apply_flow import Asks, Flags, NotApplied, Unattended, apply_flow
from console.session.former_changes import reconcile_open
from console.session.journal_access import in_journal
from console.session.operation_work import OperationWork, Pace
from console.session.reading import read_needs
from console.session.snapshot_reader import Refused

if TYPE_CHECKING:
    from console.journal.file import JournalFile
    from console.session.session import Session


NEEDS = Needs(parts=PARTS, every=frozenset({TOPIC, BROKER}))
"""The parts of the cluster to read for each decision."""


def needs_of(goal: Goal) -> Needs:
    """Return the parts of the cluster to read for the plan of a goal. They include the quorum, because a node that the
    goal names may be a controller.
    """
    return NEEDS | Needs(nodes=brokers_of(goal))


_OPTIONS = ApplyOptions(risks=frozenset({MOVE_UNTHROTTLED, ONE_REPLICA}))
"""The warnings accepted beforehand: a move without a throttle, because an operation removes its throttles only on an
operator's request, or when only moves of another tool are left; and a partition that is left with one replica, because
only a reassignment whose file names that replica asks for it.
"""
_ASKS = Asks(former=False, plan=False, name=False, over=False, silent=True, signals=False)
"""No questions: the operator confirmed the operation when it began. Open changes of earlier runs are settled before it
continues.
"""
_PROGRESS_EVERY = 60.0
"""Seconds between two progress lines in the journal while only the number of copied bytes changes."""


class Operations(NamedTuple):
    """The operations of a cluster in this host's journal: the open ones, and some that ended."""

    open: tuple[Operation, ...]
    ended: tuple[Operation, ...] = ()
    holder: journal_operations.Holder | None = None
    """The process that works on the open operation; None if no process does."""


# -- the journal -------------------------------------------------------------------------------------------------------


async def read_operations(session: Session, ended: int = 0) -> Operations:
    """Read the operations of the cluster from this host's journal. ended: the maximum number of ended operations in the
    result, the latest first. Raises Refused, AdminError.
    """
    now, mine = session.clock.now(), this_process(session.front_end)
    return await in_journal(await session.journal(), lambda journal: _read(journal, ended, now, mine))


def _read(journal: JournalFile, ended: int, now: datetime, mine: Origin) -> Operations:
    if ended:
        by_number = journal_operations.operations(journal.read().records)
        over = tuple(each for each in reversed(list(by_number.values())) if each.ended is not None)[:ended]
    else:
        by_number, over = journal_operations.operations(journal.open().records), ()
    open_ = tuple(each for each in by_number.values() if each.ended is None)
    return Operations(open_, over, journal_operations.Lease(journal.path, mine).holder(now))


async def begin(session: Session, goal: Goal, throttle: int | None) -> int:
    """Record a new operation in the journal, and return its number. throttle: bytes per second (letters per second for
    a redrive); None for no throttle.

    Raises Refused if the context is read-only, there is no journal, or another operation is open; raises AdminError.
    """
    await refuse_a_second(session)
    async with OperationWork(await session.journal(), this_process(session.front_end), session.clock) as work:
        await refuse_a_second(session)  # another process may have begun an operation since
        by = this_operator(session.context.principal, os.environ)
        begun = journal_operations.Begun(session.context.name, by, this_process(session.front_end), goal, throttle)
        data = msgspec.to_builtins(begun)
        return await in_journal(work.journal, lambda journal: journal.begin_operation(session.clock.now(), data))


async def refuse_a_second(session: Session) -> None:
    """Raise Refused if no operation can begin: the context is read-only, there is no journal, or another operation is
    open.
    """
    session.refuse_if_read_only()
    if not session.context.journal:
        remedy = "Leave out --no-journal, or plan with kac moves GOAL --script."
        raise Refused(Failure("NO_JOURNAL", "an operation is kept in the journal, and there is none", remedy))
    known = await read_operations(session)
    if known.open:
        first = known.open[0]
        command = "kac redrive" if isinstance(first.goal, Redrive) else "kac moves"
        at_work = "no process works on it"
        if known.holder is not None:
            at_work = f"process {known.holder.by.pid} on {known.holder.by.host} works on it"
        raise Refused(
            Failure(
                "OPERATION_OPEN",
                f"one operation at a time: operation {first.number} ({first.goal}) is open, {_begun(first)}; {at_work}",
                f"Go on with it: {command} --continue (W in a console); or cancel it: {command} --cancel "
                f"{first.number} (x in the view of w).",
            )
        )


def _begun(operation: Operation) -> str:
    who = operation.who.os_user or operation.who.principal or "someone"
    return f"begun by {who} at {operation.at:%Y-%m-%d %H:%M} UTC"


def goes_on_text(operation: Operation) -> str:
    """Return a line that says that an operation continues: who began it and, for a redrive, how many letters were sent
    before.
    """
    sent = sum(count for letters in operation.sent for *_, count in letters.written)
    before = f"; it has sent {plural(sent, 'letter')} before" if isinstance(operation.goal, Redrive) else ""
    return f"operation {operation.number} goes on: {operation.goal}{before}; {_begun(operation)}"


async def ask_of(
    session: Session,
    number: int,
    *,
    cancel: bool = False,
    throttle: int | None = None,
    give_up: bool = False,
    pause: bool | None = None,
) -> Operation:
    """Record an operator's request for an operation. The process that works on the operation carries it out at its next
    poll.

    Args:
        number: the number of the operation in the journal.
        cancel: whether to cancel the operation.
        throttle: bytes per second, or letters per second for a redrive; 0 for no throttle; None for no change.
        give_up: whether the operation may end although brokers that do not answer keep its throttles.
        pause: whether to pause (True) or continue (False) a redrive; None for no change.

    Returns:
        The operation with the request.

    Raises:
        Refused: no such operation is open, it can't be paused, the context is read-only, or the journal can't be
            written.
        AdminError: the connection to the cluster is lost.
    """
    session.refuse_if_read_only()
    known = await read_operations(session)
    found = next((each for each in known.open if each.number == number), None)
    if found is None:
        remedy = "kac moves shows those that are open. The way back of one that ended: kac moves back NUMBER --run."
        raise Refused(Failure("NO_SUCH_OPERATION", f"no operation {number} is open", remedy))
    if pause is not None and not isinstance(found.goal, Redrive):
        raise Refused(
            Failure("NO_PAUSE", "brokers do not pause what they copy", f"Cancel it: kac moves --cancel {number}")
        )
    by = this_operator(session.context.principal, os.environ)
    asked = journal_operations.Asked(by, cancel, throttle, give_up, pause)
    line = journal_operations.operation_line(number, session.clock.now(), asked)
    await in_journal(await session.journal(), lambda journal: journal.note(line))
    return found


async def way_back(journal: JournalFile, number: int) -> Restore:
    """Return the goal of an operation that would revert the moves of an ended one. Raises Refused if the journal can't
    be read or lacks that operation, or if the operation is still open.
    """
    operation = await in_journal(journal, lambda file: journal_operations.operations(file.read().records).get(number))
    if operation is None:
        failure = Failure("NO_SUCH_OPERATION", f"the journal has no operation {number}", "See: kac moves")
        raise Refused(failure)
    if operation.ended is None:
        failure = Failure("OPERATION_OPEN", f"operation {number} is open", f"Cancel it: kac moves --cancel {number}")
        raise Refused(failure)
    return Restore(
        number,
        tuple((topic, at, before) for (topic, at), before in operation.originals().items()),
        tuple((*place, path) for place, path in operation.dir_originals().items()),
    )


# -- the work of this process ------------------------------------------------------------------------------------------


class OperationRun(Struct, frozen=True):
    """The state of this process's work on an operation, as a frozen value that each step gets and returns. Times are
    seconds of the monotonic clock.
    """

    operation: Operation
    """The operation as in the journal."""
    moved_at: float
    """The time at which `mark` last changed."""
    written_at: float
    """The time of the last progress line."""
    delay: float
    """The seconds before the next poll."""
    waits: tuple[str, ...] = ()
    """The reasons why the operation waits, a line each; empty if it does not wait."""
    copies: bool = False
    """Whether replicas are being copied."""
    mark: object = None
    """The running moves and the copied bytes at the last poll; a change is progress. None before the first poll."""
    written: tuple[State, tuple[str, ...]] | None = None
    """The state and the reasons in the last progress line in the journal; None before the first line."""
    stalled: bool = False
    """Whether there was no progress for `Pace.patience` seconds."""


async def work_on(
    session: Session,
    number: int,
    tell: Callable[[str], None] = lambda _: None,
    pace: Pace | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Operation:
    """Work on an operation until it ends; if `Pace.leaves`, also until it has made no progress for `Pace.patience`
    seconds.

    Args:
        number: the number of the operation in the journal.
        tell: function called with a line for each event.
        pace: the intervals between polls; None for the defaults of `Pace`.
        on_progress: function called with the progress after each poll.

    Returns:
        The operation as in the journal at the end of this work.

    Raises:
        Refused: another process works on it, the journal can't be written, or the context is read-only.
    """
    session.refuse_if_read_only()
    # The journal links each change of the steps to the operation by this number.
    session.operation = number
    try:
        async with OperationWork(await session.journal(), this_process(session.front_end), session.clock) as work:
            operation = await work.read(number)
            if isinstance(operation.goal, Redrive):
                from console.session.redriving import Redriving, desk_of

                return await Redriving(desk_of(session), work, operation, tell, pace or Pace(), on_progress).run()
            return await _work_on(session, work, number, tell, pace or Pace(), on_progress)
    finally:
        session.operation = None


async def _work_on(
    session: Session,
    work: OperationWork,
    number: int,
    tell: Callable[[str], None],
    pace: Pace,
    on_progress: Callable[[Progress], None],
) -> Operation:
    """Poll the cluster and send the next step repeatedly, until the operation ends; if `Pace.leaves`, also until it is
    stalled. If the cluster does not answer, wait and poll again.
    """
    from console.admin.errors import AdminError

    began = session.clock.monotonic()
    # A request of a process that died may still be in flight; find its outcome first.
    await reconcile_open(session.client, session.context, session.snapshot, work.journal)
    await work.renew()
    run = OperationRun(await work.read(number), began, began, pace.first)
    while run.operation.ended is None:
        try:
            await read_needs(session, NEEDS)
            decision = next_step(run.operation, session.snapshot, session.clock.now())
            if isinstance(decision, Send):
                run = await _send(session, work, run, decision, tell, pace.first)
            else:
                run = await _take(work, run, decision, tell)
        except AdminError as error:
            # Brokers restart while replicas move: the operation continues when they answer again.
            run = replace(run, waits=(f"the cluster does not answer: {error.failure.message}",), copies=False)
        run = replace(run, operation=await work.read(number))
        if run.operation.ended is not None:
            break
        run = await _report(work, run, session.snapshot, pace.patience, tell, on_progress)
        if run.stalled and pace.leaves:
            return await work.read(number)
        await pace.sleep(run.delay)
        await work.renew()
        run = replace(run, delay=min(run.delay * 1.5, pace.most), operation=await work.read(number))
    return run.operation


async def _take(
    work: OperationWork, run: OperationRun, decision: End | Wait, tell: Callable[[str], None]
) -> OperationRun:
    """Carry out a decision that sends nothing: record the end of the operation, or return the run with the reasons for
    waiting.
    """
    if isinstance(decision, Wait):
        return replace(run, waits=decision.waits, copies=decision.copies)
    await work.note(run.operation.number, journal_operations.Over(decision.state))
    tell(f"operation {run.operation.number} ({run.operation.goal}) is {decision.state.value}")
    return run


async def _send(
    session: Session,
    work: OperationWork,
    run: OperationRun,
    decision: Send,
    tell: Callable[[str], None],
    first: float,
) -> OperationRun:
    """Send the edits of a step. If they were not sent, or not all of them, return the run with the reasons for
    waiting.
    """
    step = decision.step
    run = replace(run, copies=True)
    session.discard()
    staged = session.stage(decision.edits)
    refused = tuple(sentences(each.reason, each.remedy) for each in staged.refused)
    if any(isinstance(each.edit, SetConfig | UnsetConfig) for each in staged.refused) or not session.plan:
        session.discard()
        why = refused or ("nothing of the step is left to do",)
        return replace(run, waits=(*why, *decision.waits))
    # Record the step before the change: if the process dies, the journal shows that the throttles belong to the
    # operation.
    await work.note(run.operation.number, step)
    for line in _words(step, len(run.operation.steps) + 1):
        tell(line)
    # Renew the lease: polling and planning took time, and another process may have taken it.
    await work.renew()
    try:
        reports = await apply_flow(session, Unattended(), _OPTIONS, _ASKS, Flags())
    except NotApplied as error:
        why = (*refused, f"{error.message}: {', '.join(risk.name for risk in error.risks)}")
        return replace(run, waits=(*why, *decision.waits))
    finally:
        session.discard()
    bad = [each for result in reports[-1].results for each in result.outcomes if not each.ok]
    # Reconcile before the next poll: no step may be planned while a change may still arrive.
    if any(each.status is Status.UNKNOWN for each in bad):
        await reconcile_open(session.client, session.context, session.snapshot, work.journal)
    if reports[-1].conflicts:
        refused += ("another client changed what the step changes; it is planned again",)
    if not bad and not refused:
        run = replace(run, moved_at=session.clock.monotonic(), delay=first)
    failed = dict.fromkeys(each.failure.message for each in bad if each.failure is not None)
    return replace(run, waits=(*refused, *failed, *decision.waits))


def _words(step: Step, number: int) -> Iterator[str]:
    """Yield a line about each action in a step."""
    for count, what in (
        (len(step.moves), "partitions to move"),
        (len(step.dirs), "replicas to copy into other directories"),
        (len(step.elects), "preferred leaders to elect"),
    ):
        if count:
            yield f"step {number}: {count:,} {what}"


async def _report(
    work: OperationWork,
    run: OperationRun,
    snapshot: Snapshot,
    patience: float,
    tell: Callable[[str], None],
    on_progress: Callable[[Progress], None],
) -> OperationRun:
    """Record the progress in the journal, with at most `MOST_REASONS` reasons for waiting, and notice if the operation
    is stalled (without progress for `patience` seconds).
    """
    operation, now = run.operation, work.clock.monotonic()
    running, copying = operation.running(snapshot), operation.copying(snapshot)
    copied, left = copied_bytes(snapshot, running, copying.values())
    mark = (frozenset(running), frozenset(copying), copied)
    moved_at = now if mark != run.mark else run.moved_at
    stalled = now - moved_at >= patience
    some = run.waits[:MOST_REASONS]
    if len(run.waits) > MOST_REASONS:
        some += (f"and {len(run.waits) - MOST_REASONS:,} more",)
    if stalled and not some:
        some = tuple(_still(operation, len(running), len(copying), now - moved_at))
    state = State.STALLED if stalled else State.RUNNING if run.copies else State.WAITING
    progress = Progress(work.clock.now(), state, copied, left, some)
    on_progress(progress)
    run = replace(run, mark=mark, moved_at=moved_at, stalled=stalled)
    # The journal is kept for years: one line a minute is enough while nothing but the number of copied bytes changes.
    if run.written == (state, some) and now - run.written_at < _PROGRESS_EVERY:
        return run
    if some and (run.written is None or run.written[1] != some):
        for line in some:
            tell(f"waits: {line}")
    await work.note(operation.number, progress)
    return replace(run, written=(state, some), written_at=now)


def _still(operation: Operation, partitions: int, copies: int, seconds: float) -> Iterator[str]:
    """Yield lines about an operation that is stalled without a known reason, with a likely cause. Brokers count the
    fetches of in-sync replicas of a throttled partition towards the leader's rate limit (KIP-73): if the limit is
    below the producers' rate, nothing is left for new replicas.
    """
    what = f"{copies:,} replicas are copied into other directories" if copies else f"{partitions:,} partitions move"
    yield f"no byte was copied for {seconds:.0f} s; {what}"
    if operation.throttle is not None and partitions:
        yield (
            "the throttle may be below what producers write: "
            f"kac moves --operation {operation.number} --throttle RATE raises it"
        )
