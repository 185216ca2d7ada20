"""A member of a share group that is started again whenever it fails, as a container would be.

``python -m benchmarks.nights.programs.share_worker BOOTSTRAP TOPIC GROUP NAME``
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import KafkaException, ShareConsumer

_AGAIN = 2.0
"""Seconds until the member is started again after an error."""


def _work(bootstrap: str, topic: str, group: str, name: str) -> None:
    """Read and acknowledge records until an error. Raises KafkaException."""
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
    """Read and acknowledge records until the process is killed. `_AGAIN` seconds after an error, begin again with a new
    consumer.
    """
    bootstrap, topic, group, name = sys.argv[1:5]
    while True:
        try:
            _work(bootstrap, topic, group, name)
        except KafkaException as error:
            print(f"{name}: {error}", flush=True)
            time.sleep(_AGAIN)


if __name__ == "__main__":
    main()
