"""Measures and prints figures: medians of interleaved runs, a line of JSON for each figure, and ratios with their
limits.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Mapping

Measure = Callable[[], float]
"""A function that runs the measured work once, and returns the milliseconds that it took."""


def interleaved(measures: Mapping[str, Measure], rounds: int) -> dict[str, list[float]]:
    """Run all measures one after another, `rounds` times, after a round that is not counted. Return name -> the
    milliseconds of each run.
    """
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(rounds + 1):
        for name, measure in measures.items():
            milliseconds = measure()
            if turn:
                taken[name].append(milliseconds)
    return taken


def report(what: str, **figures: object) -> None:
    """Print a name and its figures as a line of JSON."""
    print(json.dumps({"what": what, **figures}), flush=True)


def report_times(what: str, taken: Mapping[str, list[float]]) -> dict[str, float]:
    """Print the minimum, median and maximum of each measure in ms. Return name -> its median in ms."""
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        spread = {"min": round(min(times), 1), "median": round(medians[name], 1), "max": round(max(times), 1)}
        report(what, who=name, ms=spread, runs=len(times))
    return medians


def report_ratio(what: str, value: float, limit: float, *, at_least: bool = False) -> None:
    """Print a ratio or another figure with its limit, and whether it keeps the limit: it must be at most `limit`, or
    with `at_least` at least `limit`.
    """
    report(what, ratio=round(value, 3), limit=limit, ok=value >= limit if at_least else value <= limit)


def load() -> dict[str, object]:
    """Return the number of processors, and the load average of the last minute, by name."""
    return {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
