"""The polls that hosts delivered into a lake's directory `landing/`, as rows of the table `snapshot`."""

from pathlib import Path
from typing import Any

from console.lake.lake import Lake
from console.lake.landing import POLLS, SUFFIX, landed_files, read_polls


def landed_in(lake: Lake, run_id: str | None = None) -> list[dict[str, Any]]:
    """Return the delivered rows in the order of delivery, with a heartbeat row for each entity type of a poll. run_id:
    the run to read; None for all runs.
    """
    paths = landed_files(Path(lake.where) / POLLS)
    read = [row for path in paths if run_id in (None, path.name.removesuffix(SUFFIX)) for row in _rows(path)]
    return [
        {**row, "entity_type": each}
        for row in read
        for each in (row["entity_type"].split(",") if row["kind"] == "heartbeat" else [row["entity_type"]])
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [row for batch in read_polls(path) for row in batch.to_pylist()]
