"""Checks and applies the plan from the screen: the questions before it, the workers, and the messages after it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from textual.worker import Worker, WorkerError

from console.answers import plan_results
from console.model.changes import Status
from console.plan.compile import compile_plan
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.plan.requests import Facts
from console.present.failures import failure_text, how_to_settle
from console.present.names import plural, target
from console.present.plan_rows import request_lines
from console.present.text import Line, clean
from console.session import apply_flow as session_apply_flow
from console.tui.reading import StatusMessage, start

if TYPE_CHECKING:
    from textual.app import App

    from console.contexts import Context
    from console.contexts.configured import Choice
    from console.plan.conflicts import Conflict
    from console.plan.risk_rules import Risk
    from console.tui.operating import Operating
    from console.tui.past import Journal
    from console.tui.screens import Confirm, Waiting
    from console.tui.text_lines import MessageLine
    from console.tui.watch import ShownCluster

log = logging.getLogger(__name__)

MOST_LINES = 10
"""Maximum number of lines about risks in a question."""
MOST_CONFLICTS = 3
"""Maximum number of conflicts in a question: with four or five lines each, all of them are visible on 24 lines."""


class Applying:
    """Checks and applies the plan. No other worker cancels the worker of an apply, so no change stops midway.

    Attributes:
        last: the report of the last apply; None before the first.
        busy: whether the operator has confirmed an apply that has not ended.
    """

    def __init__(
        self,
        app: App[Context],
        cluster: ShownCluster,
        message: MessageLine,
        journal: Journal,
        operating: Operating,
        contexts: Choice,
    ) -> None:
        """Create the object; it applies nothing yet.

        Args:
            app: runs the workers, shows the questions, and exits.
            cluster: the visible session and its reads.
            message: the message line, which gets the outcomes.
            journal: the journal, which is read again after an apply.
            operating: names the running operation. An exit interrupts the operation until a process continues it, so
                kac asks first.
            contexts: the contexts that the operator can switch to.
        """
        self._app, self._cluster, self._session = app, cluster, cluster.session
        self._message, self._journal, self._operating, self._contexts = message, journal, operating, contexts
        self.last: ApplyReport | None = None
        self.busy = False
        self._ended = False
        self._question: Confirm | None = None
        self._answer: asyncio.Future[bool] | None = None
        self._flow: Worker[None] | None = None
        self._waiting: Waiting | None = None

    def do_check(self) -> None:
        """Send the plan to the brokers for validation only; the rows of the plan show the outcomes."""
        self._message.say("checking…", "muted")
        self._cluster.reading.held = True
        start(self._app, partial(self._work, self._check, "checked"), group="change", name="check")

    def do_apply(self, valid_only: bool = False, force: bool = False) -> None:
        """Ask for confirmation, then apply the plan. If a check or an apply is under way, show that instead.

        The question appears at once, so that keys typed ahead answer it; risks and deletions are read meanwhile.

        Args:
            valid_only: send the edits that brokers accept, and leave the others staged.
            force: overwrite the changes that another client made to the same values since the edits were staged.
        """
        from console.tui.screens import Confirm

        app = self._app
        if self.busy or self._session.work.is_under_way:
            self._message.say("the plan is being checked or applied", "muted")
            return
        plan, context = self._session.plan, self._session.context
        cluster = self._session.snapshot.cluster.cluster_id or "unknown cluster id"
        title = f"Apply {plural(len(plan), 'edit')} to {clean(context.name or cluster, 80)} ({clean(cluster, 60)})?"
        what = "checks the plan, and sends it if nothing fails"
        what += ", over whatever another client changed meanwhile" if force else ""
        requests = request_lines(compile_plan(plan, Facts(configs=self._session.snapshot.configs)))
        names = [(typed.what, typed.text) for typed in session_apply_flow.names_to_type(context, _ASKS)]
        lines = [*requests, *_danger(plan_results.loss_lines(plan.staged))]
        screen = self._question = Confirm(title, lines, what, names, whole=False)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def answered(yes: bool | None) -> None:
            self.busy = bool(yes)
            if yes:
                self._message.say("applying…", "pending")
            if not answer.done():
                answer.set_result(bool(yes))

        self._answer = answer
        self.last = None
        app.push_screen(screen, answered)
        start(app, partial(self._tell_deletions, screen), group="estimate", name="estimate", exclusive=True)

        async def flow() -> None:
            await session_apply_flow.apply_flow(
                self._session, self, ApplyOptions(valid_only, force), _ASKS, session_apply_flow.Flags(), plan
            )

        self._flow = start(app, partial(self._work, flow, "applied"), group="change", name="question")

    # -- methods that the apply flow calls -----------------------------------------------------------------------------

    @property
    def can_ask(self) -> bool:
        """True: at a screen, an operator can answer questions."""
        return True

    async def confirm(self, question: session_apply_flow.Question) -> str:
        """Return ``""`` if the operator agrees, else the reason for the refusal as text.

        If the first question is still visible when the risks have been read, the risks are added to it. If it is
        closed, a question of their own shows them.
        """
        from console.tui.screens import Confirm

        warned = _danger(plan_results.risk_lines(question.risks))
        answer, self._answer = self._answer, None
        if answer is None or self._question is None:
            self.busy = False
            self._end_waiting(False)
            names = [(typed.what, typed.text) for typed in question.typed]
            title = f"{plural(len(question.risks), 'warning')} came up since."
            again = Confirm(title, warned, "goes on", names)
            self.busy = await self._app.push_screen_wait(again)
            return "" if self.busy else session_apply_flow.NOTHING_SENT
        if not answer.done():
            asked = [(typed.what, typed.text) for typed in question.typed if typed.warns]
            self._question.complete(warned, asked)
        yes = await answer
        self._question = None
        self._cluster.reading.held = yes
        return "" if yes else session_apply_flow.NOTHING_SENT

    async def _tell_deletions(self, question: Confirm) -> None:
        """Read the amount of data that a shorter retention would delete, and add it to the question while it is
        visible.
        """
        from console.session.retention_reading import read_deletions

        found = _danger(plan_results.deletion_lines(await read_deletions(self._session)))
        if found and question.is_attached:
            question.tell(found)

    async def go_over(self, conflicts: tuple[Conflict, ...]) -> bool:
        """Ask whether to overwrite the changes of another client that conflict with the plan; return whether the
        operator agrees. The question shows the first `MOST_CONFLICTS` conflicts, each with the value before,
        theirs and ours.
        """
        from console.tui.screens import Confirm

        places = f"{plural(len(conflicts), 'place')} of the plan"
        title = f"Another client changed {places} since it was read."
        if all(each.is_unknown for each in conflicts):
            title = f"{places} {plan_results.NOT_READ_AGAIN}."
        lines = [line for conflict in conflicts[:MOST_CONFLICTS] for line in conflict_lines(conflict)]
        if len(conflicts) > MOST_CONFLICTS:
            lines.append([(f"and {len(conflicts) - MOST_CONFLICTS:,} more", "muted")])
        self.busy = False
        self._end_waiting(False)
        if await self._app.push_screen_wait(Confirm(title, lines, "overwrites their changes")):
            self.busy = True
            self._message.say("applying…", "pending")
            return True
        # Don't say that nothing was sent: the apply may have sent other edits of the plan before this question.
        self._message.say("another client's changes stay; the plan shows what is there now", "muted")
        return False

    def tell(self, line: str) -> None:
        """Show a message on the message line."""
        self._message.say(clean(line, 400), "failed")

    def warn(self, risks: tuple[Risk, ...]) -> None:
        """Show risks on the message line; the plan's rows also show them."""
        self.tell("; ".join(plan_results.risk_lines(risks)))

    def report(self, report: ApplyReport) -> None:
        """Show the outcome on the message line, and read the journal again if something was sent."""
        self.last = report
        text, meaning = report_text(report, "applied")
        for made in report.made:
            secret = f"{made.what} {clean(made.secret.reveal(), 200)}"
            text += f"; {made.entity} {clean(made.id, 80)} has the {secret}, shown this once"
        self._app.post_message(StatusMessage(text, meaning))
        if report.sent and self._app.is_running:
            self._journal.read()

    # -- leaving -------------------------------------------------------------------------------------------------------

    def do_quit(self) -> None:
        """Exit kac. Ask first if staged edits would be lost, or if a running operation would stop until a process
        continues it.
        """
        self._ask_and_go(None, "Leave?", "leaves")

    def ask_and_switch(self, name: str) -> None:
        """Switch to the context with this name. Ask first if staged edits would be lost."""
        from console.contexts import ContextError

        try:
            chosen = self._contexts.get(name)
        except ContextError as error:
            self._message.say(clean(str(error), 400), "failed")
            return
        self._ask_and_go(chosen, f"Go to {clean(name, 80)}?", "goes")

    def _ask_and_go(self, chosen: Context | None, question: str, going: str) -> None:
        from console.tui.screens import Confirm

        app = self._app
        if self.busy or self._session.work.is_under_way:
            start(app, partial(self._wait_and_go, chosen, question, going), group="leave", name="leave", exclusive=True)
            return
        count = len(self._session.plan)
        if not count and not self._operating.at_work:
            app.exit(chosen)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                app.exit(chosen)

        kept = f" {plural(count, 'staged edit')} {'is' if count == 1 else 'are'} not kept." if count else ""
        lines: list[Line] = []
        if self._operating.at_work:
            others = "W in a console, or kac moves --continue"
            lines.append([(f"{self._operating.at_work} is worked on here. It waits then, until {others}.", "pending")])
        app.push_screen(Confirm(question + kept, lines, going), answered)

    async def _wait_and_go(self, chosen: Context | None, question: str, going: str) -> None:
        """Wait until the apply ends, then leave. The operator may leave earlier, or choose to stay. If the apply ended
        and edits are still staged, ask before leaving.

        Args:
            chosen: the context to switch to; None to exit.
            question: the text that asks whether to leave with staged edits.
            going: the effect of agreeing, as text (``leaves``).
        """
        from console.tui.screens import Waiting

        app = self._app
        screen = self._waiting = Waiting(self._session.work, going)
        settled = asyncio.ensure_future(self._settled())
        settled.add_done_callback(lambda _: self._end_waiting(True))
        leaves = await app.push_screen_wait(screen)
        self._waiting = None
        over = settled.done()
        settled.cancel()
        if over and leaves and self._session.plan:
            self._ask_and_go(chosen, question, going)
        elif leaves:
            self._go(chosen)

    def _end_waiting(self, leaves: bool) -> None:
        screen, self._waiting = self._waiting, None
        if screen is not None and screen.is_current:
            screen.dismiss(leaves)

    async def _settled(self) -> None:
        """Wait until the apply has ended and its outcome is shown."""
        await self._session.work.wait()
        if self._flow is not None:
            # Ignore an error of the worker: the apply has ended also if its worker failed or was cancelled.
            with suppress(WorkerError):
                await self._flow.wait()

    def _go(self, chosen: Context | None, code: int = 0) -> None:
        """Exit the app; the terminal then shows how the apply ended.

        Args:
            chosen: the context to switch to; None to exit kac. While an apply is unfinished, kac exits in any case.
            code: exit code. If an apply is unfinished, 0 becomes 1; if a request has no response yet, the code is 1.
        """
        from rich.text import Text

        app = self._app
        # Wrap the text in `Text`: Textual parses a plain string as markup, which names and failures may contain.
        words = session_apply_flow.unfinished_text(self._session.work.in_flight, self._session.work.committed)
        if self._session.work.in_flight is not None:
            self._session.work.give_up()
            app.exit(return_code=1, message=Text(f"kac: {words}"))
        elif self.busy or self._session.work.is_under_way:
            self._stop()
            app.exit(return_code=code or 1, message=Text(f"kac: {words}"))
        else:
            words = report_text(self.last, "applied")[0] if self.last is not None else session_apply_flow.NOTHING_SENT
            app.exit(chosen, return_code=code, message=Text(f"kac: {words}"))

    def _stop(self) -> None:
        """Let the apply send no further requests."""
        if self._session.work.is_under_way:
            self._session.work.stop()
        elif self._flow is not None:
            self._flow.cancel()

    def ended(self, number: int) -> None:
        """Handle SIGTERM, or SIGHUP after a lost connection: exit without a question, with 128 + `number` as exit code.

        If an apply is under way, kac sends no more requests, and waits for the responses to those sent. A second signal
        ends that wait.
        """
        # A lost connection raises SIGHUP twice: by the kernel, and by the driver, which reads the end of the input.
        if self._ended and number == signal.SIGHUP:
            return
        again, self._ended = self._ended, True
        if again or not (self.busy or self._session.work.is_under_way):
            if self.busy or self._session.work.is_under_way:
                self._go(None, 128 + number)
            else:
                self._app.exit(return_code=128 + number)
            return
        self._stop()
        start(self._app, partial(self._settle_and_go, 128 + number), group="leave", name="leave", exclusive=True)

    async def _settle_and_go(self, code: int) -> None:
        await self._settled()
        self._go(None, code)

    async def _check(self) -> None:
        from console.session.applying import check_plan

        report = await check_plan(self._session)
        self._app.post_message(StatusMessage(*report_text(report, "checked")))

    async def _work(self, work: Callable[[], Awaitable[None]], done: str) -> None:
        from console.admin.errors import AdminError
        from console.session.snapshot_reader import Refused

        try:
            await work()
        except session_apply_flow.NotApplied as refused:
            self._dismiss()
            self._message.say(refused.hint or refused.message, "muted")
        except (AdminError, Refused) as error:
            self._dismiss()
            log.warning("%s: %s", done, error.failure)
            self._app.post_message(StatusMessage(f"not {done}: {failure_text(error.failure)}", "failed"))
        finally:
            self.busy = False
            self._cluster.reading.held = False

    def _dismiss(self) -> None:
        """Dismiss the question, because nothing can be sent any more."""
        screen, self._question = self._question, None
        if screen is not None and screen.is_current:
            screen.dismiss(False)


_ASKS = session_apply_flow.Asks(signals=False, deletions=False)
"""The questions that an apply asks, and the work before them. `deletions` is False, because `_tell_deletions` reads
the deletions while the question is already visible, and adds them to it.
"""


def _danger(lines: list[str]) -> list[Line]:
    """Return the first MOST_LINES lines in the style of danger, and a line with the number of the others."""
    shown: list[Line] = [[(clean(line, 400), "danger")] for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append([(f"and {len(lines) - MOST_LINES:,} more: Esc goes back to the plan, which has all", "danger")])
    return shown


def conflict_lines(conflict: Conflict) -> list[Line]:
    """Return the lines of a conflict: ``topic orders retention.ms``, then ``was …``, ``theirs …`` and ``mine …``, with
    values such as ``604800000 (7 d, topic)``.
    """
    edit = conflict.staged.edit
    sides: list[Line] = []
    for word, side in (("was", conflict.was), ("theirs", conflict.theirs), ("mine", conflict.mine)):
        meaning = "changed" if word == "theirs" else ""
        sides.append([(f"  {word:<6} ", "muted"), (plan_results.conflict_side(edit.target, edit.key, side), meaning)])
    why: list[Line] = [[(f"  {clean(conflict.why, 300)}", "danger")]] if conflict.why else []
    return [[(f"{target(edit.target)} {clean(edit.key, 80)}".strip(), "strong")], *why, *sides]


def report_text(report: ApplyReport, done: str) -> tuple[str, str]:
    """Return the outcome of a check or an apply as one line, and the meaning of its colour (``ok`` or ``failed``).
    done: ``checked`` or ``applied``.
    """
    if report.conflicts:
        places = plural(len(report.conflicts), "place")
        if all(each.is_unknown for each in report.conflicts):
            return f"not {done}: {places} of the plan {plan_results.NOT_READ_AGAIN}", "failed"
        return f"not {done}: another client changed {places} of the plan meanwhile", "failed"
    outcomes = [outcome for result in report.results for outcome in result.outcomes]
    failed = [outcome for outcome in outcomes if not outcome.ok]
    good = len(outcomes) - len(failed)
    requests = plural(len(report.results), "request")
    tail = f"; change {report.change}" if report.change is not None else ""
    if back := plan_results.way_back_of(report):
        tail += f": {back}"
    if report.unrecorded is not None:
        tail += f"; the journal does not say how it went: {failure_text(report.unrecorded)}"
    if report.surprises:
        first = report.surprises[0].staged.edit
        tail += f"; another client changes it: {target(first.target)} {clean(first.key, 80)} is not as it was applied"
    if report.set_back:
        tail += f"; it does not last: {target(report.set_back[0].staged.edit.target)} is as before again"
    if not failed:
        unchecked = sum(outcome.status == Status.UNCHECKED for outcome in outcomes)
        tail = (f"; {unchecked} can't be checked beforehand" if unchecked else "") + tail
        meaning = "failed" if report.unrecorded or report.surprises or report.set_back else "ok"
        return f"{done}: {plural(good, 'entity', 'entities')} in {requests}{tail}", meaning
    unknown = sum(outcome.status == Status.UNKNOWN for outcome in failed)
    if unknown and report.change is not None:
        tail += f", {how_to_settle(report.change)}"
    what = f"{len(failed)} failed" + (f", {unknown} of them with an unknown outcome" if unknown else "")
    sent = "" if report.sent or done == "checked" else "; nothing was sent"
    return f"{done}: {good} good, {what}{sent}{tail}; the rows say why", "failed"
