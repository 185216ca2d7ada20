"""Measures `kac history` on a lake of a million changes, from its start to its first row, compared with DuckDB and
PyArrow alone.

``python -m benchmarks.reader [--rounds 9] [--rows 1000000]``. The other programs read the same rows of the same files
and print them, also in a new process; the answers have to be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks import figures
from console.lake.lake import Lake
from console.lake.schema import HISTORY, arrow_schema
from tests.support import delta_lake

LIMIT = 0.25
"""Maximum seconds until the first row."""
ROWS = 100
CLUSTER = "cluster-1"
TOPIC = "topic-77"

_DUCKDB = """
import duckdb, json, sys
files, cluster, topic = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
also = "AND entity_type = 'topic' AND entity_key = ?" if topic else ""
print(*duckdb.execute("SELECT entity_key || ' ' || attr || ' ' || new_value FROM read_parquet(?) WHERE cluster_id = ? "
 + also + " ORDER BY valid_from DESC, cluster_id, entity_type, entity_key, attr LIMIT 100",
 [files, cluster, *([topic] if topic else [])]).fetchall(), sep="\\n")
"""
_ARROW = """
import json, sys
import pyarrow.compute as pc, pyarrow.dataset as ds
files, cluster, topic = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
wanted = pc.field("cluster_id") == cluster
if topic:
    wanted = wanted & (pc.field("entity_type") == "topic") & (pc.field("entity_key") == topic)
names = ["valid_from", "cluster_id", "entity_type", "entity_key", "attr", "new_value"]
rows = ds.dataset(files).to_table(columns=names, filter=wanted)
order = [("valid_from", "descending")] + [(name, "ascending") for name in names[1:5]]
top = rows.take(pc.select_k_unstable(rows, 100, sort_keys=order)).to_pylist()
print(*[(f"{r['entity_key']} {r['attr']} {r['new_value']}",) for r in top], sep="\\n")
"""


def make_lake(where: str, rows: int) -> list[str]:
    """Make a lake of `rows` changes, each with its own time, in three clusters of 5,000 topics. Return the paths of the
    `history` files of `CLUSTER`.
    """
    import duckdb

    lake = Lake.create(where)
    for number in range(3):
        made = duckdb.sql(
            f"""SELECT 'cluster-{number}' AS cluster_id, 'topic' AS entity_type,
 'topic-' || (i * 7919) % 5000 AS entity_key, 'config.' || (i * 31) % 40 || '.ms' AS attr, 'old' || i AS old_value,
 'new' || i AS new_value, TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(i * 11) AS valid_from,
 NULL::TIMESTAMPTZ AS valid_to, true AS is_current, false AS is_deleted, 'User:alice' AS principal,
 'request' AS attribution, 'kraft_log' AS source FROM range({rows // 3}) t(i) ORDER BY 1, 2, 3, 4, 7"""
        )
        assert made is not None
        delta_lake.put(lake, HISTORY, made.to_arrow_table().cast(arrow_schema(HISTORY)))
    found = lake.table(HISTORY).files.items()
    return [f"{lake.folder(HISTORY)}/{path}" for path, file in found if file.parts["in_cluster_id"] == CLUSTER]


class FirstRow:
    """A command whose time from its start to its first row is measured. lines: the rows of the last run."""

    def __init__(self, command: Sequence[str], home: str, titles: int = 0) -> None:
        self._command = command
        self._environment = {**os.environ, "HOME": home}
        self._titles = titles
        self.lines: list[str] = []

    def __call__(self) -> float:
        """Run the command, and return the milliseconds until its first row. Raises RuntimeError if it fails."""
        began = time.perf_counter()
        with subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self._environment
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            first = [running.stdout.readline() for _ in range(self._titles + 1)]
            taken = (time.perf_counter() - began) * 1e3
            rest, complaints = running.stdout.read(), running.stderr.read()
        if running.returncode:
            raise RuntimeError(f"{self._command}: {complaints[-500:]}")
        self.lines = [*first[self._titles :], *rest.splitlines()]
        return taken


def measure(lake: str, files: Sequence[str], topic: str, rounds: int, home: str) -> None:
    """Report the milliseconds until the first row of the newest changes, by kac, DuckDB and PyArrow. topic: of this
    topic only; ``""`` for the whole cluster. Raises RuntimeError if the answers differ.
    """
    words = ["--entity", f"topic:{topic}"] if topic else []
    kac = [sys.executable, "-m", "console", "history", *words, "--lake", lake, "--cluster", CLUSTER]
    listed = json.dumps(list(files))
    mine = FirstRow([*kac, "--limit", str(ROWS)], home, titles=1)
    duckdb = FirstRow([sys.executable, "-c", _DUCKDB, listed, CLUSTER, topic], home)
    arrow = FirstRow([sys.executable, "-c", _ARROW, listed, CLUSTER, topic], home)
    what = f"history of {'a topic' if topic else 'a cluster'}"
    measures: dict[str, figures.Measure] = {"kac": mine, "DuckDB alone": duckdb, "PyArrow": arrow}
    medians = figures.report_times(what, figures.interleaved(measures, rounds))
    shown = [line.split() for line in mine.lines if " topic topic-" in line]
    answer = [f"('{row[3]} {row[4]} {row[6]}',)" for row in shown]
    if not answer == [line.strip() for line in duckdb.lines] == [line.strip() for line in arrow.lines]:
        raise RuntimeError("the answers differ")
    figures.report_ratio(f"{what}: first row, s", medians["kac"] / 1e3, LIMIT)
    for other in ("DuckDB alone", "PyArrow"):
        figures.report(f"{what}: kac / {other}", ratio=round(medians["kac"] / medians[other], 2))


def main() -> None:
    """Make the lake, read its newest changes with each program in turn, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = f"{folder}/lake"
        files = make_lake(lake, options.rows)
        for topic in ("", TOPIC):
            measure(lake, files, topic, options.rounds, folder)
    figures.report("machine", **figures.load())


if __name__ == "__main__":
    main()
