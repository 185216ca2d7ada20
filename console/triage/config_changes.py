"""The overrides of resources, and their differences between two reads. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from console.model.codes import BROKER, STATIC_BROKER_CONFIG
from console.model.config import ConfigResource, ConfigSet, is_override
from console.model.differing import differing
from console.model.unordered import differ

HIDDEN = "\0hidden"
"""The text that represents a value which brokers hide."""


class ConfigDifference(NamedTuple):
    """A key of a resource whose override changed between two reads."""

    resource: ConfigResource
    key: str
    was: str | None
    """The former override; None if there was none."""
    became: str | None
    """The present override; None if there is none."""


def own_values(resource: ConfigResource, configs: ConfigSet) -> dict[str, str]:
    """Return key -> value for the overrides of a resource and, if it is a broker, for the values in its file. Inherited
    values are left out: a change of one changes them in many places at once, and they may differ only because
    another broker described them.
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
    """Yield the overrides that differ between two reads, for resources that both reads have: the configs of a new topic
    are no change.
    """
    seen: dict[tuple[int, int, int, bool], dict[str, tuple[str | None, str | None]]] = {}
    for resource, was, now in differing(old, new):
        if was is None or now is None:
            continue
        # A cluster has few different sets of configs: compare each pair once.
        pair = (id(was), id(now), int(resource.type), resource.is_cluster_default)
        if pair not in seen:
            before, after = own_values(resource, was), own_values(resource, now)
            keys = sorted(key for key in before.keys() | after.keys() if differ(key, before.get(key), after.get(key)))
            seen[pair] = {key: (before.get(key), after.get(key)) for key in keys}
        for key, sides in seen[pair].items():
            yield ConfigDifference(resource, key, *sides)
