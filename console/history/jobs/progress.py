"""How far a job is: what Spark's status tracker reports of the tasks of a step, while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

SECONDS_BETWEEN = 0.25


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    step: what it does now, mostly a table's name. number, steps: its place among the steps, from 1. done, total: tasks
    of Spark in this step, as far as Spark has planned them (the total may grow); 0 and 0 before any is known. rows:
    that the step has written, once it ended.
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

    def __init__(self, spark: SparkSession, job: str, steps: int, listener: Listener) -> None:
        self._spark = spark
        self._job = job
        self._steps = steps
        self._listener = listener
        self._number = 0

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[int], None]]:
        """One step, watched for the context; what is given is called with the rows that it wrote."""
        self._number += 1
        at = Progress(self._job, name, self._number, self._steps)
        rows = 0

        def wrote(count: int) -> None:
            nonlocal rows
            rows = count

        self._listener(at)
        group = f"{self._job} {self._number} {name}"
        context = self._spark.sparkContext
        context.setJobGroup(group, f"{self._job}: {name}")
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(at, group, ended), daemon=True)
        watch.start()
        try:
            yield wrote
        finally:
            ended.set()
            watch.join()
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        _, total = _tasks(self._spark, group)  # some of it Spark skips, as it was done before
        self._listener(Progress(self._job, name, at.number, at.steps, total, total, rows, ended=True))

    def _watch(self, at: Progress, group: str, ended: threading.Event) -> None:
        told = (0, 0)
        while not ended.wait(SECONDS_BETWEEN):
            now = _tasks(self._spark, group)
            if now != told:
                told = now
                self._listener(Progress(at.job, at.step, at.number, at.steps, *now))


def _tasks(spark: SparkSession, group: str) -> tuple[int, int]:
    tracker = spark.sparkContext.statusTracker()
    done = total = 0
    for number in tracker.getJobIdsForGroup(group):
        job = tracker.getJobInfo(number)
        for stage in job.stageIds if job is not None else ():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done += info.numCompletedTasks
                total += info.numTasks
    return done, total
