"""How figures are taken and printed: medians of interleaved runs, a line of JSON each, limits beside ratios."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Mapping

Measure = Callable[[], float]
"""Runs once, and returns the milliseconds that it took."""


def interleaved(measures: Mapping[str, Measure], rounds: int) -> dict[str, list[float]]:
    """Each measure in turn, `rounds` times, after one round that is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(rounds + 1):
        for name, measure in measures.items():
            milliseconds = measure()
            if turn:
                taken[name].append(milliseconds)
    return taken


def report(what: str, **figures: object) -> None:
    """One line of JSON."""
    print(json.dumps({"what": what, **figures}), flush=True)


def report_times(what: str, taken: Mapping[str, list[float]]) -> dict[str, float]:
    """Minimum, median and maximum of each, in ms; gives the medians."""
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        spread = {"min": round(min(times), 1), "median": round(medians[name], 1), "max": round(max(times), 1)}
        report(what, who=name, ms=spread, runs=len(times))
    return medians


def report_ratio(what: str, value: float, limit: float, *, at_least: bool = False) -> None:
    """A ratio, or any figure, against the most that it may be; `at_least`: against the least."""
    report(what, ratio=round(value, 3), limit=limit, ok=value >= limit if at_least else value <= limit)


def load() -> dict[str, object]:
    """How many processors there are, and how many processes wanted them in the last minute."""
    return {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
