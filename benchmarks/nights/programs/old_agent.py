"""An appliance's agent that writes metrics with Kafka's protocol of 2013, and retries after any error.

``python -m benchmarks.nights.programs.old_agent BOOTSTRAP TOPIC``
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.nights.programs.raw import Connection, address

AGAIN = 0.5


def main() -> None:
    """Write until the process is ended, and print a line for each record and each failure."""
    bootstrap, topic = sys.argv[1:3]
    while True:
        try:
            with Connection(address(bootstrap), "adc-agent") as connection:
                brokers, topics = connection.metadata([topic])
            partition, leader = min(topics[topic].leaders.items())
            with Connection(brokers[leader], "adc-agent") as connection:
                connection.produce_as_in_2013(topic, partition, b"v" * 100)
                print(json.dumps({"at": time.time(), "written": 1}), flush=True)
        except Exception as error:  # noqa: BLE001 - an agent has nobody who would look at it
            print(json.dumps({"at": time.time(), "error": type(error).__name__, "text": str(error)}), flush=True)
        time.sleep(AGAIN)


if __name__ == "__main__":
    main()
