"""A consumer that commits and waits for the commit, after each record or at intervals.

``python -m benchmarks.nights.programs.careful_reader BOOTSTRAP TOPIC GROUP SECONDS`` with the seconds between two
commits: 0 for a commit for each record.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition


def main() -> None:
    """Read a topic until the process is killed. Commit at the first record that comes SECONDS or more after the last
    commit.
    """
    bootstrap, topic, group, seconds = sys.argv[1:5]
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"{group}-2-0",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    done: dict[int, int] = {}
    committed = time.monotonic()
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error() is not None:
            continue
        partition, offset = message.partition(), message.offset()
        if partition is None or offset is None:
            continue
        done[partition] = offset + 1
        if time.monotonic() - committed >= float(seconds):
            try:
                consumer.commit(offsets=[TopicPartition(topic, *each) for each in done.items()], asynchronous=False)
            except KafkaException as error:
                print(f"{group}: {error}", flush=True)
            done.clear()
            committed = time.monotonic()


if __name__ == "__main__":
    main()
