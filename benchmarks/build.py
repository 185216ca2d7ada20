"""Measures the building of a lake from a metadata log: `kac lake update` on the whole log; then five new changes at a
time, read by `kac lake update` and by a running `kac lake run`; and an update without new records.

``python -m benchmarks.build [--megabytes 10] [--rounds 5] [--folder DIR]``: needs Java. The log is that of
`benchmarks.metadata_log` (10 MB are 157,000 records), kept in DIR; changes are appended to a copy of its file. The
class archive of Spark's Java is used if the cache has it: the very first run makes it in the background, so run this
twice. After each five changes `history` must have their values in as many new rows, and its other rows must be
unchanged. The seconds end when a reader without Spark sees the changes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import load, report, report_ratio
from benchmarks.metadata_log import Day, write_log
from benchmarks.processes import Cost, Watched, cost_of, kac, watched
from console.lake.kraft import plan_log
from console.lake.lake import Lake
from console.lake.reader import Tables
from console.lake.runs import GOLD, committed
from console.lake.schema import HISTORY, KRAFT_RECORD
from tests.support.lake_reading import rows_in
from tests.support.metadata_log import batch, value

CHANGED = 5
TOPIC, KEY = "team-1.orders-{}.v1", "retention.ms"
PATIENCE = 600.0
_CHECK_SECONDS = 0.05
_CLOSED = ("valid_to", "is_current", "made")
"""The columns of a `history` row that change when a newer row for the same value follows it."""


@dataclass
class Growing:
    """A lake, and the metadata log that it is built from, to which changes are appended."""

    lake: Lake
    log: Path
    values: dict[str, str] = field(default_factory=dict)
    _before: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def update(self) -> list[str]:
        """Return the command line of `kac lake update` for this lake."""
        return kac("lake", "update", "--lake", self.lake.where, "--master", "local[2]")

    def change(self) -> None:
        """Append a batch of five records to the log, with changes of topics' configs."""
        self._before = self._rows()
        now = time.time_ns() // 1_000_000
        self.values = {TOPIC.format(number): str(now + number) for number in range(CHANGED)}
        records = [
            value("ConfigRecord", resourceType=2, resourceName=name, name=KEY, value=text)
            for name, text in self.values.items()
        ]
        end = plan_log([str(self.log)]).next_offset
        with next(self.log.glob("*.log")).open("ab") as file:
            file.write(batch(end, records, stamp_ms=now))

    def is_there(self) -> bool:
        """Return whether a reader of the lake sees the values of the last five changes."""
        names = ", ".join(f"'{name}'" for name in self.values)
        where = f"is_current AND attr = '{KEY}' AND entity_key IN ({names})"
        return dict(rows_in(self.lake, HISTORY, "entity_key, new_value", where)) == self.values

    def check(self) -> None:
        """Raise AssertionError unless `history` has the last five changes, and its other rows are unchanged."""
        assert self.is_there(), self.values
        now = self._rows()
        assert not self._before - now, f"rows are gone: {list(self._before - now)[:3]}"
        assert (now - self._before).total() == CHANGED, list(now - self._before)[:9]

    def _rows(self) -> Counter[tuple[Any, ...]]:
        names = ", ".join(name for name in HISTORY.names if name not in _CLOSED)
        return Counter(rows_in(self.lake, HISTORY, names))


def until(is_so: Callable[[], bool], running: Watched) -> None:
    """Wait until a condition holds. Raises TimeoutError after `PATIENCE` seconds, and SystemExit if the command
    `running` ends before that.
    """
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if running.process.poll() is not None:
            raise SystemExit(f"kac lake run ended with {running.process.returncode}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in {PATIENCE:g} s")
        time.sleep(_CHECK_SECONDS)


def while_it_runs(growing: Growing, rounds: int) -> None:
    """Append five changes `rounds` times while one `kac lake run` runs. Report the median seconds until a reader sees
    them, and the median CPU seconds of their batch.
    """
    seconds: list[float] = []
    batches: list[Cost] = []
    with watched(kac("lake", "run", "--lake", growing.lake.where, "--master", "local[2]")) as running:
        for _ in range(rounds + 1):
            until(lambda: committed(growing.lake, GOLD) is not None, running)
            growing.change()
            before, began = running.cost(), time.perf_counter()
            until(growing.is_there, running)
            seconds.append(time.perf_counter() - began)
            # Wait for the tables that follow `history` in the same batch, because they are part of the cost.
            until(lambda: committed(growing.lake, GOLD) is not None, running)
            batches.append(running.cost() - before)
            growing.check()
        running.process.send_signal(signal.SIGTERM)
        whole = running.wait()
    report("run: the first batch, session included", seconds=round(seconds[0], 2), **batches[0].shown())
    report("run: the whole session", **whole.shown())
    spread = {"min": min(seconds[1:]), "median": statistics.median(seconds[1:]), "max": max(seconds[1:])}
    report("run: five changes to a reader", seconds={name: round(each, 2) for name, each in spread.items()}, **load())
    report_ratio("run: five changes to a reader, median s", spread["median"], 6.0)
    report_ratio("run: CPU s a batch, median", statistics.median(each.cpu for each in batches[1:]), 6.0)


def measure(folder: Path, megabytes: int, rounds: int) -> None:
    """Build a lake from a log of `megabytes` MiB, add changes `rounds` times, and report the costs."""
    report("machine", **load())
    made = folder / f"busy-{megabytes}"
    if not made.exists():
        write_log(made, megabytes << 20, Day().batches())
    with tempfile.TemporaryDirectory(dir=folder) as own:
        where = Path(own, "lake")
        where.mkdir()
        shutil.copytree(made, Path(own, "log"))
        log = Path(own, "log", "__cluster_metadata-0")
        sources = {"version": "1", "clusters": [{"metadata-log": str(log)}]}
        (where / "sources.yaml").write_text(json.dumps(sources))
        growing = Growing(Lake.create(str(where)), log)
        whole = cost_of(growing.update())
        tables = Tables(growing.lake.where)
        records, rows = (tables.select("count(*)", table)[0][0] for table in (KRAFT_RECORD, HISTORY))
        tables.close()
        report("update from the shell, all of it", records=records, history=rows, **whole.shown())
        report_ratio("update from the shell, all of it: CPU s", whole.cpu, 45.0)
        report_ratio("update from the shell, all of it: Java's most MiB", whole.java, 900.0)
        few, nothing = [], []
        for _ in range(rounds):
            growing.change()
            few.append(cost_of(growing.update()))
            growing.check()
            nothing.append(cost_of(growing.update()))
            assert nothing[-1].java == 0, "Java was started"
        for what, costs in (("five changes", few), ("nothing new", nothing)):
            report(f"update from the shell, {what}", **sorted(costs, key=lambda each: each.cpu)[rounds // 2].shown())
        report_ratio("update from the shell, five changes: CPU s", statistics.median(each.cpu for each in few), 25.0)
        report_ratio("update from the shell, nothing new: s", statistics.median(each.wall for each in nothing), 1.0)
        while_it_runs(growing, rounds)
    report("machine", **load())


def main() -> int:
    """Build the lake and add changes, as the options say, and print a line of JSON for each figure. Return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.build", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        measure(arguments.folder or Path(made), arguments.megabytes, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
