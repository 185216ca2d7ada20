"""Measures whole processes that write files: `kac export` of 4,000 topics, compared with `kac snapshot` and
kafka-configs.

``python -m benchmarks.files [--kac PATH] [--rounds 3] [--real]``: runs on an embedded cluster in a separate process;
with --real also on a real 4.3 broker, compared with kafka-configs. PATH is an installed `kac` in an environment with
only the run-time dependencies; the default is this checkout, whose test tools slow the import of kio.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks import figures
from benchmarks.cluster import TOPICS, fill, filled_broker
from benchmarks.embedded import started
from tests.support.kafka_jars import KAFKA_4_3, jars, java

LIMIT = 1.5
"""Maximum seconds for an export."""


class Timed:
    """A command that is run and measured. written: the output of the last run. processor: the CPU seconds of each
    run.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self.written = b""
        self.processor: list[float] = []

    def __call__(self) -> float:
        """Run the command, and return the milliseconds from its start to its end. Raises RuntimeError if it fails."""
        with tempfile.TemporaryDirectory() as home:
            before, start = _children(), time.perf_counter()
            done = subprocess.run(self._command, capture_output=True, env={**os.environ, "HOME": home})
            taken = (time.perf_counter() - start) * 1e3
        if done.returncode:
            raise RuntimeError(f"{self._command}: {done.stderr.decode(errors='replace')[-500:]}")
        self.written = done.stdout
        self.processor.append(_children() - before)
        return taken


def _children() -> float:
    """Return the CPU seconds of all ended child processes together."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(where: str, address: str, kac: Sequence[str], rounds: int, tool: Sequence[str]) -> None:
    """Report the times of the export and of the other commands, on a filled cluster. Raises RuntimeError if the export
    lacks a topic. tool: the command of kafka-configs; empty to omit it.
    """
    export = Timed([*kac, "export", "-b", address])
    measures: dict[str, figures.Measure] = {
        "kac export": export,
        "kac snapshot": Timed([*kac, "snapshot", "-b", address, "--output", "json"]),
    }
    if tool:
        everything = ["--bootstrap-server", address, "--entity-type", "topics", "--describe", "--all"]
        measures["kafka-configs"] = Timed([*tool, *everything])
    medians = figures.report_times(f"{where}: {TOPICS} topics", figures.interleaved(measures, rounds))
    if export.written.count(b".events") < TOPICS:
        raise RuntimeError("the export does not name every topic")
    figures.report_ratio(f"{where}: export, s", medians["kac export"] / 1e3, LIMIT)
    figures.report(f"{where}: export, s of the processor", median=round(statistics.median(export.processor), 2))
    for other in (name for name in medians if name != "kac export"):
        figures.report(f"{where}: export / {other}", ratio=round(medians["kac export"] / medians[other], 2))
    figures.report("machine", **figures.load())


def main() -> None:
    """Export and run the other commands in turn, as the options say, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kac")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--real", action="store_true", help="a real broker too, beside kafka-configs")
    options = parser.parse_args()
    kac = [options.kac] if options.kac else [sys.executable, "-m", "console"]
    tool = [java(), "-Xmx256M", "-cp", f"{jars(KAFKA_4_3)}/*", "kafka.admin.ConfigCommand"]
    with started("benchmarks.embedded", "--serve") as embedded:
        fill((embedded.address,))
        measure("embedded", embedded.bootstrap, kac, options.rounds, tool)
    if options.real:
        with filled_broker() as bootstrap:
            measure("kafka 4.3", bootstrap, kac, options.rounds, tool)


if __name__ == "__main__":
    main()
