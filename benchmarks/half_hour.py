"""Measures the console's last half hour of samples: its memory, and the bytes that graphs and the mouse write to a
terminal.

``python -m benchmarks.half_hour --kac PATH [--seconds 130] [--topics 100000]``: PATH is an installed program. It runs
in a pseudo-terminal of 200 × 60 on the panes Overview and Now, for an embedded cluster in which nothing changes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import report, report_ratio
from benchmarks.terminal import Terminal
from console.embedded.brokers import run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.cluster import Partition, Topic
from console.model.half_hour import EVERY, OWN_EVERY, OWN_SLOTS, SLOTS, HalfHour
from console.model.rates import Counter, Rates
from console.model.snapshot import Snapshot
from console.present.graphs import Graph, chart_of, laid_out
from widgets.terminal_diff import TerminalDiff

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ASKS_FOR_MOVES = b"\x1b[?1003h"
COLORS = {"": "39", "muted": "38;2;139;148;158", "strong": "1", "graph": "38;2;79;138;196"}
"""Name of a style -> the escape sequence of its colour in the dark theme."""
POLLS = 5
"""Number of samples whose memory is measured, of the `OWN_SLOTS` samples of a half hour."""
BETWEEN = 1.0
"""Seconds without output that separate two drawings."""
COLUMN = 4096
"""Maximum bytes of output when the graphs get a new column."""


def polls(topics: int, busy: int) -> Iterator[Snapshot]:
    """Yield snapshots with `topics` topics; `busy` of them get records, at another rate in each snapshot."""
    idle = Counter(0.0, 0, 0.0, 0, 10.0, 0, 1)
    made = {name: Topic(name, (Partition(0, 1, (1,), (1,)),)) for name in (f"service-{n:06}" for n in range(topics))}
    counters = {(name, 0): idle for name in made}
    for turn in range(POLLS):
        for number, place in enumerate(islice(counters, busy)):
            counters[place] = Counter(0.0, 0, 0.0, 0, 10.0, 1000 + number + turn, 1)
        yield Snapshot(topics=made, rates=Rates(sizes=counters, ends=counters), read_at={"topics": NOW})


def memory(topics: int, busy: int, limit: float) -> None:
    """Report the MiB of a half hour of samples, extrapolated from `POLLS` samples, with the limit in MiB. Parts that
    samples share count once; names of topics are left out, because the snapshot keeps them anyway.
    """
    known, seconds = HalfHour(), []
    for turn, polled in enumerate(polls(topics, busy)):
        began = time.process_time()
        known = known.after(polled, NOW + timedelta(seconds=turn * OWN_EVERY))
        seconds.append(time.process_time() - began)
    packed = [each.kinds["topic"] for each in known.own]
    columns = {id(part): part for each in packed for column in each.columns for part in (column.values, column.places)}
    names = sum(sys.getsizeof(each) for each in {id(each.names): each.names for each in packed}.values())
    taken = names + sum(map(sys.getsizeof, columns.values())) * OWN_SLOTS / POLLS
    report("a sample of all topics", topics=topics, busy=busy, cpu=round(statistics.median(seconds), 3))
    report_ratio(f"half an hour of {topics:,} topics, {busy:,} written to: MiB", taken / 2**20, limit)


def bursts(terminal: Terminal, seconds: float) -> list[bytes]:
    """Read output for `seconds` seconds. Return it in pieces, separated where no output came for `BETWEEN` seconds."""
    found, last, end = [bytearray()], float("-inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        if piece := terminal.listen(0.1):
            if found[-1] and time.perf_counter() - last > BETWEEN:
                found.append(bytearray())
            found[-1] += piece
            last = time.perf_counter()
    return [bytes(each) for each in found if each]


def noisy(count: int, columns: int, width: int, height: int) -> None:
    """Report the bytes that each new column writes on a full screen of `count` graphs with random values."""
    values = [random.Random(graph).choices(range(100), k=SLOTS + columns) for graph in range(count)]
    diff, sizes = TerminalDiff(width, height, erases_in_color=True), []
    for column in range(columns):
        known = range(column, SLOTS + column)
        graphs = [
            Graph(str(number), f"graph {number}", "lag", {slot: float(each[slot]) for slot in known})
            for number, each in enumerate(values)
        ]
        chart = chart_of(graphs, (), (SLOTS + column - 1) * EVERY, width)
        assert chart is not None
        lines = (
            "".join(f"\x1b[{COLORS[name]}m{text}\x1b[0m" for text, name in line)
            for line, _ in laid_out(chart, height, width)
        )
        sizes.append(len(diff.update("\n".join(f"\x1b[{y + 1};1H{line}" for y, line in enumerate(lines))).encode()))
    report(f"{count} noisy graphs of {width} × {height}: bytes of a new column", median=statistics.median(sizes[1:]))
    report_ratio("noisy graphs: most bytes of a new column", max(sizes[1:]), COLUMN)


def drawing(command: list[str], pane: str, key: bytes, text: bytes, seconds: float, each: int) -> None:
    """Open a pane, and report the bytes that each new column of its graphs writes, and all other bytes.

    key: opens the pane. text: shows that it is open. seconds: how long to measure. each: seconds between two columns.
    """
    with Terminal(command, columns=200, rows=60) as terminal:
        terminal.until(b" topic", 60.0)
        terminal.press(key)
        terminal.until(text, 60.0, since=len(terminal.written) - 1)
        terminal.listen(45.0)
        found = bursts(terminal, seconds)
        columns = -(-seconds // each)
        report(f"{pane}: drawn while nothing changes", seconds=seconds, bytes=[len(each) for each in found])
        report_ratio(f"{pane}: drawings, beside one for each column", len(found) / columns, 1.1)
        report_ratio(f"{pane}: most bytes of a new column", max(map(len, found), default=0), COLUMN)
        mouse(terminal, pane)


def over_a_slow_link(command: list[str], seconds: float) -> None:
    """Report the bytes that the panes Overview and Now write in `seconds` seconds while nothing changes, with the
    setting for slow links, in which sentences replace graphs.
    """
    with TemporaryDirectory() as folder:
        config = Path(folder, "kac", "config.toml")
        config.parent.mkdir()
        config.write_text("[settings]\nslow_link = true\n")
        with Terminal(command, columns=200, rows=60, environ={"XDG_CONFIG_HOME": folder}) as terminal:
            terminal.until(b" topic", 60.0)
            for pane, key, text in (("overview", b"\x07", b"under-replicated"), ("Now", b".", b"watched")):
                terminal.press(key)
                terminal.until(text, 60.0, since=len(terminal.written) - 1)
                terminal.listen(45.0)
                report_ratio(f"{pane} over a slow link: bytes in {seconds:g} s", len(terminal.listen(seconds)), 0)


def mouse(terminal: Terminal, pane: str) -> None:
    """Report the bytes that the console writes for 100 moves of the pointer, which it does not ask terminals to report,
    and for clicks on two rows.
    """
    report_ratio(f"{pane}: asked terminals for moves of the mouse", int(ASKS_FOR_MOVES in terminal.written), 0)
    before = terminal.listen(0.5)
    for number in range(100):
        terminal.press(f"\x1b[<35;{20 + number};{8 + number // 10}M".encode())
    report_ratio(f"{pane}: bytes of 100 moves", len(terminal.listen(1.0)) - len(before), 0)
    sizes = []
    for row in (6, 8):
        terminal.press(f"\x1b[<0;10;{row}M\x1b[<0;10;{row}m".encode())
        sizes.append(len(terminal.listen(0.7)))
    report_ratio(f"{pane}: most bytes of a click on another row", max(sizes), 1500)


def main() -> None:
    """Measure the samples' memory and the console's output, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kac", required=True)
    parser.add_argument("--seconds", type=float, default=130.0)
    parser.add_argument("--topics", type=int, default=100_000)
    options = parser.parse_args()
    memory(options.topics, options.topics // 20, 8.0)
    memory(options.topics, options.topics, 8.0)
    memory(4_000, 4_000, 2.0)
    noisy(14, 60, 200, 58)
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))
        command = [options.kac, "-b", cluster.bootstrap]
        drawing(command, "overview", b"\x07", b"written: growth", options.seconds, 10)
        drawing(command, "Now", b".", b"watched", options.seconds, 20)
        over_a_slow_link(command, options.seconds)


if __name__ == "__main__":
    main()
