"""A worker of a share group whose process ends at a bad job, and is started again as a container would be.

``python -m benchmarks.nights.programs.mortal_share_worker BOOTSTRAP TOPIC GROUP NAME [--careful]``: with ``--careful``
it puts bad jobs aside instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from confluent_kafka import KafkaException, ShareConsumer

BAD = b"bad job"
"""The beginning of jobs that kill a worker."""
_AGAIN = 2.0
"""Seconds until the process is started again."""
_ONCE = "--once"
"""The argument of the process that works."""


def _work(bootstrap: str, topic: str, group: str, name: str, *, careful: bool) -> None:
    """Work on jobs until a bad one, which ends this process at once unless it is careful."""
    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group, "client.id": name})
    consumer.subscribe([topic])
    while True:
        try:
            jobs = [each for each in consumer.poll(1.0) if each.error() is None]
        except KafkaException as error:
            print(f"{name}: {error}", flush=True)
            continue
        if jobs:
            print(f"{name}: working on {len(jobs)}", flush=True)
        for job in jobs:
            value = job.value()
            if isinstance(value, bytes) and value.startswith(BAD):
                print(f"{name}: a bad job at {job.partition()}:{job.offset()}", flush=True)
                if not careful:
                    os._exit(1)
            time.sleep(0.002)


def main() -> None:
    """Work with ``--once``; else run this program with it, again and again, until this process is ended."""
    bootstrap, topic, group, name, *options = sys.argv[1:]
    if _ONCE in options:
        _work(bootstrap, topic, group, name, careful="--careful" in options)
    while True:
        subprocess.run([sys.executable, "-m", __spec__.name, *sys.argv[1:], _ONCE], check=False)
        time.sleep(_AGAIN)


if __name__ == "__main__":
    main()
