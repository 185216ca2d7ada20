"""A request log to requests by the second, its changes included: `kac lake ingest`, beside DuckDB, and Polars, alone.

``python -m benchmarks.requests [--lines N] [--rounds 3] [--growth] [--folder DIR] [--polars PYTHON]``.
Each is a fresh process, from its start to its end, that reads the log of `benchmarks.request_log` (1.3 kB a line, kept
in DIR) and leaves Parquet, ours in a new lake; all have to be equal. Beside wall time there is the processor's, of the
process and its children: other work on the machine stretches the former. PYTHON: of an environment with Polars.
N: 200,000; with --growth 2 million, so that other processes read the least of its logs too.
--growth: ours with once, 4 and 16 times a sixteenth of the lines, with the most memory that its processes had together.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.figures import interleaved, load, report, report_ratio, report_times
from benchmarks.request_log import write

OURS, DUCKDB, POLARS = "kac lake ingest", "DuckDB", "Polars"
GROWTH = (1, 4, 16)
LIMIT, LIMIT_OF_MANY, MANY = 1.5, 0.8, 8_000_000
_SAMPLE_SECONDS = 0.2
_PEERS = Path(__file__).parent / "peers" / "request_logs.py"


def measured(who: str, python: str, log: Path, folder: Path, seen: dict[str, list[float]]) -> float:
    """Milliseconds of a process that leaves its Parquet in folder. seen: gets by name the most memory (MiB) of it and
    its children, and the processor's seconds."""
    out = folder / f"{who}.parquet"
    subprocess.run(["rm", "-rf", str(out)], check=True)
    command = [python, str(_PEERS), who.lower(), str(log), str(out)]
    if who == OURS:
        command = [python, "-m", "console", "lake", "ingest", "--lake", str(out), f"--request-log=1={log}"]
        command.append("--cluster-id=benchmark")
    before = os.times()
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = threading.Thread(target=_watch, args=(process, who, seen))
    watch.start()
    if process.wait():
        raise SystemExit(f"{who} failed with {process.returncode}")
    took = (time.perf_counter() - start) * 1000
    watch.join()
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    seen.setdefault(f"{who}, processor s", []).append(spent)
    return took


def _proportional(process: int) -> float:
    """MiB of a process, of what it shares with others its part: Python's workers are forked from one."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
    return 0.0


def _watch(process: subprocess.Popen[bytes], who: str, seen: dict[str, list[float]]) -> None:
    most = seen.setdefault(f"{who}, MiB", [0.0])
    while process.poll() is None:
        most[0] = max(most[0], sum(_proportional(each) for each, _ in _below(process.pid)))
        time.sleep(_SAMPLE_SECONDS)


def _below(root: int) -> list[tuple[int, list[str]]]:
    """The fields behind the name in /proc/PID/stat of a process and all below it."""
    found: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue

    def below(process: int) -> bool:
        while process and process != root:
            process = int(found[process][1]) if process in found else 0
        return process == root

    return [(process, fields) for process, fields in found.items() if below(process)]


def check_equal(folder: Path, peers: list[str]) -> None:
    """Raises SystemExit where the answers differ; sums of doubles may in their last digits."""
    columns = (
        "principal, client_id, api, requests, errors, bytes_in, bytes_out, round(local_ms, 3) AS local_ms, "
        "throttle_ms_sum, throttle_ms_max"
    )
    ours = (
        f"SELECT epoch(second)::BIGINT AS second, {columns} FROM '{folder}/{OURS}.parquet/data/request_1s/**/*.parquet'"
    )
    for who in peers:
        theirs = f"SELECT second, {columns} FROM '{folder}/{who}.parquet' WHERE api IS NOT NULL"
        for first, second in ((ours, theirs), (theirs, ours)):
            differs = _answer(f"SELECT count(*) FROM (({first}) EXCEPT ALL ({second}))")[0]
            if differs:
                raise SystemExit(f"{OURS} and {who} do not answer the same: {differs} rows differ")
    rows, requests = _answer(f"SELECT count(*), sum(requests)::BIGINT FROM ({ours})")
    report("answers are equal", rows=rows, requests=requests)


def _answer(query: str) -> tuple[Any, ...]:
    with duckdb.connect() as connection:
        (row,) = connection.execute(query).fetchall()
    return tuple(row)


def compare(log: Path, lines: int, rounds: int, folder: Path, polars: str | None) -> None:
    """All in turn."""
    seen: dict[str, list[float]] = {}
    pythons = {OURS: sys.executable, DUCKDB: sys.executable} | ({POLARS: polars} if polars else {})
    taken = interleaved(
        {who: partial(measured, who, python, log, folder, seen) for who, python in pythons.items()}, rounds
    )
    peers = [who for who in pythons if who != OURS]
    check_equal(folder, peers)
    medians = report_times(f"{lines} lines", taken)
    # Beyond the rounds there is a first run of each, which is not counted.
    middles = {name: sorted(each[-rounds:])[len(each[-rounds:]) // 2] for name, each in seen.items()}
    report("processor and memory", **{name: round(each, 1) for name, each in middles.items()}, **load())
    for peer in peers:
        limit = LIMIT_OF_MANY if lines >= MANY else LIMIT
        report_ratio(f"{OURS} / {peer}, {lines} lines", medians[OURS] / medians[peer], limit)
        spent = middles[f"{OURS}, processor s"] / middles[f"{peer}, processor s"]
        report_ratio(f"{OURS} / {peer}, processor", spent, limit)


def grow(lines: int, rounds: int, folder: Path) -> None:
    """What each further line costs, later against earlier; and memory at the end against that at the beginning."""
    seconds, peaks = [], []
    for times in GROWTH:
        seen: dict[str, list[float]] = {}
        log = log_of(folder, lines * times // GROWTH[-1])
        for _ in range(rounds):
            measured(OURS, sys.executable, log, folder, seen)
        spent = sorted(seen[f"{OURS}, processor s"])
        seconds.append(spent[len(spent) // 2])
        peaks.append(seen[f"{OURS}, MiB"][0])
    early, late = ((seconds[n + 1] - seconds[n]) / (GROWTH[n + 1] - GROWTH[n]) for n in (0, 1))
    report(
        f"{OURS}: growth",
        times=GROWTH,
        processor_seconds=[round(each, 2) for each in seconds],
        mib=list(map(round, peaks)),
    )
    report_ratio(f"{OURS}: a line at 16 times / at 4 times", late / early, 1.15)
    report_ratio(f"{OURS}: memory at 16 times / at 4 times", peaks[2] / peaks[1], 1.15)


def log_of(folder: Path, lines: int) -> Path:
    """A log of so many lines, written where it is not there yet."""
    log = folder / f"request-{lines}.log"
    if not log.exists():
        begun = log.with_suffix(".begun")
        write(begun, lines)
        begun.rename(log)
    return log


def main() -> int:
    """Measure, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requests", description=main.__doc__)
    parser.add_argument("--lines", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--polars", metavar="PYTHON", help="the interpreter of an environment with Polars")
    given = parser.parse_args()
    lines = given.lines or (2_000_000 if given.growth else 200_000)
    with tempfile.TemporaryDirectory(prefix="kac-requests-") as own:
        folder = given.folder or Path(own)
        log = log_of(folder, lines)
        report("request log", lines=lines, bytes_per_line=round(log.stat().st_size / lines), **load())
        if given.growth:
            grow(lines, given.rounds, folder)
        else:
            compare(log, lines, given.rounds, folder, given.polars)
    return 0


if __name__ == "__main__":
    sys.exit(main())
