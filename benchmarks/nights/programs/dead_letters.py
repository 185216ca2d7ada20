"""A service that reads topics by a pattern, and writes records that it can't process to a topic of dead letters.

``python -m benchmarks.nights.programs.dead_letters BOOTSTRAP PATTERN GROUP DEAD_LETTERS``
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, Producer

BAD = b"bad"
"""The beginning of records that the service can't process."""
_WORK = 0.004
"""Seconds of work for a record."""


def main() -> None:
    """Read topics, and write records that begin with `BAD` to the topic of dead letters, until the process is
    killed.
    """
    bootstrap, pattern, group, dead_letters = sys.argv[1:5]
    settings: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "client.id": f"{group}-service"}
    producer = Producer(settings)
    consumer = Consumer(
        settings
        | {
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 2_000,
        }
    )
    consumer.subscribe([pattern])
    while True:
        message = consumer.poll(0.5)
        producer.poll(0)
        if message is None:
            continue
        if (error := message.error()) is not None:
            print(error, flush=True)
            continue
        time.sleep(_WORK)
        value = message.value()
        if isinstance(value, bytes) and value.startswith(BAD):
            producer.produce(dead_letters, value, message.key())


if __name__ == "__main__":
    main()
