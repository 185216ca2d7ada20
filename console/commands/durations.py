"""Durations as the language writes them: ``7d``, ``12h``, ``30min``, ``90s``, ``250ms``."""

from __future__ import annotations

from console.plan.amounts import Unit, duration_text, parse_amount

__all__ = ["LONGEST_MS", "duration_text", "parse_duration"]

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
