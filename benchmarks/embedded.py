"""Measures the embedded cluster's start time and memory, and compares its time for describing all topic configs with a
real broker's.

``python -m benchmarks.embedded [--rounds 20]`` starts a real 4.3 broker and an embedded one with the same 4,000 topics
(benchmarks.cluster), and sends both the same request in turn, over sockets.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.cluster import TOPICS, fill, filled_broker, topic_name
from benchmarks.figures import interleaved, report, report_ratio, report_times
from console.wire.frames import decode_body, encode_header, encode_payload, split_response
from console.wire.schemas import request_module, response_type

API, VERSION = "describe_configs", 4
READY_SECONDS = {"quiet": 0.5, "large": 3.0}
MEMORY_MIB = {"quiet": 1024, "large": 1024}


class Started:
    """A process that runs a cluster. ready: seconds from its start to the first line of its output. cpu: its CPU
    seconds until then.
    """

    def __init__(self, *command: str) -> None:
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        command = (sys.executable, "-m", *command)
        start = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
        assert self.process.stdout is not None
        self.bootstrap = self.process.stdout.readline().strip()
        self.ready = time.perf_counter() - start
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        self.cpu = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @property
    def address(self) -> tuple[str, int]:
        """The address of the first broker."""
        host, _, port = self.bootstrap.partition(",")[0].rpartition(":")
        return host, int(port)

    @property
    def peak_mib(self) -> float:
        """The greatest resident memory of the process so far, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024


@contextmanager
def started(*command: str) -> Iterator[Started]:
    """Run a cluster's process until the end of the block."""
    cluster = Started(*command)
    try:
        yield cluster
    finally:
        cluster.process.terminate()
        cluster.process.wait(30)


class Asker:
    """A connection to a broker on which one request is sent repeatedly. body: the last response, undecoded."""

    def __init__(self, address: tuple[str, int]) -> None:
        kio = request_module(API, VERSION)
        resources = tuple(
            kio.DescribeConfigsResource(resource_type=2, resource_name=topic_name(number), configuration_keys=None)
            for number in range(TOPICS)
        )
        request = kio.DescribeConfigsRequest(resources=resources, include_synonyms=True, include_documentation=False)
        data = encode_header(request, 1, "benchmark") + encode_payload(request)
        self._frame = struct.pack(">i", len(data)) + data
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.body = b""

    def __call__(self) -> float:
        """Send the request. Return the milliseconds from the first byte sent to the last byte received."""
        start = time.perf_counter()
        self._socket.sendall(self._frame)
        (size,) = struct.unpack(">i", self._exactly(4))
        self.body = self._exactly(size)
        return (time.perf_counter() - start) * 1e3

    def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        view, got = memoryview(data), 0
        while got < size:
            count = self._socket.recv_into(view[got:])
            if not count:
                raise ConnectionResetError("the broker closed the connection")
            got += count
        return bytes(data)

    def configs(self) -> dict[str, Any]:
        """Decode the last response: topic -> its configs."""
        _, body = split_response(response_type(API, VERSION), self.body)
        results: Any = decode_body(response_type(API, VERSION), body)
        return {
            result.resource_name: sorted((e.name, e.value, e.config_source, e.synonyms) for e in result.configs)
            for result in results.results
        }


def report_start(scenario: str, rounds: int) -> None:
    """Start a scenario several times, and report its median start time, CPU time and peak memory against their
    limits.
    """
    ready, cpu, peak = [], [], 0.0
    for _ in range(rounds):
        with started("console", "cluster", "--still", "--scenario", scenario) as cluster:
            ready.append(cluster.ready)
            cpu.append(cluster.cpu)
            peak = max(peak, cluster.peak_mib)
    limit = READY_SECONDS[scenario]
    median = statistics.median(ready)
    computed = round(statistics.median(cpu), 3)
    report(f"{scenario}: ready", seconds=round(median, 3), cpu=computed, limit=limit, ok=median <= limit, runs=rounds)
    most = MEMORY_MIB[scenario]
    report(f"{scenario}: memory", mib=round(peak), limit=most, ok=peak <= most)


def serve() -> None:
    """Run an empty cluster of one broker until the process is ended."""
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec

    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        print(cluster.bootstrap, flush=True)
        threading.Event().wait()


def main() -> None:
    """Start both brokers, send them the requests in turn, and print a line of JSON for each figure. With ``--serve``
    only run the embedded broker.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    for scenario in READY_SECONDS:
        report_start(scenario, 5)
    with filled_broker() as bootstrap, started("benchmarks.embedded", "--serve") as embedded:
        host, _, port = bootstrap.rpartition(":")
        fill((embedded.address,))
        askers = {"kafka": Asker((host, int(port))), "embedded": Asker(embedded.address)}
        medians = report_times(f"configs of {TOPICS} topics", interleaved(askers, options.rounds))
        theirs, ours = (asker.configs() for asker in askers.values())
        report("the same is told", ok=theirs == ours, topics=len(ours))
        report_ratio("configs: embedded / kafka", medians["embedded"] / medians["kafka"], 1.0)
    report("machine", cores=os.cpu_count())


if __name__ == "__main__":
    main()
