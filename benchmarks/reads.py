"""Measures the time to read all topic configs and all quotas into kac's model, compared with kadm (Go) and with reading
the same bytes undecoded.

``python -m benchmarks.reads [HOST:PORT] [--rounds 10]``: without an address it starts a broker (benchmarks.cluster).
The program in Go (``peers/kadm``) is built once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.cluster import filled_broker
from benchmarks.figures import Measure, interleaved, report, report_ratio, report_times

PEERS = Path(__file__).parent / "peers"


def kadm(address: str) -> Callable[[], dict[str, float]]:
    """Build the program in Go. Return a function that runs it in a new process, and returns name -> ms as the program
    measures them.
    """
    binary = Path(tempfile.mkdtemp()) / "kadm"
    subprocess.run(["go", "build", "-o", str(binary), "."], cwd=PEERS / "kadm", check=True)

    def run() -> dict[str, float]:
        done = subprocess.run([str(binary), address], check=True, capture_output=True, text=True)
        lines = map(json.loads, done.stdout.splitlines())
        return {line["what"]: line["ms"] for line in lines}

    return run


def fresh(code: str, address: str) -> float:
    """Run Python code that calls `measure` in a new process, as the program in Go runs. Return the milliseconds that it
    measured.
    """
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "benchmarks.reads", "--measure", code, address]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environ)
    return float(done.stdout)


def measure(what: str, address: str) -> float:
    """Connect, list the topics, then time one read. Return its milliseconds. what: "configs", "raw" for undecoded
    configs, or "quotas".
    """
    from console.admin import configs, quotas, topics
    from console.admin.client import AdminClient
    from console.admin.settings import ConnectionSettings
    from console.model.config import topic_resource

    host, _, port = address.rpartition(":")
    client = AdminClient(ConnectionSettings(((host, int(port)),), request_timeout=120.0))
    client.start()
    try:
        names = list(client.submit(topics.describe_topics).result().topics)
        resources = [topic_resource(name) for name in names]
        start = time.perf_counter()
        kept: Any
        if what == "configs":
            kept = client.submit(configs.describe_configs, resources).result()
            assert len(kept.sets) == len(resources)
        elif what == "raw":
            kept = client.submit(read_undecoded, names).result()
        else:
            kept = client.submit(quotas.describe_quotas).result()
            assert kept
        return (time.perf_counter() - start) * 1e3
    finally:
        client.close()


async def read_undecoded(link: Any, names: list[str]) -> list[bytes]:
    """Send the same requests as `describe_configs`, with as many resources in each and as many at once, and return the
    answers as bytes.
    """
    from console.admin.configs import CHUNK, IN_FLIGHT

    gate = asyncio.Semaphore(IN_FLIGHT)

    async def read(chunk: list[str]) -> bytes:
        def build(kio: Any) -> Any:
            resources = tuple(
                kio.DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
                for name in chunk
            )
            return kio.DescribeConfigsRequest(resources=resources, include_synonyms=True, include_documentation=False)

        async with gate:
            body: bytes = (await link.call_raw("describe_configs", build)).body
            return body

    chunks = [names[start : start + CHUNK] for start in range(0, len(names), CHUNK)]
    return list(await asyncio.gather(*map(read, chunks)))


def main() -> None:
    """Read configs and quotas of the given broker, or of a new one, with each program in turn, and print a line of
    JSON for each figure. With ``--measure`` print only the milliseconds of one read.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--measure", choices=("configs", "raw", "quotas"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(measure(options.measure, options.address))
        return
    with nullcontext(options.address) if options.address else filled_broker() as address:
        peer = kadm(address)
        seen: dict[str, float] = {}

        def peer_configs() -> float:
            seen.update(peer())
            return seen["topic configs"]

        measures: dict[str, Measure] = {
            "kadm": peer_configs,
            "kac": lambda: fresh("configs", address),
            "undecoded": lambda: fresh("raw", address),
        }
        medians = report_times("configs", interleaved(measures, options.rounds))
        report_ratio("configs: kac / kadm", medians["kac"] / medians["kadm"], 1.1)
        report_ratio("configs: kac / undecoded", medians["kac"] / medians["undecoded"], 1.3)
        quota_measures: dict[str, Measure] = {
            "kadm": lambda: peer()["quotas"],
            "kac": lambda: fresh("quotas", address),
        }
        medians = report_times("quotas", interleaved(quota_measures, options.rounds))
        report_ratio("quotas: kac / kadm", medians["kac"] / medians["kadm"], 1.2)
        report("machine", cores=os.cpu_count())


if __name__ == "__main__":
    main()
