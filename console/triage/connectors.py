"""Facts of Connect's clusters: failed instances by their reason, sinks by their group, the use of topics, and workers.
Pure.
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
"""Prefix of the client ids of the tasks of sinks."""
UNREACHABLE = "UNREACHABLE"
"""The failure of a worker that no connection reaches, or that does not answer in time."""
LONGEST_REASON = 300
_VARIES = re.compile(r"\d+|@[0-9a-f]{6,}")
"""Matches the parts of a reason that differ between tasks with the same trouble: numbers, and addresses of objects."""


OF_RECORDS = re.compile(
    r"DataException|Serialization|[Dd]eserializ|[Cc]onver[ts]|[Ss]chema|Avro|Protobuf|JsonParse|NumberFormat|ClassCast|"
    r"[Uu]nknown (field|column)|[Nn]o such field|[Mm]issing (required )?(field|column)|[Cc]olumn .*does not exist"
)
"""Matches reasons about the records that a connector reads or writes."""
_MISSING = re.compile(r"\b4040[1-3]\b|[Nn]ot ?[Ff]ound|No (artifact|schema|version)")
"""Matches traces about a schema that the registry does not have."""
_TOLERABLE = "Tolerance exceeded in error handler"
"""Part of the trace of a record that a converter or a transform of a connector refused."""

AUTHENTICATION, AUTHORIZATION = "AuthenticationException", "Authoriz"
"""Parts of the traces of a refused login (SaslAuthenticationException), and of a missing right
(TopicAuthorizationException)."""


class Failed(NamedTuple):
    """A failed connector or task, and the reason."""

    connector: str
    """kac's name of the connector."""
    task: int | None
    """The number of the task; None for the connector itself."""
    worker: str
    reason: str
    """The line of its trace that names the cause; ``""`` without a trace."""

    @property
    def cluster(self) -> str:
        """The name of the connector's Connect cluster."""
        return connect.split_name(self.connector)[0]


class Placed(NamedTuple):
    """A connector with its cluster's name, kac's name and its config; None if that is unknown."""

    cluster: str
    name: str
    connector: Connector
    config: ConfigSet | None

    @property
    def is_paused(self) -> bool:
        """Whether an operator paused or stopped the connector."""
        return self.connector.state in (connect.PAUSED, connect.STOPPED)

    @property
    def dead_letters(self) -> str:
        """The topic for the records that the connector can't process; ``""`` without one."""
        return connect.dead_letters(self.config)


@remembered
def placed(clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]) -> Sequence[Placed]:
    """Return the connectors of all clusters, each with its name and its configs."""
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
    """Return group -> the sinks that read with a group of this name."""
    found: dict[str, list[Placed]] = {}
    for each in placed(clusters, configs):
        if each.connector.kind == connect.SINK:
            found.setdefault(connect.sink_group(each.connector.name, each.config), []).append(each)
    return found


@remembered
def sinks(clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]) -> Mapping[str, Placed]:
    """Return group -> the sink that reads with it. Two sinks of one name in two clusters share a group: the first
    counts.
    """
    return {group: some[0] for group, some in _by_group(clusters, configs).items()}


def sharing(
    group: str, clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]
) -> Sequence[Placed]:
    """Return the sinks that read with a group: several if Connect clusters of one Kafka cluster have a sink of one
    name, and tasks of each run; the first one if no task runs.
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
    """Return the ids of the Kafka clusters that the workers of a Connect cluster name; empty if none was read."""
    return {each.kafka_cluster_id for each in cluster.workers} - {""}


def groups_of(snapshot: Snapshot, names: Iterable[str]) -> Iterator[str]:
    """Yield the groups of the sinks among connectors. names: kac's."""
    wanted = frozenset(names)
    if wanted:
        found = sinks(snapshot.connect, snapshot.configs)
        yield from (group for group, each in found.items() if each.name in wanted)


@remembered
def failed(clusters: Mapping[str, ConnectCluster]) -> Sequence[Failed]:
    """Return the failed connectors and tasks."""
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
    """Return the trace of a connector, or of one of its tasks; ``""`` if it is unknown. name: kac's."""
    known = connect.connector_in(clusters, name)
    if known is None or task is None:
        return "" if known is None else known.trace
    return next((each.trace for each in known.tasks if each.number == task), "")


def reason_of(clusters: Mapping[str, ConnectCluster], name: str, task: int | None) -> str:
    """Return the line of a trace that names the cause; ``""`` if it is unknown. name: kac's name of the connector."""
    return connect.cause_line(trace_of(clusters, name, task))


def names(trace: str, name: str) -> bool:
    """Return whether a trace names a topic or a subject, as a word of its own."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", trace) is not None


def is_tolerable(trace: str) -> bool:
    """Return whether a sink with errors.tolerance=all would leave out the record at which it failed, because its
    converters or transforms refused the record. A record that fails while it is written to the system behind the sink
    is not left out.
    """
    return _TOLERABLE in trace


def misses_schema(trace: str) -> bool:
    """Return whether the reason of a trace is a schema that the registry does not have."""
    return _MISSING.search(connect.cause_line(trace)) is not None


def is_of_records(trace: str) -> bool:
    """Return whether a trace is about the records: its reason says so, or a converter or a transform had an error of
    Java's own, which no other system has.
    """
    reason = connect.cause_line(trace)
    return OF_RECORDS.search(reason) is not None or (is_tolerable(trace) and reason.startswith("java.lang."))


def likeness(reason: str) -> str:
    """Return a reason without the parts that differ between instances with the same problem, to compare reasons."""
    return _VARIES.sub("#", reason)


def topics_of(connector: Connector, config: ConfigSet | None) -> frozenset[str]:
    """Return the topics that a connector uses: those that its config names, those that its worker saw it use, and its
    dead letters.
    """
    named = connect.listed_topics(config) if connector.kind == connect.SINK else ()
    return frozenset({*named, *connector.topics, connect.dead_letters(config)} - {""})


def topics_in_trace(
    clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet], name: str, task: int | None
) -> frozenset[str]:
    """Return the topics that a connector uses and that its trace, or that of its task, names. name: kac's."""
    known, trace = connect.connector_in(clusters, name), trace_of(clusters, name, task)
    if known is None or not trace:
        return frozenset()
    used = topics_of(known, configs.get(connect.connector_resource(*connect.split_name(name))))
    return frozenset(each for each in used if names(trace, each))


def decoded_topics(
    clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet], name: str
) -> frozenset[str]:
    """Return the topics whose records a connector decodes: all that it uses but its dead letters. name: kac's."""
    known = connect.connector_in(clusters, name)
    if known is None:
        return frozenset()
    config = configs.get(connect.connector_resource(*connect.split_name(name)))
    return topics_of(known, config) - {connect.dead_letters(config)}


def sources_among(clusters: Mapping[str, ConnectCluster], among: Iterable[str], topics: Set[str]) -> Iterator[str]:
    """Yield the source connectors that write to one of these topics. among: kac's names of connectors."""
    for name in among:
        known = connect.connector_in(clusters, name)
        if known is not None and known.kind == connect.SOURCE and not topics.isdisjoint(known.topics):
            yield name


@remembered
def quiet_topics(clusters: Mapping[str, ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]) -> frozenset[str]:
    """Return the topics whose silence is not a separate problem: topics of dead letters, and those of sources that do
    not run.
    """
    found: set[str] = set()
    for each in placed(clusters, configs):
        if each.connector.kind == connect.SINK:
            found.add(each.dead_letters)
        elif each.connector.failed or each.is_paused:
            found.update(each.connector.topics)
    return frozenset(found)


def gone_workers(cluster: ConnectCluster) -> Sequence[Worker]:
    """Return the workers of the settings that do not answer, while another one does."""
    silent = [each for each in cluster.workers if each.failure is not None and each.failure.name == UNREACHABLE]
    return silent if len(silent) < len(cluster.workers) else []


def worker_id(worker: Worker) -> str:
    """Return the name by which states of tasks know a worker, unless it advertises another one: ``host:port``."""
    return worker.address.partition("//")[2].partition("/")[0]


def runs_on(cluster: ConnectCluster, worker: str) -> tuple[int, int]:
    """Return the numbers of connectors and of tasks with this worker in their state. worker: ``host:port``."""
    connectors = cluster.connectors.values()
    return sum(each.worker == worker for each in connectors), sum(
        task.worker == worker for each in connectors for task in each.tasks
    )


def unassigned(connector: Connector) -> int:
    """Return the number of instances of a connector, itself included, that no worker has."""
    return (connector.state == UNASSIGNED) + len(connector.tasks_in(UNASSIGNED))


def left_workers(cluster: ConnectCluster) -> frozenset[str]:
    """Return the workers that left: instances without a worker name them, and no running instance does."""
    had: set[str] = set()
    have: set[str] = set()
    for each in cluster.connectors.values():
        (had if each.state == UNASSIGNED else have).add(each.worker)
        for task in each.tasks:
            (had if task.state == UNASSIGNED else have).add(task.worker)
    return frozenset(had - have - {""})
