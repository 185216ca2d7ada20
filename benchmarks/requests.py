"""A request log to requests by the second: Spark with `from_json`, Spark with DuckDB in each part, and DuckDB alone.

``python -m benchmarks.requests [--lines 200000] [--rounds 3] [--growth] [--folder DIR]``: needs Java. Each is a fresh
process, from its start to its end, Spark's session with it, that reads the log of `benchmarks.request_log` (1.3 kB a
line, kept in DIR) and leaves Parquet; all three have to be equal. --growth: Spark with once, 4 and 16 times a sixteenth
of the lines, with the most memory that its processes had together.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.figures import interleaved, load, report, report_ratio, report_times
from benchmarks.request_log import write

SPARK, SPARK_DUCKDB, DUCKDB = "Spark from_json", "Spark, DuckDB in each part", "DuckDB"
COLD = 4_000_000
"""With fewer lines Spark's start weighs more, and the limit is another."""
GROWTH = (1, 4, 16)
_SAMPLE_SECONDS = 0.2
_LINES = """
SELECT epoch_us(strptime(line[2:24], '%Y-%m-%d %H:%M:%S,%g')) AS end_us, line[51:-24] AS json
FROM read_csv('{log}', header = false, delim = '\\x01', quote = '', escape = '', columns = {{'line': 'VARCHAR'}},
  auto_detect = false, max_line_size = 16777216)
WHERE line[26:50] = ' DEBUG Completed request:'
"""


def run_duckdb(log: Path, out: Path) -> None:
    """DuckDB alone: the same question, asked of the file itself."""
    from console.history.requests.seconds_duckdb import COUNTED_ROWS

    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW lines AS {_LINES.format(log=log)}")
        # Rows without an API are left there: to leave them out here DuckDB would read the JSON twice.
        connection.execute(f"COPY ({COUNTED_ROWS}) TO '{out}' (FORMAT parquet)")


def run_spark(log: Path, out: Path, *, with_duckdb: bool) -> None:
    """As `ingest` does."""
    from console.history.request_log_duckdb import counted_seconds, request_1s_of
    from console.history.requests.parts import BrokerLog
    from console.history.requests.progress import plan
    from console.history.spark_sources import request_lines
    from console.history.transforms.request_logs import request_1s
    from console.lake.spark_session import lake_session

    logs = [BrokerLog("benchmark", 1, plan([str(log)], {}).spans)]
    size, memory = log.stat().st_size, {"spark.driver.memory": "1g"}
    with lake_session(os.environ, master="local[2]", input_bytes=size, more=memory) as spark:
        made = request_1s_of(counted_seconds(spark, logs)) if with_duckdb else request_1s(request_lines(spark, logs))
        made.write.parquet(str(out))


def measured(who: str, log: Path, folder: Path, memory: dict[str, float]) -> float:
    """Milliseconds of a process that leaves its Parquet in folder; the most memory (MiB) of it and its children is put
    into `memory`."""
    out = folder / f"{who}.parquet"
    subprocess.run(["rm", "-rf", str(out)], check=True)
    command = [sys.executable, "-m", "benchmarks.requests", "--run", who, "--log", str(log), "--out", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = threading.Thread(target=_watch, args=(process, who, memory))
    watch.start()
    if process.wait():
        raise SystemExit(f"{who} failed with {process.returncode}")
    took = (time.perf_counter() - start) * 1000
    watch.join()
    return took


def _watch(process: subprocess.Popen[bytes], who: str, memory: dict[str, float]) -> None:
    while process.poll() is None:
        memory[who] = max(memory.get(who, 0.0), _resident_mib(process.pid))
        time.sleep(_SAMPLE_SECONDS)


def _resident_mib(root: int) -> float:
    """Of a process and all below it."""
    parents: dict[int, int] = {}
    sizes: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
        sizes[int(folder.name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def below(process: int) -> bool:
        while process and process != root:
            process = parents.get(process, 0)
        return process == root

    return sum(size for process, size in sizes.items() if below(process))


def check_equal(folder: Path) -> None:
    """Raises SystemExit where the answers differ; sums of doubles may in their last digits."""
    columns = (
        "principal, client_id, api, requests, errors, bytes_in, bytes_out, round(local_ms, 3) AS local_ms, "
        "throttle_ms_sum, throttle_ms_max"
    )
    spark = f"SELECT epoch(second)::BIGINT AS second, {columns} FROM '{folder}/{{}}.parquet/*.parquet'"
    alone = f"SELECT second, {columns} FROM '{folder}/{DUCKDB}.parquet' WHERE api IS NOT NULL"
    for who in (SPARK, SPARK_DUCKDB):
        for first, second in ((spark.format(who), alone), (alone, spark.format(who))):
            differs = _answer(f"SELECT count(*) FROM (({first}) EXCEPT ALL ({second}))")[0]
            if differs:
                raise SystemExit(f"{who} and {DUCKDB} do not answer the same: {differs} rows differ")
    rows, requests = _answer(f"SELECT count(*), sum(requests)::BIGINT FROM ({alone})")
    report("answers are equal", rows=rows, requests=requests)


def _answer(query: str) -> tuple[Any, ...]:
    with duckdb.connect() as connection:
        (row,) = connection.execute(query).fetchall()
    return tuple(row)


def compare(log: Path, lines: int, rounds: int, folder: Path) -> None:
    """All three in turn."""
    memory: dict[str, float] = {}
    who = (SPARK, SPARK_DUCKDB, DUCKDB)
    taken = interleaved({name: partial(measured, name, log, folder, memory) for name in who}, rounds)
    check_equal(folder)
    medians = report_times(f"{lines} lines", taken)
    report("memory, MiB", **{name: round(most) for name, most in memory.items()})
    limits: Mapping[str, float] = {SPARK: 5.0, SPARK_DUCKDB: 5.0} if lines < COLD else {SPARK: 2.5, SPARK_DUCKDB: 2.0}
    for name, limit in limits.items():
        report_ratio(f"{name} / {DUCKDB}, {lines} lines", medians[name] / medians[DUCKDB], limit)


def grow(lines: int, rounds: int, folder: Path) -> None:
    """What each further line costs, later against earlier; and memory at the end against that at the beginning."""
    for who in (SPARK, SPARK_DUCKDB):
        seconds, peaks = [], []
        for times in GROWTH:
            memory: dict[str, float] = {}
            log = log_of(folder, lines * times // GROWTH[-1])
            taken = sorted(measured(who, log, folder, memory) for _ in range(rounds))
            seconds.append(taken[len(taken) // 2] / 1000)
            peaks.append(memory[who])
        early, late = ((seconds[n + 1] - seconds[n]) / (GROWTH[n + 1] - GROWTH[n]) for n in (0, 1))
        report(
            f"{who}: growth", times=GROWTH, seconds=[round(each, 2) for each in seconds], mib=list(map(round, peaks))
        )
        report_ratio(f"{who}: a line at 16 times / at 4 times", late / early, 1.15)
        report_ratio(f"{who}: memory at 16 times / at 4 times", peaks[2] / peaks[1], 1.15)


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
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--run", choices=(SPARK, SPARK_DUCKDB, DUCKDB), help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run == DUCKDB:
        run_duckdb(given.log, given.out)
    elif given.run is not None:
        run_spark(given.log, given.out, with_duckdb=given.run == SPARK_DUCKDB)
    else:
        with tempfile.TemporaryDirectory(prefix="kac-requests-") as own:
            folder = given.folder or Path(own)
            log = log_of(folder, given.lines)
            report("request log", lines=given.lines, bytes_per_line=round(log.stat().st_size / given.lines), **load())
            if given.growth:
                grow(given.lines, given.rounds, folder)
            else:
                compare(log, given.lines, given.rounds, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
