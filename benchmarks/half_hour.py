"""The last half hour: what it takes of memory, and what its drawing and the mouse write to a terminal.

``python -m benchmarks.half_hour --kac PATH [--seconds 130] [--topics 100000]``: PATH is an installed program. The
terminal is a pseudo-terminal of 200 × 60 on the overview, and on Now, of an embedded cluster in which nothing changes.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from benchmarks.figures import report, report_ratio
from benchmarks.terminal import Terminal
from console.embedded.brokers import run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.cluster import Partition, Topic
from console.model.half_hour import OWN_EVERY, OWN_SLOTS, HalfHour
from console.model.rates import Counter, Rates
from console.model.snapshot import Snapshot

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ASKS_FOR_MOVES = b"\x1b[?1003h"
POLLS = 5
"""Samples that are taken, of the `OWN_SLOTS`."""
BETWEEN = 1.0
"""Seconds without a byte between two drawings."""
COLUMN, EACH = 14, 200
"""Bytes that a line of a new column may take, and those around it: the clock of the axis, the cursor's place."""


def polls(topics: int, busy: int) -> Iterator[Snapshot]:
    """So many topics of which some are written to, at each poll at other rates."""
    idle = Counter(0.0, 0, 0.0, 0, 10.0, 0, 1)
    made = {name: Topic(name, (Partition(0, 1, (1,), (1,)),)) for name in (f"service-{n:06}" for n in range(topics))}
    counters = {(name, 0): idle for name in made}
    for turn in range(POLLS):
        for number, place in enumerate(islice(counters, busy)):
            counters[place] = Counter(0.0, 0, 0.0, 0, 10.0, 1000 + number + turn, 1)
        yield Snapshot(topics=made, rates=Rates(sizes=counters, ends=counters), read_at={"topics": NOW})


def memory(topics: int, busy: int, limit: float) -> None:
    """MiB that the samples of half an hour take, by `POLLS` of them: what is equal in all counts once, names themselves
    are the topics'."""
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
    """What was written in so many seconds, in pieces with `BETWEEN` between them."""
    found, last, end = [bytearray()], float("-inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        if piece := terminal.listen(0.1):
            if found[-1] and time.perf_counter() - last > BETWEEN:
                found.append(bytearray())
            found[-1] += piece
            last = time.perf_counter()
    return [bytes(each) for each in found if each]


def drawing(command: list[str], pane: str, key: bytes, text: bytes, seconds: float, each: int) -> None:
    """Bytes of each new column, and of all else meanwhile. each: seconds that a column stands for."""
    with Terminal(command, columns=200, rows=60) as terminal:
        terminal.until(b" topic", 60.0)
        terminal.press(key)
        terminal.until(text, 60.0, since=len(terminal.written) - 1)
        terminal.listen(45.0)
        lines = len(
            set(
                re.findall(
                    rb"written to \d+|read from \d+|disk \d+|under-replicated|offline|events", bytes(terminal.written)
                )
            )
        )
        found = bursts(terminal, seconds)
        columns = -(-seconds // each)
        report(
            f"{pane}: drawn while nothing changes", seconds=seconds, lines=lines, bytes=[len(each) for each in found]
        )
        report_ratio(f"{pane}: drawings, beside one for each column", len(found) / columns, 1.1)
        report_ratio(f"{pane}: most bytes of a new column", max(map(len, found), default=0), EACH + COLUMN * lines)
        mouse(terminal, pane)


def mouse(terminal: Terminal, pane: str) -> None:
    """Bytes of 100 moves of the pointer, of which terminals are not asked to tell, and of clicks on two rows."""
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
    """Take the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kac", required=True)
    parser.add_argument("--seconds", type=float, default=130.0)
    parser.add_argument("--topics", type=int, default=100_000)
    options = parser.parse_args()
    memory(options.topics, options.topics // 20, 8.0)
    memory(options.topics, options.topics, 8.0)
    memory(4_000, 4_000, 2.0)
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))
        command = [options.kac, "-b", cluster.bootstrap]
        drawing(command, "overview", b"\x07", b"written: growth", options.seconds, 20)
        drawing(command, "Now", b".", b"watched", options.seconds, 40)


if __name__ == "__main__":
    main()
