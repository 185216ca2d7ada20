"""The plan as commands, of kac's language or of Kafka's own tools, for a script or a runbook. They contain no
secrets.
"""

from __future__ import annotations

from console.admin.settings import ConnectionSettings
from console.answers.plan_results import runbook_text
from console.language.interpret import command_of
from console.model.snapshot import Snapshot
from console.plan.amounts import duration_text
from console.plan.plan import Plan
from console.plan.staged import Staged
from console.present.text import Line, clean

SCRIPT, RUNBOOK = "the plan as a script", "the plan as commands of Kafka's tools"
"""The titles of the two texts."""


def script_lines(plan: Plan, most: int | None = None) -> list[Line]:
    """Return the plan as commands of kac's language, one in each line, for a screen.

    Args:
        most: the maximum number of commands, from the first; None for all.
    """
    # Don't cut commands: without its end, a command would be another one.
    return [[(clean(line, len(line) + 1), "")] for line in script(plan, most).split("\n")]


def runbook_lines(plan: Plan, snapshot: Snapshot, settings: ConnectionSettings) -> list[Line]:
    """Return the plan as commands of Kafka's own tools, with comments, for a screen."""
    text = runbook_text(plan, snapshot, settings) or "# nothing is staged"
    return [[(clean(line, len(line) + 1), "muted" if line.startswith("#") else "")] for line in text.split("\n")]


def script(plan: Plan, most: int | None = None) -> str:
    """Return the plan as commands of kac's language, one per line, in the order of staging.

    Args:
        most: the maximum number of commands, from the first; None for all.
    """
    return "\n".join(command_of(staged.edit) + _lasting(staged) for staged in plan.staged[:most])


def _lasting(staged: Staged) -> str:
    return f" for {duration_text(staged.lasts_ms)}" if staged.lasts_ms is not None else ""
