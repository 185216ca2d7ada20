"""All faults, and forty pairs of them."""

from __future__ import annotations

import random
from itertools import combinations

from tests.faults import groups, nodes, partitions, storage
from tests.faults.fault import Fault

FAULTS: dict[str, Fault] = {
    fault.name: fault for fault in (*nodes.FAULTS, *storage.FAULTS, *partitions.FAULTS, *groups.FAULTS)
}

CHOSEN = ("disk filled", "min ISR above replicas", "consumer stopped", "broker killed")
"""Those of `make test`: one of each sort, quick ones."""

PAIRS = 40


def pairs(count: int = PAIRS) -> list[tuple[Fault, Fault]]:
    """Pairs of faults that can be made at once: always the same ones, each fault about as often as another."""
    possible = [(a, b) for a, b in combinations(FAULTS.values(), 2) if not a.takes & b.takes]
    random.Random(14).shuffle(possible)
    often = dict.fromkeys(FAULTS, 0)
    chosen: list[tuple[Fault, Fault]] = []
    while possible and len(chosen) < count:
        pair = min(possible, key=lambda each: sum(often[fault.name] ** 2 for fault in each))
        possible.remove(pair)
        chosen.append(pair)
        for fault in pair:
            often[fault.name] += 1
    return chosen
