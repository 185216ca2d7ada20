"""Measures the CPU seconds of a long script of `kac run` on an embedded cluster in the same process.

``python -m benchmarks.script [--lines 50000] [--only sets,quotas] [--profile]``

Each line is a statement that stages an edit; the last one discards the plan. Half of the lines are also run separately:
if the cost of a line grew with the lines staged before, the ratio would be far above 2.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks.figures import load, report, report_ratio
from console.cli.opening import client_of
from console.contexts import load as load_contexts
from console.contexts import resolve
from console.embedded.brokers import run_in_thread
from console.session.script_runner import run_script

LIMIT = 20.0
BATCH = 2_000
"""Number of topics that are created before the measurement, in one request."""

LINES: Mapping[str, Callable[[int], str]] = {
    "one key": lambda number: f"set topic orders retention.ms={100_000 + number}",
    "topics": lambda number: f"set topic t{number} retention.ms={100_000 + number}",
    "quotas": lambda number: f"set user u{number} producer_byte_rate={1_000 + number}",
    "acls": lambda number: f"allow User:u{number} READ on topic t{number}",
    "creations": lambda number: f"create topic new{number} partitions=1 retention.ms={100_000 + number}",
    "groups": lambda number: f"set group g{number} consumer.session.timeout.ms=50s",
}
"""Kind of change -> the function that returns a line by its number."""


def run(bootstrap: str, text: str) -> float:
    """Run a script on a cluster, and return the CPU seconds of this process. Raises RuntimeError if its exit code is
    not 0.
    """
    folder = Path(os.environ["HOME"])
    found = load_contexts(os.environ, folder)
    context = resolve(found, name=None, bootstrap=bootstrap, command_config=None, environ={})
    start = time.process_time()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        code = run_script(text, lambda: context, client_of, output="text")
    if code:
        raise RuntimeError(f"the script ended with {code}")
    return time.process_time() - start


def main() -> None:
    """Create the topics, run half of the script and the whole script, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--only", default=",".join(LINES), help="what the lines change")
    parser.add_argument("--profile", action="store_true", help="say where the time goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, run_in_thread() as cluster:
        os.environ.update(HOME=home, XDG_STATE_HOME=home, XDG_CONFIG_HOME=home)
        bootstrap = cluster.bootstrap
        run(bootstrap, "create topic orders partitions=1; apply --yes")
        for first in range(0, options.lines, BATCH):
            numbers = range(first, min(first + BATCH, options.lines))
            topics = [f"create topic t{number} partitions=1 replication=1" for number in numbers]
            run(bootstrap, "\n".join([*topics, "apply --yes"]))
        for what in options.only.split(","):
            halves = [
                run(bootstrap, "\n".join([*map(LINES[what], range(count)), "discard"]))
                for count in (options.lines // 2, options.lines)
            ]
            report_ratio(f"{options.lines:,} lines of {what}, s of the processor", halves[1], LIMIT)
            report(f"{what}: beside half of the lines", ratio=round(halves[1] / halves[0], 2))
            if options.profile:
                with cProfile.Profile() as profile:
                    run(bootstrap, "\n".join([*map(LINES[what], range(options.lines // 10)), "discard"]))
                pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(25)
    report("machine", **load())


if __name__ == "__main__":
    main()
