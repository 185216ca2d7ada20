"""The display of a run's progress: on a terminal a bar with counts and the remaining time, elsewhere plain lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

from console.present.text import clean
from console.terminal import drawn_on

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from console.lake.runs import Progress

SECONDS_BETWEEN_LINES = 15.0
"""Seconds between two lines about the same step, if the output is not a terminal."""


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Lines | Bar]:
    """Yield a display of progress that is removed at the end of the ``with`` block. stream: its output; None for
    standard error.
    """
    stream = stream or drawn_on("stderr")
    if not stream.isatty():
        yield Lines(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.table import Column
    from rich.text import Text

    class TimesColumn(ProgressColumn):
        """The elapsed time, and the remaining time if Rich can estimate it, in whole seconds: ``0:00:12, 0:00:30
        left``.
        """

        def render(self, task: Task) -> Text:
            left = task.time_remaining
            more = "" if left is None or task.finished else f", {_clock(left)} left"
            return Text(_clock(task.elapsed or 0.0) + more)

    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[counts]}", markup=False, table_column=Column(no_wrap=True)),
        TimesColumn(table_column=Column(no_wrap=True, min_width=7)),
    )
    with Progress(*columns, console=Console(file=stream, highlight=False), transient=True) as bars:
        yield Bar(bars)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))


def fraction(at: Progress) -> float:
    """Return the completed part of the job, 0 to 1. All steps have the same weight; within a step, the share of Spark's
    completed tasks counts.
    """
    within = 1.0 if at.ended else at.done / at.total if at.total else 0.0
    return min(1.0, (at.number - 1 + within) / max(1, at.steps))


class Lines:
    """A display that writes a line at the end of each step, and at intervals during it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._said = ""
        self._number = 0
        self._at = self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Write a line of text."""
        self._write(text, text)

    def step(self, at: Progress) -> None:
        """Write a line with the number of rows when a step ends; while it runs, at intervals, a line with the number of
        its finished tasks.
        """
        if at.number != self._number:
            self._number, self._began = at.number, time.monotonic()
        name = f"{at.job} {at.number}/{at.steps} {at.step}"
        if at.ended:
            rows = "" if at.rows is None else f"{at.rows:,} rows, "
            self._write(f"{name}: {rows}{time.monotonic() - self._began:.1f} s", f"{name} ended")
        elif at.total:
            self._write(f"{name}: {at.done} of {at.total} tasks", name)
        else:
            self._said, self._at = name, time.monotonic()

    def count(self, what: str, done: int, total: int, text: str) -> None:
        """Write a line about the item that was just done: ``WHAT DONE/TOTAL: TEXT``."""
        self._write(f"{what} {done}/{total}: {text}", f"{what} {done}")

    def _write(self, text: str, about: str) -> None:
        now = time.monotonic()
        if about == self._said and now - self._at < SECONDS_BETWEEN_LINES:
            return
        self._said, self._at = about, now
        self._stream.write(f"{clean(text)}\n")
        self._stream.flush()


class Bar:
    """A display with one progress bar, and lines above it."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._of = ""

    def say(self, text: str) -> None:
        """Show a text next to a bar without a known end."""
        self._show(text, text, 0.0, None, "")

    def step(self, at: Progress) -> None:
        """Set the bar to the completed part of the job; at the end of a step, also write its number of rows above the
        bar.
        """
        tasks = f"{at.done}/{at.total} tasks " if at.total else ""
        counts = f"{at.number}/{at.steps} {tasks}"
        self._show(at.job, f"{at.job} {at.step}", fraction(at), 1.0, counts)
        if at.ended:
            rows = "done" if at.rows is None else f"{at.rows:,} rows"
            self._above(f"{at.job} {at.number}/{at.steps} {at.step}: {rows}")

    def count(self, what: str, done: int, total: int, text: str) -> None:
        """Set the bar to the completed items, and write a line for this item above it."""
        self._show(what, what, done, total, f"{done}/{total}")
        self._above(f"{what} {done}/{total}: {text}")

    def _above(self, text: str) -> None:
        self._bars.console.print(clean(text), markup=False, highlight=False, soft_wrap=True)

    def _show(self, of: str, text: str, done: float, total: float | None, counts: str) -> None:
        text, counts = clean(text), clean(counts)
        if self._task is None or of != self._of:
            if self._task is not None:
                self._bars.remove_task(self._task)
            self._task, self._of = self._bars.add_task(text, total=total, counts=counts), of
        self._bars.update(self._task, description=text, completed=done, total=total, counts=counts)


Shown = Lines | Bar
"""A display of a run's progress."""
