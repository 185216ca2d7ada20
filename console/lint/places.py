"""The entities whose values apply to topics or brokers; a remedy changes the value on the entity that sets it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from console.lint.rule import NAMED, Seen
from console.model import codes, config
from console.model.broker_keys import TOPIC_SYNONYMS, UpdateMode, update_mode
from console.model.cluster import Topic
from console.model.numbers import first_few, plural
from console.plan.edits import SetConfig, UnsetConfig

_ORIGINS = {codes.DEFAULT_CONFIG: "Kafka's default", codes.STATIC_BROKER_CONFIG: "by the brokers' files"}


class Place(NamedTuple):
    """An entity whose value of a key applies to some topics."""

    resource: config.ConfigResource
    key: str
    """The name of the key on that entity: a broker's key may differ from the topic's."""
    source: codes.ConfigSource
    value: str
    topics: list[Topic]

    @property
    def is_topic(self) -> bool:
        """Whether the entity is a topic, so that the topic itself sets the value."""
        return self.resource.type == codes.TOPIC

    @property
    def origin(self) -> str:
        """A text for the end of a line, with the source of the value and the topics to which it applies; ``""`` if the
        topic itself sets it.
        """
        if self.is_topic:
            return ""
        where = _ORIGINS.get(self.source, "")
        names = first_few(sorted(topic.name for topic in self.topics), NAMED)
        count = len(self.topics)
        whose = f"{plural(count, 'topic inherits', 'topics inherit')} it: {names}"
        return f"; {where + ', and ' if where else ''}{whose}"

    def set_to(self, value: str) -> SetConfig:
        """Return the edit that sets the key to another value, on the entity that has the present one; a value from a
        broker's file or Kafka's default is replaced on the cluster default.
        """
        return SetConfig(self.resource, self.key, value)


def places(seen: Seen, key: str, found: Iterable[tuple[config.ConfigSet, list[Topic]]]) -> Iterator[Place]:
    """Yield the entities whose values of a key apply to topics: first topics with an override, then defaults.

    Args:
        key: the key of a topic.
        found: sets of configs, each with the topics that have it, as in `Seen.sets`.
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
    """Return the resource on which an inherited value is set; if no resource sets it, the one on which it can be
    set.
    """
    broker = seen.snapshot.configs_from
    if entry.source == codes.DYNAMIC_BROKER_CONFIG and broker is not None:
        return config.broker_resource(broker)
    return config.CLUSTER_DEFAULT


def broker_values(seen: Seen, key: str) -> Iterator[tuple[str, list[int], config.ConfigEntry]]:
    """Yield each value that brokers have for a key, with the ids of these brokers and one of their entries; hidden
    values are left out.
    """
    found: dict[str, tuple[list[int], config.ConfigEntry]] = {}
    for broker, configs in sorted(seen.of_brokers.items()):
        entry = configs.get(key)
        if entry is not None and entry.value is not None:
            found.setdefault(entry.value, ([], entry))[0].append(broker)
    yield from ((value, brokers, entry) for value, (brokers, entry) in found.items())


def whose(seen: Seen, brokers: Sequence[int]) -> config.ConfigResource:
    """Return the resource that a finding on these brokers names: the broker if there is one, else the cluster
    default.
    """
    return config.broker_resource(brokers[0]) if len(brokers) == 1 and len(seen.brokers) > 1 else config.CLUSTER_DEFAULT


def on_brokers(seen: Seen, brokers: Sequence[int]) -> str:
    """Return brokers as text: ``all brokers``, ``brokers 1, 2``."""
    if len(brokers) == len(seen.brokers):
        return "all brokers" if len(brokers) > 1 else f"broker {brokers[0]}"
    return f"{'broker' if len(brokers) == 1 else 'brokers'} {first_few([*map(str, brokers)], NAMED)}"


def without_own(resource: config.ConfigResource, key: str, entry: config.ConfigEntry) -> tuple[UnsetConfig, ...]:
    """Return the edit that removes the value that a resource itself sets; empty if it sets none."""
    return (UnsetConfig(resource, key),) if config.is_override(entry, resource) else ()


def set_on(
    seen: Seen, key: str, value: str, brokers: Sequence[int], entry: config.ConfigEntry
) -> tuple[tuple[SetConfig, ...], str]:
    """Return the edits that give these brokers another value of a key, and ``""``; if clients can't set the key for the
    whole cluster, no edits and the advice to change the files.

    Args:
        entry: the present value of one of the brokers.
    """
    if update_mode(codes.BROKER, key, entry) is not UpdateMode.CLUSTER_WIDE:
        return (), f"set {key}={value} in the brokers' files, and restart them in turn"
    return set_where_set(seen, key, value, brokers), ""


def set_where_set(seen: Seen, key: str, value: str, brokers: Sequence[int]) -> tuple[SetConfig, ...]:
    """Return the edits that give these brokers another value of a key: on each broker with a dynamic value of its own,
    and on the cluster default for the others.
    """
    own = [config.broker_resource(broker) for broker in brokers if has_own(seen, broker, key)]
    resources = [*own, config.CLUSTER_DEFAULT] if len(own) < len(brokers) else own
    return tuple(SetConfig(resource, key, value) for resource in resources)


def has_own(seen: Seen, broker: int, key: str) -> bool:
    """Return whether a broker has a dynamic value of a key that hides the cluster's default."""
    entry = seen.of_brokers[broker].get(key)
    return entry is not None and config.is_override(entry, config.broker_resource(broker))
