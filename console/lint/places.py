"""The entities whose values apply to topics or brokers: advice names the one on which the value is set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from console.lint.rule import NAMED, Seen
from console.model import codes, config
from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.cluster import Topic
from console.model.numbers import first_few, plural
from console.plan.edits import SetConfig, UnsetConfig

_ORIGINS = {codes.DEFAULT_CONFIG: "Kafka's default", codes.STATIC_BROKER_CONFIG: "by the brokers' files"}


class Place(NamedTuple):
    """An entity whose value of a topics' key applies to some topics."""

    resource: config.ConfigResource
    key: str
    """The name of the key on that entity."""
    source: codes.ConfigSource
    value: str
    topics: list[Topic]

    @property
    def is_topic(self) -> bool:
        """Whether the topic itself sets the value."""
        return self.resource.type == codes.TOPIC

    @property
    def origin(self) -> str:
        """The source of the value and the topics that it applies to, for the end of a line; ``""`` for a
        topic's own.
        """
        if self.is_topic:
            return ""
        where = _ORIGINS.get(self.source, "")
        names = first_few(sorted(topic.name for topic in self.topics), NAMED)
        count = len(self.topics)
        whose = f"{plural(count, 'topic inherits', 'topics inherit')} it: {names}"
        return f"; {where + ', and ' if where else ''}{whose}"

    def set_to(self, value: str) -> SetConfig:
        """Return the edit that gives the key another value at the place of the present one, or a default of the
        cluster.
        """
        return SetConfig(self.resource, self.key, value)


def places(seen: Seen, key: str, found: Iterable[tuple[config.ConfigSet, list[Topic]]]) -> Iterator[Place]:
    """Yield the entities that give topics their value of a key: topics with an override, then defaults.

    Args:
        key: the key of a topic.
        found: sets of configs and topics that have them, as in `Seen.sets`.
    """
    inherited: dict[tuple[config.ConfigResource, str], Place] = {}
    for configs, topics in found:
        entry = configs.get(key)
        if entry is None or entry.value is None or not topics:
            continue
        if config.is_override(entry, config.topic_resource("")):
            for topic in topics:
                yield Place(config.topic_resource(topic.name), key, entry.source, entry.value, [topic])
            continue
        resource = _inherited_from(seen, entry)
        names = TOPIC_SYNONYMS.get(key, ())
        at = Place(resource, names[0].name if names else key, entry.source, entry.value, [])
        inherited.setdefault((resource, entry.value), at).topics.extend(topics)
    yield from inherited.values()


def _inherited_from(seen: Seen, entry: config.ConfigEntry) -> config.ConfigResource:
    """Return the resource on which an inherited value is set, or on which another default can be set."""
    broker = seen.snapshot.configs_from
    if entry.source == codes.DYNAMIC_BROKER_CONFIG and broker is not None:
        return config.broker_resource(broker)
    return config.CLUSTER_DEFAULT


def broker_values(seen: Seen, key: str) -> Iterator[tuple[str, list[int], config.ConfigEntry]]:
    """Yield the values that brokers have for a key, each with the brokers and an entry; hidden ones are left out."""
    found: dict[str, tuple[list[int], config.ConfigEntry]] = {}
    for broker, configs in sorted(seen.of_brokers.items()):
        entry = configs.get(key)
        if entry is not None and entry.value is not None:
            found.setdefault(entry.value, ([], entry))[0].append(broker)
    yield from ((value, brokers, entry) for value, (brokers, entry) in found.items())


def whose(seen: Seen, brokers: Sequence[int]) -> config.ConfigResource:
    """Return the subject of a finding on these brokers: the only one, or the default of all."""
    return config.broker_resource(brokers[0]) if len(brokers) == 1 and len(seen.brokers) > 1 else config.CLUSTER_DEFAULT


def on_brokers(seen: Seen, brokers: Sequence[int]) -> str:
    """Return these brokers as text: ``all brokers``, ``brokers 1, 2``."""
    if len(brokers) == len(seen.brokers):
        return "all brokers" if len(brokers) > 1 else f"broker {brokers[0]}"
    return f"{'broker' if len(brokers) == 1 else 'brokers'} {first_few([*map(str, brokers)], NAMED)}"


def without_own(resource: config.ConfigResource, key: str, entry: config.ConfigEntry) -> tuple[UnsetConfig, ...]:
    """Return the edit that removes a resource's own value; none if it has none."""
    return (UnsetConfig(resource, key),) if config.is_override(entry, resource) else ()
