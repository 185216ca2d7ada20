"""An update that may end itself, for tests: ``python -m tests.lake.dying_update PLAN.json``, a process group of its
own.

`PLAN.json` has: lake, inputs; deaths: moments at which it kills its process group, as ``before:history`` and
``after:history``. It prints the moment, or what the update said.
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
    """What such an update is told."""

    lake: str
    inputs: Inputs
    deaths: tuple[str, ...] = ()


def arm(deaths: tuple[str, ...]) -> None:
    """Kill this process group where one of the moments comes."""
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
    """0: the update is done, 1: it failed."""
    arm(told.deaths)
    try:
        app.update(runs.Plan(Lake.open(told.lake), told.inputs), lambda: lake_session(os.environ, master="local[2]"))
    except Exception as wrong:  # noqa: BLE001 - what it is, is said
        print(runs.message_of(wrong) or f"{type(wrong).__name__}, of which the lake has no words", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Told)))
