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
        self._listener = listener
        self._at = Progress(job, "", 0, steps)

    def done(self, done: int, total: int) -> None:
        """How many tasks of the step that runs are done."""
        self._listener(replace(self._at, done=done, total=total))

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[int], None]]:
        """One step, watched for the context; what is given is called with the rows that it wrote."""
        self._at = at = replace(self._at, step=name, number=self._at.number + 1)
        rows: list[int] = []
        self._listener(at)
        context = running()
        # Jobs of a Spark that the step itself starts are in no group.
        group = None if context is None else f"{at.job} {at.number} {name}"
        if context is not None:
            context.setJobGroup(group, f"{at.job}: {name}")
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(group, ended), daemon=True)
        watch.start()
        try:
            yield rows.append
        finally:
            ended.set()
            watch.join()
            if context is not None:
                context.setLocalProperty("spark.jobGroup.id", None)
        _, total = _tasks(group)  # some of it Spark skips, as it was done before
        self._listener(replace(at, done=total, total=total, rows=sum(rows), ended=True))

    def _watch(self, group: str | None, ended: threading.Event) -> None:
        told = (0, 0)
        while not ended.wait(SECONDS_BETWEEN):
            if (now := _tasks(group)) != told:
                told = now
                self.done(*now)


def running() -> Any:
    """The context of the Spark that runs in this process; None: none does."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    active = getattr(context, "_active_spark_context", None)
    # While it starts, and once it is stopped, it is there without its Java.
    return active if getattr(active, "_jsc", None) is not None else None


def _tasks(group: str | None) -> tuple[int, int]:
    if (context := running()) is None:
        return 0, 0
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group)]
    found = [tracker.getStageInfo(number) for job in jobs if job is not None for number in job.stageIds]
    stages = [each for each in found if each is not None]
    return sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)
