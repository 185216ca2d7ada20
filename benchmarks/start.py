"""Measures the time from process start to the first screen about the cluster, and to the end of ``kac --help`` and of
``kac configs --describe``.

``python -m benchmarks.start --kac PATH [--bundle PATH] [--kaskade PATH] [--kadm PATH] [HOST:PORT] [--rounds 9]``: PATH
is an installed `kac` in an environment with only the run-time dependencies; the one-file kac; an installed kaskade;
benchmarks/peers/kadm, built, which ends after its first metadata. The same run measures the lower bounds: its Python
alone, and Python with only Textual. Each figure has wall time and CPU time of the process, which a loaded machine
changes less. A figure with a limit is also scaled to a machine where Textual's import takes 0.17 s, for which the
limits are set. Finally, the modules and classes of each start are counted, in this checkout.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from benchmarks.cluster import TOPICS, filled_broker, topic_name
from benchmarks.figures import load, report, report_ratio
from benchmarks.terminal import Terminal
from tests.support import start_counts

ROW = f"{TOPICS:,} topics; looking at what is wrong".encode()
"""The text that the pane Now shows once brokers and topics are read, before the rest is read."""
FRAME = b"Brokers"
"""A text in the list of panes, which is in the first frame."""
TICKS = os.sysconf("SC_CLK_TCK")
LIMITS = {"screen": 0.38, "first frame": 0.25, "help": 0.045, "configs --describe": 0.18}
"""Measure -> maximum seconds of wall time on an otherwise idle machine, on which the import of Textual takes FLOOR."""
FLOOR = 0.17


class Taken(NamedTuple):
    """Seconds of a run: wall time, and CPU time (user and system, of all threads)."""

    wall: float
    processor: float


def ended(command: Sequence[str]) -> Taken:
    """Run a command to its end, and discard its output. Return its times. Raises RuntimeError if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read() if process.stdout else b""
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command}: {output.decode(errors='replace')[-500:]}")
    return Taken(took, used.ru_utime + used.ru_stime)


def first_rows(command: Sequence[str], text: bytes = ROW) -> Taken:
    """Run the console until its screen shows `text`. Return the wall seconds until then, and the CPU seconds of the
    console. Raises TimeoutError after 60 s.
    """
    with Terminal(command, columns=120, rows=40) as terminal:
        took = terminal.until(text, 60.0)
        stat = Path(f"/proc/{terminal.pid}/stat").read_text().rpartition(")")[2].split()
        return Taken(took, (int(stat[11]) + int(stat[12])) / TICKS)


def in_turn(measures: dict[str, Callable[[], Taken]], rounds: int) -> dict[str, Taken]:
    """Run all measures one after another, `rounds` times, after a round that is not counted. Return name -> the
    medians.
    """
    taken: dict[str, list[Taken]] = {name: [] for name in measures}
    for turn in range(rounds + 1):
        for name, measure in measures.items():
            figures = measure()
            if turn:
                taken[name].append(figures)
    medians = {}
    for name, all_ in taken.items():
        walls = [each.wall for each in all_]
        processors = [each.processor for each in all_]
        medians[name] = Taken(statistics.median(walls), statistics.median(processors))
        figures_ = {
            "wall_min": min(walls),
            "wall": medians[name].wall,
            "wall_max": max(walls),
            "processor_min": min(processors),
            "processor": medians[name].processor,
        }
        report(name, **{key: round(1e3 * seconds) for key, seconds in figures_.items()}, runs=rounds)
    return medians


def report_counts(what: str, found: start_counts.StartCounts) -> None:
    """Print the numbers of modules and classes that a start of kac loads."""
    report(
        what,
        modules=len(found.modules),
        dataclasses=len(found.dataclasses),
        structs=found.structs,
        named_tuples=found.named_tuples,
        others=found.others,
    )


def main() -> None:
    """Start each program in turn, as often as the options say, count what kac's starts import, and print a line of
    JSON for each figure.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--kac", required=True)
    for name in ("bundle", "kaskade", "kadm"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    python = str(Path(options.kac).parent / "python")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have compiled modules
    report("machine", **load())
    with nullcontext(options.address) if options.address else filled_broker() as address:
        describe = ["configs", "--bootstrap-server", address, "--topic", topic_name(7), "--describe"]
        measures: dict[str, Callable[[], Taken]] = {
            "floor: python": lambda: ended([python, "-c", "pass"]),
            "floor: textual": lambda: ended([python, "-c", "import textual.app"]),
            "help": lambda: ended([options.kac, "--help"]),
            "configs --describe": lambda: ended([options.kac, *describe]),
            "screen": lambda: first_rows([options.kac, "-b", address]),
            "first frame": lambda: first_rows([options.kac, "-b", address], FRAME),
        }
        if options.bundle:
            measures["bundle: help"] = lambda: ended([options.bundle, "--help"])
            measures["bundle: screen"] = lambda: first_rows([options.bundle, "-b", address])
            measures["bundle: first frame"] = lambda: first_rows([options.bundle, "-b", address], FRAME)
        if options.kadm:
            measures["kadm: metadata"] = lambda: ended([options.kadm, address, "metadata"])
        if options.kaskade:
            config = Path(tempfile.mkdtemp()) / "kaskade.ini"
            config.write_text(f"[kafka]\nbootstrap.servers={address}\n")
            kaskade = [options.kaskade, "admin", "--config-file", str(config)]
            measures["kaskade: topics"] = lambda: first_rows(kaskade, topic_name(0).encode())
        medians = in_turn(measures, options.rounds)
        floor = medians["floor: textual"]
        for name, limit in LIMITS.items():
            report_ratio(f"{name}: seconds", medians[name].wall, limit)
            report_ratio(f"{name}: at the floor's {FLOOR} s", FLOOR * medians[name].wall / floor.wall, limit)
            processor = FLOOR * medians[name].processor / floor.processor
            report_ratio(f"{name}: processor, at the floor's {FLOOR} s", processor, limit)
        report_counts("made: help", start_counts.of_command("--help"))
        report_counts("made: configs --describe", start_counts.of_command(*describe))
        report_counts("made: screen", start_counts.of_screen(address, ROW.decode()))
    report("machine", **load())


if __name__ == "__main__":
    main()
