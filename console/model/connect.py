"""Kafka Connect as its REST API describes it: clusters of workers, connectors with their tasks, and plugins; and the
requests that change connectors.

kac names a connector ``CLUSTER/NAME``, where CLUSTER is the name of its Connect cluster in the context.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.changes import ChangeRequest, ConfigOp, OwnTarget
from console.model.codes import CONNECTOR
from console.model.config import ConfigEntry, ConfigResource, ConfigSet
from console.model.failure import Failure
from console.model.numbers import Data
from console.model.parts import Part
from console.model.secret import MaybeSecret

ConnectorOffset = tuple[Mapping[str, Any], Mapping[str, Any] | None]
"""A source partition and its offset, both as the connector itself defines them; an offset of None is deleted."""

RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED = "RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED"
"""The states of a connector or a task (AbstractStatus.State); only a connector can be STOPPED (KIP-875)."""
SOURCE, SINK = "source", "sink"

CLASS = "connector.class"
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
TOLERANCE = "errors.tolerance"
TOPICS, PATTERN = "topics", "topics.regex"
"""The keys for the topics of a sink."""


class Task(Struct, frozen=True):
    """A task of a connector, with its state and its worker."""

    number: int
    state: str
    worker: str
    trace: str = ""
    """The stack trace of a failed task, shortened; ``""`` if the task has none."""


class Connector(Struct, frozen=True):
    """A connector with the state of its tasks.

    Attributes:
        name: the name without its Connect cluster.
        kind: `SOURCE`, `SINK`, or another word that a worker reports.
        worker: ``host:port`` of the worker that runs it.
        trace: the stack trace of a failed connector; ``""`` if it has none.
        topics: the topics that the connector has used since this list was last reset (KIP-558).
    """

    name: str
    kind: str
    state: str
    worker: str
    trace: str = ""
    tasks: tuple[Task, ...] = ()
    topics: tuple[str, ...] = ()

    def tasks_in(self, state: str) -> tuple[Task, ...]:
        """Return the connector's tasks in a state, such as ``FAILED``."""
        return tuple(task for task in self.tasks if task.state == state)

    @property
    def wanted_state(self) -> str:
        """The state that an operator last requested: `RUNNING`, `PAUSED` or `STOPPED`."""
        return self.state if self.state in (PAUSED, STOPPED) else RUNNING

    @property
    def failed(self) -> bool:
        """Whether the connector or one of its tasks has failed."""
        return self.state == FAILED or any(task.state == FAILED for task in self.tasks)


class Plugin(Struct, frozen=True):
    """A plugin that a worker has installed."""

    class_name: str
    kind: str
    """``source``, ``sink``, ``converter``, ``header_converter``, ``transformation`` or ``predicate``."""
    version: str = ""


class Worker(Struct, frozen=True):
    """A worker of Kafka Connect at an address from the settings of the context.

    Attributes:
        address: the URL of the worker.
        version, commit: the version of Kafka, and its commit.
        kafka_cluster_id: the id of the Kafka cluster to which it connects.
        failure: the reason why it did not answer; None if it did.
    """

    address: str
    version: str = ""
    commit: str = ""
    kafka_cluster_id: str = ""
    failure: Failure | None = None


class ConnectCluster(Struct, frozen=True):
    """A Connect cluster as one of its workers describes it."""

    name: str
    workers: tuple[Worker, ...] = ()
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    plugins: tuple[Plugin, ...] = ()
    """The plugins that are installed on the worker that answered."""

    @property
    def version(self) -> str:
        """The version of the worker that answered; ``""`` if no worker answered."""
        return next((each.version for each in self.workers if each.failure is None), "")


class ConnectListing(NamedTuple):
    """The Connect clusters that answered, by name; the configs of their connectors; and cluster -> the failure, for
    those that did not answer.
    """

    clusters: Mapping[str, ConnectCluster]
    configs: Mapping[ConfigResource, ConfigSet]
    failures: Mapping[str, Failure]


class StatesSeen(Struct, frozen=True):
    """The states of a connector and its tasks, and the time at which kac first saw them."""

    states: tuple[str, ...]
    """The state of the connector itself, then those of its tasks."""
    since: datetime
    """The time at which kac first saw the states, UTC."""
    is_first: bool = False
    """Whether kac saw the states at its first read of the Connect cluster, so that they may be older than `since`."""


class Logger(NamedTuple):
    """A logger of Kafka Connect, with its level on the worker that answered."""

    name: str
    level: str
    changed_ms: int | None = None
    """The time at which the logger's level was last changed, ms since 1970; None if it was never changed."""


def states_seen(
    known: Mapping[str, StatesSeen], clusters: Mapping[str, ConnectCluster], read: Collection[str], at: datetime
) -> dict[str, StatesSeen]:
    """Return ``CLUSTER/NAME`` of each connector -> its states. If the states are the same as in `known`, the value of
    `known` stays, with the time at which kac first saw them.

    Args:
        known: the result of the previous read; empty at the first one.
        read: the names of the Connect clusters that an earlier read showed; states in other clusters get `is_first`.
        at: the time of this read, UTC.
    """
    found = {}
    for cluster in clusters.values():
        for connector in cluster.connectors.values():
            name = full_name(cluster.name, connector.name)
            states = (connector.state, *(task.state for task in connector.tasks))
            before = known.get(name)
            same = before is not None and before.states == states
            found[name] = before if before is not None and same else StatesSeen(states, at, cluster.name not in read)
    return found


def cause_line(trace: str) -> str:
    """Return the root cause in a stack trace: the last line that begins with ``Caused by:``, without these words, else
    the first line with text; ``""`` for an empty trace."""
    lines = [text for line in trace.splitlines() if (text := line.strip())]
    causes = [line for line in lines if line.startswith(_CAUSE)]
    return causes[-1].removeprefix(_CAUSE).strip() if causes else next(iter(lines), "")


_CAUSE = "Caused by:"


def full_name(cluster: str, connector: str) -> str:
    """Return kac's name of a connector, ``CLUSTER/NAME``."""
    return f"{cluster}/{connector}"


def split_name(name: str) -> tuple[str, str]:
    """Return the cluster and the connector of a name ``CLUSTER/NAME``; the cluster is ``""`` if the name has no
    slash.
    """
    cluster, slash, connector = name.partition("/")
    return (cluster, connector) if slash else ("", name)


def is_connector_name(name: str) -> bool:
    """Return whether a name has the form ``CLUSTER/NAME`` with neither side empty."""
    return all(split_name(name))


def connector_resource(cluster: str, connector: str) -> ConfigResource:
    """Return the config resource of a connector."""
    return ConfigResource(CONNECTOR, full_name(cluster, connector))


def connector_in(clusters: Mapping[str, ConnectCluster], name: str) -> Connector | None:
    """Return a connector by its name ``CLUSTER/NAME``; None if it does not exist or was not read."""
    cluster, connector = split_name(name)
    found = clusters.get(cluster)
    return None if found is None else found.connectors.get(connector)


def sink_group(connector: str, config: ConfigSet | None) -> str:
    """Return the consumer group of a sink connector: the one in its config, else Connect's default ``connect-NAME``.
    connector: the name without the cluster.
    """
    return value_of(config, "consumer.override.group.id") or f"connect-{connector}"


def value_of(config: ConfigSet | None, key: str) -> str:
    """Return the value of a key in a connector's config; ``""`` if the config is None, or the key is missing, hidden or
    has no value.
    """
    entry = None if config is None else config.get(key)
    return (entry.value if entry is not None else None) or ""


def listed_topics(config: ConfigSet | None) -> tuple[str, ...]:
    """Return the topics that the config of a sink lists; empty if the config is None or has a regular expression
    instead.
    """
    return tuple(filter(None, map(str.strip, value_of(config, TOPICS).split(","))))


def dead_letters(config: ConfigSet | None) -> str:
    """Return the dead-letter topic of a sink, for the records that it can't process; ``""`` if the config names
    none.
    """
    return value_of(config, DEAD_LETTERS)


ROOT_LOGGER = "root"


def logger_entry(levels: ConfigSet, name: str) -> ConfigEntry | None:
    """Return the entry of a logger of a Connect cluster: with the level that the logger itself sets, else with that of
    the nearest parent logger that sets one; None if no such logger sets a level.

    Args:
        levels: the loggers that set a level themselves, each with its level as value.
        name: the name of the logger.
    """
    above = name
    while (found := levels.get(above)) is None and above != ROOT_LOGGER:
        above = above.rpartition(".")[0] or ROOT_LOGGER
    return None if found is None else replace(found, name=name)


def plugin_version(plugins: Collection[Plugin], class_name: str) -> str:
    """Return the installed version of the class that a config names; several versions are separated by commas. Return
    ``""`` if no plugin has this class, or the worker reports no version.
    """
    found = {each.version for each in plugins if is_class(each.class_name, class_name)}
    return ", ".join(sorted(found - {""}))


def is_class(plugin: str, named: str) -> bool:
    """Return whether the value of ``connector.class`` names a plugin's class. The value may be the full name, or the
    name without the package; without the package, also without ``Connector`` at the end.

    Args:
        plugin: the class with its package.
        named: the value of connector.class.
    """
    return plugin == named or (bool(named) and plugin.endswith((f".{named}", f".{named}Connector")))


# -- changes -----------------------------------------------------------------------------------------------------------


class _PartOfConnector(OwnTarget, frozen=True):
    """The target of a change: a connector, or its offsets."""

    part: ClassVar[Part | None] = Part.CONNECT

    name: str
    """The connector's name ``CLUSTER/NAME``."""

    @property
    def resource(self) -> ConfigResource:
        """The config resource of the connector."""
        return connector_resource(*split_name(self.name))


class ConnectorTarget(_PartOfConnector, frozen=True):
    """The target of a change: a connector itself, not its config."""

    text: ClassVar[str] = "connector {0.name}"

    @property
    def data(self) -> dict[str, Data]:
        """The connector's name."""
        return {"connector": self.name}


class ConnectTarget(OwnTarget, frozen=True):
    """The target of a change: a Connect cluster as a whole."""

    text: ClassVar[str] = "Connect {0.name}"
    part: ClassVar[Part | None] = Part.CONNECT

    name: str

    @property
    def data(self) -> dict[str, Data]:
        """The name of the Connect cluster."""
        return {"connect": self.name}


class ConnectorOffsetsTarget(_PartOfConnector, frozen=True):
    """The target of a change: the offsets of a connector (KIP-875)."""

    text: ClassVar[str] = "offsets of connector {0.name}"


class _OfConnector(ChangeRequest, frozen=True):
    sender: ClassVar[str] = "connect"
    about: ClassVar[str] = "connector {0.name}"

    name: str


class AlterConnectors(ChangeRequest, frozen=True):
    """Changes of single keys of connectors' configs: a PATCH request for each connector (KIP-477)."""

    sender: ClassVar[str] = "connect"
    kafka_name: ClassVar[str] = "PATCH /connectors/NAME/config"
    counted: ClassVar[tuple[str, ...]] = ("ops", "connector")

    ops: Mapping[ConfigResource, tuple[ConfigOp, ...]]


class AlterConnectLoggers(ChangeRequest, frozen=True):
    """Changes of loggers' levels in a Connect cluster (KIP-495): at all its workers at once from Kafka 3.7 on
    (KIP-976), before that at one worker.
    """

    sender: ClassVar[str] = "connect"
    kafka_name: ClassVar[str] = "PUT /admin/loggers/NAME"

    ops: Mapping[ConfigResource, tuple[ConfigOp, ...]]

    @property
    def content(self) -> str:
        """The loggers and the Connect cluster."""
        return "; ".join(f"{', '.join(op.key for op in ops)} of Connect {each.name}" for each, ops in self.ops.items())


class CreateConnector(_OfConnector, frozen=True):
    """POST /connectors: creates a connector."""

    kafka_name: ClassVar[str] = "POST /connectors"

    config: Mapping[str, MaybeSecret]
    state: str = ""
    """The initial state (KIP-980); ``""`` for RUNNING."""


class DeleteConnector(_OfConnector, frozen=True):
    """DELETE /connectors/NAME: deletes a connector."""

    kafka_name: ClassVar[str] = "DELETE /connectors/NAME"
    is_loss: ClassVar[bool] = True


class SteerConnector(_OfConnector, frozen=True):
    """Pauses, resumes or stops a connector."""

    kafka_name: ClassVar[str] = "PUT /connectors/NAME/pause|resume|stop"

    state: str
    """The wanted state: `RUNNING`, `PAUSED` or `STOPPED`."""


class RestartConnector(_OfConnector, frozen=True):
    """Restarts a connector with some of its tasks (KIP-745).

    Attributes:
        only_failed: whether only a connector and tasks that have failed are restarted.
        tasks: whether the tasks are restarted too.
        task: the number of the only task to restart, without the connector itself; None to restart the connector.
    """

    kafka_name: ClassVar[str] = "POST /connectors/NAME/restart"

    only_failed: bool = False
    tasks: bool = False
    task: int | None = None


class AlterConnectorOffsets(_OfConnector, frozen=True):
    """PATCH /connectors/NAME/offsets, or DELETE for all offsets. The connector has to be STOPPED (KIP-875)."""

    kafka_name: ClassVar[str] = "PATCH /connectors/NAME/offsets"

    offsets: tuple[ConnectorOffset, ...] | None = None
    """The new offsets; None to delete all offsets."""
