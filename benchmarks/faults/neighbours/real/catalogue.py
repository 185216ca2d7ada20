"""All neighbours that can be made on real brokers."""

from __future__ import annotations

from benchmarks.faults.neighbours.real import RealNeighbour, clients, groups, nodes, partitions, storage

REAL_NEIGHBOURS: dict[str, RealNeighbour] = {
    each.name: each
    for each in (
        *groups.NEIGHBOURS,
        *partitions.NEIGHBOURS,
        *storage.NEIGHBOURS,
        *clients.NEIGHBOURS,
        *nodes.NEIGHBOURS,
    )
}

NOT_MADE = {
    "observers": "brokers of Apache Kafka refuse the key that says so",
    "a controller that hands over": "the laboratory's controllers are brokers: the leader would not answer either",
    **dict.fromkeys(
        ("a token that is renewed", "a token that was replaced", "a token of a shift"),
        "the laboratory's brokers have no secret for tokens",
    ),
}
"""Name of a neighbour that can't be made on real brokers, or on those of the laboratory -> the reason."""
