"""Writes the records of MirrorMaker 2 itself into the target cluster: heartbeats, those that it copies from
the source, and checkpoints of a group.

``python -m benchmarks.nights.programs.mirror_beats BOOTSTRAP SOURCE TARGET TOPIC GROUP``: SOURCE and TARGET are the
aliases of the two clusters, TOPIC is the name of a copy, and GROUP reads its original.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Producer

from console.model.mirror import Checkpoint, Heartbeat
from tests.support.mirror_records import encoded

EVERY = 1.0
"""Seconds between two heartbeats, which is MirrorMaker's default."""


def main() -> None:
    """Write until the process is ended."""
    bootstrap, source, target, topic, group = sys.argv[1:6]
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": f"{source}->{target}|mirror"})
    number = 0
    while True:
        number += 1
        now = int(time.time() * 1000)
        for name, record in (
            ("heartbeats", Heartbeat(source, target)),
            (f"{source}.heartbeats", Heartbeat(target, source)),
            (f"{source}.checkpoints.internal", Checkpoint(group, topic, 0, number * 10, number * 10)),
        ):
            key, value = encoded(record, now)
            producer.produce(name, value, key, timestamp=now)
        producer.flush(10)
        time.sleep(EVERY)


if __name__ == "__main__":
    main()
