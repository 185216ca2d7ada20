"""The one way from a plan to a cluster, for every front end: what former changes left open, what the plan means, named
warnings, confirmation, sending, conflicts, the report.

A front end gives a way to ask and a way to tell (`FrontEnd`), and says which questions it leaves out (`Asks`). Where
nobody can be asked, the flow refuses with the name of the flag that answers the question beforehand.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct, field

from console.plan.conflicts import Conflict
from console.plan.edits import DeleteTopic, Slot
from console.plan.effects import effects
from console.plan.plan import Plan
from console.plan.risk_rules import Risk
from console.plan.settle import ApplyOptions, ApplyReport, InFlight, Interrupted
from console.session.plan_facts import Reads, judge

ACCEPT = "accept"
"""What is typed to go on in spite of warnings."""


class Flags(Struct, frozen=True):
    """How a front end's own flags are written, for what it says where nobody can be asked.

    yes: does not ask. accept: takes names of warnings. force: what to do to go over what another client changed.
    confirm: what stands in for typing the context's name, or what to do instead.
    """

    yes: str = "--yes"
    accept: str = "--accept"
    force: str = "repeat the command to do so: it reads the current values again"
    confirm: str = "use a context without confirm for scripts"


class Asks(Struct, frozen=True):
    """Which questions an apply asks.

    plan: whether the plan is to be sent at all. name: the context's name, where the context wants it typed. topics: the
    names of the topics to delete. over: whether to go over what another client changed. risks: False for a drop-in,
    which says the warnings and goes on, as the tool that it stands in for. silent: answered beforehand, so that nothing
    but a name is asked. signals: whether Ctrl-C, SIGTERM and SIGHUP are heard here, not by the front end.
    """

    plan: bool = True
    name: bool = True
    topics: bool = False
    over: bool = True
    risks: bool = True
    silent: bool = False
    signals: bool = True


class Typed(Struct, frozen=True):
    """What has to be typed: `text`, which is `what` (``the context's name``)."""

    what: str
    text: str


class Question(Struct, frozen=True):
    """What is about to be sent.

    effects: who else is changed. risks: warnings to accept. yes: whether a plain yes is asked for. typed: what has to
    be typed besides, in this order. force: it goes over what another client changed meanwhile.
    """

    plan: Plan
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    risks: tuple[Risk, ...] = ()
    yes: bool = False
    typed: tuple[Typed, ...] = ()
    force: bool = False


class FrontEnd(Protocol):
    """A way to ask and a way to tell."""

    @property
    def can_ask(self) -> bool:
        """Whether anybody is there to answer."""
        ...

    async def confirm(self, question: Question) -> str:
        """Ask; ``""`` to go on, else why not."""
        ...

    async def go_over(self, found: tuple[Conflict, ...]) -> bool:
        """Show what another client changed, and ask whether to go over exactly that."""
        ...

    def tell(self, line: str) -> None:
        """A line for the operator; text from the cluster in it is not made harmless yet."""
        ...

    def warn(self, found: tuple[Risk, ...]) -> None:
        """Show warnings about which nothing is asked."""
        ...

    def report(self, report: ApplyReport) -> None:
        """Show what an apply did."""
        ...


class Applies(Reads, Protocol):
    """What the flow takes of a session."""

    in_flight: InFlight | None

    @property
    def plan(self) -> Plan:
        """What is staged."""
        ...

    @property
    def applying(self) -> bool:
        """Whether the plan is being checked or applied."""
        ...

    async def former_changes(self) -> tuple[str, ...]:
        """What former changes left open, told once."""
        ...

    async def apply(
        self,
        valid_only: bool = False,
        force: bool = False,
        accepted: Iterable[Conflict] = (),
        risks: Iterable[str] = (),
        seen: Iterable[Risk] = (),
    ) -> ApplyReport:
        """Check and send the plan."""
        ...

    def stop(self) -> None:
        """Send nothing more."""
        ...


class NotApplied(Exception):
    """Nothing was sent: nobody could be asked, or the answer was no. hint: what to do, with the name of the flag."""

    def __init__(self, message: str, hint: str = "", risks: tuple[Risk, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.risks = risks


async def apply_flow(
    session: Applies, front: FrontEnd, options: ApplyOptions, asks: Asks, flags: Flags
) -> tuple[ApplyReport, ...]:
    """Apply the plan of a session; the reports, which the front end has shown, the last one last.

    Raises NotApplied, Ended, and what `Session.apply` raises: Refused, AdminError, Interrupted (its report was shown).
    """
    for line in await session.former_changes():
        front.tell(line)
    found = options.hindering(await judge(session, session.plan.staged))
    seen = list(await _ask(session, front, _question(session, options, asks, found), asks, flags))
    accepted = list(options.accepted)
    reports: list[ApplyReport] = []
    while True:
        report = await _apply(session, front, options, accepted, seen, listens=asks.signals)
        if report.risks:  # what came up since they were asked about
            await _ask_again(front, report.risks, options, asks, flags)
            seen += report.risks
            continue
        reports.append(report)
        front.report(report)
        if not (report.conflicts and asks.over and not asks.silent and front.can_ask):
            if report.conflicts:
                front.tell(f"what another client changed was not gone over; {flags.force}")
            return tuple(reports)
        if not await front.go_over(report.conflicts):
            return tuple(reports)
        accepted += report.conflicts


async def _apply(
    session: Applies,
    front: FrontEnd,
    options: ApplyOptions,
    accepted: list[Conflict],
    seen: list[Risk],
    *,
    listens: bool,
) -> ApplyReport:
    task = asyncio.ensure_future(_applying(session, options, accepted, seen))
    signals = _Signals(session, front, task)
    try:
        with _listening(signals) if listens else nullcontext():
            report = await task
    except Interrupted as interrupted:
        front.report(interrupted.report)
        raise
    except asyncio.CancelledError:
        if signals.ended is None:
            raise
        front.tell(signals.unknown or "nothing was sent")
        raise signals.ended from None
    if signals.ended is not None:
        with suppress(OSError):  # the terminal may be gone
            front.report(report)
        raise signals.ended
    return report


async def _applying(session: Applies, options: ApplyOptions, accepted: list[Conflict], seen: list[Risk]) -> ApplyReport:
    return await session.apply(options.valid_only, options.force, accepted, options.risks, seen)


def names_to_type(session: Applies, asks: Asks) -> list[Typed]:
    """The names that have to be typed for the plan, whatever warnings there are."""
    plan, context = session.plan, session.context
    typed = []
    if asks.name and context.confirm:
        typed.append(Typed("the name of the context", context.name))
    if asks.topics:
        deleted = [each.edit.name for each in plan.staged if isinstance(each.edit, DeleteTopic)]
        typed += [Typed("the name of the topic to delete", name) for name in deleted]
    return typed


def _question(session: Applies, options: ApplyOptions, asks: Asks, found: tuple[Risk, ...]) -> Question:
    typed = names_to_type(session, asks)
    if found and asks.risks:
        typed.append(_accepting(found))
    yes = asks.plan and not asks.silent and not (asks.name and session.context.confirm)
    plan = session.plan
    return Question(plan, effects(plan.staged, session.snapshot), found, yes, tuple(typed), options.force)


def _accepting(found: tuple[Risk, ...]) -> Typed:
    count = "1 warning" if len(found) == 1 else f"{len(found)} warnings"
    return Typed(f"accept, for {count}", ACCEPT)


async def _ask(session: Applies, front: FrontEnd, question: Question, asks: Asks, flags: Flags) -> tuple[Risk, ...]:
    """The warnings that are no hindrance any more. Where nobody can be asked about them, they hinder once the brokers
    have checked the plan: what they refuse is said first. Raises NotApplied where the answer is no, or nobody can give
    one to another question."""
    name = session.context.name
    named = [each for each in question.typed if each.text != ACCEPT or not question.risks]
    if not front.can_ask:
        if named:
            raise NotApplied(
                f"context {name} wants its name typed before applying, and there is no terminal", flags.confirm
            )
        if question.yes:
            raise NotApplied("apply asks first, and there is no terminal", f"write {flags.yes}")
    if question.risks and (not asks.risks or asks.silent or not front.can_ask):
        if asks.risks:
            seen: tuple[Risk, ...] = ()
        else:
            front.warn(question.risks)
            seen = question.risks
        question = Question(question.plan, question.effects, (), question.yes, tuple(named), question.force)
    else:
        seen = question.risks
    if (question.yes or question.typed) and (why := await front.confirm(question)):
        raise NotApplied("not applied", why)
    return seen


async def _ask_again(front: FrontEnd, found: tuple[Risk, ...], options: ApplyOptions, asks: Asks, flags: Flags) -> None:
    if not asks.risks:
        front.warn(found)
        return
    if asks.silent or not front.can_ask:
        front.warn(found)
        raise refusal(found, options.risks, flags)
    question = Question(Plan(()), risks=found, typed=(_accepting(found),))
    if why := await front.confirm(question):
        raise NotApplied("not applied", why)


def refusal(found: Iterable[Risk], accepted: Iterable[str], flags: Flags) -> NotApplied:
    """Nothing is sent for warnings that nobody accepted; the flag and all names that it takes."""
    risks = tuple(found)
    names = ",".join(dict.fromkeys((*sorted(accepted), *(risk.name for risk in risks))))
    hint = f"if it is meant, write {flags.accept} {names}"
    return NotApplied("nothing was sent: there are warnings that nobody accepted", hint, risks)


# -- ended from outside ------------------------------------------------------------------------------------------------

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(SystemExit):
    """A signal ended an apply. code: 1 where an outcome is unknown, else as shells have it, 130 for Ctrl-C."""


class _Signals:
    """What comes while an apply is under way. The first signal stops it, and what is on its way is waited for; the
    second gives up."""

    def __init__(self, session: Applies, front: FrontEnd, task: asyncio.Task[ApplyReport]) -> None:
        self._session = session
        self._front = front
        self._task = task
        self.ended: Ended | None = None
        self.unknown = ""

    def came(self, number: int) -> None:
        flying = self._session.in_flight
        if self.ended is not None:
            self.unknown = flying.unknown if flying is not None else ""
            self.ended = Ended(1 if self.unknown else 128 + number)
            self._task.cancel()
            return
        self.ended = Ended(128 + number)
        self._session.stop()
        if flying is None:
            return
        with suppress(OSError):  # the terminal may be gone
            self._front.tell(f"{flying.waiting(datetime.now(UTC))}; nothing more is sent. Once more gives up waiting")


@contextmanager
def _listening(signals: _Signals) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    before = {}
    for number in _ENDING:
        handler = signal.getsignal(number)
        if handler is signal.SIG_IGN:  # as under nohup
            continue
        with suppress(ValueError, RuntimeError):  # not the main thread, which alone hears signals
            loop.add_signal_handler(number, signals.came, int(number))
            before[number] = handler
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
