"""Operations (moves in many steps, redrives) from the screen: the forecast and the question before one begins, and
its steps while the console is open. Once the console is closed, any process of this host can continue the
operation: another console, or ``kac moves --continue``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from console.present.failures import failure_text
from console.present.text import Line, clean
from console.tui.reading import start

if TYPE_CHECKING:
    from textual.app import App

    from console.contexts import Context
    from console.model.dead_letters import Redrive
    from console.model.snapshot import Snapshot
    from console.operations.forecast import Forecast
    from console.operations.goals import Goal
    from console.operations.operation import Progress
    from console.operations.proposal import Proposal
    from console.session.session import Session
    from console.tui.past import Journal
    from console.tui.screens import Confirm
    from console.tui.text_lines import MessageLine
    from console.tui.watch import ShownCluster

log = logging.getLogger(__name__)

BEGINS = "begins, and works on it while kac is open"
"""The text of the answer that begins an operation."""
MARGIN = 4
"""Number of columns that the frame of a question takes in addition to its text."""
LAST_ANSWER = 5.0
"""Seconds for which an exit waits for the response to a step's request; if none comes, the next process finds out the
outcome.
"""


class Operating:
    """Begins operations, and runs one at a time, with its own session, so that the operator's plan is unaffected.

    at_work: the running operation as text, ``operation 7``; ``""`` if none runs here.
    """

    def __init__(self, app: App[Context], cluster: ShownCluster, journal: Journal, message: MessageLine) -> None:
        """Create the runner of operations; no operation runs yet.

        Args:
            app: runs the workers, and shows the questions.
            cluster: the visible session and its reads.
            journal: shows the state of the operation in the header.
            message: the message line.
        """
        self._app, self._shown, self._journal, self._message = app, cluster.session, journal, message
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self.at_work = ""

    # -- beginning an operation ----------------------------------------------------------------------------------------

    def ask_and_begin(self, goal: Goal, throttle: int | None) -> None:
        """Show the forecast of a goal, ask, and begin the operation if the operator agrees. If no replica has to move,
        or another operation is open, only show a message.

        Args:
            throttle: limit of the rate at which replicas are copied, bytes/s; None for no limit.
        """
        self._message.say("what it would do is worked out…", "muted")
        self._start_question(partial(self._begin, goal, throttle))

    def _start_question(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # Don't use a worker of `PASSING`: the question has to receive the keys typed ahead.
        start(self._app, partial(self._reported, work), group="operation", name="question")

    async def _begin(self, goal: Goal, throttle: int | None) -> None:
        from console.answers.moves import forecast_lines
        from console.operations.goals import Restore
        from console.operations.proposal import UnknownPlace
        from console.session.operating import begin, needs_of, refuse_a_second, way_back
        from console.session.reading import read_needs
        from console.tui.screens import Confirm

        session = self._own_session()
        await refuse_a_second(session)
        if isinstance(goal, Restore):
            goal = await way_back(await session.journal(), goal.operation)
        try:
            proposal, said = await self._planned(await read_needs(session, needs_of(goal)), goal, throttle)
        except UnknownPlace as error:
            self._message.say(clean(str(error), 400), "failed")
            return
        if proposal.reached:
            self._message.say(f"{clean(str(goal), 200)}: no replica has to move", "muted")
            return
        context = session.context
        names = [("the name of the context", context.name)] if context.confirm else []
        lines: list[Line] = [[(clean(line, 400), "")] for line in forecast_lines(proposal, said, throttle)]
        title = f"Begin on {clean(context.name or 'this cluster', 80)}: {clean(str(goal), 200)}?"
        await self._begin_if_agreed(goal, Confirm(title, lines, BEGINS, names), partial(begin, session, goal, throttle))

    def ask_and_redrive(self, goal: Redrive, most: int | None) -> None:
        """Show the dead letters of a topic and the records that would be sent, ask, and begin the operation if the
        operator agrees. If no letter matches the goal, or one can't be sent, only show the letters.

        Args:
            goal: the goal, without the end offsets, which are read first.
            most: maximum letters per second; None for no limit.
        """
        self._message.say("the letters are read…", "muted")
        self._start_question(partial(self._redrive, goal, most))

    async def _redrive(self, wanted: Redrive, most: int | None) -> None:
        from console.answers.redrive import letters_table, warning_lines
        from console.answers.results import render
        from console.contexts.context import HIDDEN
        from console.present.dead_letters import chosen_lines, forecast_lines
        from console.session.operating import begin, refuse_a_second
        from console.session.redriving import desk_of, judged, survey, with_ends
        from console.tui.screens import Confirm, TextScreen

        session = self._own_session()
        await refuse_a_second(session)
        desk, context = desk_of(session), session.context
        goal = await with_ends(desk, wanted)
        found, _ = await survey(
            desk, goal, lambda some: self._message.say(f"{some.count:,} letters are read…", "muted")
        )
        said = await judged(desk, goal, found)
        wrong, masked = (*found.in_the_way, *said.refused), context.records == HIDDEN
        if wrong or not found.chosen:
            notes = (*said.effects, *(f"! can't be sent: {each}" for each in wrong))
            text = render(letters_table(goal, found, most, notes, masked=masked), self._app.size.width - MARGIN)
            why: list[Line] = [[(clean(line, 400), "")] for line in text.splitlines()]
            self._app.push_screen(TextScreen(f"{goal}: nothing is sent", lambda _width: why))
            self._message.say("nothing was sent: choose with where, or name their topic with to", "failed")
            return
        # Put warnings first: a low terminal cuts off the end.
        lines: list[Line] = [
            [(clean(line, 400), "failed" if line.startswith("! ") else "")]
            for line in (
                *chosen_lines(found, masked=masked),
                *warning_lines(said.risks),
                *forecast_lines(goal, found, most),
                *said.effects,
            )
        ]
        names = [("the name of the context", context.name)] if context.confirm else []
        names += dict.fromkeys((f"the subject of {each.name}", each.subject) for each in said.risks if each.subject)
        title = f"Send {found.chosen:,} letters again on {clean(context.name or 'this cluster', 80)}?"
        await self._begin_if_agreed(goal, Confirm(title, lines, BEGINS, names), partial(begin, session, goal, most))

    async def _begin_if_agreed(
        self, goal: Goal | Redrive, question: Confirm, begin: Callable[[], Coroutine[Any, Any, int]]
    ) -> None:
        """Show a question; if the operator agrees, begin the operation and run it. Otherwise show that nothing was
        sent.

        Args:
            begin: writes the operation to the journal, and returns its number.
        """
        if not await self._app.push_screen_wait(question):
            self._message.say("nothing was sent", "muted")
            return
        number = await begin()
        self._work(number, f"operation {number} begins: {goal}; w shows it")

    async def _planned(self, snapshot: Snapshot, goal: Goal, throttle: int | None) -> tuple[Proposal, Forecast]:
        """Return the placement that reaches a goal on the current cluster, and its forecast. throttle: bytes/s; None
        for no limit. Raises UnknownPlace.
        """
        from console.operations.forecast import forecast
        from console.operations.placement import placement_of
        from console.operations.planner import check_named, propose

        def planned() -> tuple[Proposal, Forecast]:
            check_named(goal, snapshot)
            placement = placement_of(snapshot)
            proposal = propose(goal, placement)
            return proposal, forecast(proposal, placement, throttle)

        return await asyncio.to_thread(planned)

    # -- continuing an operation ---------------------------------------------------------------------------------------

    def do_work(self) -> None:
        """Run the open operation. If one runs here already, or another process runs it, only show a message."""
        if self.at_work:
            self._message.say(f"{self.at_work} is worked on here; w shows it", "muted")
            return
        self._start_question(self._go_on)

    async def _go_on(self) -> None:
        from console.session.operating import goes_on_text, read_operations

        session = self._own_session()
        known = await read_operations(session)
        if not known.open:
            self._message.say("no operation is open", "muted")
        elif known.holder is not None:
            by = known.holder.by
            self._message.say(f"process {by.pid} on {by.host} works on operation {known.open[0].number}", "muted")
        else:
            first = known.open[0]
            self._work(first.number, f"{goes_on_text(first)}; w shows it")

    # -- requests ------------------------------------------------------------------------------------------------------

    def do_ask(
        self,
        number: int,
        *,
        cancel: bool = False,
        throttle: int | None = None,
        give_up: bool = False,
        pause: bool | None = None,
    ) -> None:
        """Send a request to the process that runs an operation. If no process runs it, a cancellation is done here; any
        other request waits until a process continues the operation.

        Args:
            number: the number of the operation.
            cancel: whether to cancel the operation.
            throttle: the new limit of the rate, bytes/s, or letters/s for a redrive; 0 for no limit; None to leave it
                as it is.
            give_up: whether to end the operation although the brokers that keep its throttles do not answer.
            pause: whether to pause a redrive (True) or resume it (False); None to leave that as it is.
        """
        ask = partial(self._ask, number, cancel, throttle, give_up, pause)
        start(self._app, partial(self._reported, ask), group="command", name="command")

    async def _ask(self, number: int, cancel: bool, throttle: int | None, give_up: bool, pause: bool | None) -> None:
        from console.model.dead_letters import Redrive
        from console.plan.amounts import byte_rate
        from console.session.operating import ask_of, read_operations

        session = self._shown
        asked = await ask_of(session, number, cancel=cancel, throttle=throttle, give_up=give_up, pause=pause)
        what = "to cancel" if cancel else "to end without brokers that do not answer"
        if isinstance(asked.goal, Redrive) and throttle is not None:
            what = f"to send at most {throttle:,} letters a second" if throttle else "to send without a limit"
        elif throttle is not None:
            what = f"to copy at {byte_rate(throttle)}" if throttle else "to copy without a throttle"
        elif pause is not None:
            what = "to pause" if pause else "to go on"
        text = f"operation {number} is asked {what}"
        if (await read_operations(session)).holder is None and not self.at_work:
            if cancel:
                self.do_work()
            else:
                text += "; no process works on it: W goes on with it here"
        self._message.say(text, "pending")

    def _own_session(self) -> Session:
        from console.session.session import Session

        shown = self._shown
        shown.refuse_if_read_only()
        return Session(shown.client, shown.context, shown.front_end, shown.clock)

    def _work(self, number: int, line: str) -> None:
        """Start to run an operation, unless one runs here already. line: the message to show.

        It runs as a task, not as a worker: workers are cancelled when the app exits, even in the middle of a request.
        """
        if self.at_work:
            return
        self.at_work = f"operation {number}"
        self._session = self._own_session()
        self._task = asyncio.create_task(self._course(number))
        self._message.say(clean(line, 400), "pending")
        start(self._app, partial(_shielded, self._task), group="operation", name="operation")

    async def _course(self, number: int) -> None:
        try:
            await self._reported(partial(self._worked, number))
        finally:
            self.at_work, self._session, self._task = "", None, None
            if self._app.is_running:
                self._journal.tell("")
                self._journal.read()

    def _show_progress(self, number: int, progress: Progress) -> None:
        from console.tui.past import progress_text

        if self._app.is_running:
            self._journal.tell(progress_text(number, progress))

    def _log(self, line: str) -> None:
        log.info("%s: %s", self.at_work, line)

    async def _worked(self, number: int) -> None:
        from console.session.operating import work_on
        from console.session.operation_work import Pace

        assert self._session is not None
        show = partial(self._show_progress, number)
        operation = await work_on(self._session, number, self._log, Pace(leaves=False), show)
        if not self._app.is_running:
            return
        if operation.ended is None:
            why = "; ".join(operation.progress.waits) if operation.progress is not None else ""
            self._message.say(clean(f"operation {number} ({operation.goal}) does not go on: {why}", 400), "failed")
            return
        back = f"; the way back is :back {operation.number}" if operation.has_moves else ""
        back += f": {operation.letters}" if operation.letters is not None else ""
        self._message.say(
            clean(f"operation {operation.number} ({operation.goal}) is {operation.state.value}{back}", 400), "ok"
        )

    async def _reported(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine function; if it is refused or the cluster does not answer, show the reason on the message
        line.
        """
        from console.admin.errors import AdminError
        from console.session.snapshot_reader import Refused

        try:
            await work()
        except (AdminError, Refused) as error:
            log.warning("operation: %s", error.failure)
            if self._app.is_running:
                self._message.say(failure_text(error.failure), "failed")

    # -- leaving -------------------------------------------------------------------------------------------------------

    async def leave(self) -> None:
        """Stop running the operation: wait up to `LAST_ANSWER` seconds for the response to a sent request, then release
        the lease, so that another process can continue the operation.
        """
        task, session = self._task, self._session
        if task is None or session is None:
            return
        session.work.stop()
        with_answer = asyncio.ensure_future(session.work.wait())
        await asyncio.wait({with_answer}, timeout=LAST_ANSWER)
        if not with_answer.done():
            with_answer.cancel()
            session.work.give_up()
        task.cancel()
        await asyncio.wait({task})


async def _shielded(task: asyncio.Task[None]) -> None:
    """Wait for a task. If this wait is cancelled, the task continues."""
    await asyncio.shield(task)
