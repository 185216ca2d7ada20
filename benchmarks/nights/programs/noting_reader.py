"""A consumer that keeps notes of its work in the metadata of its commits. They grow up to a size that the environment
variable NOTE_BYTES has.

``python -m benchmarks.nights.programs.noting_reader BOOTSTRAP TOPIC GROUP``
"""

from __future__ import annotations

import os
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

EVERY = 1.0
"""Seconds between two commits."""
GROWS = 700
"""Bytes by which the note grows with each commit."""


def _end(*_: object) -> None:
    raise SystemExit(0)


def main() -> None:
    """Read and commit until the process is ended. Print a line for each commit, and for each error."""
    bootstrap, topic, group = sys.argv[1:4]
    limit = int(os.environ.get("NOTE_BYTES", "0"))
    signal.signal(signal.SIGTERM, _end)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"{group}-reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    done: dict[int, int] = {}
    note, committed = 0, time.monotonic()
    try:
        consumer.subscribe([topic])
        while True:
            for message in consumer.consume(100, 0.5):
                partition, offset = message.partition(), message.offset()
                if message.error() is None and partition is not None and offset is not None:
                    done[partition] = offset + 1
            if not done or time.monotonic() - committed < EVERY:
                continue
            committed = time.monotonic()
            note = min(note + GROWS, limit)
            offsets = [TopicPartition(topic, partition, offset, "n" * note) for partition, offset in done.items()]
            try:
                results = consumer.commit(offsets=offsets, asynchronous=False) or []
                failed = [str(each.error) for each in results if each.error is not None]
                print(f"{group}: {failed or 'committed'}", flush=True)
            except KafkaException as error:
                print(f"{group}: {error}", flush=True)
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
