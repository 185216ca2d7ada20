"""The last column of a bar: how long it has been going on, and how long it may yet."""

from __future__ import annotations

from datetime import timedelta

from rich.progress import ProgressColumn, Task
from rich.text import Text


class TimesColumn(ProgressColumn):
    """``0:00:12``, and ``0:00:12, 0:00:30 left`` where that can be told."""

    def render(self, task: Task) -> Text:
        """Whole seconds."""
        left = task.time_remaining
        more = "" if left is None or task.finished else f", {_clock(left)} left"
        return Text(_clock(task.elapsed or 0.0) + more)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
