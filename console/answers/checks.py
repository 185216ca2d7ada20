"""The results of checks of this host and of the cluster, with a remedy for each problem, as text and as an exit
code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from console.answers.results import Detail
from console.model.numbers import Data
from console.present.names import plural


class Health(Enum):
    """The possible results of a check."""

    OK = "ok"
    NOTE = "note"
    """The checked thing works, but could be improved."""
    BAD = "bad"
    """The checked thing does not work."""


_WIDEST = 24
"""Maximum width of the column of names, in cells; a longer name shifts the rest of its line to the right."""
_MARKS = {Health.OK: "✓", Health.NOTE: "!", Health.BAD: "✗"}


@dataclass(frozen=True)
class Check:
    """The result of a check, with a remedy for a problem."""

    name: str
    health: Health
    found: str
    """What the check found, as text."""
    remedy: str = ""
    """The next step for the operator, one or more lines; ``""`` if there is no problem."""


def checks_result(checks: Sequence[Check]) -> Detail:
    """Return the checks as lines, each with a mark for its result, and the remedy on the lines below."""
    width = min(_WIDEST, max((len(each.name) for each in checks), default=0))
    lines: list[str] = []
    for each in checks:
        lines.append(f"{_MARKS[each.health]} {each.name:{width}}  {each.found}")
        if each.remedy:
            first, *more = each.remedy.split("\n")
            lines += [f"    -> {first}", *(f"       {line}" for line in more)]
    bad, notes = (sum(each.health is health for each in checks) for health in (Health.BAD, Health.NOTE))
    data: list[Data] = [
        {"name": each.name, "health": each.health.value, "found": each.found, "remedy": each.remedy or None}
        for each in checks
    ]
    title = f"{len(checks)} checks: {bad} failed, {plural(notes, 'warning')}"
    return Detail(title, {"checks": data}, tuple(lines))


def any_bad(checks: Sequence[Check]) -> bool:
    """Return whether a check has the result BAD."""
    return any(each.health is Health.BAD for each in checks)
