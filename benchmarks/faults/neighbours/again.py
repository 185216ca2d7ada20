"""Polls all neighbours again, and stores the named causes: ``python -m benchmarks.faults.neighbours.again [NAME …]``.
Then ``python -m benchmarks.faults.table`` writes them into docs/triage-measured.md.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection

from msgspec.structs import replace

from benchmarks.faults.kept import NEIGHBOUR_RESULTS, keep
from benchmarks.faults.neighbours import tried
from benchmarks.faults.neighbours.catalogue import NEIGHBOURS
from benchmarks.watch import commit


async def again(names: Collection[str]) -> None:
    """Poll each neighbour with one of these names, in its healthy form and in the form with the fault, and store the
    causes that triage names.
    """
    for name in names:
        for ill in (False, True):
            trial = await tried(NEIGHBOURS[name], ill=ill)
            keep(NEIGHBOUR_RESULTS, replace(trial, commit=commit()))


if __name__ == "__main__":
    asyncio.run(again(sys.argv[1:] or NEIGHBOURS))
