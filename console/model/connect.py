"""Kafka Connect as its REST API describes it: clusters of workers, connectors with their tasks, and plugins; and the
requests that change connectors.

kac names a connector ``CLUSTER/NAME``, where CLUSTER is the name of its Connect cluster in the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from msgspec import Struct, field

from console.model.changes import ChangeRequest, ConfigOp, OwnTarget
from console.model.codes import CONNECTOR
from console.model.config import ConfigResource, ConfigSet
from console.model.failure import Failure
from console.model.parts import Part
from console.model.secret import MaybeSecret

RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED = "RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED"
"""States of a connector or a task (AbstractStatus.State); STOPPED is a connector's alone (KIP-875)."""
SOURCE, SINK = "source", "sink"

CLASS = "connector.class"
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
TOPICS, PATTERN = "topics", "topics.regex"
"""The topics of a sink."""


class Task(Struct, frozen=True):
    """A task of a connector. trace: the stack trace of a failed one, bounded."""

    number: int
    state: str
    worker: str
    trace: str = ""


class Connector(Struct, frozen=True):
    """A connector with the state of its tasks.

    Attributes:
        name: without its cluster.
        kind: `SOURCE`, `SINK`, or another word of the worker's.
        worker: ``host:port`` of the worker that runs it.
        trace: of a failed connector.
        topics: those that it has used since they were last reset (KIP-558).
    """

    name: str
    kind: str
    state: str
    worker: str
    trace: str = ""
    tasks: tuple[Task, ...] = ()
    topics: tuple[str, ...] = ()

    def tasks_in(self, state: str) -> tuple[Task, ...]:
        """Return its tasks in a state."""
        return tuple(task for task in self.tasks if task.state == state)

    @property
    def failed(self) -> bool:
        """Whether the connector or one of its tasks has failed."""
        return self.state == FAILED or any(task.state == FAILED for task in self.tasks)


class Plugin(Struct, frozen=True):
    """An installed plugin. kind: source, sink, converter, header_converter, transformation or predicate."""

    class_name: str
    kind: str
    version: str = ""


class Worker(Struct, frozen=True):
    """A worker at an address of the settings.

    Attributes:
        address: URL.
        version, commit: of Kafka.
        kafka_cluster_id: of the brokers that it works with.
        failure: the reason why it did not answer; None if it did.
    """

    address: str
    version: str = ""
    commit: str = ""
    kafka_cluster_id: str = ""
    failure: Failure | None = None


class ConnectCluster(Struct, frozen=True):
    """A Connect cluster. plugins: of the worker that answered."""

    name: str
    workers: tuple[Worker, ...] = ()
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    plugins: tuple[Plugin, ...] = ()

    @property
    def version(self) -> str:
        """The version of the worker that answered; ``""`` if none did."""
        return next((each.version for each in self.workers if each.failure is None), "")


class ConnectListing(NamedTuple):
    """What the Connect clusters answered: clusters, configs of their connectors, and cluster -> why it did not."""

    clusters: Mapping[str, ConnectCluster]
    configs: Mapping[ConfigResource, ConfigSet]
    failures: Mapping[str, Failure]


def full_name(cluster: str, connector: str) -> str:
    """Return kac's name of a connector."""
    return f"{cluster}/{connector}"


def split_name(name: str) -> tuple[str, str]:
    """Return the cluster and the connector of kac's name; the cluster is ``""`` without a slash."""
    cluster, slash, connector = name.partition("/")
    return (cluster, connector) if slash else ("", name)


def is_connector_name(name: str) -> bool:
    """Return whether a name has a cluster and a connector."""
    return all(split_name(name))


def connector_resource(cluster: str, connector: str) -> ConfigResource:
    """Return the config resource of a connector."""
    return ConfigResource(CONNECTOR, full_name(cluster, connector))


def connector_in(clusters: Mapping[str, ConnectCluster], name: str) -> Connector | None:
    """Return a connector by kac's name; None if it was not read."""
    cluster, connector = split_name(name)
    found = clusters.get(cluster)
    return None if found is None else found.connectors.get(connector)


def sink_group(connector: str, config: ConfigSet | None) -> str:
    """Return the consumer group of a sink. connector: without its cluster."""
    entry = None if config is None else config.get("consumer.override.group.id")
    return (entry.value if entry is not None else None) or f"connect-{connector}"


# -- changes -----------------------------------------------------------------------------------------------------------


class ConnectorTarget(OwnTarget, frozen=True):
    """A connector itself, not its config. name: kac's."""

    text: ClassVar[str] = "connector {0.name}"
    part: ClassVar[Part | None] = Part.CONNECT

    name: str


class ConnectorOffsetsTarget(OwnTarget, frozen=True):
    """The offsets of a connector (KIP-875)."""

    text: ClassVar[str] = "offsets of connector {0.name}"
    part: ClassVar[Part | None] = Part.CONNECT

    name: str


class _OfConnector(ChangeRequest, frozen=True):
    about: ClassVar[str] = "connector {0.name}"

    name: str


class AlterConnectors(ChangeRequest, frozen=True):
    """Changes of single keys of connectors' configs: PATCH for each connector (KIP-477)."""

    kafka_name: ClassVar[str] = "PATCH /connectors/NAME/config"
    counted: ClassVar[tuple[str, ...]] = ("ops", "connector")

    ops: Mapping[ConfigResource, tuple[ConfigOp, ...]]


class CreateConnector(_OfConnector, frozen=True):
    """POST /connectors. state: its first state (KIP-980); ``""`` for RUNNING."""

    kafka_name: ClassVar[str] = "POST /connectors"

    config: Mapping[str, MaybeSecret]
    state: str = ""


class DeleteConnector(_OfConnector, frozen=True):
    """DELETE /connectors/NAME."""

    kafka_name: ClassVar[str] = "DELETE /connectors/NAME"
    is_loss: ClassVar[bool] = True


class SteerConnector(_OfConnector, frozen=True):
    """Pauses, resumes or stops a connector. state: the wanted one, `RUNNING`, `PAUSED` or `STOPPED`."""

    kafka_name: ClassVar[str] = "PUT /connectors/NAME/pause|resume|stop"

    state: str


class RestartConnector(_OfConnector, frozen=True):
    """Restarts a connector with some of its tasks (KIP-745).

    Attributes:
        only_failed: whether only failed instances restart.
        tasks: whether its tasks restart.
        task: the only task to restart, then not the connector itself; None for the connector.
    """

    kafka_name: ClassVar[str] = "POST /connectors/NAME/restart"

    only_failed: bool = False
    tasks: bool = False
    task: int | None = None


ConnectorOffset = tuple[Mapping[str, object], Mapping[str, object] | None]
"""A partition and its offset in the connector's own form; None to forget it."""


class AlterConnectorOffsets(_OfConnector, frozen=True):
    """PATCH /connectors/NAME/offsets, or DELETE for all; the connector has to be STOPPED (KIP-875). offsets: None to
    forget all."""

    kafka_name: ClassVar[str] = "PATCH /connectors/NAME/offsets"

    offsets: tuple[ConnectorOffset, ...] | None = None
