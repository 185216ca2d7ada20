"""An exporter of metrics that asks for a list of topics that it once saw, by name.

``python -m benchmarks.nights.programs.exporter BOOTSTRAP TOPIC``
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.nights.programs.raw import Connection, address

EVERY = 2.0
"""Seconds between two scrapes: 15 to 60 outside of a benchmark."""


def main() -> None:
    """Ask until the end; what is told of the topic is a line of the output."""
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
