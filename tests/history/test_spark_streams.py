"""Metadata logs and request logs as streams of Spark: every record and line once, while logs grow, rotate and are cut,
and the process is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.history.endless_streams import CLUSTER
from tests.history.request_lines import produce
from tests.support.metadata_log import batch, value
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

AT = datetime(2026, 11, 21, 10, 0, 0, 123000)
RECORDS, LINES = 7, 50
"""Of a step."""


class Logs:
    """A metadata log and a request log that grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inside = folder / "__cluster_metadata-0"
        self.inside.mkdir()
        (folder / "logs").mkdir()
        (folder / "meta.properties").write_text(f"cluster.id={CLUSTER}\n")
        self.offset = self.lines = 0
        self.segment = self.inside / f"{0:020}.log"
        self.request_log = folder / "logs" / "request.log"
        self.rotated = 0

    def grow(self) -> None:
        """A batch, and lines of which the last is not whole yet."""
        values = [value("TopicRecord", name=f"t-{self.offset + each}", topicId="A" * 22) for each in range(RECORDS)]
        made = batch(self.offset, values)
        with self.segment.open("ab") as file:
            file.write(made[: len(made) // 2])
            file.flush()
            file.write(made[len(made) // 2 :])
        self.offset += RECORDS
        with self.request_log.open("a") as file:
            for _ in range(LINES):
                line = produce(100, at=AT + timedelta(milliseconds=200 * self.lines), correlation_id=self.lines).line
                file.write(line[:300])
                file.flush()
                file.write(line[300:])
                self.lines += 1

    def rotate(self) -> None:
        """Another segment, and another file for requests."""
        self.segment = self.inside / f"{self.offset:020}.log"
        self.rotated += 1
        self.request_log.rename(self.request_log.with_name(f"request.log.{self.rotated}"))

    def half(self) -> None:
        """Lines that are not whole: they wait."""
        with self.segment.open("ab") as file:
            file.write(batch(self.offset, [value("NoOpRecord")])[:20])
        with self.request_log.open("a") as file:
            file.write(produce(100).line[:100])

    def cut(self) -> None:
        """What was not whole goes, as after a crash of the broker."""
        os.truncate(self.segment, self.segment.stat().st_size - 20)
        os.truncate(self.request_log, self.request_log.stat().st_size - 100)


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)])
def test_every_record_and_line_is_streamed_once(tmp_path: Path, kills: int) -> None:
    logs, dice = Logs(tmp_path), random.Random(4)
    logs.grow()
    for number in range(kills + 1):
        process = started(tmp_path)
        try:
            # What a batch may be made of while the process is killed.
            batches = 1 if number == kills else dice.randint(1, 3)
            for _ in range(batches):
                logs.grow()
                logs.half()
                until(process, lambda: len(records(tmp_path)) >= logs.offset)
                logs.cut()
                logs.rotate()
                logs.grow()
            if number == kills:
                until(process, lambda: (len(records(tmp_path)), requests(tmp_path)) >= (logs.offset, logs.lines))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert sorted(records(tmp_path)) == list(range(logs.offset))
    assert requests(tmp_path) == logs.lines


def started(folder: Path) -> subprocess.Popen[bytes]:
    """Java is of its group, and is killed with it."""
    command = [sys.executable, "-m", "tests.history.endless_streams", str(folder)]
    with (folder / "streams.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def until(process: subprocess.Popen[bytes], holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert process.poll() is None, "it ended by itself: streams.log says why"
        assert time.monotonic() < deadline
        time.sleep(0.2)


def committed(sink: Path) -> list[str]:
    """The files that the sink's own log names: others are of batches that were killed."""
    found: dict[str, None] = {}
    for log in (sink / "_spark_metadata").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:
            found[json.loads(line)["path"].removeprefix("file://")] = None
    return list(found)


def ask(folder: Path, name: str, sql: str) -> list[Any]:
    files = committed(folder / name)
    with duckdb.connect() as database:
        return database.execute(sql, [files]).fetchall() if files else []


def records(folder: Path) -> list[int]:
    return [offset for (offset,) in ask(folder, "records", "SELECT log_offset FROM read_parquet(?)")]


def requests(folder: Path) -> int:
    found = ask(folder, "requests", "SELECT coalesce(sum(second.requests), 0) FROM read_parquet(?)")
    return int(found[0][0]) if found else 0
