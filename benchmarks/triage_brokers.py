"""Measures the cost of triage for three real brokers with 40,000 partitions and 10,000 groups, and the response time of
the screen meanwhile.

``python -m benchmarks.triage_brokers [--seconds 120] [--partitions 40000] [--groups 10000]``: takes some minutes to
fill the brokers, and needs Java 17 and about 6 GiB. Each group has committed in four partitions; a producer writes to
half a percent of the partitions every 2 s. The brokers' own metrics of requests (kafka.network:type=RequestMetrics) are
read before and after the given seconds, first without triage, then with `kac triage --watch`. The difference between
the two is the time of request handlers that triage takes (LocalTimeMs); a broker has num.io.threads, 8, seconds of it
each second. Then the console opens on Now and keys are pressed while it polls. Finally the producer ends, and the bytes
that the console writes from then on are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from benchmarks.figures import load, report, report_ratio
from benchmarks.scale import answered, processor_seconds
from benchmarks.terminal import Terminal
from console.admin import changes
from console.admin.client import AdminClient
from console.admin.errors import BrokerError
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.model.changes import CommitOffsets, CreateTopics, GroupOffsetTarget, NewTopic
from console.model.cluster import CommittedOffset
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import java

A_TOPIC, TOPICS_AT_ONCE, GROUPS_AT_ONCE = 100, 25, 100
OF_A_GROUP = 4
"""Number of partitions in which a group has committed offsets."""
HANDLERS = 8
"""Number of a broker's request handler threads: the default of num.io.threads."""
SHARE, KEY_SECONDS = 0.01, 0.2
JVM = ("-Xms512m", "-Xmx1500m", "-XX:+UseSerialGC")
PROPERTIES = {"log.index.size.max.bytes": "4096", "offsets.topic.num.partitions": "50"}
WRITTEN_EVERY = 2.0
KEYS = (b"j", b"j", b"k", b"\r", b"\x1b", b"2", b"j", b"G", b"g", b"6", b"j", b"G", b"g", b".", b",", b"j", b".")
WARM, QUIET = 45.0, 30.0
"""Seconds before the measurement begins, because the first polls read everything; and seconds in which the console must
write nothing.
"""
FILL_SECONDS = 900.0
SHOWN = b"looked at"
"""A text that the pane Now always shows."""


class Requests(NamedTuple):
    """The number of requests of an API, and their milliseconds: in the request queue, in handlers, and in total."""

    requests: float
    queued: float
    handled: float
    total: float

    def since(self, before: Requests, share: float = 1.0) -> Requests:
        """Return the difference to an earlier count. share: the factor by which the earlier count is multiplied, for
        intervals of different lengths.
        """
        return Requests(*(now - share * then for now, then in zip(self, before, strict=True)))


NONE = Requests(0, 0, 0, 0)
Metrics = Mapping[str, Requests]


class RequestTimes:
    """A Java process that reads the request metrics of running brokers by their process ids."""

    def __init__(self) -> None:
        source = Path(__file__).parent / "peers" / "RequestTimes.java"
        self._reader = subprocess.Popen(
            [java(), str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def read(self, pid: int) -> Metrics:
        """Return API -> the requests of a broker since its start. Raises RuntimeError if they can't be read."""
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        self._reader.stdin.write(f"{pid}\n")
        self._reader.stdin.flush()
        metrics: dict[str, Requests] = {}
        for line in self._reader.stdout:
            if not line.strip():
                return metrics
            api, *figures = line.split()
            metrics[api] = Requests(*map(float, figures))
        raise RuntimeError(f"the metrics of the broker with the process id {pid} could not be read")

    def close(self) -> None:
        """End the Java process."""
        self._reader.kill()
        self._reader.wait()


def topic_name(number: int) -> str:
    """Return the name of the topic with this number."""
    return f"team-{number % 40:02d}.service-{number:04d}.events"


def fill(cluster: KafkaCluster, partitions: int, groups: int) -> None:
    """Create topics of 100 partitions, `partitions` in total, spread over all brokers, and commit offsets of `groups`
    groups. Raises RuntimeError if a change is refused.
    """
    client = AdminClient(ConnectionSettings(cluster.addresses, request_timeout=FILL_SECONDS))
    client.start()
    try:
        for start in range(0, partitions // A_TOPIC, TOPICS_AT_ONCE):
            names = map(topic_name, range(start, min(start + TOPICS_AT_ONCE, partitions // A_TOPIC)))
            topics = tuple(NewTopic(name, partitions=A_TOPIC, replication=1) for name in names)
            client.submit(_sent, (CreateTopics(topics, timeout_ms=300_000),)).result(FILL_SECONDS)
        _await_coordinators(client, partitions)
        for start in range(0, groups, GROUPS_AT_ONCE):
            commits = [_commit(each, partitions) for each in range(start, min(start + GROUPS_AT_ONCE, groups))]
            client.submit(_sent, commits).result(FILL_SECONDS)
    finally:
        client.close()


def _await_coordinators(client: AdminClient, partitions: int) -> None:
    """Commit offsets repeatedly until brokers have created __consumer_offsets. Raises TimeoutError after `FILL_SECONDS`
    seconds.
    """
    end = time.monotonic() + FILL_SECONDS
    while time.monotonic() < end:
        try:
            return client.submit(_sent, [_commit(0, partitions)]).result(FILL_SECONDS)
        except BrokerError:
            continue
    raise TimeoutError("groups have no coordinators")


def _commit(number: int, partitions: int) -> CommitOffsets:
    name, first = f"reader-{number:05d}", number * OF_A_GROUP
    places = [divmod((first + each) % partitions, A_TOPIC) for each in range(OF_A_GROUP)]
    targets = [GroupOffsetTarget(name, topic_name(topic), partition) for topic, partition in places]
    return CommitOffsets(name, dict.fromkeys(targets, CommittedOffset(0)))


async def _sent(link: Link, requests: tuple[CreateTopics, ...] | list[CommitOffsets]) -> None:
    for outcomes in await asyncio.gather(*(changes.send(link, each, validate_only=False) for each in requests)):
        if failed := [outcome for outcome in outcomes if not outcome.ok]:
            raise RuntimeError(f"could not fill the brokers: {failed[0]}")


@contextmanager
def producer(bootstrap: str, partitions: int) -> Iterator[None]:
    """Every 2 s, write a record to each of another half a percent of the partitions, until the end of the block."""
    ended = threading.Event()

    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, client_id="writer", acks=1) as client:
            place = 0
            while not ended.is_set():
                began = time.monotonic()
                for _ in range(partitions // 200):
                    place = (place + 1) % partitions
                    topic, partition = divmod(place, A_TOPIC)
                    await client.send(topic_name(topic), b"v" * 100, partition=partition)
                await client.flush()
                await asyncio.to_thread(ended.wait, max(0.0, began + WRITTEN_EVERY - time.monotonic()))

    thread = threading.Thread(target=asyncio.run, args=(write(),), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)


@contextmanager
def watching(bootstrap: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `kac triage --watch` until the end of the block, and yield its process."""
    command = [sys.executable, "-m", "console", "triage", "-b", bootstrap, "--watch"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Taken(NamedTuple):
    """The work of the brokers in an interval: broker id -> requests by API, and broker id -> CPU seconds."""

    seconds: float
    requests: Mapping[int, Metrics]
    processor: Mapping[int, float]


def measured(times: RequestTimes, pids: Mapping[int, int], seconds: float) -> Taken:
    """Wait for `seconds` seconds, and return the work of the brokers meanwhile. pids: broker id -> process id."""
    began, used = time.monotonic(), {broker: processor_seconds(pid) for broker, pid in pids.items()}
    before = {broker: times.read(pid) for broker, pid in pids.items()}
    time.sleep(seconds)
    after = {broker: times.read(pid) for broker, pid in pids.items()}
    requests = {
        broker: {api: now.since(before[broker].get(api, NONE)) for api, now in metrics.items()}
        for broker, metrics in after.items()
    }
    processor = {broker: processor_seconds(pid) - used[broker] for broker, pid in pids.items()}
    return Taken(time.monotonic() - began, requests, processor)


def compare(without: Taken, with_triage: Taken) -> None:
    """Print the cost of triage for each broker: the APIs with the most milliseconds, the CPU percentage, and the share
    of its request handlers' time.
    """
    share = with_triage.seconds / without.seconds
    for broker, metrics in with_triage.requests.items():
        taken = {
            api: each.since(without.requests[broker].get(api, NONE), share)
            for api, each in metrics.items()
        }  # fmt: skip
        most = sorted(taken.items(), key=lambda item: -item[1].handled)[:6]
        report(
            f"broker {broker}",
            handled_ms={api: round(each.handled) for api, each in most},
            requests={api: round(each.requests) for api, each in most},
            queued_ms=round(sum(each.queued for each in taken.values())),
            cpu_percent=round(
                100 * (with_triage.processor[broker] - share * without.processor[broker]) / with_triage.seconds, 2
            ),
        )
        seconds = sum(each.handled for each in taken.values()) / 1000
        report(f"broker {broker}: of one request handler", share=round(seconds / with_triage.seconds, 4))
        report_ratio(f"broker {broker}: of its request handlers' time", seconds / with_triage.seconds / HANDLERS, SHARE)


def screen(bootstrap: str) -> Terminal:
    """Return a terminal that runs the console."""
    return Terminal(
        [sys.executable, "-m", "console", "-b", bootstrap],
        columns=120,
        rows=40,
        environ={"XDG_STATE_HOME": tempfile.mkdtemp()},
    )


def keys(terminal: Terminal) -> None:
    """Press keys while the console polls, and print the slowest and the median time until the screen changes."""
    taken: dict[str, float] = {}
    for number, key in enumerate(KEYS):
        if (seconds := answered(terminal, key)) is not None:
            taken[f"{number} {key!r}"] = seconds
    report("slowest keys, s", **dict(sorted(taken.items(), key=lambda item: -item[1])[:5]))
    report_ratio("a key: median, s", statistics.median(taken.values()), KEY_SECONDS)
    report_ratio("a key: slowest, s", max(taken.values()), KEY_SECONDS)


def main() -> None:
    """Fill the brokers, measure them without and with triage, then measure the console, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--partitions", type=int, default=40_000)
    parser.add_argument("--groups", type=int, default=10_000)
    options = parser.parse_args()
    cluster = KafkaCluster(brokers=3, jvm_options=JVM, properties=PROPERTIES)
    with closing(RequestTimes()) as times, cluster:
        began = time.monotonic()
        fill(cluster, options.partitions, options.groups)
        report("filled", seconds=round(time.monotonic() - began), **load())
        with producer(cluster.bootstrap, options.partitions):
            time.sleep(WARM)
            without = measured(times, cluster.pids, options.seconds)
            with watching(cluster.bootstrap) as process:
                time.sleep(WARM)
                used = processor_seconds(process.pid)
                compare(without, measured(times, cluster.pids, options.seconds))
                report(
                    "kac triage --watch",
                    cpu_percent=round(100 * (processor_seconds(process.pid) - used) / options.seconds, 1),
                )
            with screen(cluster.bootstrap) as terminal:
                terminal.until(SHOWN, 120.0)
                terminal.settle(0.5, 30.0)
                keys(terminal)
        with screen(cluster.bootstrap) as terminal:
            terminal.until(SHOWN, 120.0)
            time.sleep(WARM)
            terminal.settle(3.0, 60.0)
            written = terminal.listen(QUIET)
            report_ratio(f"idle {QUIET:g} s: bytes", len(written), 0)
            report("idle: what was written", text=repr(written[:400]))
    report("machine", **load())


if __name__ == "__main__":
    main()
