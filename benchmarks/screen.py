"""Measures the console in a pseudo-terminal: time to the first rows, bytes written, memory; compared with kaskade.

``python -m benchmarks.screen --kac PATH [--kaskade PATH] [HOST:PORT] [--rounds 5]``: PATH is an installed program.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from benchmarks.cluster import TOPICS, filled_broker, topic_name
from benchmarks.figures import interleaved, report, report_ratio, report_times
from benchmarks.terminal import Terminal
from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.model.changes import AlterConfigs, ConfigOp
from console.model.codes import DELETE, SET
from console.model.config import topic_resource

IDLE = 30.0
QUIET = 0.3
"""Seconds without output after which all output of a key is counted as written."""
RATES = 15.0
"""Seconds without output after which all rows certainly show their rates, which need two polls, ten seconds apart."""
SLOW = 3.0
"""Seconds without output after which the command bar has certainly disappeared, even on a busy machine: otherwise its
output would count as output for the changed value.
"""
ROW = b"service-0000.eve"
"""The name of the first topic, as it is cut at a width of 100 columns."""
HEADER = f"{TOPICS:,} topics".encode()
"""The text by which the pane Now first shows that the cluster is known."""
VISIBLE = 40
"""The number of the topic whose name is the second one in alphabetical order; it has no overrides."""


COMMAND = b"set topic service-0000.events retention.ms=7d min.insync.replicas=2"
EDITS = (b"\x7f",) * 5 + (b"\x1b[D",) * 5 + (b"x",) * 3 + (b"\x17",)
"""Keys that edit a command: backspaces, moves to the left, letters in the middle, and the deletion of a word."""


def topics(terminal: Terminal) -> float:
    """Open the pane of topics once the console knows topics. Return the seconds from process start until it shows a
    topic's name.
    """
    terminal.until(HEADER, 60.0)
    terminal.press(b"2")
    return terminal.until(ROW, 60.0)


def first_rows(command: list[str], shown: Callable[[Terminal], float] = topics) -> tuple[float, int]:
    """Return the milliseconds from process start until a topic's name is on the screen, and the number of bytes written
    until then. shown: waits for the name, and returns the seconds.
    """
    with Terminal(command, columns=100, rows=30) as terminal:
        seconds = shown(terminal)
        return seconds * 1e3, terminal.written.find(ROW)


def typed(terminal: Terminal, key: bytes) -> tuple[int, float]:
    """Press a key in the command bar. Return the number of bytes that it writes, and the milliseconds until the last of
    them; 0.0 ms if it writes none.
    """
    before, began = len(terminal.written), time.perf_counter()
    terminal.press(key)
    last, end = began, began + QUIET
    while time.perf_counter() < end:
        had = len(terminal.written)
        terminal._read(0.01)
        if len(terminal.written) > had:
            last = time.perf_counter()
            end = last + QUIET
    return len(terminal.written) - before, (last - began) * 1e3


def command_bar(terminal: Terminal) -> None:
    """Type a command key by key, with completions shown below it, edit it, and print the figures."""
    typed(terminal, b":")
    for what, keys in (("typed", [bytes((code,)) for code in COMMAND]), ("edited", EDITS)):
        figures = [typed(terminal, key) for key in keys]
        sizes = [size for size, _ in figures]
        report(f"command bar, {what}: bytes a key", median=statistics.median(sizes), most=max(sizes))
        report(f"command bar, {what}: ms", median=round(statistics.median(ms for _, ms in figures), 1))
    typed(terminal, b"\x1b")


def alter(address: str, operation: ConfigOp) -> None:
    """Change a config of a topic on the screen as another client, so that the topic gets or loses an override."""
    host, _, port = address.rpartition(":")
    client = AdminClient(ConnectionSettings(((host, int(port)),)))
    client.start()
    request = AlterConfigs({topic_resource(topic_name(VISIBLE)): (operation,)})
    client.submit(changes.send, request, validate_only=False).result(30)
    client.close()


def at_rest(command: list[str], address: str) -> None:
    """Report the bytes that the console writes while nothing changes, for a cursor key, for a key of the command bar
    and for a changed value; and its memory in MiB. Raises RuntimeError if the changed value is not shown within 15
    s.
    """
    with Terminal(command, columns=100, rows=30) as terminal:
        topics(terminal)
        terminal.settle(quiet=RATES, timeout=60.0)
        report_ratio("idle 30 s: bytes", len(terminal.listen(IDLE)), 0)
        report_ratio("memory after some 40 s, MiB", terminal.memory() / 2**20, 70)
        keys = []
        for _ in range(10):
            terminal.press(b"j")
            keys.append(len(terminal.listen(0.3)))
        report("cursor key", bytes=keys)
        report_ratio("cursor key: most bytes", max(keys), 700)
        command_bar(terminal)
        terminal.settle(quiet=SLOW, timeout=60.0)
        alter(address, ConfigOp("retention.ms", SET, "7777000"))
        changed = terminal.listen(15.0)
        alter(address, ConfigOp("retention.ms", DELETE))
        report("changed value", bytes=len(changed), seen=changed.decode(errors="replace"))
        if not changed:
            raise RuntimeError("the change was not shown within 15 s")
        report_ratio("one changed value: bytes", len(changed), 300)
        report_ratio("memory at the end, MiB", terminal.memory() / 2**20, 120)


def main() -> None:
    """Start the console, and kaskade if it is given, in turn, then measure the console at rest, and print a line of
    JSON for each figure.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--kac", required=True)
    parser.add_argument("--kaskade")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with nullcontext(options.address) if options.address else filled_broker() as address:
        command = [options.kac, "-b", address]
        sizes: list[int] = []

        def kac() -> float:
            milliseconds, size = first_rows(command)
            sizes.append(size)
            return milliseconds

        measures = {"kac": kac}
        if options.kaskade:
            config = Path(tempfile.mkdtemp()) / "kaskade.ini"
            config.write_text(f"[kafka]\nbootstrap.servers={address}\n")
            kaskade = [options.kaskade, "admin", "--config-file", str(config)]
            measures["kaskade"] = lambda: first_rows(kaskade, lambda terminal: terminal.until(ROW, 60.0))[0]
        medians = report_times("first rows", interleaved(measures, options.rounds))
        report_ratio("first rows: seconds", medians["kac"] / 1e3, 0.42)
        if options.kaskade:
            report_ratio("first rows: kac / kaskade", medians["kac"] / medians["kaskade"], 0.4)
        report_ratio("bytes by the first rows", statistics.median(sizes), 20_000)
        at_rest(command, address)


if __name__ == "__main__":
    main()
