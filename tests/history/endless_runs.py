"""A process that writes to a lake without end, to be killed: `python -m tests.history.endless_runs LAKE`.

Its n-th run appends two rows to `snapshot` in each of three partitions, puts n rows in the place of what `history` had,
and remembers n. A line says that a run has begun, and one how many seconds it took.
"""

from __future__ import annotations

import sys
import time
from datetime import timedelta

from console.history.schema.tables import TABLES
from console.history.store import Lake
from tests.history.lake_rows import START, arrow_rows

DAYS = 3


def one_run(lake: Lake) -> None:
    with lake.writing("collect", keep=3) as write:
        number = int(write.manifest.inputs.get("runs", 0)) + 1
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


def main() -> None:
    lake = Lake.open(sys.argv[1])
    while True:
        print("began", flush=True)
        began = time.monotonic()
        one_run(lake)
        print(time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main()
