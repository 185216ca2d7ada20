"""A member of a share group that polls some records (jobs), works on all of them for some time, and polls again, which
acknowledges them.

``python -m benchmarks.nights.programs.share_job_worker BOOTSTRAP TOPIC GROUP NAME JOBS SECONDS``: JOBS is the number of
records for each poll, SECONDS the time of work for them.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import KafkaException, ShareConsumer


def main() -> None:
    """Poll at most JOBS records, print their partitions and offsets, and work on them for SECONDS, again and again
    until the process is killed.
    """
    bootstrap, topic, group, name, jobs, seconds = sys.argv[1:7]
    consumer = ShareConsumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "client.id": name, "max.poll.records": int(jobs)}
    )
    consumer.subscribe([topic])
    while True:
        try:
            taken = [each for each in consumer.poll(1.0) if each.error() is None]
        except KafkaException as error:
            print(f"{name}: {error}", flush=True)
            continue
        if taken:
            print(f"{name}: {[(each.partition(), each.offset()) for each in taken]}", flush=True)
            time.sleep(float(seconds))


if __name__ == "__main__":
    main()
