"""Compares one worker of a standalone Spark cluster with two, each on its own core: `update` by `spark-submit` with a
request log, and with a metadata log.

``python -m benchmarks.workers [--lines 8000000] [--megabytes 64] [--rounds 1] [--folder DIR]``: needs Java, and two
processors. 64 MB of metadata log are a million records. Each worker, with its executor and its Python workers, is bound
to one core. The driver is not, and its CPU time is printed separately: on a machine with two cores it slows both
workers. The figures are those of the stage whose tasks took the longest, from Spark's event log; this stage reads and
decodes the log. The sum of all stages is printed as well.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.figures import load, report, report_ratio
from benchmarks.metadata_log import Day, write_log
from benchmarks.processes import Tree
from benchmarks.requests import log_of
from console.collecting.executor_package import write_package
from console.collecting.java import Group, find_java, spark_jars
from console.lake.inputs import Inputs, MetadataLog, RequestLog
from console.lake.kraft import plan_log
from tests.support.spark_cluster import SparkCluster, spark_cluster

LEAST = {"request_log": 1.6, "kraft_log": 1.5}
"""Kind of log -> minimum factor by which two workers have to be faster than one."""
_CHECK_SECONDS = 2.0
"""Seconds between two readings of the CPU time. On two cores the readings take their time from the workers."""


@dataclass(frozen=True)
class Stages:
    """The times of a run. longest: seconds of the stage whose tasks took the longest; tasks: the number of its tasks.
    whole: seconds in which any stage ran. driver_cpu: the driver's CPU seconds. workers_cpu: CPU seconds of the
    workers with all processes below them.
    """

    longest: float
    tasks: int
    whole: float
    driver_cpu: float
    workers_cpu: float


def bind(pid: int, core: int) -> None:
    """Bind all threads of a process, and the threads that they start, to a core."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


def run(inputs: Inputs, workers: int, folder: Path) -> Stages:
    """Run `update` on a new lake with this many workers, and return the times of its stages."""
    package, script = write_package(folder / "kac-lake.zip")
    jars = spark_jars(os.environ, [Group.DELTA], find_java(os.environ).program)
    events, conf, place = folder / "events", folder / "conf", folder / "cluster"
    for each in (events, conf, place):
        each.mkdir()
    (conf / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir {events.as_uri()}\nspark.eventLog.compress false\n"
        "spark.eventLog.rolling.enabled false\n"
    )
    with spark_cluster(place, workers) as cluster:
        # Skip the first process, which is the master.
        running = cluster.processes[1:]
        for process, core in zip(running, sorted(os.sched_getaffinity(0)), strict=False):
            bind(process.pid, core)
        watched = replace(cluster, environ={**cluster.environ, "SPARK_CONF_DIR": str(conf)})
        with ExitStack() as watching:
            every, *trees = (
                watching.enter_context(Tree(pid, _CHECK_SECONDS))
                for pid in (os.getpid(), *(process.pid for process in running))
            )
            before = every.cost().cpu, sum(tree.cost().cpu for tree in trees)
            _submit(watched, script, inputs, folder, package, jars)
            spent = sum(tree.cost().cpu for tree in trees) - before[1]
            driver = every.cost().cpu - before[0] - spent
    return stages(events, driver, spent)


def _submit(
    cluster: SparkCluster, script: Path, inputs: Inputs, folder: Path, package: Path, jars: Sequence[Path]
) -> None:
    given = ["update", str(folder / "lake"), msgspec.json.encode(inputs).decode()]
    done = cluster.submit(script, given, zips=package, jars=jars)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    assert all(count > 0 for count in cluster.executors), "a worker had nothing to do"


def stages(events: Path, driver_cpu: float, workers_cpu: float) -> Stages:
    """Return the times of the stages in Spark's event log; the CPU seconds are those given."""
    spans: dict[int, tuple[int, int]] = {}
    tasks: dict[int, list[int]] = {}
    for event in _events(events):
        if event["Event"] == "SparkListenerStageCompleted":
            stage = event["Stage Info"]
            if "Submission Time" in stage and "Completion Time" in stage:
                spans[stage["Stage ID"]] = stage["Submission Time"], stage["Completion Time"]
        elif event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            tasks.setdefault(event["Stage ID"], []).append(info["Finish Time"] - info["Launch Time"])
    longest = max(spans, key=lambda each: sum(tasks.get(each, ())))
    begin, end = spans[longest]
    first = min(begin for begin, _ in spans.values())
    whole, upto = 0, first
    for start, stop in sorted(spans.values()):
        whole += max(0, stop - max(upto, start))
        upto = max(upto, stop)
    return Stages((end - begin) / 1000, len(tasks[longest]), whole / 1000, driver_cpu, workers_cpu)


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    (log,) = (path for path in folder.iterdir() if re.fullmatch(r"app-[0-9-]+", path.name))
    with log.open() as lines:
        for line in lines:
            yield json.loads(line)


def compare(name: str, inputs: Inputs, rows: int, rounds: int, folder: Path) -> None:
    """Run one worker and two workers in turn, `rounds` times each. Report each run, and the ratio of the median seconds
    to its limit.
    """
    taken: dict[int, list[Stages]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, found in taken.items():
            with tempfile.TemporaryDirectory(dir=folder) as own:
                found.append(run(inputs, workers, Path(own)))
            shown = {key: round(value, 2) for key, value in vars(found[-1]).items()}
            report(
                f"{name}, {workers} workers",
                rows=rows,
                rows_a_second=round(rows / found[-1].longest),
                **shown,
                **load(),
            )
    one, two = (statistics.median(each.longest for each in found) for found in taken.values())
    report_ratio(f"{name}: one worker's seconds / two workers'", one / two, LEAST[name], at_least=True)
    one, two = (statistics.median(each.whole for each in found) for found in taken.values())
    report(f"{name}, all stages: one worker's seconds / two workers'", ratio=round(one / two, 2))


def main() -> int:
    """Run `update` with one worker and with two in turn, for both kinds of log, and print a line of JSON for each
    figure. Return 0.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--lines", type=int, default=8_000_000, help="of the request log; 0: none")
    parser.add_argument("--megabytes", type=int, default=64, help="of the metadata log; 0: none")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        if given.lines:
            log = RequestLog((str(log_of(folder, given.lines)),), "benchmark", 1)
            compare("request_log", Inputs((), (log,)), given.lines, given.rounds, folder)
        if given.megabytes:
            written = folder / f"busy-{given.megabytes}"
            if not written.exists():
                write_log(written, given.megabytes << 20, Day().batches())
            where = str(written / "__cluster_metadata-0")
            inputs = Inputs((MetadataLog(where),))
            compare("kraft_log", inputs, plan_log([where]).next_offset, given.rounds, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
