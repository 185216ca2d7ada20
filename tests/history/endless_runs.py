"""Processes that write to a lake without end, to be killed: `python -m tests.history.endless_runs LAKE`.

For each line of its input it begins one, tells which process that is, and when it has ended. Its n-th run appends two
rows to `snapshot` in each of three partitions, puts n rows in the place of what `history` had, and remembers n. A line
says that a run has begun, and one how many seconds it took.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta

from console.history.schema import TABLES
from console.history.store import Lake
from console.history.store.write import writing
from tests.history.lake_rows import START, arrow_rows

DAYS = 3
KEPT = 3


def one_run(lake: Lake) -> None:
    with writing(lake, "collect", keep=KEPT) as write:
        number = int(write.release.inputs.get("runs", 0)) + 1
        rows = [
            {"observed_ts": START + timedelta(days=day), "entity_key": f"{number}.{each}", "value": str(number)}
            for day in range(DAYS)
            for each in range(2)
        ]
        write.add_arrow("snapshot", arrow_rows(TABLES["snapshot"], rows))
        current = [{"entity_key": str(each), "new_value": str(number)} for each in range(number)]
        write.replace("history", write.put_arrow("history", arrow_rows(TABLES["history"], current)), whole=True)
        write.remember({"runs": number})
        write.commit()


def endless(lake: Lake) -> None:
    tell(f"process {os.getpid()}")
    while True:
        tell("began")
        began = time.monotonic()
        one_run(lake)
        tell(str(time.monotonic() - began))


def tell(line: str) -> None:
    """In one piece, whenever the process is killed."""
    os.write(1, f"{line}\n".encode())


def main() -> None:
    lake = Lake.open(sys.argv[1])
    for _ in sys.stdin:
        process = os.fork()
        if not process:
            endless(lake)
        os.waitpid(process, 0)
        tell("ended")


if __name__ == "__main__":
    main()
