"""All faults of the laboratory, and forty pairs of them."""

from __future__ import annotations

import random
from itertools import combinations

from benchmarks.faults import groups, nodes, partitions, rights, storage
from benchmarks.faults.fault import Fault

FAULTS: dict[str, Fault] = {
    fault.name: fault for fault in (*nodes.FAULTS, *storage.FAULTS, *partitions.FAULTS, *groups.FAULTS, *rights.FAULTS)
}

CHOSEN = ("disk filled", "min ISR above replicas", "consumer stopped", "broker killed")
"""The faults that `make test` runs: one of each kind, and only quick ones."""

PAIRS = 40


def pairs(count: int = PAIRS) -> list[tuple[Fault, Fault]]:
    """Return `count` pairs of faults that can be made at once: always the same pairs, each fault about equally
    often.
    """
    paired = [fault for fault in FAULTS.values() if not fault.alone]
    possible = [(a, b) for a, b in combinations(paired, 2) if not a.takes & b.takes]
    random.Random(14).shuffle(possible)
    often = {fault.name: 0 for fault in paired}
    chosen: list[tuple[Fault, Fault]] = []
    while possible and len(chosen) < count:
        pair = min(possible, key=lambda each: sum(often[fault.name] ** 2 for fault in each))
        possible.remove(pair)
        chosen.append(pair)
        for fault in pair:
            often[fault.name] += 1
    return chosen
