"""Durations as the language writes them: ``7d``, ``12h``, ``30min``, ``90s``, ``250ms``."""

from __future__ import annotations

import re

_MILLISECONDS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,15})(ms|s|min|h|d)")
LONGEST_MS = 2**31 - 1
UNITS = ", ".join(reversed(_MILLISECONDS))


def parse_duration(text: str) -> int:
    """Milliseconds, at least 1; raises ValueError with words for the operator. A number needs its unit."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"a duration is a whole number with a unit ({UNITS}), such as 90s or 12h")
    milliseconds = int(found[1]) * _MILLISECONDS[found[2]]
    if milliseconds < 1:
        raise ValueError("a duration is longer than nothing")
    return milliseconds


def duration_text(milliseconds: int) -> str:
    """The shortest exact writing of a duration, which `parse_duration` reads."""
    for unit, size in reversed(_MILLISECONDS.items()):
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    raise AssertionError("every whole number is a multiple of 1 ms")
