"""A service that reads a topic and writes a record to another topic for each record that it reads, in transactions.

``python -m benchmarks.nights.programs.settler BOOTSTRAP FROM TO GROUP TRANSACTIONAL_ID [--starts-again]``: with
``--starts-again`` it makes a new producer after a failed transaction, as it should.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

_BATCH = 100
_AGAIN = 1.0
"""Seconds until a failed transaction is tried again."""
_PATIENCE = 20.0
"""Maximum seconds for each call of the transaction API."""


def _producer(bootstrap: str, identity: str) -> Producer:
    """Return a producer that has initialized its transactions. identity: its transactional id. Raises
    KafkaException.
    """
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "settler", "transactional.id": identity})
    producer.init_transactions(_PATIENCE)
    return producer


def _settle(consumer: Consumer, producer: Producer, topic: str, taken: list[Message]) -> None:
    """Write a record for each record of `taken`, and commit the offsets of these, in one transaction. Raises
    KafkaException.
    """
    done: dict[tuple[str, int], int] = {}
    producer.begin_transaction()
    for each in taken:
        source, partition, offset = each.topic(), each.partition(), each.offset()
        assert source is not None
        assert partition is not None
        assert offset is not None
        producer.produce(topic, each.value(), each.key())
        done[source, partition] = offset + 1
    offsets = [TopicPartition(*place, offset) for place, offset in done.items()]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), _PATIENCE)
    producer.commit_transaction(_PATIENCE)


def main() -> None:
    """Read and settle records until the process is killed."""
    bootstrap, source, topic, group, identity = sys.argv[1:6]
    starts_again = "--starts-again" in sys.argv
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([source])
    producer = _producer(bootstrap, identity)
    while True:
        taken = [each for each in consumer.consume(_BATCH, 1.0) if each.error() is None]
        while taken:
            try:
                _settle(consumer, producer, topic, taken)
                break
            except KafkaException as error:
                print(f"{group}: not settled: {error}", flush=True)
            time.sleep(_AGAIN)
            if starts_again:
                try:
                    producer = _producer(bootstrap, identity)
                except KafkaException as error:
                    print(f"{group}: no producer: {error}", flush=True)


if __name__ == "__main__":
    main()
