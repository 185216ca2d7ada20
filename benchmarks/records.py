"""A filter over the newest 100,000 records of a real broker, beside aiokafka's consumer (a decoder in C) with the same.

``python -m benchmarks.records [--rounds 5]``. Ours merges, checks every checksum and stops at each bound; the records
take less than the 16 MiB that one answer may fetch.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from benchmarks import figures
from benchmarks.cluster import JVM
from console.admin.link import Link
from console.admin.records import read_records
from console.admin.settings import ConnectionSettings
from console.model.record_filter import RecordFilter
from console.model.records import First, RecordsQuery
from tests.support.changing import make_topic
from tests.support.kafka_cluster import KafkaCluster

TOPIC = "orders"
RECORDS = 100_000
WANTED = 99_990
"""Only this order is looked for."""


async def fill(bootstrap: str, link: Link) -> None:
    """Orders as JSON in one partition."""
    await make_topic(link, TOPIC)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type="zstd", linger_ms=50)
    await producer.start()
    for number in range(RECORDS):
        value = b'{"id": %d, "customer": "c-%d", "amount": %d.50}' % (number, number % 1000, number % 90)
        await producer.send(TOPIC, value, key=b"order-%d" % number)
    await producer.stop()


async def by_kac(link: Link) -> None:
    """One answer."""
    wanted = RecordFilter(json=f"$.id={WANTED}").matches
    read = await read_records(link, RecordsQuery(TOPIC, 0, First(), 10), wanted)
    if [record.offset for record in read.records] != [WANTED] or read.scanned_records != RECORDS:
        raise RuntimeError(
            f"{len(read.records)} records of {read.scanned_records} looked at, stopped: {read.stopped!r}"
        )


async def by_aiokafka(bootstrap: str) -> None:
    """All records of the partition, each decoded as JSON."""
    place = TopicPartition(TOPIC, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, max_partition_fetch_bytes=1 << 20)
    await consumer.start()
    consumer.assign([place])
    await consumer.seek_to_beginning(place)
    (end,) = (await consumer.end_offsets([place])).values()
    found = []
    while await consumer.position(place) < end:
        for batch in (await consumer.getmany(timeout_ms=1_000)).values():
            found += [each.offset for each in batch if json.loads(each.value)["id"] == WANTED]
    await consumer.stop()
    if found != [WANTED]:
        raise RuntimeError(f"aiokafka found {found}")


def main() -> None:
    """Take the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with KafkaCluster(brokers=1, jvm_options=JVM) as cluster, asyncio.Runner() as runner:
        link = runner.run(_connected(cluster))

        def measured(run: Callable[[], Awaitable[None]]) -> figures.Measure:
            def measure() -> float:
                began = time.perf_counter()
                runner.run(_awaited(run))
                return (time.perf_counter() - began) * 1e3

            return measure

        both = {
            "kac": measured(lambda: by_kac(link)),
            "aiokafka": measured(lambda: by_aiokafka(cluster.bootstrap)),
        }
        medians = figures.report_times(f"a filter over {RECORDS:,} records", figures.interleaved(both, options.rounds))
        figures.report("records a second", kac=round(RECORDS / medians["kac"] * 1e3), **figures.load())
        figures.report_ratio("kac / aiokafka", medians["kac"] / medians["aiokafka"], 1.5)
        runner.run(link.close())


async def _connected(cluster: KafkaCluster) -> Link:
    link = Link(ConnectionSettings(cluster.addresses))
    await fill(cluster.bootstrap, link)
    return link


async def _awaited(run: Callable[[], Awaitable[None]]) -> None:
    await run()


if __name__ == "__main__":
    main()
