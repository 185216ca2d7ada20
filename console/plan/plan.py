"""The plan: staged edits and how to go back. Values and pure functions; nothing here reads or sends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from console.model.changes import Outcome, Target
from console.model.codes import TOPIC
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, CreateTopic, Edit, Slot
from console.plan.staged import UNREAD, Dropped, Refused, Staged, Was, subject, topic_id_of

__all__ = [
    "EMPTY",
    "UNREAD",
    "Dropped",
    "Moment",
    "Plan",
    "Refused",
    "StageReport",
    "Staged",
    "Was",
    "discard",
    "redo",
    "stage",
    "undo",
    "with_outcomes",
    "without",
]


class Moment(NamedTuple):
    """A state of the plan to go back or forward to."""

    staged: tuple[Staged, ...]
    outcomes: Mapping[Slot, Outcome]


@dataclass(frozen=True, slots=True)
class Plan:
    """Edits in the order they were staged, at most one for each slot.

    outcomes: how the last check or apply went for what is still staged.
    past, future: what `undo` and `redo` go to, the nearest last.
    """

    staged: tuple[Staged, ...] = ()
    past: tuple[Moment, ...] = ()
    future: tuple[Moment, ...] = ()
    outcomes: Mapping[Slot, Outcome] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.staged)

    def __bool__(self) -> bool:
        return bool(self.staged)

    def outcome(self, edit: Edit) -> Outcome | None:
        """How the last check or apply went for an edit; None where there was none since it was staged."""
        return self.outcomes.get(edit.slot)


EMPTY = Plan()


@dataclass(frozen=True, slots=True)
class StageReport:
    """What became of the edits of one `stage` call, each list in their order.

    added: as they stand in the plan, values parsed. replaced: what was staged before for a slot and gave way: the
    operator changed their mind. An edit may be in `replaced` and its successor in `dropped`: back to what is there.
    """

    plan: Plan
    added: tuple[Staged, ...] = ()
    replaced: tuple[Staged, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    refused: tuple[Refused, ...] = ()


def stage(plan: Plan, edits: Iterable[Edit], snapshot: Snapshot, lasts_ms: int | None = None) -> StageReport:
    """Put edits into the plan, one step to undo. What would change nothing is dropped, what contradicts the plan or
    can't be is refused, each with words; the last word on a slot counts. Outcomes of what is touched are forgotten.
    lasts_ms: how long these edits are to hold once they are applied, None for good."""
    # The rules are read when something is first staged, not when a console starts.
    from console.plan.draft import Draft
    from console.plan.rules import judge

    draft = Draft(plan.staged, snapshot)
    added: dict[Slot, Staged] = {}
    replaced: list[Staged] = []
    dropped: list[Dropped] = []
    refused: list[Refused] = []
    touched: set[Target] = set()
    for edit in edits:
        verdict = judge(edit, draft)
        if isinstance(verdict, Refused):
            refused.append(verdict)
            continue
        slot = verdict.edit.slot
        existing = draft.at(slot)
        if isinstance(verdict, Staged):
            verdict = replace(verdict, lasts_ms=lasts_ms, topic_id=topic_id_of(verdict.edit, snapshot))
        if existing is not None and existing.edit == verdict.edit and existing.lasts_ms == lasts_ms:
            dropped.append(Dropped(verdict.edit, "is staged already"))
            continue
        if isinstance(verdict, Staged):
            draft.put(verdict)
            added[slot] = verdict
        else:
            dropped.append(verdict)
            if existing is None:
                continue
            draft.remove(slot)
            added.pop(slot, None)
        if existing is not None:
            replaced.append(existing)
        touched.add(subject(slot.target))
    if touched:
        outcomes = {slot: out for slot, out in plan.outcomes.items() if subject(slot.target) not in touched}
        plan = _moved_on(plan, draft.staged, outcomes)
    return StageReport(plan, tuple(added.values()), tuple(replaced), tuple(dropped), tuple(refused))


def undo(plan: Plan) -> Plan:
    """Before the last stage or discard; the same plan where there is nothing to undo."""
    if not plan.past:
        return plan
    *past, back = plan.past
    return Plan(back.staged, tuple(past), (*plan.future, _now(plan)), back.outcomes)


def redo(plan: Plan) -> Plan:
    """What `undo` undid; the same plan where there is nothing to redo."""
    if not plan.future:
        return plan
    *future, ahead = plan.future
    return Plan(ahead.staged, (*plan.past, _now(plan)), tuple(future), ahead.outcomes)


def discard(plan: Plan, target: Target | None = None, key: str | None = None) -> Plan:
    """Without the edits of a target and key (None: of any); can be undone. The same plan where none match.

    A topic's name and its config resource are one target, unless a key is given. With the creation of a topic go the
    config edits on it, which would have nothing to stand on.
    """
    return without(plan, {staged.edit.slot for staged in plan.staged if _matches(staged.edit, target, key)})


def without(plan: Plan, gone: Collection[Slot]) -> Plan:
    """Without the edits in these slots, and without the config edits on a topic whose creation is among them; can be
    undone. The same plan where none match."""
    created = {s.edit.topic.name for s in plan.staged if isinstance(s.edit, CreateTopic) and s.edit.slot in gone}
    kept = tuple(s for s in plan.staged if s.edit.slot not in gone and not _stands_on(s.edit, created))
    if len(kept) == len(plan.staged):
        return plan
    slots = {staged.edit.slot for staged in kept}
    return _moved_on(plan, kept, {slot: outcome for slot, outcome in plan.outcomes.items() if slot in slots})


def _matches(edit: Edit, target: Target | None, key: str | None) -> bool:
    if key is not None:
        return edit.key == key and target in (None, edit.target)
    return target is None or subject(edit.target) == subject(target)


def _stands_on(edit: Edit, topics: set[str]) -> bool:
    return isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC and edit.resource.name in topics


def _now(plan: Plan) -> Moment:
    return Moment(plan.staged, plan.outcomes)


def _moved_on(plan: Plan, staged: tuple[Staged, ...], outcomes: Mapping[Slot, Outcome]) -> Plan:
    """Other contents, one `undo` away from these; what was undone before can't be redone."""
    return Plan(staged, (*plan.past, _now(plan)), (), outcomes)


def with_outcomes(plan: Plan, outcomes: Mapping[Slot, Outcome]) -> Plan:
    """The same edits with these outcomes; nothing to undo in that."""
    return replace(plan, outcomes=outcomes)
