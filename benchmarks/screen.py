"""The console in a pseudo-terminal: time to the first rows, bytes written, memory; compared with kaskade.

``python -m benchmarks.screen --kac PATH [--kaskade PATH] [HOST:PORT] [--rounds 5]``: both are installed programs.
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
"""Seconds without output after which the effect of a key has been shown."""
RATES = 15.0
"""Seconds without output after which the rates of all rows are shown: they take two polls, ten seconds apart."""
SLOW = 3.0
"""Seconds without output after which the bar is gone, even on a busy machine: further output of the bar would count as
output for the changed value.
"""
ROW = b"service-0000.eve"
"""The name of the first topic, as it is cut at a width of 100 columns."""
HEADER = f"{TOPICS:,} topics".encode()
"""The text that the console shows first of the cluster, in the pane Now."""
VISIBLE = 40
"""The number of the second topic in the order of names; it has no overrides."""


COMMAND = b"set topic service-0000.events retention.ms=7d min.insync.replicas=2"
EDITS = (b"\x7f",) * 5 + (b"\x1b[D",) * 5 + (b"x",) * 3 + (b"\x17",)
"""Keys that edit the command: deletions to the left, moves, letters in the middle, and the deletion of a word."""


def topics(terminal: Terminal) -> float:
    """Press the key of the topics' pane once the console knows topics. Return the seconds from process start until it
    shows a topic's name.
    """
    terminal.until(HEADER, 60.0)
    terminal.press(b"2")
    return terminal.until(ROW, 60.0)


def first_rows(command: list[str], shown: Callable[[Terminal], float] = topics) -> tuple[float, int]:
    """Return the milliseconds from process start until a topic's name is on the screen, and the bytes written
    before.
    """
    with Terminal(command, columns=100, rows=30) as terminal:
        seconds = shown(terminal)
        return seconds * 1e3, terminal.written.find(ROW)


def typed(terminal: Terminal, key: bytes) -> tuple[int, float]:
    """Return the bytes that a key of the command bar writes, and the milliseconds until the last of them; 0 if it
    writes none.
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
    """Type a command key by key with its candidates below, edit it, and print the figures."""
    typed(terminal, b":")
    for what, keys in (("typed", [bytes((code,)) for code in COMMAND]), ("edited", EDITS)):
        figures = [typed(terminal, key) for key in keys]
        sizes = [size for size, _ in figures]
        report(f"command bar, {what}: bytes a key", median=statistics.median(sizes), most=max(sizes))
        report(f"command bar, {what}: ms", median=round(statistics.median(ms for _, ms in figures), 1))
    typed(terminal, b"\x1b")


def alter(address: str, operation: ConfigOp) -> None:
    """Change a topic on the screen as another client, so that it has one override more or less."""
    host, _, port = address.rpartition(":")
    client = AdminClient(ConnectionSettings(((host, int(port)),)))
    client.start()
    request = AlterConfigs({topic_resource(topic_name(VISIBLE)): (operation,)})
    client.submit(changes.send, request, validate_only=False).result(30)
    client.close()


def at_rest(command: list[str], address: str) -> None:
    """Report the bytes that the console writes at rest, for a cursor key, for a key of the command bar and for a
    changed value; and its memory in MiB. Raises RuntimeError if the changed value is not shown within 15 s.
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
    """Measure and print the figures."""
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
