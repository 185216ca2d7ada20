"""An update of a lake that may kill its own process group, for tests: ``python -m tests.lake.dying_update PLAN.json``.
Start it as the leader of a process group.

`PLAN.json` has `lake`, `inputs`, and `deaths`: the moments at which the group is killed, such as ``before:history`` and
``after:history``. The process prints that moment, or the error of the update.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from console.collecting.spark_session import lake_session
from console.lake import app, runs, tables
from console.lake.inputs import Inputs
from console.lake.lake import Lake


class Told(msgspec.Struct, frozen=True):
    """The decoded `PLAN.json`. deaths: see `arm`."""

    lake: str
    inputs: Inputs
    deaths: tuple[str, ...] = ()


def arm(deaths: tuple[str, ...]) -> None:
    """Let the process group be killed at the first of these moments, ``before:TABLE`` or ``after:TABLE``: before or
    after a batch is written to the table.
    """
    save = tables.Tables._save

    def at(moment: str) -> None:
        if moment in deaths:
            print(moment, flush=True)
            os.killpg(os.getpgrp(), signal.SIGKILL)

    def saving(self: tables.Tables, writer: Any, table: Any, batch: Any) -> None:
        at(f"before:{table.name}")
        save(self, writer, table, batch)
        at(f"after:{table.name}")

    tables.Tables._save = saving  # type: ignore[method-assign]


def main(told: Told) -> int:
    """Run the update of the lake. Return 0 if it succeeds; print the error and return 1 if it fails."""
    arm(told.deaths)
    try:
        app.update(runs.Plan(Lake.open(told.lake), told.inputs), lambda: lake_session(os.environ, master="local[2]"))
    except Exception as wrong:  # noqa: BLE001 - the error is printed
        print(runs.message_of(wrong) or f"{type(wrong).__name__}, of which the lake has no words", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Told)))
