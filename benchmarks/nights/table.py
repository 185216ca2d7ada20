"""Prints scores of nights as lines, and as a table in docs/triage-measured.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.nights.night import Night
from benchmarks.nights.score import FIRST_ROW, NAMED, TWINS, Average, Score, average

PAGE = Path(__file__).parents[2] / "docs" / "triage-measured.md"
BEGIN, END = "<!-- nights: made by python -m benchmarks.nights --table -->", "<!-- end of nights -->"


def line(score: Score) -> str:
    """Return the score of a night as lines of text."""
    parts = [
        f"{score.slug} {score.version}:",
        *(f"{name} {_points(getattr(score, name))}" for name in ("named", "step", "twin")),
        f"first row {_seconds(score.first)}",
    ]
    said = {"instead": score.instead, "harmful": score.harmful, "on the twin": score.alarms}
    return "  ".join(parts) + "".join(f"\n    {name}: {each}" for name, some in said.items() for each in some)


def summary(figures: Average) -> str:
    """Return the average figures as text, next to the required ones."""
    return (
        f"{figures.nights} nights: named {figures.named} (wanted {NAMED}), step {figures.step}, "
        f"{figures.harmful} with a harmful step (wanted 0), twins {figures.twin} (wanted {TWINS}), "
        f"median to the first row {_seconds(figures.first)} (wanted {FIRST_ROW:.0f} s)"
    )


def written(page: str, nights: Mapping[str, Night], scores: Sequence[Score], live: Sequence[Score]) -> str:
    """Return the page's text with the table of scores between its marks.

    Args:
        scores: of the flight records, judged by the present rules.
        live: of the rows that the console showed while it watched.
    """
    block = f"{BEGIN}\n{_section(nights, scores, live)}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, page, flags=re.DOTALL)


def _section(nights: Mapping[str, Night], scores: Sequence[Score], live: Sequence[Score]) -> str:
    lines = [
        "| night | version | named | step | twin | first row | said wrongly |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(_cells(nights[each.slug], each))} |" for each in scores),
        "",
    ]
    for version in sorted({each.version for each in scores}):
        now, then = (average([each for each in some if each.version == version]) for some in (scores, live))
        lines += [f"- Kafka {version}, scored from the records by the present rules: {summary(now)}."]
        lines += [f"- Kafka {version}, scored while the nights ran, by the rules at that time: {summary(then)}."]
    return "\n".join(lines)


def _cells(night: Night, score: Score) -> list[str]:
    wrong = (*score.instead, *(f"step `{each}`" for each in score.harmful), *(f"twin: {each}" for each in score.alarms))
    points = [_points(getattr(score, name)) for name in ("named", "step", "twin")]
    told = "; ".join(wrong).replace("|", "\\|").replace("\n", " ")
    return [f"[{night.name}]({night.source})", score.version, *points, _seconds(score.first), told]


def _points(points: int | None) -> str:
    return "–" if points is None else str(points)


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.0f} s"
