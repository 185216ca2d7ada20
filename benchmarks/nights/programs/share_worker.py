"""A worker of a share group that is started again whenever it fails, like a container.

``python -m benchmarks.nights.programs.share_worker BOOTSTRAP TOPIC GROUP NAME``
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import KafkaException, ShareConsumer

_AGAIN = 2.0
"""Seconds until the worker is started again."""


def _work(bootstrap: str, topic: str, group: str, name: str) -> None:
    """Do jobs until an error. Raises KafkaException."""
    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group, "client.id": name})
    try:
        consumer.subscribe([topic])
        while True:
            for message in consumer.poll(1.0):
                if (error := message.error()) is not None:
                    raise KafkaException(error)
    finally:
        consumer.close()


def main() -> None:
    """Do jobs until the process is ended. Two seconds after an error, begin again with a new consumer."""
    bootstrap, topic, group, name = sys.argv[1:5]
    while True:
        try:
            _work(bootstrap, topic, group, name)
        except KafkaException as error:
            print(f"{name}: {error}", flush=True)
            time.sleep(_AGAIN)


if __name__ == "__main__":
    main()
