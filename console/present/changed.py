"""Differences between two snapshots, by entity and key. A live view marks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from console.model.acl import Acl, acl_differences
from console.model.cluster import Topic
from console.model.config import ConfigResource, ConfigSet, topic_resource
from console.model.differing import differing
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot

Subject = ConfigResource | QuotaEntity | Acl | tuple[str, str]
"""The entity that changed: a config resource (also for a topic or broker itself), a quota entity, an ACL, or
``("group", name)``.
"""


class Change(NamedTuple):
    """A change of the value or source of an entity's config or quota key; ``""`` as key if the entity itself
    changed.
    """

    subject: Subject
    key: str


def changes(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    """Yield the differences between two snapshots, in the parts that both had read.

    Snapshots share unchanged objects, so most comparisons are of identities.
    """
    if old.topics is not new.topics and Part.TOPICS in old.read_at:
        for name, before, after in differing(old.topics, new.topics):
            if before is None or after is None or _state(before) != _state(after):
                yield Change(topic_resource(name), "")
    if old.configs is not new.configs:
        for resource, was, now in differing(old.configs, new.configs):
            if was is not None and now is not None:
                for key in _changed_keys(was, now):
                    yield Change(resource, key)
    if old.quotas is not new.quotas and Part.QUOTAS in old.read_at:
        for entity, had, has in differing(old.quotas, new.quotas):
            if had is None and new.quotas_sparse:
                continue  # the entity may have existed before, unread
            for key in {*(had or ()), *(has or ())}:
                if (had or {}).get(key) != (has or {}).get(key):
                    yield Change(entity, key)
    if old.acls is not new.acls and Part.ACLS in old.read_at:
        for binding in chain(*acl_differences(old.acls, new.acls)):
            yield Change(binding, "")
    if old.groups is not new.groups and Part.GROUPS in old.read_at:
        for name, one, other in differing(old.groups, new.groups):
            if one is None or other is None or one.state != other.state:
                yield Change(("group", name), "")


def _state(topic: Topic) -> tuple[object, ...]:
    """Return the properties of a topic whose change is marked: leaders, replicas, and ISRs without their order."""
    return tuple((p.leader, p.replicas, frozenset(p.isr)) for p in topic.partitions)


def _changed_keys(was: ConfigSet, now: ConfigSet) -> Iterator[str]:
    """Yield the config keys with another value or source. Documentation is not compared, because only some reads
    include it.
    """
    for entry in now:
        before = was.get(entry.name)
        if before is None or (before.value, before.source) != (entry.value, entry.source):
            yield entry.name
    for entry in was:
        if now.get(entry.name) is None:
            yield entry.name


class Changed:
    """The time of the last seen change of each entity and key, since the marks were last cleared. version: another
    object after each change.
    """

    def __init__(self) -> None:
        self._keys: dict[Change, datetime] = {}
        self._subjects: dict[Subject, datetime] = {}
        self.version = object()

    def note(self, changes: Iterable[Change], at: datetime) -> None:
        """Record changes. at: the time when they were seen."""
        for change in changes:
            self._keys[change] = at
            self._subjects[change.subject] = at
            self.version = object()

    def when(self, subject: Subject, key: str | None = None) -> datetime | None:
        """Return the time at which a key was last seen to change; for None as key, any key of the subject.

        None if no change was seen since the marks were last cleared.
        """
        return self._subjects.get(subject) if key is None else self._keys.get(Change(subject, key))

    def clear(self) -> None:
        """Discard all marks, because the operator has seen them."""
        if self._keys:
            self._keys.clear()
            self._subjects.clear()
            self.version = object()
