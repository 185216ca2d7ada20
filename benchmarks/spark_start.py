"""Spark from the start of a process to its first aggregation: ``python -m benchmarks.spark_start [--rounds 5]``.

As `kac lake` starts it, with the archive of classes and without; and, with it, without Java's second compiler, as for
small inputs. The archive is written first where it is missing. What each computes is checked to be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import interleaved, load, report, report_ratio, report_times
from console.lake.java import class_archive, find_java
from console.lake.spark_session import SMALL, cache_folder, lake_session

MOST_MS = 6000.0
"""What the design allows with the archive."""
ROOT = Path(__file__).parents[1]
_FIRST = """
import json, os, sys
from console.lake.spark_session import lake_session
with lake_session(os.environ, master="local[2]", input_bytes=int(sys.argv[1])) as spark:
    rows = spark.range(100_000).selectExpr("id % 7 k", "id v").groupBy("k").sum("v").orderBy("k").collect()
    print(json.dumps([list(row) for row in rows]), flush=True)
"""
ANSWER = [[key, sum(range(key, 100_000, 7))] for key in range(7)]


def first_aggregation(environ: dict[str, str], input_bytes: int) -> float:
    """Milliseconds from the start of the process to its answer; its end is waited for and not counted."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", _FIRST, str(input_bytes)], cwd=ROOT, env=environ, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = (time.perf_counter() - began) * 1000
    assert process.returncode == 0
    assert json.loads(line) == ANSWER, line
    return taken


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    java = find_java(environ, cache_folder(environ))
    archive = class_archive(java, cache_folder(environ))
    if not archive.there:
        began = time.perf_counter()
        with lake_session(environ, archives=True) as spark:
            spark.range(100_000).selectExpr("id % 7 k", "id v").groupBy("k").sum("v").collect()
        report("archive of classes written", ms=round((time.perf_counter() - began) * 1000))
    report("archive of classes", java=java.version, bytes=archive.file.stat().st_size, **load())
    with tempfile.TemporaryDirectory() as empty:
        # A cache where the archive was tried in vain: nobody builds one there.
        bare = class_archive(find_java(environ, Path(empty) / "kac"), Path(empty) / "kac")
        bare.failed.parent.mkdir(parents=True, exist_ok=True)
        bare.failed.write_text("left out\n")
        without = {**environ, "XDG_CACHE_HOME": empty}
        taken = interleaved(
            {
                "without archive": lambda: first_aggregation(without, SMALL + 1),
                "with archive": lambda: first_aggregation(environ, SMALL + 1),
                "with archive, small input": lambda: first_aggregation(environ, SMALL),
            },
            rounds,
        )
    medians = report_times("spark start to first aggregation", taken)
    report_ratio("with archive, ms", medians["with archive"], MOST_MS)
    report_ratio("with archive / without", medians["with archive"] / medians["without archive"], 1.0)


if __name__ == "__main__":
    main()
