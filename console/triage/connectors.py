"""Facts about the Connect clusters in a snapshot: failed connectors and tasks by their reason, sinks by their group,
the topics of connectors, and workers. Names of connectors are in the form CLUSTER/NAME, which the docstrings call
kac's name. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from console.model import connect
from console.model.config import ConfigResource, ConfigSet
from console.model.connect import FAILED, UNASSIGNED, ConnectCluster, Connector, Worker
from console.model.snapshot import Snapshot
from console.triage.remembered import remembered

TASK_OF = "connector-consumer-"
"""Prefix of the client ids that tasks of sinks have."""
UNREACHABLE = "UNREACHABLE"
"""The name of the failure of a worker to which no connection can be opened, or that does not answer in time."""
LONGEST_REASON = 300
_VARIES = re.compile(r"\d+|@[0-9a-f]{6,}")
"""Matches the parts of a reason in which tasks with the same problem differ: numbers, and addresses of objects."""


OF_RECORDS = re.compile(
    r"DataException|Serialization|[Dd]eserializ|[Cc]onver[ts]|[Ss]chema|Avro|Protobuf|JsonParse|NumberFormat|ClassCast|"
    r"[Uu]nknown (field|column)|[Nn]o such field|[Mm]issing (required )?(field|column)|[Cc]olumn .*does not exist"
)
"""Patterns that match reasons about the records that a connector reads or writes."""
_MISSING = re.compile(r"\b4040[1-3]\b|[Nn]ot ?[Ff]ound|No (artifact|schema|version)")
"""Matches traces which say that the registry lacks a schema."""
_TOLERABLE = "Tolerance exceeded in error handler"
"""Text in the trace if a converter or a transform of the connector refused a record."""

AUTHENTICATION, AUTHORIZATION = "AuthenticationException", "Authoriz"
"""Parts of the traces of a refused login (SaslAuthenticationException), and of a missing right
(TopicAuthorizationException)."""


class Failed(NamedTuple):
    """A failed connector or task, and the reason."""

    connector: str
    """The name of the connector, as CLUSTER/NAME."""
    task: int | None
    """The number of the task; None for the connector itself."""
    worker: str
    reason: str
    """The line of its trace that names the cause; ``""`` if there is no trace."""

    @property
    def cluster(self) -> str:
        """The name of the connector's Connect cluster."""
        return connect.split_name(self.connector)[0]


class Placed(NamedTuple):
    """A connector with the name of its Connect cluster, its name as CLUSTER/NAME, and its config, None if that is
    unknown.
    """

    cluster: str
    name: str
    connector: Connector
    config: ConfigSet | None

    @property
    def is_paused(self) -> bool:
        """Whether an operator has paused or stopped the connector."""
        return self.connector.state in (connect.PAUSED, connect.STOPPED)

    @property
    def dead_letters(self) -> str:
        """The topic to which the connector writes records that it can't process; ``""`` if it has none."""
        return connect.dead_letters(self.config)


@remembered
def placed(clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]) -> Sequence[Placed]:
    """Return the connectors of all Connect clusters."""
    return [
        Placed(
            cluster.name,
            connect.full_name(cluster.name, each.name),
            each,
            configs.get(connect.connector_resource(cluster.name, each.name)),
        )
        for cluster in clusters.values()
        for each in cluster.connectors.values()
    ]


@remembered
def _by_group(
    clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]
) -> Mapping[str, Sequence[Placed]]:
    """Return group -> the sink connectors whose group has this name."""
    found: dict[str, list[Placed]] = {}
    for each in placed(clusters, configs):
        if each.connector.kind == connect.SINK:
            found.setdefault(connect.sink_group(each.connector.name, each.config), []).append(each)
    return found


@remembered
def sinks(clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]) -> Mapping[str, Placed]:
    """Return group -> the sink connector that reads with it. If sinks of two Connect clusters have the same name and
    thus the same group, the first one counts.
    """
    return {group: some[0] for group, some in _by_group(clusters, configs).items()}


def sharing(
    group: str, clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]
) -> Sequence[Placed]:
    """Return the sink connectors that read with a group: several if Connect clusters of one Kafka cluster have a sink
    of the same name and tasks of each run; the first one if no task runs.
    """
    mine = _by_group(clusters, configs)[group]
    first = mine[0]
    ids = _kafka_ids(clusters[first.cluster])
    running = [
        each
        for each in mine
        if each.connector.tasks_in(connect.RUNNING) and (each is first or ids & _kafka_ids(clusters[each.cluster]))
    ]
    return running or [first]


def _kafka_ids(cluster: ConnectCluster) -> Set[str]:
    """Return the ids of the Kafka clusters that the workers of a Connect cluster report; empty if no worker
    answered.
    """
    return {each.kafka_cluster_id for each in cluster.workers} - {""}


def groups_of(snapshot: Snapshot, names: Iterable[str]) -> Iterator[str]:
    """Yield the groups of those of the connectors that are sinks. names: CLUSTER/NAME of connectors."""
    wanted = frozenset(names)
    if wanted:
        found = sinks(snapshot.connect, snapshot.configs)
        yield from (group for group, each in found.items() if each.name in wanted)


@remembered
def failed(clusters: Mapping[str, ConnectCluster]) -> Sequence[Failed]:
    """Return the connectors and tasks whose state is FAILED."""
    return [each for cluster in clusters.values() for each in _failed_in(cluster)]


def _failed_in(cluster: ConnectCluster) -> Iterator[Failed]:
    for each in cluster.connectors.values():
        name = connect.full_name(cluster.name, each.name)
        if each.state == FAILED:
            yield Failed(name, None, each.worker, _reason(each.trace))
        for task in each.tasks_in(FAILED):
            yield Failed(name, task.number, task.worker, _reason(task.trace))


def _reason(trace: str) -> str:
    return connect.cause_line(trace)[:LONGEST_REASON]


def trace_of(clusters: Mapping[str, ConnectCluster], name: str, task: int | None) -> str:
    """Return the trace of a connector, or of one of its tasks; ``""`` if it is unknown.

    Args:
        name: CLUSTER/NAME of the connector.
        task: the number of a task; None for the connector itself.
    """
    known = connect.connector_in(clusters, name)
    if known is None or task is None:
        return "" if known is None else known.trace
    return next((each.trace for each in known.tasks if each.number == task), "")


def reason_of(clusters: Mapping[str, ConnectCluster], name: str, task: int | None) -> str:
    """Return the line of a trace that names the cause; ``""`` if it is unknown.

    Args:
        name: CLUSTER/NAME of the connector.
        task: the number of a task; None for the connector itself.
    """
    return connect.cause_line(trace_of(clusters, name, task))


def names(trace: str, name: str) -> bool:
    """Return whether a trace contains the name of a topic or a subject as a separate word."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", trace) is not None


def is_tolerable(trace: str) -> bool:
    """Return whether a sink with errors.tolerance=all would skip the record at which it failed, because its converters
    or transforms refused the record. A record that fails while it is written to the target system is not skipped.
    """
    return _TOLERABLE in trace


def misses_schema(trace: str) -> bool:
    """Return whether a trace says that the registry lacks a schema."""
    return _MISSING.search(connect.cause_line(trace)) is not None


def is_of_records(trace: str) -> bool:
    """Return whether the reason in a trace is about the records: it says so, or a converter or a transform raised one
    of Java's own exceptions.
    """
    reason = connect.cause_line(trace)
    return OF_RECORDS.search(reason) is not None or (is_tolerable(trace) and reason.startswith("java.lang."))


def likeness(reason: str) -> str:
    """Return a reason without numbers and addresses, so that reasons of instances with the same problem are equal."""
    return _VARIES.sub("#", reason)


def topics_of(connector: Connector, config: ConfigSet | None) -> frozenset[str]:
    """Return the topics that a connector uses: those in its config, those that its worker saw it use, and its topic of
    dead letters.
    """
    named = connect.listed_topics(config) if connector.kind == connect.SINK else ()
    return frozenset({*named, *connector.topics, connect.dead_letters(config)} - {""})


def topics_in_trace(
    clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet], name: str, task: int | None
) -> frozenset[str]:
    """Return those topics of a connector that its trace, or that of a task, names.

    Args:
        name: CLUSTER/NAME of the connector.
        task: the number of a task; None for the connector itself.
    """
    known, trace = connect.connector_in(clusters, name), trace_of(clusters, name, task)
    if known is None or not trace:
        return frozenset()
    used = topics_of(known, configs.get(connect.connector_resource(*connect.split_name(name))))
    return frozenset(each for each in used if names(trace, each))


def decoded_topics(
    clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet], name: str
) -> frozenset[str]:
    """Return the topics whose records a connector decodes: all topics of the connector except that of its dead letters.
    name: CLUSTER/NAME of the connector.
    """
    known = connect.connector_in(clusters, name)
    if known is None:
        return frozenset()
    config = configs.get(connect.connector_resource(*connect.split_name(name)))
    return topics_of(known, config) - {connect.dead_letters(config)}


def sources_among(clusters: Mapping[str, ConnectCluster], among: Iterable[str], topics: Set[str]) -> Iterator[str]:
    """Yield those of the connectors that are sources and write to one of these topics. among: CLUSTER/NAME of
    connectors.
    """
    for name in among:
        known = connect.connector_in(clusters, name)
        if known is not None and known.kind == connect.SOURCE and not topics.isdisjoint(known.topics):
            yield name


@remembered
def quiet_topics(clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]) -> frozenset[str]:
    """Return the topics whose silence is no separate problem: those of dead letters, and those of sources that do not
    run.
    """
    found: set[str] = set()
    for each in placed(clusters, configs):
        if each.connector.kind == connect.SINK:
            found.add(each.dead_letters)
        elif each.connector.failed or each.is_paused:
            found.update(each.connector.topics)
    return frozenset(found)


def gone_workers(cluster: ConnectCluster) -> Sequence[Worker]:
    """Return the workers in the context's settings that do not answer while another one of the Connect cluster does."""
    silent = [each for each in cluster.workers if each.failure is not None and each.failure.name == UNREACHABLE]
    return silent if len(silent) < len(cluster.workers) else []


def worker_id(worker: Worker) -> str:
    """Return ``host:port`` of a worker's URL, by which the states of tasks name the worker unless it advertises another
    address.
    """
    return worker.address.partition("//")[2].partition("/")[0]


def runs_on(cluster: ConnectCluster, worker: str) -> tuple[int, int]:
    """Return the numbers of connectors and of tasks whose state names this worker. worker: ``host:port``."""
    connectors = cluster.connectors.values()
    return sum(each.worker == worker for each in connectors), sum(
        task.worker == worker for each in connectors for task in each.tasks
    )


def unassigned(connector: Connector) -> int:
    """Return how many of these have no worker: the connector itself (0 or 1), and its tasks."""
    return (connector.state == UNASSIGNED) + len(connector.tasks_in(UNASSIGNED))


def left_workers(cluster: ConnectCluster) -> frozenset[str]:
    """Return the workers that left the Connect cluster: unassigned instances name them, and no running
    instance does.
    """
    had: set[str] = set()
    have: set[str] = set()
    for each in cluster.connectors.values():
        (had if each.state == UNASSIGNED else have).add(each.worker)
        for task in each.tasks:
            (had if task.state == UNASSIGNED else have).add(task.worker)
    return frozenset(had - have - {""})
