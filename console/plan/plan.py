"""The plan: the staged edits and the history for undo. Values and pure functions; this module neither reads nor
sends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from console.model.changes import GroupOffsetTarget, GroupTarget, Outcome, Target
from console.model.codes import GROUP
from console.model.config import ConfigResource
from console.model.snapshot import Snapshot
from console.plan.edits import Edit, Passed, Slot
from console.plan.staged import Draft, Dropped, Pruned, Refusal, Refused, Staged, Verdict, subject, topic_id_of


class _Removed(NamedTuple):
    slot: Slot


class _Touched(NamedTuple):
    """An entry of the log of changes, which says that the outcomes of this subject were cleared because it was
    edited.
    """

    subject: Target


_Entry = Staged | _Removed | _Touched


class Moment:
    """A state of the plan, for undo and redo: the edits that were staged at the beginning, and the number of entries of
    a log of changes that lead from them to this state.

    All moments of one `Staging` share the log, which only grows, so a moment takes the same memory whatever the size of
    the plan. Its contents are computed when undo or redo returns to it.
    """

    __slots__ = ("_base", "_length", "_log", "_outcomes")

    def __init__(
        self,
        base: tuple[Staged, ...],
        outcomes: Mapping[Slot, Outcome],
        log: Sequence[_Entry] = (),
        length: int = 0,
    ) -> None:
        self._base = base
        self._outcomes = outcomes
        self._log = log
        self._length = length

    @property
    def staged(self) -> tuple[Staged, ...]:
        """The staged edits, in the order of staging."""
        # An edit that replaces another keeps its place, as a value does that is assigned to an existing key of a dict.
        slots = {staged.edit.slot: staged for staged in self._base}
        for entry in self._log[: self._length]:
            if isinstance(entry, Staged):
                slots[entry.edit.slot] = entry
            elif isinstance(entry, _Removed):
                del slots[entry.slot]
        return tuple(slots.values())

    @property
    def outcomes(self) -> Mapping[Slot, Outcome]:
        """Slot -> the outcome of the last check or apply before this moment, without slots of subjects that were edited
        since then.
        """
        touched = {entry.subject for entry in self._log[: self._length] if isinstance(entry, _Touched)}
        return {slot: outcome for slot, outcome in self._outcomes.items() if subject(slot.target) not in touched}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moment):
            return NotImplemented
        return (self.staged, self.outcomes) == (other.staged, other.outcomes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Moment({self.staged!r}, {self.outcomes!r})"


class Plan(Struct, frozen=True):
    """Staged edits in the order of staging, at most one for each slot."""

    staged: tuple[Staged, ...] = ()
    past: tuple[Moment, ...] = ()
    """The states to which `undo` returns, the next one last."""
    future: tuple[Moment, ...] = ()
    """The states to which `redo` returns, the next one last."""
    outcomes: Mapping[Slot, Outcome] = msgspec.field(default_factory=dict)
    """Slot -> the outcome of the last check or apply, for edits that are still staged."""

    def __len__(self) -> int:
        return len(self.staged)

    def __bool__(self) -> bool:
        return bool(self.staged)

    def outcome(self, edit: Edit) -> Outcome | None:
        """Return the outcome of the last check or apply for an edit; None if it has none, as for an edit that was
        staged later.
        """
        return self.outcomes.get(edit.slot)

    def creates_topic(self, name: str) -> bool:
        """Return whether the plan has an edit that creates the topic."""
        return any(staged.edit.new_topic == name for staged in self.staged)


EMPTY = Plan()


@dataclass(frozen=True, slots=True)
class StageReport:
    """The results of one call of `stage`. Each field has its edits in the order of the call."""

    made: Callable[[], Plan] = field(compare=False, repr=False)
    added: tuple[Staged, ...] = ()
    """The edits that were staged, with parsed values."""
    replaced: tuple[Staged, ...] = ()
    """The edits that were staged before for the same slots, and were replaced. If a new edit restores the present
    value, the old edit is here and the new one in `dropped`.
    """
    dropped: tuple[Dropped, ...] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def plan(self) -> Plan:
        """The plan with these edits. It is computed on first use, in time proportional to the plan's length."""
        return self.made()


class Staging:
    """A plan during staging, on one snapshot. A call of `stage` takes time for its own edits only, however many are
    staged already.
    """

    def __init__(self, plan: Plan, snapshot: Snapshot) -> None:
        # Import the rules when an edit is first staged, not at startup.
        self.snapshot = snapshot
        self.draft = Draft(plan.staged, snapshot)
        self._base = plan
        self._log: list[_Entry] = []
        self._steps: list[Moment] = []
        self._sent: set[Passed] = set()
        """The places whose letters the plan contains."""
        for each in plan.staged:
            self._sent.update(each.edit.first_for)

    @property
    def steps(self) -> int:
        """The number of `stage` calls that have changed the plan."""
        return len(self._steps)

    def creates_topic(self, name: str) -> bool:
        """Return whether the plan has an edit that creates the topic."""
        edit = self.draft.topic_edit(name)
        return edit is not None and edit.new_topic == name

    def plan(self) -> Plan:
        """Return the present plan."""
        return self._after(len(self._steps), len(self._log))

    def _after(self, steps: int, length: int) -> Plan:
        if not steps:
            return self._base
        now = Moment(self._base.staged, self._base.outcomes, self._log, length)
        staged = self.draft.staged if length == len(self._log) else now.staged
        return Plan(staged, (*self._base.past, *self._steps[:steps]), (), now.outcomes)

    def stage(self, edits: Iterable[Edit], lasts_ms: int | None = None) -> StageReport:
        """Stage edits, as the function `stage` does.

        Args:
            lasts_ms: milliseconds after which the edits are to be reverted; None for permanent edits.

        Returns:
            The added, replaced, dropped and refused edits. The report's `plan` is the plan after this call, even if
            more edits are staged later.
        """
        draft, log = self.draft, self._log
        before = Moment(self._base.staged, self._base.outcomes, log, len(log))
        added: dict[Slot, Staged] = {}
        replaced: list[Staged] = []
        dropped: list[Dropped] = []
        refused: list[Refusal] = []
        touched: dict[Target, None] = {}
        some = tuple(edits)
        held = self._held_together(some)
        for edit in some:
            try:
                verdict = self._judged(edit, held)
            except Refused as why:
                refused.append(Refusal(edit, why.reason, why.remedy))
                continue
            slot = verdict.edit.slot
            existing = draft.at(slot)
            if isinstance(verdict, Staged):
                verdict = replace(verdict, lasts_ms=lasts_ms, topic_id=topic_id_of(verdict.edit, self.snapshot))
            # Staging the same edit again must neither add a step to undo nor clear the outcome of a check.
            if existing is not None and existing.edit == verdict.edit and existing.lasts_ms == lasts_ms:
                dropped.append(Dropped(verdict.edit, "is staged already"))
                continue
            if isinstance(verdict, Staged):
                draft.put(verdict)
                log.append(verdict)
                added[slot] = verdict
            else:
                dropped.append(verdict)
                if existing is None:
                    continue
                # The last edit counts: one that restores the present value removes the staged edit of the slot.
                draft.remove(slot)
                log.append(_Removed(slot))
                added.pop(slot, None)
            if existing is not None:
                replaced.append(existing)
            touched[subject(slot.target)] = None
        for each in added.values():
            self._sent.update(each.edit.first_for)
        # A call without changes adds no step: undo would seem to have no effect.
        if touched:
            log.extend(map(_Touched, touched))
            self._steps.append(before)
        # Bind the lengths now, so that the report has the plan after this call even if the log grows.
        made = cache(partial(self._after, len(self._steps), len(log)))
        return StageReport(made, tuple(added.values()), tuple(replaced), tuple(dropped), tuple(refused))

    def _judged(self, edit: Edit, held: _Held | None) -> Verdict:
        """Return the verdict on an edit: Staged or Dropped.

        Raises:
            Refused: the edit can't be staged, is in `held`, or would separate dead letters from the edit that skips or
                deletes their records.
        """
        from console.plan.kinds.registry import kind_of

        if held is not None and edit.slot in held.slots:
            raise held.why
        verdict = kind_of(edit).judge(edit, self.draft)
        self._refuse_to_part(verdict.edit)
        return verdict

    def _refuse_to_part(self, edit: Edit) -> None:
        """Raise Refused for an edit that would separate dead letters from the edit that skips or deletes their
        records: it would replace a staged batch of dead letters, or a staged edit that skips or deletes records
        whose dead letters are staged or written.
        """
        there = self.draft.at(edit.slot)
        if there is None or there.edit == edit:
            return
        if there.edit.first_for or there.edit.passes in self._sent:
            raise Refused("the plan sends its records to a topic first", "Apply that, or discard it first.")
        if there.letters_written:
            raise Refused(
                f"the letters before {there.edit.passes} are written already, and the plan has the rest of it",
                "Apply that. If it is discarded first, a later one writes the letters again.",
            )

    def _held_together(self, edits: Sequence[Edit]) -> _Held | None:
        """Check dead letters together with the edits that skip or delete their records. If one of these edits can't
        be staged, return the slots of all of them, with its error, so that none is staged. Return None if all can
        be staged, or no edit writes dead letters.
        """
        from console.plan.kinds.registry import kind_of

        places = frozenset(each for edit in edits for each in edit.first_for)
        if not places:
            return None
        slots = frozenset(edit.slot for edit in edits if is_held(edit, places))
        of_slot = {
            edit.slot: there.edit
            for edit in edits
            if edit.first_for and (there := self.draft.at(edit.slot)) is not None
        }
        try:
            for edit in edits:
                other = of_slot.get(edit.slot, edit)
                of_slot[edit.slot] = edit
                if other != edit and edit.slot in slots:
                    raise Refused(
                        "another edit has its place, and records are sent to a topic first", "Stage one only."
                    )
                if edit.slot in slots:
                    self._refuse_to_part(kind_of(edit).judge(edit, self.draft).edit)
        except Refused as why:
            return _Held(slots, why)
        return None


class _Held(NamedTuple):
    """The slots of dead letters and of the edits that skip or delete their records; none of these is staged, because of
    the error `why` of one of them.
    """

    slots: frozenset[Slot]
    why: Refused


def is_held(edit: Edit, places: Collection[Passed]) -> bool:
    """Return whether an edit skips or deletes the records at one of these places, or writes their dead letters."""
    return edit.passes in places or any(each in places for each in edit.first_for)


AnyPlan = Plan | Staging
"""A plan, or a plan during staging: both have `creates_topic`."""


def stage(plan: Plan, edits: Iterable[Edit], snapshot: Snapshot, lasts_ms: int | None = None) -> StageReport:
    """Stage edits in a plan, as one step of undo.

    An edit that would change nothing is dropped; one that is impossible or contradicts the plan is refused; each with
    its reason. The last edit of a slot replaces earlier ones. The outcomes of the edited subjects are cleared.

    Args:
        edits: the edits in the order of their effect: one may depend on another before it, as a config on its topic.
        snapshot: the snapshot against which edits are checked; the states of their targets in it become `Staged.was`.
        lasts_ms: milliseconds after which the edits are to be reverted; None for permanent edits.

    Returns:
        The new plan and the added, replaced, dropped and refused edits. A refusal is part of the report, never an
        exception.
    """
    return Staging(plan, snapshot).stage(edits, lasts_ms)


def undo(plan: Plan) -> Plan:
    """Return the plan as it was before the last stage or discard; the same plan if there is no step to undo."""
    if not plan.past:
        return plan
    *past, back = plan.past
    return Plan(back.staged, tuple(past), (*plan.future, _now(plan)), back.outcomes)


def redo(plan: Plan) -> Plan:
    """Return the plan as it was before the last `undo`; the same plan if there is no step to redo."""
    if not plan.future:
        return plan
    *future, ahead = plan.future
    return Plan(ahead.staged, (*plan.past, _now(plan)), tuple(future), ahead.outcomes)


def discard(plan: Plan, target: Target | None = None, key: str | None = None) -> Plan:
    """Return the plan without the edits of a target and key; `undo` brings them back.

    Without a key, a topic's name and its config resource are one target, and so are a group and its offsets. If the
    creation of a topic is discarded, the config edits of the topic are discarded too.

    Args:
        target: the target of the edits to discard; None for any.
        key: the key of a config or quota; None for any.

    Returns:
        The same plan (the same object) if no edit matches.
    """
    return without(plan, {staged.edit.slot for staged in plan.staged if _matches(staged.edit, target, key)})


def marked(plan: Plan, pruned: Mapping[Slot, Pruned]) -> Plan:
    """Return the plan with some edits marked as removals of entities that the files don't list; it adds no step of
    undo.

    Args:
        pruned: slot of an edit -> its mark.
    """
    staged = (replace(each, pruned=pruned.get(each.edit.slot, each.pruned)) for each in plan.staged)
    return replace(plan, staged=tuple(staged)) if pruned else plan


def without(plan: Plan, gone: Collection[Slot]) -> Plan:
    """Return the plan without the edits in these slots, and without the edits that need them: config edits of topics
    that the plan then no longer creates, and, if a slot has dead letters or an edit that skips or deletes their
    records, the others of these. `undo` brings all of them back. The same plan if no slot matches.
    """
    created = {name for s in plan.staged if (name := s.edit.new_topic) is not None and s.edit.slot in gone}
    # Keep a skip and its dead letters together: without the letters, the records would be lost; without the skip, they
    # would be read twice.
    passed = {s.edit.passes for s in plan.staged if s.edit.slot in gone}
    held = {
        place
        for s in plan.staged
        if s.edit.slot in gone or not passed.isdisjoint(s.edit.first_for)
        for place in s.edit.first_for
    }
    # Drop config edits of a topic that the plan no longer creates: brokers would refuse them.
    kept = tuple(
        s
        for s in plan.staged
        if s.edit.slot not in gone and s.edit.on_topic not in created and not is_held(s.edit, held)
    )
    if len(kept) == len(plan.staged):
        return plan
    slots = {staged.edit.slot for staged in kept}
    return _moved_on(plan, kept, {slot: outcome for slot, outcome in plan.outcomes.items() if slot in slots})


def _matches(edit: Edit, target: Target | None, key: str | None) -> bool:
    # With a key, the target has to be equal: keys belong to a topic's config resource, not to its name.
    if key is not None:
        return edit.key == key and target in (None, edit.target)
    return target is None or subject(edit.target) == subject(target) or _is_of_group(edit.target, target)


def _is_of_group(what: Target, target: Target) -> bool:
    """Return whether `target` is a group or its configs, and `what` is that group or one of its offsets."""
    if not isinstance(target, GroupTarget) and not (isinstance(target, ConfigResource) and target.type == GROUP):
        return False
    group = GroupTarget(target.name)
    return what == group or (isinstance(what, GroupOffsetTarget) and what.group == group.name)


def _now(plan: Plan) -> Moment:
    return Moment(plan.staged, plan.outcomes)


def _moved_on(plan: Plan, staged: tuple[Staged, ...], outcomes: Mapping[Slot, Outcome]) -> Plan:
    """Return a plan with other contents; one `undo` leads back to the given plan, and `redo` has no steps."""
    return Plan(staged, (*plan.past, _now(plan)), (), outcomes)


def with_outcomes(plan: Plan, outcomes: Mapping[Slot, Outcome]) -> Plan:
    """Return the plan with these outcomes in place of its own; it adds no step of undo."""
    return replace(plan, outcomes=outcomes)
