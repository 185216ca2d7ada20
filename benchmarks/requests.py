"""A request log to requests by the second, its changes and usage: `kac lake update`, beside DuckDB, and Polars, alone.

``python -m benchmarks.requests [--lines 2000000 8000000] [--rounds 1] [--folder DIR] [--from-json] [--polars PYTHON]``:
needs Java. Each is a fresh process, from its start to its end, that reads the log of `benchmarks.request_log` (1.3 kB a
line, kept in DIR) and leaves Parquet, ours in a new lake; all have to be equal. With two numbers of lines there is what
each further line costs at the margin, without what a start does. --from-json: Spark's own `from_json` of each line too,
in the session that ours has. PYTHON: of an environment with Polars.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.figures import load, report, report_ratio
from benchmarks.processes import Cost, cost_of, kac
from benchmarks.request_log import write
from console.lake.lake import Lake
from console.lake.schema import REQUEST

OURS, DUCKDB, FROM_JSON, POLARS = "kac lake update", "duckdb", "spark", "polars"
AT_THE_MARGIN = {DUCKDB: 1.1, FROM_JSON: 0.5}
"""The most CPU that a further line may take of what it takes a peer."""
WALL, MANY = 1.3, 8_000_000
"""The most wall time of DuckDB's, for so many lines."""
JAVA_MIB, WORKER_MIB = 1024.0, 150.0
_PEERS = Path(__file__).parent / "peers" / "request_logs.py"
_KEY = "second, principal, client_id, api"
_SUMS = (
    "sum(requests)::BIGINT AS requests, sum(errors)::BIGINT AS errors, sum(bytes_in)::BIGINT AS bytes_in, "
    "sum(bytes_out)::BIGINT AS bytes_out, round(sum(local_ms), 3) AS local_ms, "
    "sum(throttle_ms_sum)::BIGINT AS throttle_ms_sum, max(throttle_ms_max)::BIGINT AS throttle_ms_max"
)
"""A second may come in several rows; sums of doubles may differ in their last digits."""


def measured(who: str, python: str, log: Path, out: Path) -> Cost:
    """The cost of a process that leaves its Parquet at `out`."""
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    if who == FROM_JSON:
        return cost_of([python, "-m", "benchmarks.peers.request_log_spark", str(log), str(out)])
    if who != OURS:
        return cost_of([python, str(_PEERS), who, str(log), str(out)])
    out.mkdir()
    sources = {"id": "benchmark", "request-logs": [{"broker": "1", "files": str(log)}]}
    (out / "sources.yaml").write_text(json.dumps({"version": "1", "clusters": [sources]}))
    return cost_of(kac("lake", "update", "--lake", str(out), "--master", "local[2]"))


def check_equal(lake: Lake, peers: Mapping[str, Path]) -> None:
    """Raises SystemExit where the answers differ."""
    files = [f"{lake.folder(REQUEST)}/{path}" for path in lake.table(REQUEST).files]
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE ours AS SELECT epoch(second)::BIGINT AS second, * EXCLUDE (second) "
            "FROM (SELECT unnest(second) FROM read_parquet(?, hive_partitioning = false) WHERE second IS NOT NULL)",
            [files],
        )
        ours = f"SELECT {_KEY}, {_SUMS} FROM ours GROUP BY ALL"
        for who, out in peers.items():
            place = f"{out}/*.parquet" if out.is_dir() else str(out)
            theirs = f"SELECT {_KEY}, {_SUMS} FROM read_parquet('{place}') WHERE api IS NOT NULL GROUP BY ALL"
            for first, second in ((ours, theirs), (theirs, ours)):
                (differs,) = _answer(database, f"SELECT count(*) FROM (({first}) EXCEPT ALL ({second}))")
                if differs:
                    raise SystemExit(f"{OURS} and {who} do not answer the same: {differs} rows differ")
        rows, requests = _answer(database, f"SELECT count(*), sum(requests)::BIGINT FROM ({ours})")
    assert requests, "nothing was counted"
    report("answers are equal", rows=rows, requests=requests)


def _answer(database: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    (row,) = database.execute(query).fetchall()
    return tuple(row)


def compare(lines: int, rounds: int, folder: Path, pythons: Mapping[str, str]) -> dict[str, Cost]:
    """All in turn; the run of each with the middle CPU."""
    log = log_of(folder, lines)
    report("request log", lines=lines, bytes_per_line=round(log.stat().st_size / lines), **load())
    costs: dict[str, list[Cost]] = {who: [] for who in pythons}
    with tempfile.TemporaryDirectory(dir=folder) as own:
        outs = {who: Path(own, who.replace(" ", "-")) for who in pythons}
        for _ in range(rounds):
            for who, python in pythons.items():
                costs[who].append(measured(who, python, log, outs[who]))
        check_equal(Lake.open(str(outs.pop(OURS))), outs)
    middle = {who: sorted(each, key=lambda cost: cost.cpu)[len(each) // 2] for who, each in costs.items()}
    for who, cost in middle.items():
        report(f"{lines} lines: {who}", **cost.shown())
    for who in outs:
        ratios = {name: round(getattr(middle[OURS], name) / getattr(middle[who], name), 2) for name in ("wall", "cpu")}
        report(f"{lines} lines: {OURS} / {who}", **ratios)
    if lines >= MANY:
        report_ratio(f"{lines} lines: wall / DuckDB's", middle[OURS].wall / middle[DUCKDB].wall, WALL)
    report_ratio(f"{lines} lines: Java's most MiB", middle[OURS].java, JAVA_MIB)
    report_ratio(f"{lines} lines: a worker's most MiB", middle[OURS].worker, WORKER_MIB)
    return middle


def margin(smaller: tuple[int, Mapping[str, Cost]], larger: tuple[int, Mapping[str, Cost]]) -> None:
    """What a line costs between two numbers of lines."""
    (few, before), (many, after) = smaller, larger
    added = {who: after[who] - before[who] for who in after}
    for who, cost in added.items():
        micros = {name: round(getattr(cost, name) / (many - few) * 1e6, 2) for name in ("cpu", "wall")}
        report(f"a line from {few} to {many}: {who}", microseconds=micros)
    for who, most in AT_THE_MARGIN.items():
        if who in added:
            report_ratio(f"a line from {few} to {many}: CPU / that of {who}", added[OURS].cpu / added[who].cpu, most)


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
    parser.add_argument("--lines", type=int, nargs="+", default=[2_000_000, MANY])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--from-json", action="store_true", help="Spark's own from_json too")
    parser.add_argument("--polars", metavar="PYTHON", help="the interpreter of an environment with Polars")
    given = parser.parse_args()
    pythons = {OURS: sys.executable, DUCKDB: sys.executable}
    pythons |= {FROM_JSON: sys.executable} if given.from_json else {}
    pythons |= {POLARS: given.polars} if given.polars else {}
    with tempfile.TemporaryDirectory(prefix="kac-requests-") as own:
        folder = given.folder or Path(own)
        taken = {lines: compare(lines, given.rounds, folder, pythons) for lines in sorted(given.lines)}
        for smaller, larger in pairwise(taken.items()):
            margin(smaller, larger)
    return 0


if __name__ == "__main__":
    sys.exit(main())
