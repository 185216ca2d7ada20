"""Spark's session: its settings, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 120.0


def test_the_session_is_in_utc_and_on_loopback(spark: SparkSession) -> None:
    assert spark.sql("select string(timestamp '1970-01-01 00:00:00') t, hour(timestamp_seconds(0)) h").first() == (
        "1970-01-01 00:00:00",
        0,
    )
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.range(10).repartition(5).groupBy("id").count().count() == 10


INTERRUPTED = """
import os, signal, sys, threading, time
from pathlib import Path
from console.history.jobs.session import session

def interrupt():
    while True:
        for thread in Path("/proc/self/task").glob("*/children"):
            for child in thread.read_text().split():
                if Path(f"/proc/{child}/comm").read_text().strip() == sys.argv[1]:
                    os.kill(os.getpid(), signal.SIGINT)
                    return
        time.sleep(0.001)

threading.Thread(target=interrupt, daemon=True).start()
with open(sys.argv[2], "wb") as log:
    try:
        with session({"spark.master": "local[1]"}, log):
            pass
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.slow
@pytest.mark.parametrize("begun", ["bash", "java"])
def test_a_start_that_is_interrupted_leaves_no_process(begun: str, tmp_path: Path) -> None:
    mark = f"KAC_TEST_OF={tmp_path}"
    command = [sys.executable, "-c", INTERRUPTED, begun, str(tmp_path / "spark.log")]
    environ = {**os.environ, **dict([mark.split("=", 1)])}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr
    until = time.monotonic() + PATIENCE
    while left := processes_with(mark):
        assert time.monotonic() < until, left
        time.sleep(0.05)


def processes_with(variable: str) -> list[str]:
    """The command lines of processes that have a variable in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text())
    return found
