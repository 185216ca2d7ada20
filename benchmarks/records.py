"""Measures searches for records of a real broker, compared with kcat in the same run, on topics of 2,000,000 records of
JSON.

``python -m benchmarks.records [--records 2000000] [--rounds 3] [--codecs lz4,zstd,none] [--bootstrap ADDRESS]``. kac
runs as a process from its start to the last record, as kcat does. A condition without a literal is compared with a loop
that decodes nothing: its values are in memory. With ``--bootstrap`` the topics of an earlier run are used again.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import figures
from benchmarks.cluster import JVM
from tests.support.kafka_cluster import KafkaCluster

if TYPE_CHECKING:
    from confluent_kafka import Producer

PARTITIONS = 4
WANTED = 1_234_567
"""The number of the order that the searches look for; only one record has it."""
CUSTOMER = f"customer-{WANTED}"
LITERAL = f'value.customer == "{CUSTOMER}" && value.amount >= 0.0'
NO_LITERAL = "value.amount > 998.0 && value.items[0].count == 1"
MOST_MEMORY = 150
"""Maximum peak memory of kac's process in MiB."""
LOOPED = 20_000
"""Number of values on which the loop of `bare_loop` is timed; the time is scaled to all records."""


def order(number: int) -> bytes:
    """Return the JSON of an order with this number, about 250 bytes."""
    return (
        b'{"id": %d, "customer": "customer-%d", "amount": %d.5, "state": "%s", "items": [{"sku": "sku-%d", '
        b'"count": %d}, {"sku": "sku-%d", "count": 1}], "address": {"street": "%d Long Street", '
        b'"city": "city-%d", "zip": "%05d"},'
        b' "comment": "left at the door %d"}'
    ) % (
        *(number, number, number * 7919 % 1000, (b"open", b"paid", b"sent")[number % 3], number * 31 % 9973),
        *(number % 5, number * 17 % 9973, number % 300, number % 777, number % 99_999, number * 104_729 % 1_000_003),
    )


def fill(bootstrap: str, topic: str, codec: str, count: int) -> None:
    """Create a topic, and write `count` orders."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
    settings = {"compression.type": codec, "linger.ms": 50, "batch.size": 1_000_000, "acks": "all"}
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 500_000, **settings})
    for number in range(count):
        send(producer, topic, order(number), b"order-%d" % number)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()


def send(producer: Producer, topic: str, value: bytes | None, key: bytes | None, **more: Any) -> None:
    """Send a record, waiting while the producer's queue is full. more: arguments of `Producer.produce`."""
    while True:
        try:
            producer.produce(topic, value, key, **more)
        except BufferError:
            producer.poll(0.1)
        else:
            return


# -- the programs, and their costs -------------------------------------------------------------------------------------

KCAT = "kcat -C -b {bootstrap} -t {topic} -e -q"
"""The command that reads all records of a topic, until its end."""


class Taken(NamedTuple):
    """The cost of a program: its time, its memory, and the number of lines that it found."""

    milliseconds: float
    mebibytes: float
    """The peak memory of the largest process, in MiB."""
    lines: int


def taken(command: str) -> Taken:
    """Run a shell pipeline whose only output is a count of lines. Return its cost and that count. Raises
    RuntimeError if it fails.
    """
    began = time.perf_counter()
    with subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        counted = int(running.stdout.read())
        _, code, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(code)
    if running.returncode:
        raise RuntimeError(f"{command} ended with {running.returncode}")
    return Taken((time.perf_counter() - began) * 1e3, used.ru_maxrss / 1024, counted)


def kac(bootstrap: str, topic: str, *options: str) -> str:
    """Return the command line of kac that searches the whole topic with these options."""
    words = [sys.executable, "-m", "console", "records", topic, "-b", bootstrap, "--from", "start", "--limit", "0"]
    return shlex.join([*words, "--output", "jsonl", *options])


def commands(bootstrap: str, topic: str) -> dict[str, str]:
    """Return name of a search -> a shell pipeline that prints the number of lines found. The shell waits for kac, so
    the shell's peak memory of children includes kac's.
    """
    kcat = KCAT.format(bootstrap=bootstrap, topic=topic)
    return {
        "kac text": f"{kac(bootstrap, topic, '--text', CUSTOMER + chr(34))} | wc -l",
        "kcat text": f"{kcat} | grep -c -F {shlex.quote(CUSTOMER + chr(34))}",
        "kac where with a literal": f"{kac(bootstrap, topic, '--where', LITERAL)} | wc -l",
        "kac where without a literal": f"{kac(bootstrap, topic, '--where', NO_LITERAL)} | wc -l",
        "kac jsonl": f"{kac(bootstrap, topic)} | wc -l",
        "kcat jsonl": f"{kcat} -J | wc -l",
    }


def bare_loop(count: int) -> float:
    """Return the milliseconds that evaluating the condition takes for `count` decoded values in memory, computed from
    the time for `LOOPED` values.
    """
    from msgspec.json import decode

    from console.model.record_conditions import condition

    values = [decode(order(number)) for number in range(LOOPED)]
    holds = condition(NO_LITERAL).holds_for
    began = time.perf_counter()
    for value in values:
        holds({"value": value})
    return (time.perf_counter() - began) * 1e3 * count / LOOPED


LIMITS = (
    ("kac text", "kcat text", 0.7),
    ("kac where with a literal", "kcat text", 1.5),
    ("kac where without a literal", "bare loop", 1.5),
    ("kac jsonl", "kcat jsonl", 2.0),
)


def measure(bootstrap: str, codec: str, count: int, rounds: int, only: str) -> None:
    """Report the milliseconds and the MiB of kac and of other tools on a topic of `count` records. codec: the topic's
    compression. only: name of the only search to run; ``""`` for all. Raises RuntimeError if a search finds no line,
    or an export has another number of lines than `count`.
    """
    memory: dict[str, float] = {}

    def once(name: str, command: str) -> Callable[[], float]:
        def run() -> float:
            found = taken(command)
            memory[name] = max(memory.get(name, 0), found.mebibytes)
            if not found.lines or ("jsonl" in name and found.lines != count):
                raise RuntimeError(f"{name}: {found.lines:,} of {count:,} lines")
            return found.milliseconds

        return run

    measures = {name: once(name, command) for name, command in commands(bootstrap, f"orders-{codec}").items()}
    measures["bare loop"] = lambda: bare_loop(count)
    pairs = [(ours, other, limit) for ours, other, limit in LIMITS if only in ours]
    measures = {name: each for name, each in measures.items() if any(name in pair for pair in pairs)}
    medians = figures.report_times(f"{count:,} records, {codec}", figures.interleaved(measures, rounds))
    for ours, other, limit in pairs:
        figures.report_ratio(f"{codec}: {ours} / {other}", medians[ours] / medians[other], limit)
    for name in {pair[0] for pair in pairs}:
        figures.report_ratio(f"{codec}: MiB of {name}", memory[name], MOST_MEMORY)


@contextmanager
def broker(bootstrap: str | None) -> Iterator[str]:
    """Yield the address of a broker: the given one, or, if it is None, the address of a new broker, which runs until
    the end of the block.
    """
    if bootstrap is not None:
        yield bootstrap
        return
    with KafkaCluster(brokers=1, jvm_options=JVM) as cluster:
        yield cluster.bootstrap


def main() -> None:
    """Fill the topics unless an earlier run did, search them with each program, and print a line of JSON for each
    figure.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--codecs", default="lz4,zstd,none")
    parser.add_argument("--bootstrap", help="of a broker that an earlier run filled")
    parser.add_argument("--only", default="", help="the figures whose names hold this text")
    options = parser.parse_args()
    figures.report("machine", **figures.load())
    with broker(options.bootstrap) as bootstrap:
        for codec in options.codecs.split(","):
            if options.bootstrap is None:
                fill(bootstrap, f"orders-{codec}", codec, options.records)
            measure(bootstrap, codec, options.records, options.rounds, options.only)


if __name__ == "__main__":
    main()
