"""Staging of the next step that triage or lint proposes for a cause or finding: the step's own edits, or the edits
of its command.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.tui.reading import start
from console.tui.tools import Tools

if TYPE_CHECKING:
    from textual.app import App

    from console.present.triage import Staging
    from console.triage.cause import Next


class NextSteps:
    """The action of the key that stages the remedy of the cause or finding under the cursor."""

    def __init__(self, tools: Tools) -> None:
        self._cluster = tools.cluster
        self._staging: tuple[tuple[object, object, object], Staging | None] = ((None,) * 3, None)
        self._editing, self._message, self._execute = tools.editing, tools.message, tools.execute

    def staging(self, steps: Sequence[Next]) -> Staging | None:
        """Return the effect of the step that the key would stage; None if no step has edits or a command. The effect
        is cached until the cluster or the plan changes, because a step may have an edit for each partition.
        """
        session = self._cluster.session
        known = (steps, session.snapshot, session.plan)
        was = self._staging[0]
        if was[0] != steps or was[1] is not session.snapshot or was[2] is not session.plan:
            from console.session.staged_steps import staging_of

            read_only = session.context.read_only
            found = staging_of(steps, session.snapshot, session.plan, read_only=read_only)
            self._staging = (known, found)
        return self._staging[1]

    def take(self, steps: Sequence[Next], app: App[object]) -> None:
        """Stage the first step that has edits or a command; if there is none, show the steps' text.

        Args:
            app: the app, which runs the command.
        """
        from console.session.staged_steps import first_step

        step = first_step(steps)
        if step is None:
            where = "; ".join(each.text for each in steps)
            self._message.say(f"nothing to stage, what mends it is outside of Kafka: {where}", "muted")
        elif step.edits:
            self._editing.stage(step.edits)
        else:
            start(app, partial(self._carry_out, step), group="command", name="command")

    async def _carry_out(self, step: Next) -> None:
        """Stage the edits of a step's command. If the command only shows something or can't be parsed, open the command
        bar with it.
        """
        from console.language.errors import LanguageError
        from console.language.grammar import parse
        from console.language.statements import EditStatement, Where

        try:
            statements = parse(step.command, Where.BAR)
        except LanguageError:
            statements = ()
        if not statements or not all(isinstance(each, EditStatement) for each in statements):
            self._editing.begin(step.command)
        elif (error := await self._execute(statements)) is not None:
            self._message.say(str(error), "failed")
