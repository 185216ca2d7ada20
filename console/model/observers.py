"""Observers: replicas that are outside the ISR by design. They copy the log, but can't be elected, and no producer
waits for them. On servers that have them, a config of the topic defines which of its replicas are observers. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.cluster import Broker, Partition, Topic
from console.model.config import ConfigResource, ConfigSet, topic_resource

PLACEMENT_KEYS = ("confluent.placement.constraints",)
"""Topic configs whose value is a JSON object with the member `observers`: their number, and the brokers to place them
on.
"""


MOST_PLACEMENTS = 1_000
"""Maximum number of topics whose configs are read in one request to find observers."""


class ObserverRule(Struct, frozen=True):
    """The number of observers of each partition on brokers with the given attributes; kac knows the attribute ``rack``
    only.
    """

    count: int
    constraints: Mapping[str, Any] = field(default_factory=dict)


class _Placement(Struct, frozen=True):
    observers: tuple[ObserverRule, ...] = ()


Rules = tuple[ObserverRule, ...]


def observer_rules(configs: ConfigSet) -> Rules:
    """Return the observer rules in a topic's configs; empty if there are none, or the value can't be parsed."""
    for key in PLACEMENT_KEYS:
        entry = configs.get(key)
        if entry is None or not entry.value:
            continue
        from console.model.foreign_json import json_as  # imported late, as few clusters have such a key

        try:
            return json_as(entry.value, _Placement).observers
        except ValueError:
            return ()
    return ()


def placements_to_read(
    topics: Mapping[str, Topic], configs: Mapping[ConfigResource, ConfigSet], asked: Container[str]
) -> list[str]:
    """Return the topics whose configs have to be read to decide whether replicas that are missing from the ISR are
    observers; empty if a topic that was read has no config of placements.

    Most servers have no such config, so until one topic was read, at most one topic is returned.

    Args:
        topics: all topics, by name.
        configs: the topics' configs that were read so far.
        asked: names of topics whose configs were requested before: they are not returned again.
    """
    known = [configs.get(topic_resource(name)) for name in topics]
    described = next((each for each in known if each is not None), None)
    if described is not None and not any(described.get(key) for key in PLACEMENT_KEYS):
        return []
    names = (
        name
        for name, topic in topics.items()
        if topic.under_replicated and topic_resource(name) not in configs and name not in asked
    )
    return list(islice(names, 1 if described is None else MOST_PLACEMENTS))


def observed(
    topics: Mapping[str, Topic], rules: Mapping[str, Rules], brokers: tuple[Broker, ...]
) -> Mapping[str, Topic]:
    """Return the topics with their observers filled in; unchanged topics, and the mapping if no topic changes, are the
    same objects.

    Args:
        topics: by name.
        rules: topic -> its observer rules.
        brokers: the brokers, for their racks.
    """
    racks = {broker.id: broker.rack for broker in brokers}
    changed = {}
    for name in rules.keys() & topics.keys():
        topic = topics[name]
        partitions = tuple(_marked(each, rules[name], racks) for each in topic.partitions)
        if partitions != topic.partitions:
            changed[name] = replace(topic, partitions=partitions)
    return {**topics, **changed} if changed else topics


def _marked(partition: Partition, rules: Rules, racks: Mapping[int, str | None]) -> Partition:
    """Return a partition with its observers filled in: for each rule, the last matching replicas, as many as the rule
    says. Those that are in the ISR are left out, because they were promoted.
    """
    found: list[int] = []
    for rule in rules:
        rack = rule.constraints.get("rack")
        fit = [each for each in reversed(partition.replicas) if rack is None or racks.get(each) == rack]
        found += [each for each in fit if each not in found][: max(0, rule.count)]
    observers = tuple(each for each in partition.replicas if each in found and each not in partition.isr)
    return partition._replace(observers=observers)


def not_in_sync(partition: Partition) -> tuple[int, ...]:
    """Return the replicas that are outside the ISR and are no observers."""
    return tuple(each for each in partition.replicas if each not in partition.isr and each not in partition.observers)
