"""A process that builds tables with Spark without end, to be killed: `python -m tests.history.endless_builds LAKE`.

Prints the process of Java, then for each build that it begins, and how many seconds it took.
"""

from __future__ import annotations

import sys
import time

from console.history.jobs import renew
from console.history.jobs.build import build
from console.history.jobs.session import Settings, session
from console.history.store import Lake


def main() -> None:
    lake = Lake.open(sys.argv[1])
    renew.MOST_ROWS = 0
    with session(Settings(name="killed", master="local[2]", memory="1g", shuffle_partitions=2)) as spark:
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        print(gateway.proc.pid, flush=True)
        while True:
            print("began", flush=True)
            began = time.monotonic()
            build(lambda: spark, lake, ("change_event", "history"), keep=2)
            print(time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main()
