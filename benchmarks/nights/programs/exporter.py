"""An exporter of metrics that requests the metadata of a topic again and again by name, even after the topic was
deleted.

``python -m benchmarks.nights.programs.exporter BOOTSTRAP TOPIC``
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.nights.programs.raw import Connection, address

EVERY = 2.0
"""Seconds between two requests; in real exporters 15 to 60."""


def main() -> None:
    """Request the topic's metadata every `EVERY` seconds, and print a line for each answer or error, until the process
    is ended.
    """
    bootstrap, topic = sys.argv[1:3]
    while True:
        try:
            with Connection(address(bootstrap), "metrics-exporter") as connection:
                found = connection.metadata([topic])[1][topic]
            print(json.dumps({"at": time.time(), "code": found.error, "partitions": len(found.leaders)}), flush=True)
        except OSError as error:
            print(json.dumps({"at": time.time(), "error": type(error).__name__, "text": str(error)}), flush=True)
        time.sleep(EVERY)


if __name__ == "__main__":
    main()
