"""The plan while edits are put into it: by slot, and what else a rule has to look up for each edit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from console.model.acl import Acl
from console.model.codes import TOPIC
from console.model.config import ConfigEntry, ConfigResource, topic_resource
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.edits import CreateTopic, Edit, Slot
from console.plan.staged import Staged


class Draft:
    """What is staged so far, in order, with the snapshot that it is judged against."""

    def __init__(self, staged: Iterable[Staged], snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.inheritance = Inheritance(snapshot)
        self._slots: dict[Slot, Staged] = {}
        self._configs: dict[ConfigResource, set[Slot]] = {}
        for each in staged:
            self.put(each)

    @property
    def staged(self) -> tuple[Staged, ...]:
        """All of it, in order."""
        return tuple(self._slots.values())

    @cached_property
    def acls(self) -> frozenset[Acl]:
        """The bindings that are there."""
        return frozenset(self.snapshot.acls)

    def at(self, slot: Slot) -> Staged | None:
        """What is staged for a slot."""
        return self._slots.get(slot)

    def put(self, staged: Staged) -> None:
        """Stage; what was staged for the slot gives way, and its place in the order is kept."""
        slot = staged.edit.slot
        self._slots[slot] = staged
        if isinstance(slot.target, ConfigResource):
            self._configs.setdefault(slot.target, set()).add(slot)

    def remove(self, slot: Slot) -> None:
        """Take out what is staged for a slot."""
        del self._slots[slot]
        if isinstance(slot.target, ConfigResource):
            self._configs[slot.target].discard(slot)

    def read(self, part: str) -> bool:
        """Whether a part of the cluster was read whole, so that what is not in it is not there."""
        return part in self.snapshot.read_at

    def topic_edit(self, name: str) -> Edit | None:
        """The staged creation, deletion or growth of a topic."""
        found = self._slots.get(Slot(name, ""))
        return found.edit if found else None

    def creates(self, resource: ConfigResource) -> CreateTopic | None:
        """The staged creation of the topic whose configs these are."""
        edit = self.topic_edit(resource.name) if resource.type == TOPIC else None
        return edit if isinstance(edit, CreateTopic) else None

    def config_keys(self, topic: str) -> list[str]:
        """The keys of a topic's configs that are staged."""
        return sorted(slot.key for slot in self._configs.get(topic_resource(topic), ()))

    def entry(self, resource: ConfigResource, key: str) -> ConfigEntry | None:
        """The key as it was described for the resource."""
        configs = self.snapshot.configs.get(resource)
        return configs.get(key) if configs is not None else None

    def like(self, resource: ConfigResource, key: str) -> ConfigEntry | None:
        """The key as it was described for the resource, else for another of its type: for its type and flags."""
        return self.entry(resource, key) or self.inheritance.sample(resource.type, key)
