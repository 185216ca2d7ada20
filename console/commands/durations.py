"""Durations as the language writes them: ``7d``, ``12h``, ``30min``, ``90s``, ``250ms``."""

from __future__ import annotations

from console.plan.units import TIMES, Unit, parse_amount

LONGEST_MS = 2**31 - 1
"""The longest timeout of a request, an INT32 on the wire."""


def parse_duration(text: str) -> int:
    """Milliseconds, at least 1; raises ValueError with words for the operator. A number needs its unit."""
    try:
        milliseconds = parse_amount(text, Unit.MILLISECONDS)
    except ValueError:
        raise ValueError(f"a duration is a number with a unit: {Unit.MILLISECONDS.examples}") from None
    if milliseconds < 1:
        raise ValueError("a duration is longer than nothing")
    return milliseconds


def duration_text(milliseconds: int) -> str:
    """The shortest exact writing of a duration, which `parse_duration` reads."""
    sizes = sorted(((size, unit) for unit, size in TIMES.items()), reverse=True)
    return next(f"{milliseconds // size}{unit}" for size, unit in sizes if milliseconds % size == 0)
