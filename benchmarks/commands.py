"""Measures whole processes: `kac snapshot`, `kac run`, `kac configs` and `kac --help` in comparison with kafka-configs.

``python -m benchmarks.commands --kac PATH [HOST:PORT] [--rounds 5]``: PATH is an installed `kac` (in an environment
with only the run-time dependencies, because test tools slow the import of kio).
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Sequence
from contextlib import nullcontext

from benchmarks.cluster import filled_broker, topic_name
from benchmarks.figures import Measure, interleaved, report_ratio, report_times
from tests.support.kafka_jars import KAFKA_4_3, jars, java


def timed(command: Sequence[str]) -> float:
    """Run a command, and discard its output. Return the milliseconds from start to exit. Raises RuntimeError if it
    fails.
    """
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.decode(errors='replace')[-500:]}")
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    """Run the commands in turn on the given broker, or on a new one, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--kac", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    topic = topic_name(7)
    # The command by which bin/kafka-configs.sh starts Java.
    tool = [java(), "-Xmx256M", "-cp", f"{jars(KAFKA_4_3)}/*", "kafka.admin.ConfigCommand"]
    with nullcontext(options.address) if options.address else filled_broker() as address:
        server = ["--bootstrap-server", address]
        everything: dict[str, Measure] = {
            "kafka-configs": lambda: timed([*tool, *server, "--entity-type", "topics", "--describe", "--all"]),
            "kac": lambda: timed([options.kac, "snapshot", "-b", address, "--output", "json"]),
        }
        medians = report_times("all configs, to text", interleaved(everything, max(3, options.rounds // 2)))
        report_ratio("snapshot: kac / kafka-configs --all", medians["kac"] / medians["kafka-configs"], 0.5)
        one: dict[str, Measure] = {
            "kafka-configs": lambda: timed([*tool, *server, "--topic", topic, "--describe", "--all"]),
            "kac": lambda: timed([options.kac, "run", "-b", address, "-e", f"describe topic {topic}"]),
            "kac configs": lambda: timed([options.kac, "configs", *server, "--topic", topic, "--describe", "--all"]),
            "kac --help": lambda: timed([options.kac, "--help"]),
        }
        medians = report_times("one topic", interleaved(one, options.rounds))
        report_ratio("describe topic: seconds", medians["kac"] / 1e3, 0.25)
        report_ratio("describe topic: kac / kafka-configs", medians["kac"] / medians["kafka-configs"], 0.25)
        report_ratio("kac configs: seconds", medians["kac configs"] / 1e3, 0.25)
        report_ratio("kac configs / kafka-configs", medians["kac configs"] / medians["kafka-configs"], 0.25)
        report_ratio("kac --help: seconds", medians["kac --help"] / 1e3, 0.08)


if __name__ == "__main__":
    main()
