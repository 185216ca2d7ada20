"""A fleet: `kac lake collect --all` over many clusters as a whole process, and queries on a year of their polls.

``python -m benchmarks.fleet [--clusters 100] [--rounds 3] [--days 365]``. The clusters are embedded ones, three brokers
and the topics of `quiet` each, in one process beside; so the machine computes the answers as well as the questions. The
first run also writes all that there is. ``--days`` makes so much time by its size instead: polls of 100 clusters every
five minutes with a hundred changes a day, and their history, through the code that writes polls.
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
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from benchmarks.figures import load, report
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.history.store import Lake

SERVE = "--serve"
LIMITS = {100: 8.0, 1_000: 60.0}
"""Seconds for a poll of so many clusters."""


async def serve(count: int) -> None:
    """Runs clusters until standard input ends; a line with the addresses of each."""
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
    """The addresses of so many clusters that run in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.fleet", SERVE, str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield [process.stdout.readline().strip() for _ in range(count)]
    finally:
        process.communicate()


def collect(home: Path, rounds: int, count: int) -> None:
    """Polls all contexts of that home, once for all that there is and then so many times."""
    environ = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "KAC_LAKE": str(home / "lake")}
    command = [sys.executable, "-m", "console", "lake", "collect", "--all", "--output", "json"]
    for turn in range(rounds + 1):
        begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(done.stderr[-2_000:])
        lake = Lake.open(str(home / "lake"))
        files = sum(len(table.files) for table in lake.current().tables.values())
        cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        report(
            f"collect --all, {count} clusters{', the first time' if not turn else ''}",
            seconds=round(seconds, 2),
            limit=LIMITS.get(count),
            own_cpu=round(cpu, 2),
            commits=lake.current().number,
            files=files,
            peak_mib=round(after.ru_maxrss / 1024),
            **load(),
        )


def measure(count: int, rounds: int) -> None:
    """`collect` over so many clusters."""
    with tempfile.TemporaryDirectory() as folder, fleet(count) as addresses:
        home = Path(folder)
        (home / "kac").mkdir()
        contexts = [f'[contexts.c{number:04}]\nbootstrap.servers = "{each}"\n' for number, each in enumerate(addresses)]
        (home / "kac" / "config.toml").write_text("\n".join(contexts))
        collect(home, rounds, count)


def main() -> None:
    """Prints a line of JSON for each figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument(SERVE, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    measure(given.clusters, given.rounds)


if __name__ == "__main__":
    main()
