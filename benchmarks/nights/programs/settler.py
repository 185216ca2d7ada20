"""A service that reads a topic and writes a record to another topic for each record that it reads, in transactions.

``python -m benchmarks.nights.programs.settler BOOTSTRAP FROM TO GROUP TRANSACTIONAL_ID [--starts-again]``: with
``--starts-again`` it makes a new producer after a failed transaction, as it should.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

BATCH = 100
"""Maximum number of records of one transaction."""
_AGAIN = 1.0
"""Seconds until a failed transaction is tried again."""
PATIENCE = 20.0
"""Maximum seconds for each call of the transaction API."""


def _producer(bootstrap: str, identity: str) -> Producer:
    """Return a producer that has initialized its transactions. identity: its transactional id. Raises
    KafkaException.
    """
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "settler", "transactional.id": identity})
    producer.init_transactions(PATIENCE)
    return producer


def begin(producer: Producer, topic: str, taken: list[Message]) -> list[TopicPartition]:
    """Begin a transaction, and write a record to `topic` for each record of `taken`.

    Returns:
        The offsets that the transaction is to commit, one for each partition of `taken`; empty if `taken` is.

    Raises:
        KafkaException: the transaction failed.
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
    return [TopicPartition(*place, offset) for place, offset in done.items()]


def _settle(consumer: Consumer, producer: Producer, topic: str, taken: list[Message]) -> None:
    """Write a record for each record of `taken`, and commit the offsets of these, in one transaction. Raises
    KafkaException.
    """
    offsets = begin(producer, topic, taken)
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE)
    producer.commit_transaction(PATIENCE)


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
        taken = [each for each in consumer.consume(BATCH, 1.0) if each.error() is None]
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
