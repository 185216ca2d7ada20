"""Measures `kac lint` on the cluster of `kac cluster --scenario large`, and on one with 4,000 topics and 20,000 quota
entities.

``python -m benchmarks.lint [--kac PATH] [--rounds 3]``: the cluster is a separate process, so its CPU time is not
included. Prints wall seconds, CPU seconds of the client only, and finally whether all rounds had the same findings.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.cluster import TOPICS, fill
from benchmarks.embedded import started
from benchmarks.figures import load, report, report_ratio

LARGE, SMALL = 20.0, 2.0
"""Maximum seconds of wall time for a cluster of 100,000 topics, and for one of `TOPICS` topics."""


def measure(name: str, program: list[str], bootstrap: str, rounds: int, limit: float) -> None:
    """Report the wall seconds and the CPU seconds of `kac lint`, its number of findings by rule, and whether all rounds
    had the same findings. limit: maximum of the median, in wall seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        command = [*program, "lint", "-b", bootstrap, "--output", "json"]
        walls, cpus, texts = [], [], []
        for number in range(rounds):
            output = Path(folder, f"{number}.json")
            began = time.perf_counter()
            with output.open("wb") as file:
                process = subprocess.Popen(command, stdout=file, env=environ)
                _, _, used = os.wait4(process.pid, 0)
            walls.append(time.perf_counter() - began)
            cpus.append(used.ru_utime + used.ru_stime)
            texts.append(output.read_text())
    found = json.loads(texts[0])
    rules = Counter(each["rule"] for each in found["findings"])
    report(f"{name}: findings", **rules)
    report(f"{name}: client, cpu s", seconds=round(statistics.median(cpus), 2), **load())
    report_ratio(f"{name}: wall, s", statistics.median(walls), limit)
    report(f"{name}: the same is found", ok=len(set(texts)) == 1, runs=rounds)


def main() -> None:
    """Run `kac lint` on both clusters, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kac", help="an installed program; this checkout where it is left out")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    program = [options.kac] if options.kac else [sys.executable, "-m", "console"]
    with started("benchmarks.embedded", "--serve") as small:
        fill((small.address,))
        measure(f"{TOPICS:,} topics", program, small.bootstrap, options.rounds, SMALL)
    with started("console", "cluster", "--still", "--scenario", "large") as large:
        measure("100,000 topics", program, large.bootstrap, options.rounds, LARGE)


if __name__ == "__main__":
    main()
