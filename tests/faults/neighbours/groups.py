"""Neighbours of faults of groups."""

from __future__ import annotations

from console.model.snapshot import Snapshot
from tests.faults.fault import cause
from tests.faults.neighbours import Neighbour, modelled
from tests.unit.test_triage import moved


def _deployed(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """A member leaves, its successor joins; in the ill one they never stop."""
    moves = tick % 2 == 1 and (ill or tick < 5)
    state = "PreparingRebalance" if moves else "Stable"
    return moved(snapshot, {0: (100 + tick, 100 + tick)}, state=state)


NEIGHBOURS = (
    Neighbour(
        name="a deployment",
        fault="group rebalancing",
        how="a member leaves and another joins: two rebalances",
        decides="they go on without an end",
        ill=cause("group-rebalancing", group="billing"),
        looks=modelled(_deployed, ticks=14),
    ),
)
