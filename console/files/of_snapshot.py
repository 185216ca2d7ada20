"""What a cluster is, as a wanted state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.files.wanted import HIDDEN, Value, Wanted, WantedTopic
from console.model.codes import BROKER, CLIENT_METRICS, GROUP
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, topic_resource
from console.model.snapshot import Snapshot

_LISTED = (BROKER, GROUP, CLIENT_METRICS)


def wanted_of(snapshot: Snapshot) -> Wanted:
    """Topics but the internal ones, and everything that is set on an entity itself."""
    known = _Overrides()
    topics = {
        name: WantedTopic(
            len(topic.partitions),
            max((len(partition.replicas) for partition in topic.partitions), default=0),
            known.of(topic_resource(name), snapshot.configs.get(topic_resource(name))),
        )
        for name, topic in sorted(snapshot.topics.items())
        if not topic.internal
    }
    configs = {
        resource: found
        for resource, entries in snapshot.configs.items()
        if resource.type in _LISTED and (found := known.of(resource, entries))
    }
    return Wanted(topics, configs, dict(snapshot.quotas), frozenset(snapshot.acls))


class _Overrides:
    """Overrides of sets; equal sets are one object and looked through once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Mapping[str, Value]] = {}

    def of(self, resource: ConfigResource, entries: ConfigSet | None) -> Mapping[str, Value]:
        if entries is None:
            return {}
        key = (resource.type, id(entries))
        if key not in self._known:
            self._known[key] = _values(entries.overrides(resource))
        return self._known[key]


def _values(entries: Iterable[ConfigEntry]) -> Mapping[str, Value]:
    return {entry.name: HIDDEN if entry.value is None else entry.value for entry in entries}
