"""Replicas that are outside of the ISR by design: they copy, and are neither elected nor waited for. Topics of some
servers say in a config which of their replicas these are. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.cluster import Broker, Partition, Topic
from console.model.config import ConfigResource, ConfigSet, topic_resource

PLACEMENT_KEYS = ("confluent.placement.constraints",)
"""Topics' keys whose value is a JSON object with `observers`: how many, and where."""


MOST_PLACEMENTS = 1_000
"""Topics whose configs are read at once to learn of observers."""


class ObserverRule(Struct, frozen=True):
    """How many observers a partition has on brokers with these attributes; ``rack`` is the only one that is known."""

    count: int
    constraints: Mapping[str, Any] = field(default_factory=dict)


class _Placement(Struct, frozen=True):
    observers: tuple[ObserverRule, ...] = ()


Rules = tuple[ObserverRule, ...]


def observer_rules(configs: ConfigSet) -> Rules:
    """Return the rules of observers in a topic's config; empty where it has none, or none that can be read."""
    for key in PLACEMENT_KEYS:
        entry = configs.get(key)
        if entry is None or not entry.value:
            continue
        from console.model.foreign_json import json_as  # few clusters have such a key

        try:
            return json_as(entry.value, _Placement).observers
        except ValueError:
            return ()
    return ()


def placements_to_read(
    topics: Mapping[str, Topic], configs: Mapping[ConfigResource, ConfigSet], asked: Container[str]
) -> list[str]:
    """Return the topics whose configs have to be read to learn whether replicas missing from their ISRs are observers.

    Most servers have no such config: while no topic is described, a single topic is enough to see that.

    Args:
        topics: all topics, by name.
        configs: what was read of them so far.
        asked: names of topics whose configs were asked for before: they are not asked for again.
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
    """Return the topics with their observers marked; the very same mapping and topics where nothing changes."""
    racks = {broker.id: broker.rack for broker in brokers}
    changed = {}
    for name in rules.keys() & topics.keys():
        topic = topics[name]
        partitions = tuple(_marked(each, rules[name], racks) for each in topic.partitions)
        if partitions != topic.partitions:
            changed[name] = replace(topic, partitions=partitions)
    return {**topics, **changed} if changed else topics


def _marked(partition: Partition, rules: Rules, racks: Mapping[int, str | None]) -> Partition:
    """Return a partition with its observers: the last replicas of the list that fit a rule. One that is in sync was
    promoted and does not count."""
    found: list[int] = []
    for rule in rules:
        rack = rule.constraints.get("rack")
        fit = [each for each in reversed(partition.replicas) if rack is None or racks.get(each) == rack]
        found += [each for each in fit if each not in found][: max(0, rule.count)]
    observers = tuple(each for each in partition.replicas if each in found and each not in partition.isr)
    return partition._replace(observers=observers)


def not_in_sync(partition: Partition) -> tuple[int, ...]:
    """Return the replicas that should be in sync and are not."""
    return tuple(each for each in partition.replicas if each not in partition.isr and each not in partition.observers)
