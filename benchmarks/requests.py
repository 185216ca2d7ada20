"""Measures how `kac lake update` makes rows of requests per second, changes and usage from a request log, compared with
DuckDB and Polars alone.

``python -m benchmarks.requests [--lines 2000000 8000000] [--pairs 300 3000] [--shapes usual long short strangers json
container] [--rounds 1] [--folder DIR] [--from-json] [--polars PYTHON]``: needs Java. Each program is a new process,
measured from its start to its end, that reads a log of `benchmarks.request_log` (kept in DIR) and writes Parquet, kac
in a new lake; all answers have to be equal. Two numbers of lines give the marginal cost of a line, without the cost of
a start. --pairs: numbers of users with clients, each for a separate log. --shapes: those of `SHAPES`; a shape of longer
lines has proportionally fewer. --from-json: also measure Spark's own `from_json` of each line, in a session like kac's.
PYTHON: of an environment with Polars. Besides kac, only DuckDB reads other layouts than Kafka's own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.figures import load, report, report_ratio
from benchmarks.processes import Cost, cost_of, kac
from benchmarks.request_log import PAIRS, SHAPES, Shape, write
from console.lake.lake import Lake
from console.lake.schema import REQUEST

OURS, DUCKDB, FROM_JSON, POLARS = "kac lake update", "duckdb", "spark", "polars"
AT_THE_MARGIN = {DUCKDB: 1.3, FROM_JSON: 0.5}
"""Name of another program -> maximum ratio of kac's CPU time for an additional line to that program's."""
WALL, MANY = 2.0, 8_000_000
"""Maximum ratio of kac's wall time to DuckDB's, and the minimum number of lines from which it is checked."""
JAVA_MIB, WORKER_MIB, TOGETHER_MIB = 900.0, 150.0, 1638.0
_PEERS = Path(__file__).parent / "peers" / "request_logs.py"
_KEY = "second, principal, client_id, api"
_SUMS = (
    "sum(requests)::BIGINT AS requests, sum(errors)::BIGINT AS errors, sum(bytes_in)::BIGINT AS bytes_in, "
    "sum(bytes_out)::BIGINT AS bytes_out, round(sum(local_ms), 3) AS local_ms, "
    "sum(throttle_ms_sum)::BIGINT AS throttle_ms_sum, max(throttle_ms_max)::BIGINT AS throttle_ms_max"
)
"""The sums whose equality is checked, over all rows: a second may have several rows, and sums of doubles may differ in
their last digits.
"""


def measured(who: str, python: str, log: Path, out: Path, layout: str) -> Cost:
    """Run a program (`who`) that reads a log and writes Parquet to `out`, and return its cost. layout: of the log's
    lines.
    """
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    if who == FROM_JSON:
        return cost_of([python, "-m", "benchmarks.peers.request_log_spark", str(log), str(out)])
    if who != OURS:
        return cost_of([python, str(_PEERS), who, str(log), str(out), layout])
    out.mkdir()
    sources = {"id": "benchmark", "request-logs": [{"broker": "1", "files": str(log)}]}
    (out / "sources.yaml").write_text(json.dumps({"version": "1", "clusters": [sources]}))
    return cost_of(kac("lake", "update", "--lake", str(out), "--master", "local[2]"))


def check_equal(lake: Lake, peers: Mapping[str, Path]) -> None:
    """Raise SystemExit unless each other program has the same sums as the lake; print their number. peers: program ->
    its Parquet file, or folder of files.
    """
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


def compare(name: str, lines: int, rounds: int, folder: Path, pythons: Mapping[str, str]) -> dict[str, Cost]:
    """Run all programs in turn, `rounds` times. Return program -> the cost of its run with the median CPU time. name:
    of the log's shape, as for `shapes`. pythons: program -> the Python that runs it.
    """
    shape = shapes(name)
    log = log_of(folder, lines, name)
    what = f"{name}: {lines} lines"
    report(what, bytes_per_line=round(log.stat().st_size / lines), **load())
    costs: dict[str, list[Cost]] = {who: [] for who in pythons}
    with tempfile.TemporaryDirectory(dir=folder) as own:
        outs = {who: Path(own, who.replace(" ", "-")) for who in pythons}
        for _ in range(rounds):
            for who, python in pythons.items():
                costs[who].append(measured(who, python, log, outs[who], shape.form))
        check_equal(Lake.open(str(outs.pop(OURS))), outs)
    middle = {who: sorted(each, key=lambda cost: cost.cpu)[len(each) // 2] for who, each in costs.items()}
    for who, cost in middle.items():
        report(f"{what}: {who}", **cost.shown())
    for who in outs:
        ratios = {each: round(getattr(middle[OURS], each) / getattr(middle[who], each), 2) for each in ("wall", "cpu")}
        report(f"{what}: {OURS} / {who}", **ratios)
    if lines * shape.fewer >= MANY:
        report_ratio(f"{what}: wall / DuckDB's", middle[OURS].wall / middle[DUCKDB].wall, WALL)
    report_ratio(f"{what}: Java's most MiB", middle[OURS].java, JAVA_MIB)
    report_ratio(f"{what}: a worker's most MiB", middle[OURS].worker, WORKER_MIB)
    report_ratio(f"{what}: the most MiB together", middle[OURS].together, TOGETHER_MIB)
    return middle


def margin(name: str, smaller: tuple[int, Mapping[str, Cost]], larger: tuple[int, Mapping[str, Cost]]) -> None:
    """Print the CPU and wall time, in microseconds, of each additional line, computed from the costs of two numbers of
    lines.
    """
    (few, before), (many, after) = smaller, larger
    added = {who: after[who] - before[who] for who in after}
    what = f"{name}: a line from {few} to {many}"
    for who, cost in added.items():
        micros = {each: round(getattr(cost, each) / (many - few) * 1e6, 2) for each in ("cpu", "wall")}
        report(f"{what}: {who}", microseconds=micros)
    for who, most in AT_THE_MARGIN.items():
        if who in added:
            report_ratio(f"{what}: CPU / that of {who}", added[OURS].cpu / added[who].cpu, most)


def shapes(name: str) -> Shape:
    """Return the shape with this name. The name may end with the shape's number of pairs: `usual-3000`."""
    of, _, pairs = name.partition("-")
    return replace(SHAPES[of], pairs=int(pairs)) if pairs else SHAPES[of]


def log_of(folder: Path, lines: int, name: str = "usual") -> Path:
    """Return the path of a log of `lines` lines in the folder; write it if it does not exist. name: of its shape."""
    log = folder / f"request-{name}-{lines}.log"
    if not log.exists():
        begun = log.with_suffix(".begun")
        write(begun, lines, shapes(name))
        begun.rename(log)
    return log


def main() -> int:
    """Measure, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requests", description=main.__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[2_000_000, MANY])
    parser.add_argument("--pairs", type=int, nargs="+", default=[PAIRS])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=["usual"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--from-json", action="store_true", help="Spark's own from_json too")
    parser.add_argument("--polars", metavar="PYTHON", help="the interpreter of an environment with Polars")
    given = parser.parse_args()
    pythons = {OURS: sys.executable, DUCKDB: sys.executable}
    of_lines = {FROM_JSON: sys.executable} if given.from_json else {}
    of_lines |= {POLARS: given.polars} if given.polars else {}
    each_pairs = [(name, pairs) for name in given.shapes for pairs in (given.pairs if SHAPES[name].pairs else [None])]
    with tempfile.TemporaryDirectory(prefix="kac-requests-") as own:
        folder = given.folder or Path(own)
        for of, pairs in each_pairs:
            name, shape = f"{of}-{pairs}" if pairs else of, SHAPES[of]
            measured_by = pythons if shape.form != "pattern" else {**pythons, **of_lines}
            numbers = sorted(lines // shape.fewer for lines in given.lines)
            taken = {lines: compare(name, lines, given.rounds, folder, measured_by) for lines in numbers}
            for smaller, larger in pairwise(taken.items()):
                margin(name, smaller, larger)
    return 0


if __name__ == "__main__":
    sys.exit(main())
