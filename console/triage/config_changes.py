"""What resources set themselves, and what of it changed between two reads. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from console.model.codes import BROKER, STATIC_BROKER_CONFIG
from console.model.config import ConfigResource, ConfigSet, is_override
from console.model.differing import differing
from console.model.unordered import differ

HIDDEN = "\0hidden"
"""Stands for a value that brokers do not tell."""


class ConfigDifference(NamedTuple):
    """A key that a resource sets otherwise than before. was, became: None for one that it does not set."""

    resource: ConfigResource
    key: str
    was: str | None
    became: str | None


def own_values(resource: ConfigResource, configs: ConfigSet) -> dict[str, str]:
    """Return what a resource sets itself, of a broker also what its file sets: key -> value. What it inherits is left
    out: it changes in many places at once, and may differ only because another broker described it.
    """
    return {
        entry.name: HIDDEN if entry.hidden else entry.value or ""
        for entry in configs
        if is_override(entry, resource)
        or (resource.type == BROKER and not resource.is_cluster_default and entry.source == STATIC_BROKER_CONFIG)
    }


def config_differences(
    old: Mapping[ConfigResource, ConfigSet], new: Mapping[ConfigResource, ConfigSet]
) -> Iterator[ConfigDifference]:
    """Yield the keys that differ, of the resources that both have: a new topic's configs come with the topic."""
    seen: dict[tuple[int, int, int, bool], dict[str, tuple[str | None, str | None]]] = {}
    for resource, was, now in differing(old, new):
        if was is None or now is None:
            continue
        # A cluster has few different sets: each pair is compared once.
        pair = (id(was), id(now), int(resource.type), resource.is_cluster_default)
        if pair not in seen:
            before, after = own_values(resource, was), own_values(resource, now)
            keys = sorted(key for key in before.keys() | after.keys() if differ(key, before.get(key), after.get(key)))
            seen[pair] = {key: (before.get(key), after.get(key)) for key in keys}
        for key, sides in seen[pair].items():
            yield ConfigDifference(resource, key, *sides)
