"""Checks of this host and of the cluster, with a remedy for each problem: how they are shown, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from console.answers.results import Detail
from console.model.numbers import Data
from console.present.names import plural


class Health(Enum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"
    """It works, and could be better."""
    BAD = "bad"
    """It does not work."""


_WIDEST = 24
"""The widest column of names, in cells; longer ones push what was found to the right."""
_MARKS = {Health.OK: "✓", Health.NOTE: "!", Health.BAD: "✗"}


@dataclass(frozen=True)
class Check:
    """One check. found: the present state. remedy: what to do; ``""`` where nothing is wrong."""

    name: str
    health: Health
    found: str
    remedy: str = ""


def checks_result(checks: Sequence[Check]) -> Detail:
    """Return the checks as lines, each with a mark and its remedy below: beside each other they are wider than a
    terminal.
    """
    width = min(_WIDEST, max((len(each.name) for each in checks), default=0))
    lines: list[str] = []
    for each in checks:
        lines.append(f"{_MARKS[each.health]} {each.name:{width}}  {each.found}")
        if each.remedy:
            lines.append(f"    -> {each.remedy}")
    bad, notes = (sum(each.health is health for each in checks) for health in (Health.BAD, Health.NOTE))
    data: list[Data] = [
        {"name": each.name, "health": each.health.value, "found": each.found, "remedy": each.remedy or None}
        for each in checks
    ]
    title = f"{len(checks)} checks: {bad} failed, {plural(notes, 'warning')}"
    return Detail(title, {"checks": data}, tuple(lines))


def any_bad(checks: Sequence[Check]) -> bool:
    """Return whether a check failed."""
    return any(each.health is Health.BAD for each in checks)
