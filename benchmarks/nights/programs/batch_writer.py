"""A service that writes records in transactions, each of which takes some time, and is started again after an error.

``python -m benchmarks.nights.programs.batch_writer BOOTSTRAP TOPIC TRANSACTIONAL_ID TIMEOUT_MS SECONDS RATE``: SECONDS
is the duration of a transaction, RATE the number of records per second.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import KafkaException, Producer

_AGAIN = 1.0
"""Seconds until a new producer replaces one with an error."""
_PATIENCE = 30.0
"""Maximum seconds for each call of the transaction API."""


def _write(bootstrap: str, topic: str, identity: str, timeout_ms: int, seconds: float, rate: float) -> None:
    """Write transactions until an error. Raises KafkaException."""
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap,
        "client.id": "pricing-engine",
        "transactional.id": identity,
        "transaction.timeout.ms": timeout_ms,
    }
    producer = Producer(settings)
    producer.init_transactions(_PATIENCE)
    number = 0
    while True:
        producer.begin_transaction()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            number += 1
            producer.produce(topic, b"v" * 100, f"key-{number % 1000}")
            producer.poll(0)
            time.sleep(1 / rate)
        producer.commit_transaction(_PATIENCE)
        print(f"{identity}: committed", flush=True)


def main() -> None:
    """Write until the process is ended. After an error, print it, and begin again after `_AGAIN` seconds."""
    bootstrap, topic, identity, timeout_ms, seconds, rate = sys.argv[1:7]
    while True:
        try:
            _write(bootstrap, topic, identity, int(timeout_ms), float(seconds), float(rate))
        except KafkaException as error:
            print(f"{identity}: {error}", flush=True)
        time.sleep(_AGAIN)


if __name__ == "__main__":
    main()
