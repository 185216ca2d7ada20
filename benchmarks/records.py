"""Searches for records of a real broker beside kcat's, in one run, on topics of 2,000,000 records of JSON.

``python -m benchmarks.records [--records 2000000] [--rounds 3] [--codecs lz4,zstd,none] [--bootstrap ADDRESS]``.
kac runs as a process of its own, as kcat does, from its start to the last record. The loop to which a condition without
a literal is compared decodes nothing: its values are in memory. With ``--bootstrap`` the topics that an earlier run
left are used again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import NamedTuple

from benchmarks import figures
from benchmarks.cluster import JVM
from tests.support.kafka_cluster import KafkaCluster

PARTITIONS = 4
WANTED = 1_234_567
"""Only this order is looked for."""
CUSTOMER = f"customer-{WANTED}"
LITERAL = f'value.customer == "{CUSTOMER}" && value.amount >= 0.0'
NO_LITERAL = "value.amount > 998.0 && value.items[0].count == 4"
MOST_MEMORY = 150
"""MiB of the whole process."""
LOOPED = 20_000
"""Records of the loop that is compared; its time is scaled."""


def order(number: int) -> bytes:
    """About 250 bytes."""
    return (
        b'{"id": %d, "customer": "customer-%d", "amount": %d.5, "state": "%s", "items": [{"sku": "sku-%d", "count": %d},'
        b' {"sku": "sku-%d", "count": 1}], "address": {"street": "%d Long Street", "city": "city-%d", "zip": "%05d"},'
        b' "comment": "left at the door %d"}'
    ) % (
        *(number, number, number * 7919 % 1000, (b"open", b"paid", b"sent")[number % 3], number * 31 % 9973),
        *(number % 5, number * 17 % 9973, number % 300, number % 777, number % 99_999, number * 104_729 % 1_000_003),
    )


def fill(bootstrap: str, topic: str, codec: str, count: int) -> None:
    """Write the orders."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
    settings = {"compression.type": codec, "linger.ms": 50, "batch.size": 1_000_000, "acks": "all"}
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 500_000, **settings})
    for number in range(count):
        while True:
            try:
                producer.produce(topic, order(number), b"order-%d" % number)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()


# -- a search in a process of its own ----------------------------------------------------------------------------------


async def searched(bootstrap: str, topic: str, what: str) -> tuple[int, int]:
    """Search the whole topic. Returns how many records were found, and how many looked at."""
    from console.admin.link import Link
    from console.admin.record_search import search
    from console.admin.settings import ConnectionSettings, addresses
    from console.answers.record_lines import json_lines
    from console.model.record_filter import RecordFilter
    from console.model.records import First, Search

    only = {
        "text": RecordFilter(text=CUSTOMER + '"'),
        "literal": RecordFilter(where=LITERAL),
        "no-literal": RecordFilter(where=NO_LITERAL),
        "json": RecordFilter(),
    }[what]
    link = Link(ConnectionSettings(addresses(bootstrap)))
    found = 0
    async with aclosing(search(link, Search((topic,), start=First()), only)) as portions:
        async for portion in portions:
            found += len(portion.records)
            if what == "json":
                sys.stdout.buffer.write(json_lines(portion.records))
    await link.close()
    return found, portion.progress.looked_at
