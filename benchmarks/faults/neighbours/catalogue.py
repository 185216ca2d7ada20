"""All neighbours by name. Each module has the neighbours of one kind of faults, like the modules of
`benchmarks.faults`.
"""

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
