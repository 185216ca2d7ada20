"""What Connect's clusters answered, as one answer of a record: without secrets, which the client hides before, without
defaults and documentation, which a worker has for every key, and with the ends of long stack traces cut off.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from console.model.codes import ConfigSource, ConfigType
from console.model.config import ConfigEntry, ConfigSet, Synonym, own_source
from console.model.connect import ConnectCluster, ConnectListing, Connector, connector_resource, split_name
from console.model.failure import Failure
from console.model.foreign_json import json_as

MOST_TRACE = 4_000
"""Most characters of a stack trace in a record: its reason may stand at its end, but rarely so deep."""
MOST_BYTES = 8 << 20
"""Most bytes of an answer; a larger one is recorded as a problem."""


class Entry(Struct, frozen=True, array_like=True):
    """A key that a connector sets. value: None if it is hidden. type: Kafka's number."""

    key: str
    value: str | None
    type: int = 0


class Recorded(Struct, frozen=True):
    """The answer. configs: kac's name of a connector -> its own keys."""

    clusters: dict[str, ConnectCluster]
    configs: dict[str, tuple[Entry, ...]]
    failures: dict[str, Failure]


def recorded(listing: ConnectListing) -> Recorded:
    """Return an answer as a record keeps it."""
    own = own_source(connector_resource("", ""))
    configs = {
        resource.name: tuple(
            Entry(each.name, None if each.hidden else each.value, int(each.type))
            for each in entries
            if each.source == own
        )
        for resource, entries in listing.configs.items()
    }
    return Recorded({name: _cut(each) for name, each in listing.clusters.items()}, configs, dict(listing.failures))


def _cut(cluster: ConnectCluster) -> ConnectCluster:
    long = {name: _short(each) for name, each in cluster.connectors.items() if each.failed}
    return replace(cluster, connectors={**cluster.connectors, **long}) if long else cluster


def _short(connector: Connector) -> Connector:
    tasks = tuple(replace(each, trace=each.trace[:MOST_TRACE]) for each in connector.tasks)
    return replace(connector, trace=connector.trace[:MOST_TRACE], tasks=tasks)


def body_of(answer: Recorded) -> bytes:
    """Return an answer as bytes."""
    return msgspec.json.encode(answer)


def read(body: bytes) -> Recorded:
    """Return an answer from its bytes. Raises ValueError."""
    return json_as(body, Recorded)


def listing_of(answer: Recorded) -> ConnectListing:
    """Return what the client returned, as far as the record has it."""
    own = own_source(connector_resource("", ""))
    configs = {}
    for name, entries in answer.configs.items():
        made = (
            ConfigEntry(
                each.key,
                each.value,
                own,
                sensitive=each.value is None,
                type=ConfigType(each.type),
                synonyms=(Synonym(each.key, each.value, ConfigSource(own)),),
            )
            for each in entries
        )
        configs[connector_resource(*split_name(name))] = ConfigSet(tuple(made))
    return ConnectListing(answer.clusters, configs, answer.failures)
