"""A lake from a metadata log: taken in, built, and built again after five changes, in one session and from the shell.

``python -m benchmarks.build [--megabytes 10] [--rounds 3] [--folder DIR]``: needs Java. The log is that of
`benchmarks.metadata_log` (10 MB are 157,000 records), kept in DIR. The start of the session is shown by itself, and so
is the most memory that Java and the driver had. After each five changes `history` has to have their values, and as
many rows more; nothing else of it may differ.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.figures import load, report, report_ratio
from benchmarks.metadata_log import Day, write_log

CHANGED = 5
TOPIC = "team-1.orders-{}.v1"
ROOT = Path(__file__).parents[1]


def in_session(log: str, where: str, rounds: int) -> dict[str, Any]:
    """Seconds of each part, and MiB; the lake is there afterwards."""
    from console.history.jobs.build import build
    from console.history.jobs.ingest import ingest
    from console.history.jobs.inputs import Inputs, MetadataLog
    from console.history.store import Lake
    from console.lake.spark_session import lake_session

    began = time.perf_counter()
    lake = Lake.create(where)
    with lake_session(os.environ, master="local[2]") as spark:
        from pyspark import SparkContext

        taken = {"session": time.perf_counter() - began}
        began = time.perf_counter()
        records = ingest(lambda: spark, lake, Inputs(metadata_logs=(MetadataLog(log),))).rows["kraft_record"]
        taken["ingest"] = time.perf_counter() - began
        began = time.perf_counter()
        events = build(lambda: spark, lake).rows["change_event"]
        taken["build"] = time.perf_counter() - began
        again = []
        for _ in range(rounds):
            values = five_changes(lake)
            before = rows_of_history(lake)
            began = time.perf_counter()
            build(lambda: spark, lake)
            again.append(time.perf_counter() - began)
            assert_there(lake, values, before)
        assert SparkContext._gateway is not None
        memory = most_memory(SparkContext._gateway.proc.pid) + most_memory(os.getpid())
    return {**taken, "five": again, "records": records, "events": events, "memory": memory}


def five_changes(lake: Any) -> dict[str, str]:
    """Five records more, of topics with configs; gives the values by topic."""
    from console.history.schema import KRAFT_RECORD, arrow_schema
    from console.history.store.write import writing

    now = datetime.now(UTC)
    values = {TOPIC.format(number): str(now.timestamp()) for number in range(CHANGED)}
    with writing(lake, "ingest") as write:
        (key,) = (name for name in write.release.inputs if name.startswith("kraft_log:"))
        read = dict(write.release.inputs[key])
        rows = [
            {
                "cluster_id": key.partition(":")[2],
                "log_offset": read["next_offset"] + place,
                "record_index": 0,
                "in_snapshot": False,
                "leader_epoch": 1,
                "record_ts": now,
                "record_type": "ConfigRecord",
                "api_key": 4,
                "version": 0,
                "payload": json.dumps(
                    {"resourceType": 2, "resourceName": name, "name": "retention.ms", "value": value}
                ),
                "file": "log",
            }
            for place, (name, value) in enumerate(values.items())
        ]
        fields = [field for field in arrow_schema(KRAFT_RECORD) if field.name != "run_id"]
        write.add_arrow(KRAFT_RECORD.name, pa.Table.from_pylist(rows, schema=pa.schema(fields)))
        write.remember({key: {**read, "next_offset": read["next_offset"] + CHANGED}})
        write.commit()
    return values


def rows_of_history(lake: Any) -> pa.Table:
    """All rows."""
    from console.history.schema import HISTORY
    from console.history.store import parquet_files

    return parquet_files.read(lake.filesystem, lake.files(lake.current(), HISTORY), HISTORY)


def assert_there(lake: Any, values: dict[str, str], before: pa.Table) -> None:
    """Raises AssertionError where the changes are not in `history`, or other rows differ."""
    now = rows_of_history(lake)
    current = {
        row["entity_key"]: row["new_value"]
        for row in now.to_pylist()
        if row["is_current"] and row["attr"] == "retention.ms" and row["entity_key"] in values
    }
    assert current == values, (current, values)
    closed = ("valid_to", "is_current")
    names = [name for name in now.column_names if name not in closed]
    was = {tuple(row.values()) for row in before.select(names).to_pylist()}
    new = {tuple(row.values()) for row in now.select(names).to_pylist()}
    assert was < new, "rows are gone"
    assert len(new) - len(was) == CHANGED, len(new) - len(was)


def shell(where: str) -> float:
    """Seconds of `kac lake build` as a process."""
    command = [sys.executable, "-m", "console", "lake", "build", "--lake", where, "--master", "local[2]"]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - began


def most_memory(pid: int) -> float:
    """MiB."""
    (found,) = re.findall(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found) / 1024


def measure(folder: Path, megabytes: int, rounds: int) -> None:
    """All figures."""
    from console.history.store import Lake

    report("machine", **load())
    made = folder / f"busy-{megabytes}"
    if not made.exists():
        write_log(made, megabytes << 20, Day().batches())
    with tempfile.TemporaryDirectory(dir=folder) as lakes:
        where = f"{lakes}/lake"
        log = str(made / "__cluster_metadata-0")
        command = [sys.executable, "-m", "benchmarks.build", "--measure", log, where, "--rounds", str(rounds)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        figures = json.loads(done.stdout.splitlines()[-1])
        report("in a session", **{name: figures[name] for name in ("records", "events", "session")}, **load())
        report_ratio("ingest and build, s", figures["ingest"] + figures["build"], 40.0)
        report_ratio("most memory of Java and the driver, MiB", figures["memory"], 2048.0)
        report_ratio("build after five changes in the session, s", statistics.median(figures["five"]), 10.0)
        lake = Lake.open(where)
        from_shell, nothing = [], []
        for _ in range(rounds):
            values, before = five_changes(lake), rows_of_history(lake)
            from_shell.append(shell(where))
            assert_there(lake, values, before)
            nothing.append(shell(where))
        report_ratio("build after five changes from the shell, s", statistics.median(from_shell), 20.0)
        report_ratio("build with nothing new from the shell, s", statistics.median(nothing), 1.0)
    report("machine", **load())


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.build", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", nargs=2, metavar=("LOG", "LAKE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        log, lake = arguments.measure
        print(json.dumps(in_session(log, lake, arguments.rounds)))
        return 0
    with tempfile.TemporaryDirectory() as made:
        measure(arguments.folder or Path(made), arguments.megabytes, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
