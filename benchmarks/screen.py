"""The console in a pseudo-terminal: time to the first rows, bytes written, memory; against kaskade.

``python -m benchmarks.screen --kac PATH [--kaskade PATH] [HOST:PORT] [--rounds 5]``: both are installed programs.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import nullcontext
from pathlib import Path

from benchmarks.cluster import filled_broker, topic_name
from benchmarks.figures import interleaved, report, report_ratio, report_times
from benchmarks.terminal import Terminal
from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.model.changes import AlterConfigs, ConfigOp
from console.model.codes import DELETE, SET
from console.model.config import topic_resource

IDLE = 30.0
ROW = b"service-0000.events"
VISIBLE = 40
"""The number of the second topic in the order of names; it has no overrides."""


def first_rows(command: list[str]) -> tuple[float, int]:
    """Milliseconds from process start until a topic's name is on the screen, and the bytes written by then."""
    with Terminal(command, columns=100, rows=30) as terminal:
        seconds = terminal.until(ROW, 60.0)
        return seconds * 1e3, terminal.written.find(ROW)


def alter(address: str, operation: ConfigOp) -> None:
    """Another client changes a topic that is on the screen, so that it has one override more, or less."""
    host, _, port = address.rpartition(":")
    client = AdminClient(ConnectionSettings(((host, int(port)),)))
    client.start()
    request = AlterConfigs({topic_resource(topic_name(VISIBLE)): (operation,)})
    client.submit(changes.send, request, validate_only=False).result(30)
    client.close()


def at_rest(command: list[str], address: str) -> None:
    """Idle bytes, a cursor key, a changed value, memory."""
    with Terminal(command, columns=100, rows=30) as terminal:
        terminal.until(ROW, 60.0)
        terminal.settle(quiet=3.0, timeout=60.0)
        report_ratio("idle 30 s: bytes", len(terminal.listen(IDLE)), 0)
        keys = []
        for _ in range(10):
            terminal.press(b"j")
            keys.append(len(terminal.listen(0.3)))
        report("cursor key", bytes=keys)
        report_ratio("cursor key: most bytes", max(keys), 700)
        alter(address, ConfigOp("retention.ms", SET, "7777000"))
        changed = terminal.listen(15.0)
        alter(address, ConfigOp("retention.ms", DELETE))
        report("changed value", bytes=len(changed), seen=changed.decode(errors="replace"))
        if not changed:
            raise RuntimeError("the change was not shown within 15 s")
        report_ratio("one changed value: bytes", len(changed), 300)
        report_ratio("memory, MiB", terminal.memory() / 2**20, 120)


def main() -> None:
    """Take the figures."""
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
            measures["kaskade"] = lambda: first_rows([options.kaskade, "admin", "--config-file", str(config)])[0]
        medians = report_times("first rows", interleaved(measures, options.rounds))
        report_ratio("first rows: seconds", medians["kac"] / 1e3, 0.42)
        if options.kaskade:
            report_ratio("first rows: kac / kaskade", medians["kac"] / medians["kaskade"], 0.4)
        report_ratio("bytes by the first rows", statistics.median(sizes), 20_000)
        at_rest(command, address)


if __name__ == "__main__":
    main()
