"""Which keys a resource can have, told by what was described: its own, and those of others of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, DEFAULT_CONFIG, TOPIC, ConfigType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, broker_resource, topic_resource
from console.model.inheritance import CLIENT_METRICS_DEFAULTS
from console.model.quota import CLIENT_KEYS, IP, IP_KEYS, QuotaEntity
from console.model.snapshot import Snapshot

_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]+\.((plain|scram-sha-\d+|gssapi|oauthbearer)\.)?(?=.)")

_INT, _LIST = ConfigType(3), ConfigType(7)
_CLIENT_METRICS = ConfigSet(
    tuple(
        ConfigEntry(key, value, DEFAULT_CONFIG, type=_INT if key.endswith(".ms") else _LIST)
        for key, value in sorted(CLIENT_METRICS_DEFAULTS.items())
    )
)
"""ClientMetricsConfigs: a resource lists only the keys that are set on it, and a new one none."""


def described_sets(snapshot: Snapshot, target: ConfigResource) -> Iterator[ConfigSet]:
    """The sets that tell of a resource's keys: its own, then one of another of its kind."""
    own = snapshot.configs.get(target)
    if own is not None:
        yield own
        # The cluster default and a fresh entity list only what is set on them.
        if not target.is_cluster_default and target.type in (TOPIC, BROKER, BROKER_LOGGER):
            return
    if target.type == BROKER_LOGGER:
        return
    if target.type == CLIENT_METRICS:
        yield _CLIENT_METRICS
        return
    for other in _others(snapshot, target):
        found = snapshot.configs.get(other)
        if found is not None and found is not own and not other.is_cluster_default:
            yield found
            return


def _others(snapshot: Snapshot, target: ConfigResource) -> Iterator[ConfigResource]:
    if target.type == BROKER:
        yield from (broker_resource(broker.id) for broker in snapshot.cluster.brokers)
    elif target.type == TOPIC:
        yield from map(topic_resource, snapshot.topics)
    else:
        yield from (resource for resource in snapshot.configs if resource.type == target.type)


def known_keys(snapshot: Snapshot, target: ConfigResource) -> dict[str, ConfigEntry]:
    """Key -> an entry that tells its type; the resource's own entry where it has one. Empty where nothing was read."""
    keys: dict[str, ConfigEntry] = {}
    for entries in described_sets(snapshot, target):
        for entry in entries:
            keys.setdefault(entry.name, entry)
    return keys


def known_entry(snapshot: Snapshot, target: ConfigResource, key: str) -> ConfigEntry | None:
    """An entry that tells of a key: the resource's own, another's, or for ``listener.name.x.KEY`` that of ``KEY``."""
    for name in dict.fromkeys((key, base_key(key))):
        for entries in described_sets(snapshot, target):
            entry = entries.get(name)
            if entry is not None:
                return entry
    return None


def base_key(key: str) -> str:
    """A broker's key without its listener's prefix, and the SASL mechanism's behind it."""
    return _LISTENER_PREFIX.sub("", key, count=1)


def quota_keys(entity: QuotaEntity) -> tuple[str, ...]:
    """The keys that an entity of this kind can have (QuotaConfig.userAndClientQuotaConfigs, ipConfigs)."""
    return IP_KEYS if entity.has(IP) else CLIENT_KEYS
