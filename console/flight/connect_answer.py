"""The responses of all Connect clusters, combined into one recorded answer.

It has no secrets, because the client has removed them; it omits the defaults and the documentation that a worker
returns for each config key; and it cuts off the end of long stack traces.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from console.flight.pseudonyms import Pseudonyms
from console.model import connect
from console.model.codes import ConfigSource, ConfigType
from console.model.config import ConfigEntry, ConfigSet, Synonym, own_source
from console.model.failure import Failure
from console.model.foreign_json import json_as

MOST_TRACE = 4_000
"""Maximum number of characters of a stack trace in a record. The cause of an exception is seldom further down."""


class Entry(Struct, frozen=True, array_like=True):
    """A config key that a connector itself sets."""

    key: str
    value: str | None
    """The value; None if it is hidden as a secret."""
    type: int = 0
    """The number of the value's type in Kafka's ConfigType."""


class Recorded(Struct, frozen=True):
    """The state of all Connect clusters, in the form of a record."""

    clusters: dict[str, connect.ConnectCluster]
    configs: dict[str, tuple[Entry, ...]]
    """kac's name of a connector -> the config keys that the connector itself sets."""
    failures: dict[str, Failure]


def recorded(listing: connect.ConnectListing) -> Recorded:
    """Convert the client's listing of Connect clusters to the form of a record."""
    own = own_source(connect.connector_resource("", ""))
    configs = {
        resource.name: tuple(
            Entry(each.name, None if each.hidden else each.value, int(each.type))
            for each in entries
            if each.source == own
        )
        for resource, entries in listing.configs.items()
    }
    return Recorded({name: _cut(each) for name, each in listing.clusters.items()}, configs, dict(listing.failures))


def _cut(cluster: connect.ConnectCluster) -> connect.ConnectCluster:
    long = {name: _short(each) for name, each in cluster.connectors.items() if each.failed}
    return replace(cluster, connectors={**cluster.connectors, **long}) if long else cluster


def _short(connector: connect.Connector) -> connect.Connector:
    tasks = tuple(replace(each, trace=each.trace[:MOST_TRACE]) for each in connector.tasks)
    return replace(connector, trace=connector.trace[:MOST_TRACE], tasks=tasks)


def body_of(answer: Recorded) -> bytes:
    """Encode a recorded state as JSON."""
    return msgspec.json.encode(answer)


def read(body: bytes) -> Recorded:
    """Decode a recorded state. Raises ValueError for other bytes."""
    return json_as(body, Recorded)


def listing_of(answer: Recorded) -> connect.ConnectListing:
    """Convert a recorded state back to the client's listing; the fields that a record omits have their defaults."""
    own = own_source(connect.connector_resource("", ""))
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
        configs[connect.connector_resource(*connect.split_name(name))] = ConfigSet(tuple(made))
    return connect.ConnectListing(answer.clusters, configs, answer.failures)


# -- without names -----------------------------------------------------------------------------------------------------

_EXCEPTION = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)*([\w$]+(?:Exception|Error))(?=:|$)", re.MULTILINE)
"""Matches the name of an exception or error at the start of a line of a stack trace. It does not match the lines that
begin with ``at``.
"""
GROUP = "consumer.override.group.id"


def without_names(body: bytes, names: Pseudonyms) -> bytes:
    """Return a recorded state, as JSON, with pseudonyms for its names. States, numbers and the class names of
    exceptions stay. Raises ValueError for bytes that are not a recorded state.
    """
    answer = read(body)
    configs = {}
    for name, entries in answer.configs.items():
        cluster, connector = connect.split_name(name)
        own = [
            Entry(names.config_key(each.key), names.config_value(each.key, each.value, each.type), each.type)
            for each in entries
            if each.key != GROUP
        ]
        # The pseudonym of a sink's group would not show whose group it is, as the name `connect-NAME` does. So the
        # record has the group as a config entry of the connector.
        group = next((each.value for each in entries if each.key == GROUP and each.value), f"connect-{connector}")
        own.append(Entry(GROUP, names.name(group)))
        configs[connect.full_name(names.name(cluster), names.name(connector))] = tuple(own)
    clusters = {names.name(name): _connect_cluster(each, names) for name, each in answer.clusters.items()}
    failures = {names.name(name): Failure(each.name, "", "") for name, each in answer.failures.items()}
    return body_of(Recorded(clusters, configs, failures))


def _connect_cluster(cluster: connect.ConnectCluster, names: Pseudonyms) -> connect.ConnectCluster:
    workers = tuple(
        connect.Worker(
            f"http://{names.name(_host(each.address))}",
            each.version,
            "",
            names.name(each.kafka_cluster_id),
            each.failure and Failure(each.failure.name, "", ""),
        )
        for each in cluster.workers
    )
    connectors = {}
    for each in cluster.connectors.values():
        tasks = tuple(
            replace(task, worker=names.name(task.worker), trace=_kinds(task.trace), state=_word(task.state))
            for task in each.tasks
        )
        name = names.name(each.name)
        connectors[name] = connect.Connector(
            name,
            _word(each.kind),
            _word(each.state),
            names.name(each.worker),
            _kinds(each.trace),
            tasks,
            tuple(map(names.name, each.topics)),
        )
    plugins = tuple(replace(each, class_name=names.name(each.class_name)) for each in cluster.plugins)
    return connect.ConnectCluster(names.name(cluster.name), workers, connectors, plugins)


def _host(address: str) -> str:
    return address.partition("//")[2].partition("/")[0]


def _word(text: str) -> str:
    """Return the text if it has letters only, as Connect's own words do; ``""`` for any other text, which may be a
    name.
    """
    return text if text.isalpha() else ""


def _kinds(trace: str) -> str:
    """Return the class names of the exceptions in a stack trace, without packages and messages. ``Caused by:`` precedes
    each name after the first.
    """
    return "\nCaused by: ".join(_EXCEPTION.findall(trace))
