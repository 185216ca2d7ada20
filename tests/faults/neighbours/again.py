"""Look at all neighbours again, and keep what was named: ``python -m tests.faults.neighbours.again``; then
``python -m tests.faults.table`` writes it into docs/triage.md. Names as arguments: those alone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection

from msgspec.structs import replace

from tests.faults.kept import NEIGHBOUR_RESULTS, keep
from tests.faults.laboratory import commit
from tests.faults.neighbours import tried
from tests.faults.neighbours.catalogue import NEIGHBOURS


async def again(names: Collection[str]) -> None:
    """Look at each, well and ill."""
    for name in names:
        for ill in (False, True):
            trial = await tried(NEIGHBOURS[name], ill=ill)
            keep(NEIGHBOUR_RESULTS, replace(trial, commit=commit()))


if __name__ == "__main__":
    asyncio.run(again(sys.argv[1:] or NEIGHBOURS))
