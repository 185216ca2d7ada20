"""What a session tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass

from console.model.snapshot import Snapshot
from console.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class SnapshotChanged:
    """The session knows more, or something else, than before. parts: which ("topics", "configs", …)."""

    parts: frozenset[str]
    old: Snapshot
    new: Snapshot


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """Edits were staged, taken back, checked or settled."""

    old: Plan
    new: Plan


@dataclass(frozen=True, slots=True)
class Progress:
    """Long work goes on: `done` of `total` (0 where it is not known) of what `what` says."""

    what: str
    done: int
    total: int


SessionEvent = SnapshotChanged | PlanChanged | Progress
