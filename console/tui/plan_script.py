"""The plan as commands of the language, for a script or a runbook; secrets stay out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from console.answers.plan_results import runbook_text
from console.language.interpret import command_of
from console.plan.amounts import duration_text
from console.plan.plan import Plan
from console.plan.staged import Staged
from console.present.text import Line, clean
from console.session.session import Session


class TextHost(Protocol):
    """Where a text is shown: the app."""

    @property
    def session(self) -> Session:
        """The session that is shown."""
        ...

    def show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        """Show a text above the panes; `make` returns its lines for a width."""
        ...


def show_script(host: TextHost) -> None:
    """Show the plan as commands of the language, to copy into a script."""
    # Not cut: a command without its end would be another command.
    lines: list[Line] = [[(clean(line, len(line) + 1), "")] for line in script(host.session.plan).split("\n")]
    host.show_text("the plan as a script", lambda _width: lines)


def show_runbook(host: TextHost) -> None:
    """Show the plan as commands of Kafka's own tools, to copy into a runbook."""
    session = host.session
    text = runbook_text(session.plan, session.snapshot, session.context.settings) or "# nothing is staged"
    lines: list[Line] = [
        [(clean(line, len(line) + 1), "muted" if line.startswith("#") else "")] for line in text.split("\n")
    ]
    host.show_text("the plan as commands of Kafka's tools", lambda _width: lines)


def script(plan: Plan) -> str:
    """One command a line, in the order in which the edits were staged."""
    return "\n".join(command_of(staged.edit) + _lasting(staged) for staged in plan.staged)


def _lasting(staged: Staged) -> str:
    return f" for {duration_text(staged.lasts_ms)}" if staged.lasts_ms is not None else ""
