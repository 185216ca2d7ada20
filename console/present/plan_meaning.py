"""What stands below the lines of a plan: who else is changed, what is deleted, what is legal but wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from console.model.snapshot import Snapshot
from console.plan.edits import Edit, Slot
from console.plan.effects.effects import effects
from console.plan.effects.retention import Deletion
from console.plan.effects.risk_needs import RiskFacts
from console.plan.effects.risks import Risk, risks
from console.plan.staged import Staged
from console.present.deletions import deletion_text
from console.present.spans import Span


@dataclass(frozen=True, slots=True)
class PlanMeaning:
    """By slot, for these edits."""

    edits: Mapping[Slot, Edit] = field(default_factory=dict)
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    risks: Mapping[Slot, tuple[Risk, ...]] = field(default_factory=dict)
    deletions: Mapping[Slot, Deletion] = field(default_factory=dict)

    def below(self, edit: Edit) -> list[Span]:
        """The lines of an edit; none of one that was staged since, in the same place."""
        slot = edit.slot
        if self.edits.get(slot) != edit:
            return []
        gone = self.deletions.get(slot)
        lines: list[Span] = [] if gone is None else [(deletion_text(gone), "danger" if gone.most else "muted")]
        lines += [(line, "muted") for line in self.effects.get(slot, ())]
        return [*lines, *((f"! {risk.name}: {risk.text}", "danger") for risk in self.risks.get(slot, ()))]


NOTHING_MEANT = PlanMeaning()


def meaning_of(
    staged: Iterable[Staged], snapshot: Snapshot, deletions: Mapping[Slot, Deletion], facts: RiskFacts
) -> PlanMeaning:
    """Of all edits; with many quotas or topics it takes a while. facts: what was read for the warnings."""
    all_ = tuple(staged)
    found: dict[Slot, tuple[Risk, ...]] = {}
    for risk in risks(all_, snapshot, facts):
        found[risk.slot] = (*found.get(risk.slot, ()), risk)
    return PlanMeaning({each.edit.slot: each.edit for each in all_}, effects(all_, snapshot), found, deletions)
