"""Apply a plan to a cluster, for every front end: show the changes that earlier runs left open, the plan's effects and
its named warnings; ask for confirmation; send; handle conflicts and signals; report.

A front end asks the operator and shows reports (`FrontEnd`), and chooses which questions are asked (`Asks`). If a
question needs an operator and there is none, the flow refuses, and names the flag that answers the question beforehand.
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
    """The names of a front end's flags, for the hints that are shown if no operator can be asked."""

    yes: str = "--yes"
    """The flag that confirms the plan without a question."""
    accept: str = "--accept"
    """The flag whose argument is the names of the warnings to accept."""
    force: str = "repeat the command to do so: it reads the current values again"
    """The way to overwrite another client's changes, as the end of a sentence in a hint."""
    confirm: str = "use a context without confirm for scripts"
    """The alternative to typing the context's name, as a hint."""


class Asks(Struct, frozen=True):
    """The questions that an apply asks the operator, and work that it does before them."""

    former: bool = True
    """Whether to show first the changes that an earlier run left open."""
    plan: bool = True
    """Whether to ask for the operator's yes to the plan."""
    name: bool = True
    """Whether to ask for the context's name, in a context that requires it."""
    over: bool = True
    """Whether to ask about overwriting another client's changes."""
    risks: bool = True
    """Whether to ask about warnings. False for a command that replaces one of Kafka's tools: it shows warnings and
    continues, as that tool does, but still asks about warnings that require typing.
    """
    silent: bool = False
    """Whether all answers were given beforehand, so that no question but the one for the context's name is asked."""
    signals: bool = True
    """Whether the flow handles Ctrl-C, SIGTERM and SIGHUP; if False, the front end does."""
    deletions: bool = True
    """Whether to read, before the question, how much data the plan deletes. False for a front end that reads and shows
    this itself.
    """


class Typed(NamedTuple):
    """A text that the operator has to type before a plan is sent. what: a description of the text, such as ``the name
    of the context``.
    """

    what: str
    text: str
    warns: bool = False
    """Whether the text accepts warnings. Such a text can be replaced by a flag that accepts the warnings by name."""


class Question(Struct, frozen=True):
    """The question whether to send a plan, with all that the operator has to know first."""

    plan: Plan
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    """Slot of an edit (its target and key) -> the effects of the edit on other entities, a line each."""
    risks: tuple[Risk, ...] = ()
    """The warnings that an answer accepts."""
    yes: bool = False
    """Whether the operator has to answer yes."""
    typed: tuple[Typed, ...] = ()
    """The texts that the operator has to type, in this order, apart from a yes."""
    force: bool = False
    """Whether the apply will overwrite another client's changes."""
    deletions: Mapping[Slot, Deletion] = field(default_factory=dict)
    """Slot of an edit -> the data that the edit deletes."""

    @property
    def is_open(self) -> bool:
        """Whether the question needs a yes or a typed text."""
        return self.yes or bool(self.typed)


class FrontEnd(Protocol):
    """The flow's connection to the operator: it asks questions and shows reports. The flow calls all methods on the
    session's event loop.
    """

    @property
    def can_ask(self) -> bool:
        """Whether an operator can answer questions."""

    async def confirm(self, question: Question) -> str:
        """Show a question and wait for its answers. The flow calls this only if `can_ask` is True.

        Args:
            question: what to show; then the operator has to type each of its `typed`, in this order.

        Returns:
            ``""`` to send the plan; otherwise the reason not to, as text for the operator.
        """

    async def go_over(self, conflicts: tuple[Conflict, ...]) -> bool:
        """Show another client's changes, and ask whether to overwrite exactly these.

        Args:
            conflicts: a conflict for each staged edit whose key changed since it was read.

        Returns:
            True to send the edits in spite of these conflicts; other conflicts stop the apply again.
        """

    def tell(self, line: str) -> None:
        """Show a line of information, separate from results.

        Args:
            line: a text that may contain raw text from the cluster, such as control characters.
        """

    def warn(self, risks: tuple[Risk, ...]) -> None:
        """Show warnings that need no answer: they are accepted already, or will stop the apply."""

    def report(self, report: ApplyReport) -> None:
        """Show the result of an attempt. The flow calls this once at the end of each attempt."""


class Unattended(Struct):
    """A front end without an operator. It keeps the reports and shows nothing."""

    reports: list[ApplyReport] = field(default_factory=list)
    can_ask: ClassVar[bool] = False

    async def confirm(self, question: Question) -> str:
        """Return a refusal. The flow never calls this, since `can_ask` is False."""
        return f"{len(question.plan)} edits are not confirmed"

    async def go_over(self, conflicts: tuple[Conflict, ...]) -> bool:
        """Return False, unless there are no conflicts."""
        return not conflicts

    def tell(self, line: str) -> None:
        """Show nothing."""

    def warn(self, risks: tuple[Risk, ...]) -> None:
        """Show nothing."""

    def report(self, report: ApplyReport) -> None:
        """Keep the report."""
        self.reports.append(report)


class NotApplied(Exception):
    """An attempt to apply sent nothing, because no operator could be asked or the answer was no. Earlier attempts of
    the same apply may have sent requests. hint: the next step for the operator, with the flag's name; ``""`` if
    there is none.
    """

    def __init__(self, message: str, hint: str = "", risks: tuple[Risk, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.risks = risks


async def apply_flow(
    session: Session, front: FrontEnd, options: ApplyOptions, asks: Asks, flags: Flags, seen: Plan | None = None
) -> tuple[ApplyReport, ...]:
    """Apply the plan of a session: ask, send, report; then, if the operator overwrites conflicts, ask and send again.

    Args:
        session: the session whose plan is sent. Afterwards the plan has only the edits that were not applied.
        front: the front end, which asks and shows reports.
        options: the warnings accepted beforehand, and whether to overwrite other clients' changes.
        asks: the questions to ask.
        flags: the names of the front end's flags, for hints.
        seen: the plan that the operator was shown, which the session must still have; None for its present plan.

    Returns:
        The reports of all attempts, in order. The front end has shown them already.

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
    """Return whether a report has conflicts, and the operator can be asked whether to overwrite them. If there are
    conflicts but the operator can't be asked, show a line with the way to overwrite them.
    """
    can = bool(report.conflicts) and asks.over and not asks.silent and front.can_ask
    if report.conflicts and not can:
        front.tell(f"another client's changes were not overwritten; {flags.force}")
    return can


def _show_former(front: FrontEnd, former: Iterable[str], snapshot: Snapshot) -> None:
    """Show the lines about changes of earlier runs that are still open. Also show a warning if the server gives no
    cluster id, by which kac would notice another cluster.
    """
    for line in former:
        front.tell(line)
    if Part.CLUSTER in snapshot.read_at and not snapshot.cluster.cluster_id:
        front.tell("this server gives no cluster id: nothing shows that it is the one that was read before")


async def _sent(sending: Coroutine[Any, Any, ApplyRun], work: Work, front: FrontEnd, *, listens: bool) -> ApplyRun:
    """Run the coroutine that sends the plan, and handle signals meanwhile.

    Args:
        sending: the coroutine that sends the plan.
        work: the means to stop it.
        listens: whether signals are handled here; False if the front end handles them.

    Returns:
        The run with its report, which the caller has to show.

    Raises:
        Ended: a signal arrived; the report was shown, or a line that the outcome is unknown.
        Interrupted: the apply was cancelled; its report was shown.
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
    """Return the context's name as a text to type, if the context requires it and `asks` includes that question;
    otherwise an empty list.
    """
    return [Typed("the name of the context", context.name)] if asks.name and context.confirm else []


def _accepting(risks: tuple[Risk, ...]) -> list[Typed]:
    """Return the texts to type to accept these warnings: the word `ACCEPT` for all warnings without a subject, and for
    each other warning its subject, such as a topic's name.
    """
    subjects = dict.fromkeys((risk.name, risk.subject) for risk in risks if risk.subject)
    typed = [Typed(f"the subject of {name}", subject, warns=True) for name, subject in subjects]
    plain = sum(1 for risk in risks if not risk.subject)
    if plain:
        typed.insert(0, Typed(f"for {plural(plain, 'warning')}", ACCEPT, warns=True))
    return typed


def _question(plan: Plan, context: Context, run: ApplyRun, asks: Asks, flags: Flags, *, can_ask: bool) -> Question:
    """Return the question whether to send the plan.

    If no operator can be asked about warnings, this raises nothing: the warnings stop the apply after the brokers'
    check, so that the brokers' refusals are reported first.

    Raises:
        NotApplied: another question than one about warnings needs an operator, and there is none.
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
    """Return the run unchanged, unless `asks` excludes questions about warnings: then show the run's warnings, and
    return the run in which they are accepted. Warnings that require typing are neither shown nor accepted here.
    """
    if asks.risks or not run.risks:
        return run
    # Warnings that require typing (`risk.subject`) are shown when they stop the apply.
    seen = tuple(risk for risk in run.risks if not risk.subject)
    front.warn(seen)
    return run.accepting(seen)


def _question_again(front: FrontEnd, run: ApplyRun, risks: tuple[Risk, ...], asks: Asks, flags: Flags) -> Question:
    """Return the question about warnings that arose during the check, from a newer snapshot than the flow's first one.
    If `asks` excludes questions about warnings and no warning requires typing, show the warnings, and return a
    question that needs no answer.

    Raises:
        NotApplied: the question needs an operator, and there is none.
    """
    if not asks.risks and not any(risk.subject for risk in risks):
        front.warn(risks)
        return Question(Plan(()), risks=risks)
    if asks.silent or not front.can_ask:
        front.warn(risks)
        raise refusal(risks, run.options.risks, flags)
    return Question(Plan(()), risks=risks, typed=tuple(_accepting(risks)))


async def _confirm(front: FrontEnd, run: ApplyRun, question: Question) -> ApplyRun:
    """Ask the question, unless it needs no answer.

    Returns:
        The run with the warnings of the question accepted.

    Raises:
        NotApplied: the answer was no.
    """
    if question.is_open and (why := await front.confirm(question)):
        raise NotApplied("not applied", why)
    return run.accepting(question.risks)


def _refuse_changed(plan: Plan, asked: Plan, reports: Iterable[ApplyReport]) -> None:
    """Raise NotApplied if the plan no longer has exactly the edits that the operator confirmed, because edits were
    staged while the question was open. reports: the reports of earlier attempts; the message says so if one of
    them sent requests.
    """
    if [each.edit for each in plan.staged] != [each.edit for each in asked.staged]:
        raise NotApplied("not applied", CHANGED_SINCE if any(each.sent for each in reports) else CHANGED)


def refusal(warnings: Iterable[Risk], accepted: Iterable[str], flags: Flags) -> NotApplied:
    """Return the exception for warnings that are not accepted.

    Args:
        accepted: the names accepted beforehand, which the hint repeats, so that its flag can be copied.
    """
    risks = tuple(warnings)
    names = ",".join(dict.fromkeys((*sorted(accepted), *(risk.accepted_as for risk in risks))))
    hint = f"if it is meant, write {flags.accept} {names}"
    return NotApplied(f"{NOTHING_SENT}: there are warnings that are not accepted", hint, risks)


# -- leaving while a request is in flight ----------------------------------------------------------------------------


def stopping_text(flying: InFlight | None, again: str = "once more") -> str:
    """Return a text that says which request is waited for before the apply ends; ``""`` if no request is in flight.
    again: words for the action that ends the waiting.
    """
    return f"{flying.waiting(datetime.now(UTC))}; nothing more is sent; {again} gives up waiting" if flying else ""


def unfinished_text(flying: InFlight | None, committed: bool) -> str:
    """Return a text about an apply that was left before its end.

    Args:
        flying: the request without a response yet; None if there is no such request.
        committed: whether the change is in the journal, so that requests may have been sent.
    """
    if flying is not None:
        return flying.unknown
    return "nothing more is sent; `kac history` says how it went" if committed else NOTHING_SENT


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(SystemExit):
    """Raised when a signal ended an apply. code: the exit code: 1 if an outcome is unknown, otherwise 128 + the
    signal's number, as in shells (130 for Ctrl-C).
    """


class _Signals:
    """The handler of signals during an apply. After the first signal nothing more is sent, but the request in flight
    is waited for; the second signal ends the waiting.
    """

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
    """Handle the signals that end an apply while the ``with`` block runs. came: function called with each signal's
    number.
    """
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
