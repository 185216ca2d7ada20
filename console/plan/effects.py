"""Who else an edit changes: entities that inherit or shadow a default, clients whose limit moves, the whole cluster."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.snapshot import Snapshot
from console.plan.edits import Slot
from console.plan.kinds.registry import kind_of
from console.plan.staged import Described, Staged


def effects(staged: Iterable[Staged], snapshot: Snapshot) -> dict[Slot, tuple[str, ...]]:
    """Slot -> lines; edits that change nothing for others are left out."""
    seen = Described(snapshot)
    found = {each.edit.slot: kind_of(each.edit).effects(each.edit, seen) for each in staged}
    return {slot: lines for slot, lines in found.items() if lines}
