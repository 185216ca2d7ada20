"""The contents of a dead-letter topic, and the letters that a redrive would send, as results. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from console.answers.results import Table, table_of
from console.model.dead_letters import Redrive, Survey
from console.plan.risk_rules import Risk
from console.present import dead_letters


def letters_table(goal: Redrive, found: Survey, most: int | None, notes: Sequence[str], *, masked: bool) -> Table:
    """Return the letters counted by original topic, exception and age, with the forecast of the redrive as notes.

    Args:
        most: maximum letters that are sent per second; None for no limit.
        notes: further lines below the table.
        masked: whether the texts of exceptions are hidden.
    """
    rows = dead_letters.pile_rows(found, masked=masked)
    table = table_of("letters", dead_letters.PILES, rows, f"letters of {goal.topic}", "no letter is left to look at")
    return replace(table, notes=(*dead_letters.forecast_lines(goal, found, most), *notes))


def warning_lines(risks: Sequence[Risk]) -> list[str]:
    """Return a line for each warning."""
    return [f"! {each.name}: {each.text}" for each in risks]
