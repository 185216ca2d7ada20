"""The plan: staged edits, what was read when each was staged, and how to go back. Values only; see stage.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NamedTuple

from console.model.acl import Acl
from console.model.changes import Outcome, Target
from console.model.cluster import ScramCredential, Topic
from console.model.codes import TOPIC
from console.model.config import ConfigEntry, ConfigResource, topic_resource
from console.plan.edits import ConfigEdit, CreateTopic, Edit, Slot


class Unread(Enum):
    """The type of `UNREAD`."""

    UNREAD = "unread"


UNREAD: Final = Unread.UNREAD
"""That part of the cluster had not been read when the edit was staged: no word on what was there."""

Was = ConfigEntry | float | Acl | Topic | ScramCredential | None | Unread
"""What stood in an edit's place when it was staged, by the kind of edit: the key's whole entry (value, source, whether
hidden, what else would apply), the quota, the binding, the topic, the credential. None: nothing was there."""


@dataclass(frozen=True, slots=True)
class Staged:
    """An edit, and what was read in its place when it was staged."""

    edit: Edit
    was: Was


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


def _now(plan: Plan) -> Moment:
    return Moment(plan.staged, plan.outcomes)


def moved_on(plan: Plan, staged: tuple[Staged, ...], outcomes: Mapping[Slot, Outcome]) -> Plan:
    """The plan with other contents, one `undo` away from this one; what was undone before can't be redone."""
    return Plan(staged, (*plan.past, _now(plan)), (), outcomes)


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


def subject(target: Target) -> Target:
    """What an edit is about: a topic's configs and the topic itself are one subject, its config resource."""
    return topic_resource(target) if isinstance(target, str) else target


def discard(plan: Plan, target: Target | None = None, key: str | None = None) -> Plan:
    """Without the edits of a target and key (None: of any); can be undone. The same plan where none match.

    A topic's name and its config resource are one target, unless a key is given. With the creation of a topic go the
    config edits on it, which would have nothing to stand on.
    """
    gone = {staged.edit.slot for staged in plan.staged if _matches(staged.edit, target, key)}
    created = {s.edit.topic.name for s in plan.staged if isinstance(s.edit, CreateTopic) and s.edit.slot in gone}
    kept = tuple(
        staged
        for staged in plan.staged
        if staged.edit.slot not in gone
        and not (isinstance(staged.edit, ConfigEdit) and _topic_of(staged.edit.resource) in created)
    )
    if len(kept) == len(plan.staged):
        return plan
    slots = {staged.edit.slot for staged in kept}
    return moved_on(plan, kept, {slot: outcome for slot, outcome in plan.outcomes.items() if slot in slots})


def _matches(edit: Edit, target: Target | None, key: str | None) -> bool:
    if key is not None:
        return edit.key == key and target in (None, edit.target)
    return target is None or subject(edit.target) == subject(target)


def _topic_of(resource: ConfigResource) -> str | None:
    return resource.name if resource.type == TOPIC else None


class Dropped(NamedTuple):
    """An edit that would change nothing, and why."""

    edit: Edit
    reason: str


class Refused(NamedTuple):
    """An edit that can't be staged: why, and what the operator can do instead. Both plain words, untrusted text."""

    edit: Edit
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class StageReport:
    """What became of the edits of one `stage` call, each list in their order.

    replaced: what was staged before for a slot and gave way: the operator changed their mind.
    """

    plan: Plan
    added: tuple[Staged, ...] = ()
    replaced: tuple[Staged, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    refused: tuple[Refused, ...] = ()


def with_outcomes(plan: Plan, outcomes: Mapping[Slot, Outcome]) -> Plan:
    """The same edits with these outcomes; nothing to undo in that."""
    return replace(plan, outcomes=outcomes)
