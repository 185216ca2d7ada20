"""A process that builds tables with Spark without end, to be killed: `python -m tests.history.endless_builds LAKE`.

Prints the process of Java, then for each build that it begins, and how many seconds it took.
"""

from __future__ import annotations

import sys
import time

from console.history.jobs import renew
from console.history.jobs.build import build
from console.history.jobs.session import session
from console.history.store import Lake

SETTINGS = {"spark.master": "local[2]", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}


def main() -> None:
    lake = Lake.open(sys.argv[1])
    renew.MOST_ROWS = 0
    with session(SETTINGS) as spark:
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
