"""Checking and applying the plan from the screen: the questions before, the workers, the words after."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from console.commands.applying import ApplyReport
from console.commands.plan_results import deletion_lines, loss_lines, risk_lines, with_source
from console.model.changes import Status
from console.plan.compile import Facts, compile_plan
from console.plan.edits import DeleteTopic
from console.plan.effects.risks import NAMES, risks
from console.present.failures import failure_text, how_to_settle
from console.present.names import plural, target
from console.present.requests import request_lines
from console.present.sanitize import clean
from console.present.spans import Line
from console.tui.messages import Said

if TYPE_CHECKING:
    from console.plan.conflicts import Conflict
    from console.tui.app import Console
    from console.tui.screens.confirm import Confirm

log = logging.getLogger(__name__)
MOST_LINES = 10
"""Lines of one kind in a question."""


class Applying:
    """The way from the plan to the brokers. A change is never cancelled midway: its worker is not exclusive."""

    def __init__(self, app: Console) -> None:
        self._app = app

    def check(self) -> None:
        """Let the brokers validate the plan; the outcomes stand on the rows."""
        self._app.say("checking…", "muted")
        self._app.run_worker(self._work(self._app.session.check, "checked"), group="change", name="check")

    def ask_and_apply(self, valid_only: bool = False, force: bool = False) -> None:
        """Say what will be sent to which cluster, ask, and send it. force: over what somebody changed meanwhile."""
        from console.tui.screens.confirm import Confirm

        app = self._app
        plan, context = app.session.plan, app.session.context
        steps = compile_plan(plan, Facts(configs=app.session.snapshot.configs))
        names = [
            ("the name of the topic to delete", s.edit.name) for s in plan.staged if isinstance(s.edit, DeleteTopic)
        ]
        if context.confirm:
            names.insert(0, ("the name of the context", context.name))
        found = risks(plan.staged, app.session.snapshot)
        if found:
            names.append((f"accept, for {plural(len(found), 'warning')}", "accept"))
        cluster = app.session.snapshot.cluster.cluster_id or "unknown cluster id"
        title = f"Apply {plural(len(plan), 'edit')} to {clean(context.name or cluster, 80)} ({clean(cluster, 60)})?"

        def answered(yes: bool | None) -> None:
            if not yes:
                app.say("nothing was sent", "muted")
                return
            self._send(valid_only, force)

        what = "checks the plan, and sends it if nothing fails"
        what += ", over whatever somebody changed meanwhile" if force else ""
        lost: list[Line] = [[(clean(line, 400), "danger")] for line in loss_lines(plan.staged)[:MOST_LINES]]
        warned: list[Line] = [[(clean(line, 400), "danger")] for line in risk_lines(found)[:MOST_LINES]]
        question = Confirm(title, [*request_lines(steps), *warned, *lost], what, names)
        app.push_screen(question, answered)
        app.run_worker(self._tell_deletions(question), group="estimate", name="estimate", exclusive=True)

    async def _tell_deletions(self, question: Confirm) -> None:
        """What a shorter retention deletes is read while the question stands."""
        from console.commands.retention_estimate import deletions, read_retention

        await read_retention(self._app.session)
        found = deletion_lines(deletions(self._app.session))[:MOST_LINES]
        if found and question.is_attached:
            question.tell([[(clean(line, 400), "danger")] for line in found])

    def _send(self, valid_only: bool, force: bool, accepted: tuple[Conflict, ...] = ()) -> None:
        app = self._app
        app.say("applying…", "pending")

        async def send() -> ApplyReport:
            report = await app.session.apply(valid_only, force, accepted, NAMES)
            if report.conflicts:
                self._ask_to_go_over(report.conflicts, valid_only)
            if report.sent:
                app.past.look()
            return report

        app.run_worker(self._work(send, "applied"), group="change", name="apply")

    def _ask_to_go_over(self, found: tuple[Conflict, ...], valid_only: bool) -> None:
        """Show what somebody changed, three ways; to go over it is for the operator to say, and for this alone."""
        from console.tui.screens.confirm import Confirm

        def answered(yes: bool | None) -> None:
            if yes:
                self._send(valid_only, False, found)
            else:
                self._app.say("nothing was sent; the plan shows what is there now", "muted")

        title = f"Somebody changed {plural(len(found), 'place')} of the plan since it was read."
        lines = [line for conflict in found[: MOST_LINES // 2] for line in conflict_lines(conflict)]
        if len(found) > MOST_LINES // 2:
            lines.append([(f"and {len(found) - MOST_LINES // 2:,} more", "muted")])
        self._app.push_screen(Confirm(title, lines, "goes over what is theirs"), answered)

    def ask_and_quit(self) -> None:
        """Leave; staged edits are not kept, so ask where there are any."""
        from console.tui.screens.confirm import Confirm

        app = self._app
        count = len(app.session.plan)
        if not count:
            app.exit()
            return

        def answered(yes: bool | None) -> None:
            if yes:
                app.exit()

        title = f"Leave? {plural(count, 'staged edit')} {'is' if count == 1 else 'are'} not kept."
        app.push_screen(Confirm(title, [], "leaves"), answered)

    def ask_and_switch(self, name: str) -> None:
        """Go to the cluster of another context; staged edits are not kept, so ask where there are any."""
        from console.contexts import ContextError
        from console.tui.screens.confirm import Confirm

        app = self._app
        try:
            chosen = app.contexts.get(name)
        except ContextError as error:
            app.say(clean(str(error), 400), "failed")
            return
        count = len(app.session.plan)
        if not count:
            app.exit(chosen)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                app.exit(chosen)

        title = f"Go to {clean(name, 80)}? {plural(count, 'staged edit')} {'is' if count == 1 else 'are'} not kept."
        app.push_screen(Confirm(title, [], "goes"), answered)

    def show_script(self) -> None:
        """The plan as commands, to copy into a script."""
        from console.tui.plan_script import script

        lines: list[Line] = [
            # Whole: a statement cut short would be another one.
            [(clean(line, len(line) + 1), "")]
            for line in script(self._app.session.plan).split("\n")
        ]
        self._app.show_text("the plan as a script", lambda _width: lines)

    def show_runbook(self) -> None:
        """The plan as the commands of Kafka's own tools, to copy into a runbook."""
        from console.commands.runbook_text import runbook_text

        text = runbook_text(self._app.session) or "# nothing is staged"
        lines: list[Line] = [
            [(clean(line, len(line) + 1), "muted" if line.startswith("#") else "")] for line in text.split("\n")
        ]
        self._app.show_text("the plan as commands of Kafka's tools", lambda _width: lines)

    async def _work(self, work: Callable[[], Awaitable[ApplyReport]], done: str) -> None:
        from console.admin.errors import AdminError
        from console.commands.session import Refused

        self._app.reading.held = True
        try:
            report = await work()
        except (AdminError, Refused) as error:
            log.warning("%s: %s", done, error.failure)
            self._app.post_message(Said(f"not {done}: {failure_text(error.failure)}", "failed"))
            return
        finally:
            self._app.reading.held = False
        self._app.post_message(Said(*report_text(report, done)))


def conflict_lines(conflict: Conflict) -> list[Line]:
    """``topic orders retention.ms``, and below ``was 604800000 (topic)  theirs … (topic)  mine … (topic)``."""
    edit = conflict.staged.edit
    sides: Line = [("", "")]
    for word, side in (("was", conflict.was), ("theirs", conflict.theirs), ("mine", conflict.mine)):
        meaning = "changed" if word == "theirs" else ""
        sides += [(f"  {word} ", "muted"), (with_source(edit.target, edit.key, side), meaning)]
    why: list[Line] = [[(f"  {clean(conflict.why, 300)}", "danger")]] if conflict.why else []
    return [[(f"{target(edit.target)} {clean(edit.key, 80)}".strip(), "strong")], *why, sides]


def report_text(report: ApplyReport, done: str) -> tuple[str, str]:
    """What a check or an apply did, in a line, and its meaning."""
    if report.conflicts:
        return f"not {done}: somebody changed {plural(len(report.conflicts), 'place')} of the plan meanwhile", "failed"
    outcomes = [outcome for result in report.results for outcome in result.outcomes]
    failed = [outcome for outcome in outcomes if not outcome.ok]
    good = len(outcomes) - len(failed)
    requests = plural(len(report.results), "request")
    tail = f"; change {report.change}" if report.change is not None else ""
    if report.unrecorded is not None:
        tail += f"; the journal does not say how it went: {failure_text(report.unrecorded)}"
    if report.surprises:
        first = report.surprises[0].staged.edit
        tail += f"; somebody else is at it: {target(first.target)} {clean(first.key, 80)} is not as it was applied"
    if not failed:
        unchecked = sum(outcome.status == Status.UNCHECKED for outcome in outcomes)
        tail = (f"; {unchecked} can't be checked beforehand" if unchecked else "") + tail
        meaning = "failed" if report.unrecorded or report.surprises else "ok"
        return f"{done}: {plural(good, 'entity', 'entities')} in {requests}{tail}", meaning
    unknown = sum(outcome.status == Status.UNKNOWN for outcome in failed)
    if unknown and report.change is not None:
        tail += f", {how_to_settle(report.change)}"
    what = f"{len(failed)} failed" + (f", {unknown} of them with an unknown outcome" if unknown else "")
    sent = "" if report.sent or done == "checked" else "; nothing was sent"
    return f"{done}: {good} good, {what}{sent}{tail}; the rows say why", "failed"
