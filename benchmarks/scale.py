"""Measures `kac demo --scenario large` in a pseudo-terminal: the time of the first rows and of keys, and the memory of
the console and of its cluster.

``python -m benchmarks.scale [--kac PATH] [--rounds 5]``: 100,000 topics, 1,000,000 quota entities, 100,000 ACLs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import report, report_ratio
from benchmarks.terminal import Terminal

TOPICS, ROW = b"100,00", b"ads.audit."
"""The beginning of the number of topics in the header, and of the first rows."""
PANES = {b"1": b"127.0.0.1:", b"3": b"logger", b"4": b"user-0000", b"5": b"User:user-0000", b"2": b"ads.audit."}
"""Key of a pane -> a text that the pane shows once it has read its data."""
KEYS = (b"j", b"k", b"G", b"g", b"\x1b[6~", b"\x1b[5~", b"O", b"O", b"O")
FILTER = (b"/", b"m", b"a", b"p", b"s", b"\r", b"\x1b")
PATIENCE, UNCHANGED = 120.0, 3.0
"""Seconds to wait for a text, and seconds after which a key counts as without effect."""


def started(command: Sequence[str]) -> tuple[float, float]:
    """Return the wall seconds from process start to the first rows of topics, and the CPU seconds until then."""
    with terminal(command) as screen:
        screen.until(TOPICS, PATIENCE)
        screen.press(b"2")  # the console opens with the pane Now
        seconds = screen.until(ROW, PATIENCE)
        return seconds, sum(map(processor_seconds, (screen.pid, *children(screen.pid))))


def terminal(command: Sequence[str]) -> Terminal:
    """Return a terminal of 120 × 40 that runs the console with a new state folder."""
    return Terminal(command, columns=120, rows=40, environ={"XDG_STATE_HOME": tempfile.mkdtemp()})


def children(pid: int) -> list[int]:
    """Return the ids of the child processes of a process."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def processor_seconds(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid: int) -> float:
    """Return the peak memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024


def answered(screen: Terminal, key: bytes) -> float | None:
    """Press a key, and return the seconds until the screen changes; None if it does not change, as after `k` in the
    first line.
    """
    before, began = len(screen.written), time.perf_counter()
    screen.press(key)
    while len(screen.written) == before and time.perf_counter() - began < UNCHANGED:
        screen._read(0.005)
    seconds = time.perf_counter() - began
    screen.settle(0.3, 5.0)
    return seconds if seconds < UNCHANGED else None


def walk(command: Sequence[str]) -> None:
    """Press keys on every pane, while the pane reads and after that. Report the seconds until the screen changes, and
    the peak memory.
    """
    with terminal(command) as screen:
        screen.until(TOPICS, PATIENCE)
        (cluster,) = children(screen.pid)
        keys: dict[str, float | None] = {}
        for pane, shown in PANES.items():
            began = len(screen.written)
            keys[f"{pane.decode()}"] = answered(screen, pane)
            screen.until(shown, PATIENCE, since=began)
            screen.settle(0.5, 10.0)
            for key in (*KEYS[:6], *(KEYS[6:] if pane == b"2" else ()), *FILTER):
                keys[f"{pane.decode()} {key!r}"] = answered(screen, key)
        times = {key: seconds for key, seconds in keys.items() if seconds is not None}
        report("slowest keys, s", **dict(sorted(times.items(), key=lambda item: -item[1])[:6]))
        report_ratio("a key: median, s", statistics.median(times.values()), 0.2)
        report_ratio("a key: slowest, s", max(times.values()), 0.2)
        report_ratio("console: peak memory, MiB", peak_mib(screen.pid), 600)
        report_ratio("cluster: peak memory, MiB", peak_mib(cluster), 1024)


def main() -> None:
    """Start the console as often as the options say, then press keys on every pane, and print a line of JSON for
    each figure.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kac", help="an installed program; this checkout where it is left out")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    program = [options.kac] if options.kac else [sys.executable, "-m", "console"]
    command = [*program, "demo", "--scenario", "large"]
    taken = [started(command) for _ in range(options.rounds)]
    report_ratio("first rows of 100,000 topics: median, s", statistics.median(wall for wall, _ in taken), 1.5)
    report("first rows: processors' time", seconds=round(statistics.median(busy for _, busy in taken), 2))
    walk(command)


if __name__ == "__main__":
    main()
