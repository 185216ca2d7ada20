"""How far an application is: what it does now, and Spark's status tracker of its tasks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

SECONDS_BETWEEN = 0.25


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    step: what it does now: a stream's name. number, steps: its place among the steps, from 1. done, total: tasks that
    Spark has planned of what runs now (the total may grow); 0 and 0 before any is known. rows: that a source's step has
    read, once it ended.
    """

    job: str
    step: str
    number: int
    steps: int
    done: int = 0
    total: int = 0
    rows: int | None = None
    ended: bool = False


Listener = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """For whom progress is of no interest."""


class Steps:
    """The steps of one job, told to a listener."""

    def __init__(self, job: str, steps: int, listener: Listener) -> None:
        self._listener = listener
        self._at = Progress(job, "", 0, steps)

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[int], None]]:
        """One step, watched for the context; what is given is called with the rows that it read."""
        self._at = at = replace(self._at, step=name, number=self._at.number + 1)
        rows: list[int] = []
        self._listener(at)
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(at, ended), name="lake progress", daemon=True)
        watch.start()
        try:
            yield rows.append
        finally:
            ended.set()
            watch.join()
        self._listener(replace(at, rows=sum(rows) if rows else None, ended=True))

    def _watch(self, at: Progress, ended: threading.Event) -> None:
        told = (0, 0)
        while not ended.wait(SECONDS_BETWEEN):
            if (now := _tasks()) != told:
                told = now
                self._listener(replace(at, done=now[0], total=now[1]))


def _tasks() -> tuple[int, int]:
    """Of the stages that run: tasks that are done, and all."""
    context: Any = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    active: Any = getattr(context, "_active_spark_context", None)
    # While it starts, and once it is stopped, it is there without its Java.
    if getattr(active, "_jsc", None) is None:
        return 0, 0
    tracker = active.statusTracker()
    found = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    stages = [each for each in found if each is not None]
    return sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)
