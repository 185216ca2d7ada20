"""Measures a fleet of clusters: the time of `kac lake collect --all` as a whole process, and of queries on a year of
polls.

``python -m benchmarks.fleet [--clusters 100] [--rounds 3] [--days 365]``. The clusters are embedded ones, with three
brokers and the topics of the scenario `quiet` each, in a separate process, so the machine also computes the answers.
The first run also writes the whole first state of each cluster. ``--days`` makes a lake of the given number of days
instead: 100 clusters polled every five minutes with ten changes a day each, as nightly maintenance leaves it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks.figures import interleaved, load, report, report_ratio, report_times
from console.collecting.collect import TYPES
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.lake.lake import Lake
from console.lake.reader import Tables, Wanted, fleet_freshness, freshness, timeline
from console.lake.schema import CHANGE_EVENT, HISTORY, SNAPSHOT, Table, arrow_schema
from tests.support import delta_lake

SERVE = "--serve"
LIMITS = {100: 8.0, 1_000: 60.0}
"""Number of clusters -> maximum seconds for a poll of all of them."""
QUERY_SECONDS = 0.5
CLUSTERS, POLL_MINUTES, CHANGES_A_DAY = 100, 5, 10
DAYS_AT_ONCE = 30
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


async def serve(count: int) -> None:
    """Run `count` embedded clusters until standard input ends; print a line with the addresses of each cluster."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard) if soft < hard else (soft, hard))
    async with AsyncExitStack() as running:
        for _ in range(count):
            cluster = await running.enter_async_context(EmbeddedCluster(ClusterSpec(scenario="quiet")))
            sys.stdout.write(f"{cluster.bootstrap}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


@contextmanager
def fleet(count: int) -> Iterator[list[str]]:
    """Run `count` clusters in a separate process until the end of the block. Yield the bootstrap addresses of each."""
    command = [sys.executable, "-m", "benchmarks.fleet", SERVE, str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield [process.stdout.readline().strip() for _ in range(count)]
    finally:
        process.communicate()


def collect(home: Path, rounds: int, count: int) -> None:
    """Poll all contexts of the home folder once for the clusters' first state, then `rounds` times, and report the
    cost. Raises SystemExit if a poll fails.
    """
    environ = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "KAC_LAKE": str(home / "lake")}
    command = [sys.executable, "-m", "console", "lake", "collect", "--all", "--output", "json"]
    for turn in range(rounds + 1):
        begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(done.stderr[-2_000:])
        lake = Lake.open(str(home / "lake"))
        landed = len(lake.files.entries(lake.path("landing/polls")))
        cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        report(
            f"collect --all, {count} clusters{', the first time' if not turn else ''}",
            seconds=round(seconds, 2),
            limit=LIMITS.get(count),
            own_cpu=round(cpu, 2),
            landed=landed,
            peak_mib=round(after.ru_maxrss / 1024),
            **load(),
        )


def measure(count: int, rounds: int) -> None:
    """Report the cost of `kac lake collect --all` for `count` clusters."""
    with tempfile.TemporaryDirectory() as folder, fleet(count) as addresses:
        home = Path(folder)
        (home / "kac").mkdir()
        contexts = [f'[contexts.c{number:04}]\nbootstrap.servers = "{each}"\n' for number, each in enumerate(addresses)]
        (home / "kac" / "config.toml").write_text("\n".join(contexts))
        collect(home, rounds, count)


def make_year(where: str, days: int) -> None:
    """Make a lake of `days` days in the folder `where`, as maintenance leaves it: `history` and `change_event` have a
    file for each cluster, and `snapshot` has a file for every `DAYS_AT_ONCE` days with the heartbeats of all polls.
    """
    lake = Lake.create(where)
    beats = {"kind": "heartbeat", "entity_type": ",".join(TYPES), "is_sensitive": False}
    empty = dict.fromkeys(("entity_key", "attr", "value", "source"))
    for first in range(0, days, DAYS_AT_ONCE):
        polls = range(first * 24 * 60 // POLL_MINUTES, min(first + DAYS_AT_ONCE, days) * 24 * 60 // POLL_MINUTES)
        times = [BEGAN + poll * timedelta(minutes=POLL_MINUTES) for poll in polls for _ in range(CLUSTERS)]
        columns = {
            "cluster_id": [f"cluster-{number}" for _ in polls for number in range(CLUSTERS)],
            "observed_ts": times,
            **{name: [value] * len(times) for name, value in {**beats, **empty}.items()},
        }
        delta_lake.put(lake, SNAPSHOT, pa.table(columns, schema=arrow_schema(SNAPSHOT)))
    of_days = [BEGAN + timedelta(days=day) for day in range(days)]
    for table in (CHANGE_EVENT, HISTORY):
        changes = (_changes(table, f"cluster-{number}", *of_days) for number in range(CLUSTERS))
        delta_lake.put(lake, table, pa.concat_tables(changes))


def _changes(table: Table, cluster: str, *days: datetime) -> pa.Table:
    """Return the rows of `table` for the changes of a cluster on these days."""
    column = next(each.name for each in table.columns if each.type == "timestamp")
    more = {"entity_type": "topic", "kind": "state", "source": "snapshot", "new_value": "1", "op": "set"}
    filled = {"string": "x", "int": 1, "bigint": 1, "double": 1.0, "boolean": True, "timestamp": None}
    rows = [
        {
            **{each.name: more.get(each.name, filled[each.type]) for each in table.columns},
            "cluster_id": cluster,
            "entity_key": f"topic-{number}",
            column: day + timedelta(hours=number + 1),
        }
        for day in days
        for number in range(CHANGES_A_DAY)
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(table))


def query_year(days: int, rounds: int) -> None:
    """Report the time of `kac history` on a lake of `days` days, each time as a new process."""
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/lake"
        make_year(where, days)
        environ = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "KAC_LAKE": where}
        python = [sys.executable, "-m", "console"]
        asked = {
            "of all clusters": [*python, "history", "--limit", "100"],
            "of one cluster": [*python, "history", "--cluster", "cluster-7", "--limit", "100"],
            "of one topic of it": [*python, "history", "--cluster", "cluster-7", "--entity", "topic:topic-3"],
        }

        cpu: dict[str, float] = {}

        def run(name: str) -> float:
            begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(asked[name], env=environ, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[name] = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
            return (time.perf_counter() - begun) * 1000

        report("size", days=days, files=sum(1 for _ in Path(where).rglob("*.parquet")), **load())
        taken = report_times(
            f"kac history, {days} days", interleaved({name: partial(run, name) for name in asked}, rounds)
        )
        for name, milliseconds in taken.items():
            report_ratio(f"kac history {name}: seconds", milliseconds / 1000, QUERY_SECONDS)
            report(f"kac history {name}: the processor", seconds=round(cpu[name], 2), **load())
        tables = Tables(where)
        asks: dict[str, Callable[[], object]] = {
            "timeline of a cluster": lambda: timeline(tables, Wanted("cluster-7"), folded=True),
            "timeline of all": lambda: timeline(tables, Wanted(), folded=True),
            "how fresh a cluster is": lambda: freshness(tables, "cluster-7"),
            "how fresh all are": lambda: fleet_freshness(tables, HISTORY),
        }
        for name, ask in asks.items():
            begun, worked = time.perf_counter(), time.process_time()
            ask()
            seconds, own = time.perf_counter() - begun, time.process_time() - worked
            report(f"{name}, in a process that runs", seconds=round(seconds, 3), cpu=round(own, 3), **load())
        tables.close()


def main() -> None:
    """Measure, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument(SERVE, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--days", type=int)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    if given.days:
        query_year(given.days, given.rounds)
    else:
        measure(given.clusters, given.rounds)


if __name__ == "__main__":
    main()
