"""A log shipper that makes a new idempotent producer for every chunk of records, and never uses it again.

``python -m benchmarks.nights.programs.leak BOOTSTRAP TOPIC CHUNKS_PER_SECOND``
"""

from __future__ import annotations

import sys
import threading
import time

from benchmarks.nights.programs.raw import Connection, address, batch


def ship(broker: tuple[str, int], topic: str, partitions: list[int], rate: float) -> None:
    """Write chunks to the partitions that one broker leads, each with a new producer, until the process is killed.

    Args:
        broker: host and port.
        rate: chunks per second.
    """
    with Connection(broker, "log-shipper") as connection:
        due = time.monotonic()
        while True:
            connection.produce(topic, {each: batch(b"x" * 60, *connection.producer_id()) for each in partitions})
            due += len(partitions) / rate
            time.sleep(max(due - time.monotonic(), 0.0))


def main() -> None:
    """Write chunks to all partitions until the process is ended, in a thread for each leader."""
    bootstrap, topic, rate = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with Connection(address(bootstrap), "log-shipper") as connection:
        brokers, topics = connection.metadata([topic])
    leaders = topics[topic].leaders
    for node in sorted(set(leaders.values())):
        led = sorted(partition for partition, leader in leaders.items() if leader == node)
        share = rate * len(led) / len(leaders)
        threading.Thread(target=ship, args=(brokers[node], topic, led, share)).start()


if __name__ == "__main__":
    main()
