"""Runs short jobs one after the other: each connects to the cluster, writes one record, and ends its connections.

Arguments: the brokers as ``host:port,…``, and the topic.
"""

from __future__ import annotations

import signal
import sys
import threading

from confluent_kafka import Producer

EVERY = 0.25
"""Seconds between two jobs."""
PATIENT = 20.0
"""Seconds that a job waits for its record to be acknowledged."""


def main() -> None:
    """Run jobs until SIGTERM, and print a line for each record that was not acknowledged."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    brokers, topic = sys.argv[1:]
    number = 0
    while not ended.wait(EVERY):
        number += 1
        client = Producer({"bootstrap.servers": brokers, "client.id": f"import-{number}"})
        client.produce(topic, b"v" * 200, f"job-{number}".encode())
        if client.flush(PATIENT):
            print(f"job {number} gave up", flush=True)


if __name__ == "__main__":
    main()
