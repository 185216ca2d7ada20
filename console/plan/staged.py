"""Staged edits: an edit with what was read of its target, the draft of a plan while edits are put into it, and the
other answers to an edit: dropped and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from msgspec import Struct

from console.model import cluster
from console.model.acl import Acl
from console.model.changes import GroupOffsetTarget, GroupTarget, Target, TopicTarget
from console.model.codes import TOPIC
from console.model.config import ConfigEntry, ConfigResource, topic_resource
from console.model.inheritance import Inheritance
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import CreateTopic, DeleteTopic, Edit, Slot

if TYPE_CHECKING:  # a start does not need what only some kinds of edits have
    from console.model.elections import UncleanElection
    from console.model.transactions import SeenTransaction

T = TypeVar("T")


class Unread(Enum):
    """The type of `UNREAD`."""

    UNREAD = "unread"


UNREAD: Final = Unread.UNREAD
"""That part of the cluster was not read when the edit was staged: the state of its target is unknown."""

if TYPE_CHECKING:
    from console.model.journal_lines import Place

    Was = (
        ConfigEntry
        | float
        | Acl
        | cluster.Topic
        | cluster.ScramCredential
        | cluster.DelegationToken
        | SeenTransaction
        | cluster.Partition
        | UncleanElection
        | cluster.Reassignment
        | cluster.ReplicaDir
        | cluster.LogRange
        | cluster.Broker
        | cluster.QuorumReplica
        | cluster.GroupOffset
        | cluster.GroupPosition
        | None
        | Unread
    )
else:
    Was = Any
"""What stood in an edit's place when it was staged, by the kind of edit: the key's whole entry (value, source, whether
hidden, what else would apply), the quota, the binding, the topic, the credential, the open transaction, the partition,
what an election does, the move, where the log begins and ends, the broker, the voter, a feature's level, what a group
has for a partition, a group with all its offsets. None: nothing was
there."""


class Pruned(NamedTuple):
    """What an edit removes because no file lists it. section: where files have such entities. of: how many of them the
    cluster had.
    """

    section: str
    of: int


class Staged(Struct, frozen=True):
    """An edit, and what was read of its target when it was staged.

    lasts_ms: milliseconds for which it is to hold once it is applied; None for good. reverts: the edit of an applied
    change that it reverts. topic_id: of the topic that it is meant for, None if unknown or of another kind; another
    topic of the same name may exist since. doubt: why its target may not be what it is meant for; ``""`` for no doubt.
    An edit in doubt is not sent before an operator accepts it. pruned: None for an edit that was asked for by name.
    """

    edit: Edit
    was: Was
    lasts_ms: int | None = None
    reverts: Place | None = None
    topic_id: str | None = None
    doubt: str = ""
    pruned: Pruned | None = None


class Dropped(NamedTuple):
    """An edit that would change nothing, and why."""

    edit: Edit
    reason: str


class Refused(Exception):
    """Raised for an edit that can't be staged: why, and what the operator can do instead. Both are untrusted text."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Refusal(NamedTuple):
    """An edit that was refused, with the texts of `Refused`."""

    edit: Edit
    reason: str
    remedy: str


Verdict = Staged | Dropped


def topic_id_of(edit: Edit, snapshot: Snapshot) -> str | None:
    """Return the id that the snapshot has for an edit's topic; None if unknown."""
    name = edit.on_topic
    topic = snapshot.topics.get(name) if name is not None else None
    return topic.topic_id if topic is not None else None


def subject(target: Target) -> Target:
    """Return what a target is about: a topic's configs and the topic itself are one subject, its config resource."""
    return topic_resource(target.name) if isinstance(target, TopicTarget) else target


def shown(value: str) -> str:
    """Return a value for a sentence, cut where it is long."""
    return value if len(value) <= 60 else f"{value[:57]}…"


# -- drafts -----------------------------------------------------------------------------------------------------------


class Described:
    """A snapshot, with values that are computed from it once for many edits."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.inheritance = Inheritance(snapshot)
        self._computed: dict[Hashable, Any] = {}

    @cached_property
    def acls(self) -> frozenset[Acl]:
        """The bindings of the cluster."""
        return frozenset(self.snapshot.acls)

    def read(self, part: str) -> bool:
        """Return whether a part of the cluster was read as a whole, so that what is missing in it does not exist."""
        return part in self.snapshot.read_at

    def found(self, there: Was, part: str) -> Was:
        """Return what was looked up in a part of the snapshot; UNREAD for a miss in a part that was not read as a
        whole.
        """
        # Missing in a part that was read only in part is no proof of absence.
        return there if there is not None or self.read(part) else UNREAD

    def once(self, what: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, which is called for the first edit that asks for `what` and kept for the
        others.
        """
        if what not in self._computed:
            self._computed[what] = compute()
        found: T = self._computed[what]
        return found

    def entry(self, resource: ConfigResource, key: str) -> ConfigEntry | None:
        """Return the key's entry as it was described for the resource."""
        configs = self.snapshot.configs.get(resource)
        return configs.get(key) if configs is not None else None

    def like(self, resource: ConfigResource, key: str) -> ConfigEntry | None:
        """Return the key's entry of the resource, else of another of its type: good for its type and flags, not its
        value.
        """
        # Brokers of one cluster describe a key alike; an entry of another resource has its type where this one was not
        # read.
        return self.entry(resource, key) or self.inheritance.sample(resource.type, key)


class Draft(Described):
    """The edits that are staged so far, in order, with the snapshot that they are judged against."""

    def __init__(self, staged: Iterable[Staged], snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self._slots: dict[Slot, Staged] = {}
        self._configs: dict[ConfigResource, set[Slot]] = {}
        self._offsets: dict[str, dict[Slot, None]] = {}
        for each in staged:
            self.put(each)

    @property
    def staged(self) -> tuple[Staged, ...]:
        """All staged edits, in order."""
        return tuple(self._slots.values())

    def at(self, slot: Slot) -> Staged | None:
        """Return what is staged for a slot."""
        return self._slots.get(slot)

    def put(self, staged: Staged) -> None:
        """Stage an edit in place of what is staged for its slot; the slot keeps its place in the order."""
        slot = staged.edit.slot
        self._slots[slot] = staged
        if isinstance(slot.target, ConfigResource):
            self._configs.setdefault(slot.target, set()).add(slot)
        elif isinstance(slot.target, GroupOffsetTarget):
            self._offsets.setdefault(slot.target.group, {})[slot] = None

    def remove(self, slot: Slot) -> None:
        """Remove what is staged for a slot."""
        del self._slots[slot]
        if isinstance(slot.target, ConfigResource):
            self._configs[slot.target].discard(slot)
        elif isinstance(slot.target, GroupOffsetTarget):
            del self._offsets[slot.target.group][slot]

    def topic_edit(self, name: str) -> Edit | None:
        """Return the staged creation, deletion or growth of a topic."""
        found = self._slots.get(Slot(TopicTarget(name), ""))
        return found.edit if found else None

    def refuse_created(self, topic: str, remedy: str = "Apply that first.") -> None:
        """Raise Refused for an edit of a topic that the plan creates."""
        if isinstance(self.topic_edit(topic), CreateTopic):
            raise Refused(f"the plan creates topic {topic}", remedy)

    def refuse_deleted(self, topic: str) -> None:
        """Raise Refused for an edit of a topic that the plan deletes."""
        if isinstance(self.topic_edit(topic), DeleteTopic):
            raise Refused(f"the plan deletes topic {topic}", "Discard the deletion, or this edit.")

    def topic(self, name: str) -> cluster.Topic | None:
        """Return a topic; None where topics were not read. Raises Refused where the cluster has none of this name."""
        found = self.snapshot.topics.get(name)
        if found is None and self.read(Part.TOPICS):
            raise Refused(f"there is no topic {name}", "Check the name, or refresh.")
        return found

    def creates(self, resource: ConfigResource) -> CreateTopic | None:
        """Return the staged creation of the topic whose configs these are."""
        edit = self.topic_edit(resource.name) if resource.type == TOPIC else None
        return edit if isinstance(edit, CreateTopic) else None

    def config_keys(self, topic: str) -> list[str]:
        """Return the staged config keys of a topic, sorted."""
        return sorted(slot.key for slot in self._configs.get(topic_resource(topic), ()))

    def offsets_of(self, group: str) -> list[Staged]:
        """Return what is staged for a group's offsets, in order."""
        return [self._slots[slot] for slot in self._offsets.get(group, ())]

    def begins(self, edit: Edit, group: str) -> bool:
        """Return whether an edit is the first one of a group's offsets."""
        return next(iter(self._offsets.get(group, ())), None) == edit.slot

    def group_edit(self, name: str) -> Edit | None:
        """Return the staged deletion of a group."""
        found = self._slots.get(Slot(GroupTarget(name), ""))
        return found.edit if found else None
