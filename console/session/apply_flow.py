"""Apply a plan to a cluster, for every front end: open former changes, the plan's effects, named warnings,
confirmation, sending, conflicts, the report, and interruption.

A front end asks the operator and reports to one (`FrontEnd`), and chooses the questions (`Asks`). Without an operator,
the flow refuses with the name of the flag that answers the question beforehand.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.conflicts import Conflict
from console.plan.edits import Slot
from console.plan.plan import Plan
from console.plan.reconcile import ApplyOptions, ApplyReport, InFlight, Interrupted
from console.plan.retention import Deletion
from console.plan.risk_rules import Risk
from console.plan.risks import effects, risks
from console.present.names import plural
from console.session.apply_run import ApplyRun
from console.session.applying import send_plan
from console.session.former_changes import former_lines
from console.session.journal_changes import lines_of_the_past
from console.session.plan_facts import read_for_risks
from console.session.retention_reading import read_deletions
from console.session.session import Session, Work

if TYPE_CHECKING:
    from console.contexts import Context

ACCEPT = "accept"
"""The word that an operator types to accept warnings."""
NOTHING_SENT = "nothing was sent"
CHANGED = f"the plan changed while the question stood, and {NOTHING_SENT}: look at it, and apply it again"
CHANGED_SINCE = (
    "the plan changed while the question stood: what was sent stands above, and nothing more was sent; "
    "look at the plan, and apply it again"
)


class Flags(Struct, frozen=True):
    """A front end's names of flags, for hints if no operator can be asked."""

    yes: str = "--yes"
    """The flag that skips the question."""
    accept: str = "--accept"
    """The flag that takes the names of warnings to accept."""
    force: str = "repeat the command to do so: it reads the current values again"
    """The way to overwrite another client's changes, as the end of a sentence."""
    confirm: str = "use a context without confirm for scripts"
    """The alternative to typing the context's name."""


class Asks(Struct, frozen=True):
    """The questions that an apply asks."""

    former: bool = True
    """Begin with the changes that an earlier apply left open."""
    plan: bool = True
    """Ask whether to send the plan at all."""
    name: bool = True
    """Ask for the context's name if the context requires it."""
    over: bool = True
    """Ask whether to overwrite another client's changes."""
    risks: bool = True
    """Ask about warnings. False for a replacement of one of Kafka's tools: it shows warnings and continues as that tool
    does, and asks only about those that require typing.
    """
    silent: bool = False
    """The answers were given beforehand; ask for nothing but a name."""
    signals: bool = True
    """The flow handles Ctrl-C, SIGTERM and SIGHUP, not the front end."""
    deletions: bool = True
    """Read the data that the plan deletes before the question; a front end that shows it later reads it itself."""


class Typed(NamedTuple):
    """Text that an operator has to type before a plan is sent: `text`, described by `what` (``the name of the
    context``).
    """

    what: str
    text: str
    warns: bool = False
    """Whether typing `text` accepts warnings; without an operator, a flag accepts them by name."""


class Question(Struct, frozen=True):
    """A question about a plan before it is sent."""

    plan: Plan
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    """The effects of each edit on other entities."""
    risks: tuple[Risk, ...] = ()
    """The warnings to accept."""
    yes: bool = False
    """Whether the operator has to answer yes."""
    typed: tuple[Typed, ...] = ()
    """The texts to type in addition, in this order."""
    force: bool = False
    """Whether the apply overwrites another client's changes."""
    deletions: Mapping[Slot, Deletion] = field(default_factory=dict)
    """The data that each edit deletes."""

    @property
    def is_open(self) -> bool:
        """Whether the question needs an answer."""
        return self.yes or bool(self.typed)


class FrontEnd(Protocol):
    """The link to the operator: asks questions and shows reports. The flow calls all methods on the session's loop."""

    @property
    def can_ask(self) -> bool:
        """Whether there is an operator to answer."""

    async def confirm(self, question: Question) -> str:
        """Ask whether to send the plan of a question. Called only if `can_ask` is True.

        Args:
            question: show its contents first; the operator types each of `typed`, in this order.

        Returns:
            ``""`` to go on, else the reason as text for the operator.
        """

    async def go_over(self, conflicts: tuple[Conflict, ...]) -> bool:
        """Show another client's changes, and ask whether to overwrite exactly these.

        Args:
            conflicts: a conflict for each staged edit whose key changed since it was read.

        Returns:
            True to send the edits in spite of these conflicts; other conflicts stop the apply again.
        """

    def tell(self, line: str) -> None:
        """Show a line, apart from results.

        Args:
            line: may have text from the cluster, not yet cleaned.
        """

    def warn(self, risks: tuple[Risk, ...]) -> None:
        """Show warnings that need no answer: accepted already, or about to stop the apply."""

    def report(self, report: ApplyReport) -> None:
        """Show the result of an attempt. Called once for each attempt that ended."""


class Unattended(Struct):
    """A front end without an operator: keeps the reports, and shows nothing."""

    reports: list[ApplyReport] = field(default_factory=list)
    can_ask: ClassVar[bool] = False

    async def confirm(self, question: Question) -> str:
        """Decline; the flow calls it only if `can_ask` is True."""
        return f"{len(question.plan)} edits are not confirmed"

    async def go_over(self, conflicts: tuple[Conflict, ...]) -> bool:
        """Decline, unless the conflicts are empty."""
        return not conflicts

    def tell(self, line: str) -> None:
        """Show nothing."""

    def warn(self, risks: tuple[Risk, ...]) -> None:
        """Show nothing."""

    def report(self, report: ApplyReport) -> None:
        """Keep the report."""
        self.reports.append(report)


class NotApplied(Exception):
    """An attempt that sent nothing, because no operator was available, or the answer was no. An earlier attempt may
    have sent something. hint: the next step, with the flag's name.
    """

    def __init__(self, message: str, hint: str = "", risks: tuple[Risk, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.risks = risks


async def apply_flow(
    session: Session, front: FrontEnd, options: ApplyOptions, asks: Asks, flags: Flags, seen: Plan | None = None
) -> tuple[ApplyReport, ...]:
    """Apply the plan of a session: ask, send, report; then, if the operator overwrites conflicts, send again.

    Args:
        session: the session whose plan is sent. Afterwards the plan holds the edits that were not applied.
        front: the front end, which asks and reports.
        options: warnings accepted beforehand by name, and whether to overwrite other clients' changes.
        asks: the questions to ask.
        flags: the front end's names of flags, for hints.
        seen: the plan that the operator saw before; None: the session's plan now.

    Returns:
        The reports of all attempts, in order. The front end has shown them.

    Raises:
        NotApplied: no operator could be asked, the answer was no, or the plan changed; the attempt sent nothing.
        Refused: the context is read-only, the plan is being applied already, another cluster answers, or the journal
            can't be written.
        AdminError: the connection was lost before anything was sent.
        Ended: a signal ended the apply.
        Interrupted: the apply was cancelled; its report was shown.
    """
    run = ApplyRun(options)
    # Show former changes first: one with an unknown outcome may have changed the same keys as the plan.
    if asks.former:
        run = replace(run, former=await former_lines(session))
        _show_former(front, run.former, session.snapshot)

    async def asked(run: ApplyRun, question: Question, plan: Plan) -> ApplyRun:
        deletions = await read_deletions(session) if question.is_open and asks.deletions else {}
        run = await _confirm(front, run, replace(question, deletions=deletions))
        _refuse_changed(session.plan, plan, run.reports)
        return run

    plan = session.plan if seen is None else seen
    for line in await lines_of_the_past(plan.staged, session.journal):
        front.tell(line)
    facts = await read_for_risks(session, plan.staged)
    hindering = options.hindering(await asyncio.to_thread(risks, plan.staged, session.snapshot, facts))
    run = replace(run, effects=effects(plan.staged, session.snapshot), risks=hindering)
    question = _question(plan, session.context, run, asks, flags, can_ask=front.can_ask)
    run = await asked(_shown(front, run, asks), question, plan)
    while True:
        # Each attempt checks the plan again: the operator may accept warnings and conflicts of the last one.
        run = await _sent(send_plan(session, run), session.work, front, listens=asks.signals)
        report = run.report
        assert report is not None
        if report.risks:  # warnings that arose since the question
            run = await asked(run, _question_again(front, run, report.risks, asks, flags), session.plan)
            continue
        front.report(report)
        run = replace(run, reports=(*run.reports, report))
        # Conflicts follow the report: other edits of the plan may have been sent, and the operator should know that.
        plan = session.plan
        if not (_may_go_over(front, report, asks, flags) and await front.go_over(report.conflicts)):
            return run.reports
        _refuse_changed(session.plan, plan, run.reports)
        run = run.accepting(conflicts=report.conflicts)


def _may_go_over(front: FrontEnd, report: ApplyReport, asks: Asks, flags: Flags) -> bool:
    """Return whether a report has conflicts that the operator can be asked about. If it has conflicts and the operator
    can't be asked, show that the other changes were not overwritten.
    """
    can = bool(report.conflicts) and asks.over and not asks.silent and front.can_ask
    if report.conflicts and not can:
        front.tell(f"another client's changes were not overwritten; {flags.force}")
    return can


def _show_former(front: FrontEnd, former: Iterable[str], snapshot: Snapshot) -> None:
    """Show the open former changes, and warn if a change of the cluster can't be detected."""
    for line in former:
        front.tell(line)
    if Part.CLUSTER in snapshot.read_at and not snapshot.cluster.cluster_id:
        front.tell("this server gives no cluster id: nothing shows that it is the one that was read before")


async def _sent(sending: Coroutine[Any, Any, ApplyRun], work: Work, front: FrontEnd, *, listens: bool) -> ApplyRun:
    """Await the sending of the plan, and handle signals meanwhile.

    Args:
        sending: the run that sends the plan.
        work: the work by which an operator stops it.
        listens: whether to handle signals here, not in the front end.

    Returns:
        The run with its report, which is not shown yet.

    Raises:
        Ended: a signal arrived; the report was shown, or the outcome reported as unknown.
        Interrupted: it was cancelled; its report was shown.
        Refused, AdminError: as `send_plan` raises them.
    """
    # Send in a separate task: a second signal cancels that task, while this coroutine continues and reports.
    task = asyncio.ensure_future(sending)
    signals = _Signals(work, front, task)
    try:
        with _listening(signals.came) if listens else nullcontext():
            run = await task
    except Interrupted as interrupted:
        front.report(interrupted.report)
        raise
    except asyncio.CancelledError:
        # Without a signal, the caller cancelled this coroutine.
        if signals.ended is None:
            raise
        front.tell(signals.unfinished)
        raise signals.ended from None
    if signals.ended is not None:
        with suppress(OSError):  # the terminal may be gone
            assert run.report is not None
            front.report(run.report)
        raise signals.ended
    return run


# -- questions -------------------------------------------------------------------------------------------------------


def names_to_type(context: Context, asks: Asks) -> list[Typed]:
    """Return the name that the operator has to type for a plan, regardless of warnings; empty if the context requires
    no name, or if `asks` leaves that question out.
    """
    return [Typed("the name of the context", context.name)] if asks.name and context.confirm else []


def _accepting(risks: tuple[Risk, ...]) -> list[Typed]:
    """Return the texts that accept warnings: one word for all without a subject, and the subject of each other one."""
    subjects = dict.fromkeys((risk.name, risk.subject) for risk in risks if risk.subject)
    typed = [Typed(f"the subject of {name}", subject, warns=True) for name, subject in subjects]
    plain = sum(1 for risk in risks if not risk.subject)
    if plain:
        typed.insert(0, Typed(f"for {plural(plain, 'warning')}", ACCEPT, warns=True))
    return typed


def _question(plan: Plan, context: Context, run: ApplyRun, asks: Asks, flags: Flags, *, can_ask: bool) -> Question:
    """Return the question whether to send the plan.

    If no operator can be asked about warnings, they stop the apply after the brokers' check, so that refusals are
    reported first.

    Raises:
        NotApplied: a question needs an operator.
    """
    names = names_to_type(context, asks)
    # Typing the context's name is the stronger confirmation and replaces a yes.
    yes = asks.plan and not asks.silent and not (asks.name and context.confirm)
    if not can_ask:
        if names:
            raise NotApplied(
                f"context {context.name} wants its name typed before applying, and there is no terminal", flags.confirm
            )
        if yes:
            raise NotApplied("apply asks first, and there is no terminal", f"write {flags.yes}")
    asked = run.risks if asks.risks and not asks.silent and can_ask else ()
    typed = (*names, *(_accepting(asked) if asked else ()))
    return Question(plan, run.effects, asked, yes, typed, run.options.force)


def _shown(front: FrontEnd, run: ApplyRun, asks: Asks) -> ApplyRun:
    """Return the run, accepting the warnings that a replacement for a Kafka tool shows without a question."""
    if asks.risks or not run.risks:
        return run
    # Warnings that require typing (`risk.subject`) are shown when they stop the apply.
    seen = tuple(risk for risk in run.risks if not risk.subject)
    front.warn(seen)
    return run.accepting(seen)


def _question_again(front: FrontEnd, run: ApplyRun, risks: tuple[Risk, ...], asks: Asks, flags: Flags) -> Question:
    """Return the question about warnings that arose during the check; it is not open if the front end only shows them.

    The flow's first snapshot may be old; these warnings are based on a fresh one.

    Raises:
        NotApplied: there is no operator to ask.
    """
    if not asks.risks and not any(risk.subject for risk in risks):
        front.warn(risks)
        return Question(Plan(()), risks=risks)
    if asks.silent or not front.can_ask:
        front.warn(risks)
        raise refusal(risks, run.options.risks, flags)
    return Question(Plan(()), risks=risks, typed=tuple(_accepting(risks)))


async def _confirm(front: FrontEnd, run: ApplyRun, question: Question) -> ApplyRun:
    """Ask a question, if it is open.

    Returns:
        The run, accepting the warnings of the question: they no longer stop the apply.

    Raises:
        NotApplied: the answer was no.
    """
    if question.is_open and (why := await front.confirm(question)):
        raise NotApplied("not applied", why)
    return run.accepting(question.risks)


def _refuse_changed(plan: Plan, asked: Plan, reports: Iterable[ApplyReport]) -> None:
    """Raise NotApplied if a plan has other edits than the operator has confirmed: another statement may have staged
    some while the question stood. reports: the reports of the attempts before the question.
    """
    if [each.edit for each in plan.staged] != [each.edit for each in asked.staged]:
        raise NotApplied("not applied", CHANGED_SINCE if any(each.sent for each in reports) else CHANGED)


def refusal(warnings: Iterable[Risk], accepted: Iterable[str], flags: Flags) -> NotApplied:
    """Return the exception for warnings that are not accepted.

    Args:
        accepted: names accepted beforehand; the hint repeats them, so that its flag can be copied.
    """
    risks = tuple(warnings)
    names = ",".join(dict.fromkeys((*sorted(accepted), *(risk.accepted_as for risk in risks))))
    hint = f"if it is meant, write {flags.accept} {names}"
    return NotApplied(f"{NOTHING_SENT}: there are warnings that are not accepted", hint, risks)


# -- leaving while a request is in flight ----------------------------------------------------------------------------


def stopping_text(flying: InFlight | None, again: str = "once more") -> str:
    """Return the text about the request in flight while nothing more is sent; ``""`` without one. again: the action
    that stops waiting."""
    return f"{flying.waiting(datetime.now(UTC))}; nothing more is sent; {again} gives up waiting" if flying else ""


def unfinished_text(flying: InFlight | None, committed: bool) -> str:
    """Return the text about an apply that is left before its end.

    Args:
        flying: the request in flight; None if no request is in flight.
        committed: whether the change is in the journal.
    """
    if flying is not None:
        return flying.unknown
    return "nothing more is sent; `kac history` says how it went" if committed else NOTHING_SENT


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(SystemExit):
    """A signal ended an apply. code: 1 for an unknown outcome, else as in shells, 130 for Ctrl-C."""


class _Signals:
    """Signals during an apply. The first stops it and waits for the request in flight; the second stops waiting."""

    def __init__(self, work: Work, front: FrontEnd, task: asyncio.Task[ApplyRun]) -> None:
        self._work = work
        self._front = front
        self._task = task
        self.ended: Ended | None = None
        self.unfinished = NOTHING_SENT

    def came(self, number: int) -> None:
        if self.ended is not None:
            self.unfinished = unfinished_text(self._work.in_flight, self._work.committed)
            self.ended = Ended(1 if self._work.in_flight is not None else 128 + number)
            # Cancel last: the cancellation clears `in_flight`, which decides the text and the exit code.
            self._task.cancel()
            return
        # Shells report 128 + N for a process that signal N ended.
        self.ended = Ended(128 + number)
        if text := stopping_text(self._work.stop()):
            with suppress(OSError):  # the terminal may be gone
                self._front.tell(text)


@contextmanager
def _listening(came: Callable[[int], None]) -> Iterator[None]:
    """Handle the signals that end an apply while the block lasts. came: called with each signal number."""
    loop = asyncio.get_running_loop()
    before = {}
    for number in _ENDING:
        handler = signal.getsignal(number)
        if handler is signal.SIG_IGN:  # as under nohup
            continue
        with suppress(ValueError, RuntimeError):  # not the main thread, the only one that receives signals
            loop.add_signal_handler(number, came, int(number))
            before[number] = handler
    try:
        yield
    finally:
        # asyncio itself restores Python's defaults, not the previous handlers.
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
