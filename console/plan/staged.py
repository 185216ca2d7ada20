"""Staged edits: an edit with the former state of its target; the draft, which is a plan during staging; and the other
verdicts on an edit: dropped and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from msgspec import Struct

from console.model import cluster
from console.model.acl import Acl
from console.model.changes import GroupOffsetTarget, GroupTarget, OwnTarget, Target, TopicTarget
from console.model.codes import TOPIC
from console.model.config import ConfigEntry, ConfigResource, entry_in
from console.model.inheritance import Inheritance
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import CreateTopic, DeleteTopic, Edit, Slot

T = TypeVar("T")


class Unread(Enum):
    """The type of the value `UNREAD`."""

    UNREAD = "unread"


UNREAD: Final = Unread.UNREAD
"""Stands for the state of an edit's target if the part of the cluster that has the target was not read."""

if TYPE_CHECKING:
    from console.model.journal_lines import Place

    Was = Struct | tuple[Any, ...] | float | Unread | None
else:
    Was = Any
"""The state of an edit's target at staging, by the kind of edit: the key's whole entry (value, source, whether hidden,
synonyms), the quota, the binding, the topic, the credential, the open transaction, the partition, the effect of an
election, the move, the range of the log, the broker, the voter, a feature's level, a group's offset for a partition, a
group with all its offsets. None: absent.
"""


class Pruned(NamedTuple):
    """A mark of an edit that removes an entity because files do not list it."""

    section: str
    """The section of files in which the entity would be listed."""
    of: int
    """The number of entities in the cluster that belong to the section, the removed ones included."""


class Staged(Struct, frozen=True):
    """An edit, and the state that its target had when it was staged."""

    edit: Edit
    was: Was
    lasts_ms: int | None = None
    """The milliseconds after the apply at which the edit is to be reverted; None if it is permanent."""
    reverts: Place | None = None
    """The place in the journal of the applied edit that this edit reverts; None if it reverts no edit."""
    topic_id: str | None = None
    """The id of the topic that the edit is meant for, since another topic may have its name now; None if unknown, or
    for other targets.
    """
    doubt: str = ""
    """The reason why the target may not be the one that the edit is meant for; ``""`` if there is no doubt. Such an
    edit is sent only after an operator has accepted it.
    """
    pruned: Pruned | None = None
    """Set if the edit removes an entity because files do not list it; None if an operator requested the edit."""
    letters_written: bool = False
    """Whether an apply has written the dead letters of the records that this edit skips or deletes."""


class Dropped(NamedTuple):
    """An edit that would change nothing, and the reason."""

    edit: Edit
    reason: str


class Refused(Exception):
    """Raised for an edit that can't be staged, with a reason and a remedy for the operator. Both may contain untrusted
    names.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Refusal(NamedTuple):
    """An edit that was refused, with the reason and the remedy from `Refused`."""

    edit: Edit
    reason: str
    remedy: str


Verdict = Staged | Dropped


def topic_id_of(edit: Edit, snapshot: Snapshot) -> str | None:
    """Return the id that the topic of an edit has in the snapshot; None if it is unknown, or the edit has no topic."""
    name = edit.on_topic
    topic = snapshot.topics.get(name) if name is not None else None
    return topic.topic_id if topic is not None else None


def subject(target: Target) -> Target:
    """Return the target that stands for an entity as a whole: a topic and its configs have the topic's config resource;
    a connector, its config and its offsets have the connector's; other targets are returned unchanged.
    """
    return (target.resource or target) if isinstance(target, OwnTarget) else target


def shown(value: str) -> str:
    """Return a value for a message, shortened if it is long."""
    return value if len(value) <= 60 else f"{value[:57]}…"


# -- drafts -----------------------------------------------------------------------------------------------------------


class Described:
    """A snapshot, and values that are computed from it once for many edits."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.inheritance = Inheritance(snapshot)
        self._computed: dict[Hashable, Any] = {}

    @cached_property
    def acls(self) -> frozenset[Acl]:
        """The ACLs of the cluster."""
        return frozenset(self.snapshot.acls)

    def read(self, part: str) -> bool:
        """Return whether a part of the cluster was read completely, so that an entity that is missing in the snapshot
        does not exist.
        """
        return part in self.snapshot.read_at

    def found(self, there: Was, part: str) -> Was:
        """Return the result of a lookup in a part of the snapshot: `there` itself, or UNREAD if it is None and the part
        was not read completely.
        """
        # If the part was read only partly, a miss does not prove absence.
        return there if there is not None or self.read(part) else UNREAD

    def once(self, what: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, which is called only the first time for each value of `what`, the key
        under which the result is kept.
        """
        if what not in self._computed:
            self._computed[what] = compute()
        found: T = self._computed[what]
        return found

    def entry(self, resource: ConfigResource, key: str) -> ConfigEntry | None:
        """Return the entry that the resource's description has for a key; None if it has none, or was not read."""
        return entry_in(self.snapshot.configs, resource, key)

    def like(self, resource: ConfigResource, key: str) -> ConfigEntry | None:
        """Return the entry of a key, from this resource or else from another one of its type. Only its type and flags
        are valid for this resource, not the value. None if no resource has the key.
        """
        # Brokers of one cluster describe a key alike: if this resource was not read, take the entry of another resource
        # of its type.
        return self.entry(resource, key) or self.inheritance.sample(resource.type, key)


class Draft(Described):
    """The edits that are staged so far, and the snapshot against which further edits are checked."""

    def __init__(self, staged: Iterable[Staged], snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self._slots: dict[Slot, Staged] = {}
        self._configs: dict[ConfigResource, set[Slot]] = {}
        self._offsets: dict[str, dict[Slot, None]] = {}
        for each in staged:
            self.put(each)

    @property
    def staged(self) -> tuple[Staged, ...]:
        """All staged edits, in the order of staging."""
        return tuple(self._slots.values())

    def at(self, slot: Slot) -> Staged | None:
        """Return the staged edit of a slot; None if there is none."""
        return self._slots.get(slot)

    def put(self, staged: Staged) -> None:
        """Stage an edit. If the slot has a staged edit, the new one replaces it at the same position."""
        slot = staged.edit.slot
        self._slots[slot] = staged
        if isinstance(slot.target, ConfigResource):
            self._configs.setdefault(slot.target, set()).add(slot)
        elif isinstance(slot.target, GroupOffsetTarget):
            self._offsets.setdefault(slot.target.group, {})[slot] = None

    def remove(self, slot: Slot) -> None:
        """Remove the staged edit of a slot."""
        del self._slots[slot]
        if isinstance(slot.target, ConfigResource):
            self._configs[slot.target].discard(slot)
        elif isinstance(slot.target, GroupOffsetTarget):
            del self._offsets[slot.target.group][slot]

    def topic_edit(self, name: str) -> Edit | None:
        """Return the staged creation, deletion or growth of a topic; None if there is none."""
        found = self._slots.get(Slot(TopicTarget(name), ""))
        return found.edit if found else None

    def refuse_created(self, topic: str, remedy: str = "Apply that first.") -> None:
        """Raise Refused if the plan creates the topic."""
        if isinstance(self.topic_edit(topic), CreateTopic):
            raise Refused(f"the plan creates topic {topic}", remedy)

    def refuse_deleted(self, topic: str) -> None:
        """Raise Refused if the plan deletes the topic."""
        if isinstance(self.topic_edit(topic), DeleteTopic):
            raise Refused(f"the plan deletes topic {topic}", "Discard the deletion, or this edit.")

    def topic(self, name: str) -> cluster.Topic | None:
        """Return a topic of the cluster; None if topics were not read. Raise Refused if there is no topic of this
        name.
        """
        found = self.snapshot.topics.get(name)
        if found is None and self.read(Part.TOPICS):
            raise Refused(f"there is no topic {name}", "Check the name, or refresh.")
        return found

    def creates(self, resource: ConfigResource) -> CreateTopic | None:
        """Return the staged creation of the topic whose config resource this is; None if there is none, or the resource
        is not a topic's.
        """
        edit = self.topic_edit(resource.name) if resource.type == TOPIC else None
        return edit if isinstance(edit, CreateTopic) else None

    def config_keys(self, resource: ConfigResource) -> list[str]:
        """Return the keys of a resource for which edits are staged, sorted."""
        return sorted(slot.key for slot in self._configs.get(resource, ()))

    def offsets_of(self, group: str) -> list[Staged]:
        """Return the staged edits of a group's offsets, in the order of staging."""
        return [self._slots[slot] for slot in self._offsets.get(group, ())]

    def begins(self, edit: Edit, group: str) -> bool:
        """Return whether an edit is the first of the staged edits of a group's offsets."""
        return next(iter(self._offsets.get(group, ())), None) == edit.slot

    def group_edit(self, name: str) -> Edit | None:
        """Return the staged deletion of a group; None if there is none."""
        found = self._slots.get(Slot(GroupTarget(name), ""))
        return found.edit if found else None
