"""All neighbours. A module has those of one sort of faults, as in `benchmarks.faults`."""

from __future__ import annotations

from benchmarks.faults.neighbours import Neighbour, clients, groups, nodes, partitions, storage

NEIGHBOURS: dict[str, Neighbour] = {
    each.name: each
    for each in (
        *nodes.NEIGHBOURS,
        *storage.NEIGHBOURS,
        *partitions.NEIGHBOURS,
        *groups.NEIGHBOURS,
        *clients.NEIGHBOURS,
    )
}
