"""What can't be read, in the table `quarantine`, each thing once however often it is met; without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import pyarrow as pa

from console.history.kraft.decoder import Trouble
from console.history.schema import QUARANTINE, arrow_schema
from console.history.store import parquet_files

if TYPE_CHECKING:
    from console.history.store.write import Write

ROWS: pa.Schema = pa.schema([each for each in arrow_schema(QUARANTINE) if each.name != "run_id"])
"""The columns of `quarantine` without `run_id`."""
KRAFT_LOG = "kraft_log"
"""The source of what can't be read of metadata logs."""


def trouble_rows(troubles: Iterable[Trouble]) -> pa.Table:
    """What can't be read of metadata logs, as rows of `quarantine`."""
    return pa.Table.from_pylist([{"source": KRAFT_LOG, **asdict(each)} for each in troubles], schema=ROWS)


def quarantine_arrow(write: Write, rows: pa.Table) -> int:
    """Appends rows that are not there yet; gives how many."""
    if not rows.num_rows:
        return 0
    there = parquet_files.read(
        write.lake.filesystem, write.lake.files(write.draft, QUARANTINE), QUARANTINE, columns=list(QUARANTINE.key)
    )
    known = set(_keys(there))
    fresh = []
    for place, key in enumerate(_keys(rows)):
        if key not in known:
            known.add(key)
            fresh.append(place)
    return write.add_arrow(QUARANTINE.name, rows.take(fresh)) if fresh else 0


def _keys(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    return zip(*(rows.column(name).to_pylist() for name in QUARANTINE.key), strict=True)
