"""Checks of what is here or can be reached, with a remedy for each problem: how they are shown, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from console.answers.results import Column, Row, Table


class Health(Enum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"
    """It works, and could be better."""
    BAD = "bad"
    """It does not work."""


_MARKS = {Health.OK: "✓", Health.NOTE: "!", Health.BAD: "✗"}


@dataclass(frozen=True)
class Check:
    """One check. found: the present state. remedy: what to do, or empty text."""

    name: str
    health: Health
    found: str
    remedy: str = ""


def checks_table(found: Sequence[Check]) -> Table:
    """The checks as rows, a mark before each."""
    rows = tuple(
        Row(
            (_MARKS[each.health], each.name, each.found, f"-> {each.remedy}" if each.remedy else ""),
            {"name": each.name, "health": each.health.value, "found": each.found, "remedy": each.remedy or None},
        )
        for each in found
    )
    return Table("checks", (Column(""), Column(""), Column("FOUND"), Column("WHAT TO DO")), rows)


def any_bad(found: Sequence[Check]) -> bool:
    """Whether something does not work."""
    return any(each.health is Health.BAD for each in found)
