"""The wanted state of a cluster: topics, overrides, quotas, ACLs, connectors and schemas, without inherited values; and
the conversion of a snapshot to a wanted state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Final

from msgspec import Struct, field

from console.files.subjects import WantedSubject, listed_subjects, wanted_subjects
from console.model import config, connect
from console.model.acl import Acl
from console.model.changes import Target
from console.model.entity_types import FileForm
from console.model.feature_levels import ELR_VERSION, MIN_ISR
from console.model.grouping import grouped
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot, settled_topics
from console.model.yaml_places import FileProblem
from console.present import names

# The wanted state of a cluster: topics, overrides, quotas, ACLs and so on, without inherited values.


PARTS = frozenset({Part.TOPICS, Part.CONFIGS, Part.QUOTAS, Part.ACLS, Part.RESOURCES, Part.CONNECT, Part.SCHEMAS})
"""The parts of a snapshot that have to be read for its conversion to a wanted state."""
MOST_LINES = 20
"""Maximum number of lines that name entities with configs of running moves; a further line counts the others."""
KINDS = ("topics", "configs", "quotas", "acls", "connectors", "schemas")
"""The kinds of entities in a wanted state."""


class Hidden(Enum):
    """The type of `HIDDEN`."""

    HIDDEN = "hidden"


HIDDEN: Final = Hidden.HIDDEN
"""Stands in place of the value of an override that is secret: only the fact that it is set is known."""

Value = str | Hidden


class WantedTopic(Struct, frozen=True):
    """A topic that a file lists."""

    partitions: int | None = None
    """The number of partitions; None if the file does not give it."""
    replication: int | None = None
    """The replication factor; None if the file does not give it."""
    configs: Mapping[str, Value] | None = None
    """All keys that the topic itself sets -> value; None if the file does not list its configs."""


class WantedConnector(Struct, frozen=True):
    """A connector that a file lists."""

    config: Mapping[str, Value]
    """All keys of the connector's config -> value, without its name."""
    state: str | None = None
    """RUNNING, PAUSED or STOPPED; None if the file does not give the state."""

    @property
    def is_held(self) -> bool:
        """Whether the file wants the connector to be paused or stopped."""
        return self.state not in (None, connect.RUNNING)


class Wanted(Struct, frozen=True):
    """The wanted state of a cluster."""

    topics: Mapping[str, WantedTopic] = field(default_factory=dict)
    configs: Mapping[config.ConfigResource, Mapping[str, Value]] = field(default_factory=dict)
    """Resource with a section of its own (brokers, groups and others) -> all keys that it itself sets -> value."""
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    """Quota entity -> all its quota keys -> limit in the unit of the key."""
    acls: frozenset[Acl] = frozenset()
    partial: frozenset[Target] = frozenset()
    """Entities of which only some keys are listed; their other keys are not changed."""
    alone: frozenset[Target] = frozenset()
    """Entities that are not changed, and not removed even if unlisted entities are."""
    refused: Mapping[str, FileProblem] = field(default_factory=dict)
    """Kind (one of `KINDS`) -> an error of a document about that kind, which could not be read. The wanted state of the
    kind is then incomplete, so nothing of the kind is removed.
    """
    owned: Mapping[config.ConfigPlace, str] = field(default_factory=dict)
    """If this is the present state of a cluster: (resource, key) of configs of running moves, which `configs` lacks ->
    a line that names the move (`plan.stale_throttles.owned_by_moves`).
    """
    connectors: Mapping[config.ConfigResource, WantedConnector] = field(default_factory=dict)
    """Config resource -> connector. A connector whose name has no Connect cluster belongs to the only one of the
    context.
    """
    schemas: Mapping[config.ConfigResource, WantedSubject] = field(default_factory=dict)
    """Config resource -> subject."""

    @property
    def connector_classes(self) -> frozenset[tuple[str, str]]:
        """(Connect cluster, class) of the connectors; the cluster is ``""`` if a connector's name has none."""
        found = (
            (connect.split_name(each.name)[0], of.config.get(connect.CLASS)) for each, of in self.connectors.items()
        )
        return frozenset((cluster, name) for cluster, name in found if isinstance(name, str))

    @property
    def subjects(self) -> frozenset[str]:
        """The subjects that are listed, or to which listed schemas refer."""
        return listed_subjects(self.schemas)


def without(wanted: Wanted, parts: AbstractSet[str]) -> Wanted:
    """Return the state without some parts (of `PARTS`). Without topics, configs of topics are missing too."""
    return Wanted(
        {} if Part.TOPICS in parts else wanted.topics,
        {} if parts & {Part.CONFIGS, Part.RESOURCES} else wanted.configs,
        {} if Part.QUOTAS in parts else wanted.quotas,
        frozenset() if Part.ACLS in parts else wanted.acls,
        wanted.partial,
        wanted.alone,
        wanted.refused,
        wanted.owned,
        {} if Part.CONNECT in parts else wanted.connectors,
        {} if Part.SCHEMAS in parts else wanted.schemas,
    )


# The present state of a cluster as a wanted state.


def wanted_of(snapshot: Snapshot, owned: Mapping[config.ConfigPlace, str] | None = None) -> Wanted:
    """Return the state of a cluster as a wanted state: all topics except internal ones, all overrides of entities that
    files can list, and all quotas, ACLs, connectors and subjects that were read.

    Configs of running moves are left out.

    Args:
        owned: the configs of running moves, from `session.owned_reading.read_owned`; None if there are no moves.
    """
    owned = owned or {}
    known = _Overrides(owned)
    topics = {
        name: WantedTopic(
            len(topic.partitions),
            max((len(partition.replicas) for partition in topic.partitions), default=0),
            known.of(config.topic_resource(name), snapshot.configs.get(config.topic_resource(name))),
        )
        for name, topic in sorted(settled_topics(snapshot))
        if not topic.internal
    }
    configs = {
        resource: found
        for resource, entries in snapshot.configs.items()
        if resource.type.entity.form is FileForm.ENTRIES and (found := known.of(resource, entries))
    }
    return Wanted(
        topics,
        configs,
        dict(snapshot.quotas),
        frozenset(snapshot.acls),
        owned=owned,
        connectors=dict(_connectors(snapshot)),
        schemas=dict(wanted_subjects(snapshot)),
    )


def _connectors(snapshot: Snapshot) -> Iterator[tuple[config.ConfigResource, WantedConnector]]:
    for cluster in snapshot.connect.values():
        for name, each in cluster.connectors.items():
            resource = connect.connector_resource(cluster.name, name)
            entries = snapshot.configs.get(resource)
            values = _values(entries.overrides(resource)) if entries is not None else {}
            config_ = {key: of for key, of in values.items() if key != "name"}
            yield resource, WantedConnector(config_, each.wanted_state)


def owned_lines(owned: Mapping[config.ConfigPlace, str]) -> list[str]:
    """Return lines on the configs of running moves, one line for each entity."""
    by_entity = grouped(((resource, why), key) for (resource, key), why in owned.items())
    lines = [f"{names.target(resource)}: {', '.join(keys)}: {why}" for (resource, why), keys in by_entity.items()]
    return [*lines[:MOST_LINES], *([f"and {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else [])]


class _Overrides:
    """Converts sets of configs to overrides. Topics with equal configs share one set, which is converted once.

    owned: (resource, key) of the configs to leave out.
    """

    def __init__(self, owned: Iterable[config.ConfigPlace]) -> None:
        self._known: dict[tuple[int, int], Mapping[str, Value]] = {}
        self._owned: dict[config.ConfigResource, set[str]] = {}
        for resource, key in owned:
            self._owned.setdefault(resource, set()).add(key)

    def of(self, resource: config.ConfigResource, entries: config.ConfigSet | None) -> Mapping[str, Value]:
        if entries is None:
            return {}
        if (owned := self._owned.get(resource)) is not None:
            return _values(each for each in entries.overrides(resource) if each.name not in owned)
        key = (resource.type, id(entries))
        if key not in self._known:
            self._known[key] = _values(entries.overrides(resource))
        return self._known[key]


def _values(entries: Iterable[config.ConfigEntry]) -> Mapping[str, Value]:
    return {entry.name: HIDDEN if entry.value is None else entry.value for entry in entries}


def by_levels(snapshot: Snapshot) -> Mapping[tuple[config.ConfigResource, str], str]:
    """Return (resource, key) -> a text on how the level of the feature for eligible leader replicas restricts an
    override; empty if that feature is disabled, or the levels were not read.
    """
    features = snapshot.features
    if features is None or not features.finalized.get(ELR_VERSION):
        return {}
    why = f"while {ELR_VERSION} is on it can't be taken away, and brokers have none of their own"
    return {(config.CLUSTER_DEFAULT, MIN_ISR): why}
