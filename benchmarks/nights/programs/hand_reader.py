"""A consumer that chooses its partitions itself (assign, not subscribe), so that it is no member of its group, and
commits offsets for the group.

``python -m benchmarks.nights.programs.hand_reader BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS_PER_SECOND [--from-first]``
with partitions such as ``0,1,2``.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, Consumer, KafkaException, TopicPartition

EVERY = 3.0
"""Seconds between two commits."""
BATCH = 20


def main() -> None:
    """Read the partitions, and commit every `EVERY` seconds, until the process is ended. Print a line for each
    commit, and for each error.
    """
    bootstrap, topic, group, partitions, rate = sys.argv[1:6]
    first = OFFSET_BEGINNING if "--from-first" in sys.argv else OFFSET_STORED
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"{group}-model",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, int(each), first) for each in partitions.split(",")])
    done: dict[int, int] = {}
    committed = time.monotonic()
    while True:
        for message in consumer.consume(BATCH, 1.0):
            partition, offset = message.partition(), message.offset()
            if message.error() is None and partition is not None and offset is not None:
                done[partition] = offset + 1
                time.sleep(1 / float(rate))
        if done and time.monotonic() - committed >= EVERY:
            committed = time.monotonic()
            try:
                consumer.commit(offsets=[TopicPartition(topic, *each) for each in done.items()], asynchronous=False)
                print(f"committed {done}", flush=True)
            except KafkaException as error:
                print(f"{group}: {error}", flush=True)


if __name__ == "__main__":
    main()
