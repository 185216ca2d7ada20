"""Tries all neighbours on real brokers again, and stores the causes that triage names: ``python -m
benchmarks.faults.neighbours.real.again VERSION [NAME …]``, with a VERSION such as 4.4.0. Then ``python -m
benchmarks.faults.table`` writes them into docs/triage-measured.md. It takes an hour for each version, and needs Java
and root.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection

from benchmarks.faults.kept import REAL_NEIGHBOUR_RESULTS, keep
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.neighbours import troubles
from benchmarks.faults.neighbours.real import can_have, tried_on
from benchmarks.faults.neighbours.real.catalogue import REAL_NEIGHBOURS


async def again(version: str, names: Collection[str]) -> None:
    """Try each neighbour with one of these names. If a neighbour can't be made, print the reason, and store no result
    for it.
    """
    async with Laboratory(version) as lab:
        for neighbour in (REAL_NEIGHBOURS[name] for name in names):
            if not can_have(neighbour, version):
                continue
            try:
                well, ill = await tried_on(lab, neighbour)
            except (RuntimeError, TimeoutError, OSError) as error:
                print(f"{neighbour.name}: not made: {error}", flush=True)
                await lab.bring_up()
                continue
            keep(REAL_NEIGHBOUR_RESULTS, well)
            keep(REAL_NEIGHBOUR_RESULTS, ill)
            named = [told for told in ill.told if neighbour.ill.fits(told.cause, told.subject)]
            after = f"named after {named[0].after:g} s" if named else f"missed: {ill.told}"
            print(f"{neighbour.name}: {'; '.join(troubles(well)) or 'well'}; {after}", flush=True)


if __name__ == "__main__":
    asyncio.run(again(sys.argv[1], sys.argv[2:] or REAL_NEIGHBOURS))
