"""How far a job is: what the step itself says, or Spark's status tracker of its tasks."""

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

    step: what it does now, mostly a table's name. number, steps: its place among the steps, from 1. done, total: tasks
    in this step, as far as Spark has planned them (the total may grow); 0 and 0 before any is known. rows: that the
    step has written, once it ended.
    """

    job: str
    step: str
    number: int
    steps: int
    done: int = 0
    total: int = 0
    rows: int = 0
    ended: bool = False


Listener = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """For whom progress is of no interest."""


class Steps:
    """The steps of one job, told to a listener."""

    def __init__(self, job: str, steps: int, listener: Listener) -> None:
        self._job = job
        self._steps = steps
        self._listener = listener
        self._number = 0
        self._at = Progress(job, "", 0, steps)

    def done(self, done: int, total: int) -> None:
        """How many tasks of the step that runs are done."""
        self._listener(replace(self._at, done=done, total=total))

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[int], None]]:
        """One step, watched for the context; what is given is called with the rows that it wrote."""
        self._number += 1
        self._at = at = Progress(self._job, name, self._number, self._steps)
        rows = 0

        def wrote(count: int) -> None:
            nonlocal rows
            rows = count

        self._listener(at)
        context = running()
        # Jobs of a Spark that the step itself starts are in no group.
        group = None if context is None else f"{self._job} {self._number} {name}"
        if context is not None:
            context.setJobGroup(group, f"{self._job}: {name}")
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(at, group, ended), daemon=True)
        watch.start()
        try:
            yield wrote
        finally:
            ended.set()
            watch.join()
            if context is not None:
                context.setLocalProperty("spark.jobGroup.id", None)
        _, total = _tasks(group)  # some of it Spark skips, as it was done before
        self._listener(Progress(self._job, name, at.number, at.steps, total, total, rows, ended=True))

    def _watch(self, at: Progress, group: str | None, ended: threading.Event) -> None:
        told = (0, 0)
        while not ended.wait(SECONDS_BETWEEN):
            now = _tasks(group)
            if now != told:
                told = now
                self._listener(Progress(at.job, at.step, at.number, at.steps, *now))


def running() -> Any:
    """The context of the Spark that runs in this process; None: none does."""
    pyspark = sys.modules.get("pyspark")
    context = None if pyspark is None else getattr(pyspark, "SparkContext", None)
    active = getattr(context, "_active_spark_context", None)
    # While it starts, and once it is stopped, it is there without its Java.
    return active if getattr(active, "_jsc", None) is not None else None


def _tasks(group: str | None) -> tuple[int, int]:
    done = total = 0
    if (context := running()) is None:
        return done, total
    tracker = context.statusTracker()
    for number in tracker.getJobIdsForGroup(group):
        job = tracker.getJobInfo(number)
        for stage in job.stageIds if job is not None else ():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done += info.numCompletedTasks
                total += info.numTasks
    return done, total
