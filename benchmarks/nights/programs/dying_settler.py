"""A settler like ``settler.py`` that stops working as soon as a file exists: in the middle of a transaction that has
the offsets of its group, or after the commit of one.

``python -m benchmarks.nights.programs.dying_settler BOOTSTRAP FROM TO GROUP TRANSACTIONAL_ID FILE [--midway]``: with
``--midway`` the last transaction stays open. It prints ``stopped`` then, and waits to be killed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer

from benchmarks.nights.programs.settler import BATCH, PATIENCE, begin

_TIMEOUT_MS = 900_000
"""Milliseconds after which the broker aborts a transaction that is left open: the maximum that it allows by default."""
_SESSION_MS = 6_000


def _begin(consumer: Consumer, producer: Producer, topic: str) -> int:
    """Begin a transaction with a record for each record that is read, and with their offsets.

    Returns:
        The number of partitions whose offsets it has; 0 if there was nothing to read, and no transaction.

    Raises:
        KafkaException: the transaction failed.
    """
    taken = [each for each in consumer.consume(BATCH, 1.0) if each.error() is None]
    if not taken:
        return 0
    offsets = begin(producer, topic, taken)
    producer.flush(PATIENCE)
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE)
    return len(offsets)


def main() -> None:
    """Settle until the file exists, then stop as told, and wait to be killed."""
    bootstrap, source, topic, group, identity, file = sys.argv[1:7]
    midway = "--midway" in sys.argv
    settings: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "client.id": group}
    reading: dict[str, str | int | float | bool] = {
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": _SESSION_MS,
    }
    consumer = Consumer(settings | reading)
    producer = Producer(settings | {"transactional.id": identity, "transaction.timeout.ms": _TIMEOUT_MS})
    producer.init_transactions(PATIENCE)
    consumer.subscribe([source])
    while True:
        was_told = Path(file).exists()
        partitions = _begin(consumer, producer, topic)
        is_last = was_told and partitions == len(consumer.assignment())
        if partitions and not (is_last and midway):
            producer.commit_transaction(PATIENCE)
        if is_last:
            break
    print("stopped", flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
