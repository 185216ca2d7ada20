"""A worker of a share group that takes some jobs, works on all of them for some time, and takes the next, which
acknowledges the former ones.

``python -m benchmarks.nights.programs.share_job_worker BOOTSTRAP TOPIC GROUP NAME JOBS SECONDS``: the number of jobs at
a time, and the seconds for them.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import KafkaException, ShareConsumer


def main() -> None:
    """Poll at most JOBS jobs, print them, and work on them for SECONDS, again and again until the process is ended."""
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
