"""Connectors of Kafka Connect, their tasks, workers and plugins: columns, and the details of a connector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from console.model import connect
from console.model.cluster import GroupLag, LogRange
from console.model.config import ConfigResource, ConfigSet
from console.model.failure import Failure
from console.model.lag_trend import LagTrend
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.model.time_lag import UNSEEN, Behind
from console.plan.amounts import utc_time
from console.present import columns
from console.present.failures import failure_text
from console.present.groups import behind_column, lag_total
from console.present.text import Cell, Line, clean

NOT_NAMED = "the context names no Connect cluster: add [contexts.NAME.connect.CLUSTER] with url to its file"
UNKNOWN = "?"
"""The state of a connector whose Connect cluster did not answer the last read."""
LONGEST_CAUSE = 300
"""Maximum characters of the root cause of a failure in a table."""

_MEANINGS = {
    connect.RUNNING: "",
    connect.FAILED: "failed",
    connect.PAUSED: "muted",
    connect.STOPPED: "muted",
    connect.UNASSIGNED: "changed",
    UNKNOWN: "changed",
}
_TASK_STATES = (connect.FAILED, connect.UNASSIGNED, connect.PAUSED)
"""The states of tasks that a text counts after the running ones, in this order; other states follow."""


def state_meaning(state: str) -> str:
    """Return the meaning of the colour of a state. A state that kac does not know, such as RESTARTING, counts as a
    transition.
    """
    return _MEANINGS.get(state, "changed")


def tasks_text(tasks: Sequence[connect.Task]) -> str:
    """Return the number of tasks by state: ``2/3 running, 1 failed``; ``none`` if there are no tasks."""
    if not tasks:
        return "none"
    counts = Counter(task.state for task in tasks)
    others = [*_TASK_STATES, *sorted(counts.keys() - {connect.RUNNING, *_TASK_STATES})]
    words = [f"{counts[connect.RUNNING]}/{len(tasks)} running"]
    return ", ".join([*words, *(f"{counts[state]} {state.lower()}" for state in others if counts[state])])


class ConnectorRow(NamedTuple):
    """A connector, with the facts about it in other parts of the snapshot."""

    cluster: connect.ConnectCluster
    connector: connect.Connector
    config: ConfigSet | None = None
    """The connector's config; None if it was not read."""
    lag: GroupLag | None = None
    """The lag of a sink's consumer group; None if it was not read, and for a source."""
    trend: LagTrend | None = None
    waiting: int | None = None
    """The number of records in the connector's dead-letter topic; None if unknown."""
    seen: connect.StatesSeen | None = None
    unanswered: Failure | None = None
    """The reason why its Connect cluster did not answer the last read; None if it did."""
    answered_at: datetime | None = None
    """The time at which its Connect cluster last answered, UTC; None if it never did."""

    @property
    def name(self) -> str:
        """kac's name of the connector, which includes its Connect cluster."""
        return connect.full_name(self.cluster.name, self.connector.name)

    @property
    def state(self) -> str:
        """The connector's state; ``?`` if its Connect cluster did not answer."""
        return UNKNOWN if self.unanswered is not None else self.connector.state

    @property
    def class_name(self) -> str:
        """The connector's class, as its config names it."""
        return connect.value_of(self.config, connect.CLASS)

    @property
    def version(self) -> str:
        """The version of the connector's plugin; ``""`` if the worker does not report it."""
        return connect.plugin_version(self.cluster.plugins, self.class_name)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics in the connector's config, and those that the connector has used."""
        return tuple(dict.fromkeys((*connect.listed_topics(self.config), *self.connector.topics)))

    @property
    def group(self) -> str | None:
        """The consumer group of a sink; None for a source."""
        return connect.sink_group(self.connector.name, self.config) if self.connector.kind == connect.SINK else None

    @property
    def dead_letters(self) -> str:
        """The name of the connector's dead-letter topic; ``""`` if it has none."""
        return connect.dead_letters(self.config)

    @property
    def behind(self) -> Behind:
        """The time for which the next record of a partition has waited for the sink's consumer group: the longest of
        all its partitions.
        """
        return UNSEEN if self.trend is None else self.trend.longest_behind

    @property
    def cause(self) -> str:
        """The root cause of the connector's failure or, if only tasks have failed, of the first failed task; ``""``
        if nothing failed.
        """
        traces = (self.connector.trace, *(task.trace for task in self.connector.tasks_in(connect.FAILED)))
        return next(filter(None, map(connect.cause_line, traces)), "")

    @property
    def in_trouble(self) -> bool:
        """Whether the connector or a task has failed, a task has no worker, or the state is unknown."""
        unassigned = self.connector.state == connect.UNASSIGNED or self.connector.tasks_in(connect.UNASSIGNED)
        return self.unanswered is not None or self.connector.failed or bool(unassigned)


def connector_resources(snapshot: Snapshot) -> Iterator[ConfigResource]:
    """Yield the config resources of the connectors that were read."""
    for cluster in snapshot.connect.values():
        yield from (connect.connector_resource(cluster.name, name) for name in cluster.connectors)


def connector_rows(snapshot: Snapshot) -> Iterator[ConnectorRow]:
    """Yield the connectors that were read, by Connect cluster and name. Those of a Connect cluster that did not
    answer have their last known state.
    """
    failures = {each.entity: each.failure for each in snapshot.failures if each.part == Part.CONNECT}
    for cluster in sorted(snapshot.connect.values(), key=lambda each: each.name):
        for name in sorted(cluster.connectors):
            connector, resource = cluster.connectors[name], connect.connector_resource(cluster.name, name)
            config = snapshot.configs.get(resource)
            row = ConnectorRow(
                cluster,
                connector,
                config,
                seen=snapshot.connect_seen.get(resource.name),
                unanswered=failures.get(cluster.name) or failures.get(""),
                answered_at=snapshot.configs_at.get(resource),
            )
            group, dead = row.group, row.dead_letters
            yield row._replace(
                lag=snapshot.lags.get(group) if group else None,
                trend=snapshot.lag_trends.get(group) if group else None,
                waiting=_records(snapshot, dead) if dead else None,
            )


def _records(snapshot: Snapshot, topic: str) -> int | None:
    """Return the number of offsets between start and end of all partitions of a topic; None if one of them is
    unknown.
    """
    known = snapshot.topics.get(topic)
    ranges: list[LogRange | None] = (
        [] if known is None else [snapshot.log_ranges.get((topic, each.number)) for each in known.partitions]
    )
    if not ranges or any(each is None or each.start < 0 or each.end < 0 for each in ranges):
        return None
    return sum(each.end - each.start for each in ranges if each is not None)


def _tasks_cell(row: ConnectorRow) -> Cell:
    text = tasks_text(row.connector.tasks)
    if row.unanswered is not None:
        return (UNKNOWN, "changed")
    if row.connector.tasks_in(connect.FAILED):
        return (text, "failed")
    return (text, "changed") if row.connector.tasks_in(connect.UNASSIGNED) else text


def _dead_text(row: ConnectorRow) -> str:
    if not row.dead_letters:
        return ""
    return row.dead_letters if row.waiting is None else f"{row.dead_letters}: {row.waiting:,}"


def _dead_cell(row: ConnectorRow) -> Cell:
    text = clean(_dead_text(row), 200)
    return (text, "danger") if row.waiting else text


def since_text(row: ConnectorRow) -> str:
    """Return the time of day from which on the connector and its tasks have had their states: ``09:41:07``; ``<
    09:41:07`` if they already had them when kac first read them; ``""`` if the states were not read.
    """
    if row.seen is None:
        return ""
    return f"{'< ' if row.seen.is_first else ''}{columns.clock(row.seen.since)}"


def _names(values: Sequence[str]) -> str:
    return ", ".join(values)


_BEHIND: columns.Column[ConnectorRow] = behind_column(lambda row: row.behind, columns.OVER_POLLS)

CONNECTORS: columns.Columns[ConnectorRow] = columns.Columns(
    columns.Column("name", columns.EVERYWHERE, layout=columns.on_screen((18, 60), "Connector", flex=1, sort_key="N")),
    columns.Column("cluster", columns.DATA, lambda row: row.cluster.name),
    columns.Column(
        "kind", get=lambda row: row.connector.kind, type="word", layout=columns.on_screen(6, priority=60, sort_key="K")
    ),
    columns.Column(
        "state",
        type="word",
        cell=lambda row: (clean(row.state, 30), state_meaning(row.state)),
        layout=columns.on_screen((7, 10), priority=97, sort_key="S"),
    ),
    columns.Column(
        "tasks",
        get=lambda row: tasks_text(row.connector.tasks),
        cell=_tasks_cell,
        layout=columns.on_screen((21, 40), priority=96, sort_key="T"),
        order=lambda row: (-len(row.connector.tasks_in(connect.FAILED)), -len(row.connector.tasks)),
    ),
    # The screen has one column for these three numbers; a filter can compare each of them.
    columns.Column("tasks_total", columns.DATA, lambda row: len(row.connector.tasks), "number"),
    columns.Column("tasks_running", columns.DATA, lambda row: len(row.connector.tasks_in(connect.RUNNING)), "number"),
    columns.Column("tasks_failed", columns.DATA, lambda row: len(row.connector.tasks_in(connect.FAILED)), "number"),
    columns.Column(
        "since",
        columns.SCREEN,
        lambda row: None if row.seen is None else row.seen.since.isoformat(),
        cell=since_text,
        order=lambda row: 0.0 if row.seen is None else -row.seen.since.timestamp(),
        layout=columns.on_screen((8, 10), priority=45, sort_key="I"),
    ),
    columns.Column(
        "lag",
        get=lambda row: columns.ABSENT if row.group is None else None if row.lag is None else row.lag.known_total,
        type="number",
        part=lambda row: row.lag is not None and row.lag.is_part,
        unknown=True,
        cell=lambda row: "" if row.group is None else "·" if row.lag is None else lag_total(row.lag),
        text=lambda row: "" if row.group is None else lag_total(row.lag),
        layout=columns.on_screen((6, 14), priority=85, sort_key="L"),
    ),
    _BEHIND._replace(
        get=lambda row: columns.ABSENT if row.group is None else _BEHIND.value(row),
        cell=lambda row: "" if row.group is None else _BEHIND.drawn(row),
    ),
    columns.Column(
        "worker", get=lambda row: row.connector.worker, layout=columns.on_screen((14, 32), priority=50, sort_key="W")
    ),
    columns.Column("class", columns.DATA | columns.DETAIL, lambda row: row.class_name),
    columns.Column("version", columns.DATA | columns.DETAIL, lambda row: row.version or None),
    columns.Column(
        "plugin",
        columns.SHOWN,
        lambda row: " ".join(filter(None, (row.class_name.rsplit(".", 1)[-1], row.version))),
        layout=columns.on_screen((22, 44), "Class", priority=55, sort_key="P"),
    ),
    columns.Column(
        "topics",
        columns.DATA | columns.SCREEN | columns.DETAIL,
        lambda row: [*row.topics],
        "names",
        cell=lambda row: clean(_names(row.topics), 200),
        order=lambda row: row.topics,
        layout=columns.on_screen((10, 40), priority=40),
    ),
    columns.Column(
        "group", columns.DATA | columns.DETAIL, lambda row: columns.ABSENT if row.group is None else row.group
    ),
    columns.Column(
        "dead_letters",
        columns.DATA | columns.SCREEN | columns.DETAIL,
        lambda row: row.dead_letters or None,
        cell=_dead_cell,
        layout=columns.on_screen((12, 40), priority=35),
    ),
    columns.Column(
        "dead_letter_records", columns.DATA | columns.DETAIL, lambda row: row.waiting, "number", unknown=True
    ),
    columns.Column(
        "cause",
        get=lambda row: row.cause or None,
        cell=lambda row: (clean(row.cause, LONGEST_CAUSE), "failed"),
        layout=columns.on_screen((16, 200), flex=2, priority=92),
    ),
    tie=lambda row: row.name,
    views=columns.EVERYWHERE | columns.DETAIL,
)
"""The columns of connectors. since: the time at which kac first saw the present states, with ``<`` before it if they
may be older.
"""


# -- tasks -------------------------------------------------------------------------------------------------------------

TASKS: columns.Columns[connect.Task] = columns.Columns(
    columns.Column(
        "task",
        get=lambda row: row.number,
        type="number",
        cell=lambda row: "itself" if row.number == ITSELF else str(row.number),
        order=lambda row: row.number,
        layout=columns.on_screen(6, sort_key="N"),
    ),
    columns.Column(
        "state",
        type="word",
        cell=lambda row: (clean(row.state, 30), state_meaning(row.state)),
        layout=columns.on_screen((8, 12), priority=97, sort_key="S"),
    ),
    columns.Column("worker", layout=columns.on_screen((14, 40), priority=90, sort_key="W")),
    columns.Column(
        "cause",
        get=lambda row: connect.cause_line(row.trace) or None,
        cell=lambda row: (clean(connect.cause_line(row.trace), LONGEST_CAUSE), "failed"),
        layout=columns.on_screen((20, 250), flex=1, priority=80),
    ),
    columns.Column("trace", columns.OBJECT, lambda row: row.trace or None),
)


ITSELF = -1
"""The number of the row that is the connector itself, in a table of its tasks."""


def task_title(task: connect.Task) -> str:
    """Return the title of a row: ``task 2``, or ``the connector itself``."""
    return "the connector itself" if task.number == ITSELF else f"task {task.number}"


def trace_lines(trace: str) -> list[Line]:
    """Return a stack trace with its root cause on top, with invisible characters escaped; a note if there is no
    trace.
    """
    if not trace.strip():
        return [[("no trace: it has not failed", "muted")]]
    lines: list[Line] = [[(clean(line.rstrip().expandtabs(4), 400), "")] for line in trace.splitlines()]
    return [[(clean(connect.cause_line(trace), 400), "failed")], [], *lines]


# -- a connector in detail ---------------------------------------------------------------------------------------------


def unanswered_line(row: ConnectorRow) -> Line:
    """Return why and since when the state of a connector is unknown, and its last known state; empty if its Connect
    cluster answered.
    """
    if row.unanswered is None:
        return []
    since = f"its last answer was at {columns.clock(row.answered_at)}" if row.answered_at else "it never answered"
    was = f"then it was {row.connector.state}, {tasks_text(row.connector.tasks)}"
    text = f"Connect {row.cluster.name} does not answer; {since}, {was}. {failure_text(row.unanswered)}"
    return [(clean(text, 800), "changed")]


def silent_line(snapshot: Snapshot, cluster: str = "") -> Line:
    """Return the error of a Connect cluster that did not answer the last read, and since when; empty if it answered.

    Args:
        cluster: the name of the Connect cluster; ``""`` for the first one that did not answer, with the number of the
            others.
    """
    silent = [
        each for each in snapshot.failures if each.part == Part.CONNECT and each.entity and cluster in ("", each.entity)
    ]
    if not silent:
        return []
    # Use one line: the reason of the first cluster is usually that of all.
    first = silent[0]
    known = snapshot.connect.get(first.entity)
    names = () if known is None else known.connectors
    places = (connect.connector_resource(first.entity, name) for name in names)
    times = [at for each in places if (at := snapshot.configs_at.get(each)) is not None]
    since = f" since {columns.clock(max(times))}" if times else ""
    more = f" (and {len(silent) - 1} more)" if len(silent) > 1 else ""
    what = f"Connect {clean(first.entity, 60)} does not answer{since}{more}: "
    return [(what, "failed"), (failure_text(first.failure), "")]


def connector_lines(row: ConnectorRow) -> list[Line]:
    """Return the lines with the details of a connector."""
    seen = ""
    if row.seen is not None:
        seen = f", since {'before ' if row.seen.is_first else ''}{columns.clock(row.seen.since)}"
    lines = [line for line in [unanswered_line(row)] if line]
    told = [
        ("state", f"{row.state}{seen}", state_meaning(row.state)),
        ("kind", row.connector.kind, ""),
        ("class", " ".join(filter(None, (row.class_name, row.version))), ""),
        ("worker", row.connector.worker, ""),
        ("tasks", tasks_text(row.connector.tasks), ""),
        ("topics", _names(row.topics) or connect.value_of(row.config, connect.PATTERN), ""),
    ]
    if row.group is not None:
        behind = columns.behind_text(row.behind)
        lag = "its lag is not known" if row.lag is None else f"{lag_total(row.lag)} records behind, {behind}"
        told.append(("group", f"{row.group}: {lag}", ""))
    if row.dead_letters:
        waits = "" if row.waiting is None else f": {row.waiting:,} records"
        told.append(("dead letters", f"{row.dead_letters}{waits}", "danger" if row.waiting else ""))
    lines += [[(f"{name:<14}", "muted"), (clean(value, 400), meaning)] for name, value, meaning in told if value]
    if cause := connect.cause_line(row.connector.trace):
        lines += [[], [("connector: ", "muted"), (clean(cause, 400), "failed")]]
    failed = row.connector.tasks_in(connect.FAILED)
    # Traces are long: separate them from the facts above by a blank line.
    lines += [[]] if failed else []
    for task in failed:
        where = f"task {task.number} on {clean(task.worker, 80)}: "
        lines.append([(where, "muted"), (clean(connect.cause_line(task.trace), 400), "failed")])
    return lines


# -- workers and plugins -----------------------------------------------------------------------------------------------


NO_ADDRESSES: Mapping[str, Sequence[str]] = MappingProxyType({})


class WorkerRow(NamedTuple):
    """A worker, by an address in the settings."""

    cluster: str
    worker: connect.Worker

    @property
    def problem(self) -> str:
        """The reason why the worker did not answer; ``""`` if it did."""
        return "" if self.worker.failure is None else failure_text(self.worker.failure)


def worker_rows(snapshot: Snapshot, named: Mapping[str, Sequence[str]] = NO_ADDRESSES) -> Iterator[WorkerRow]:
    """Yield the workers, by Connect cluster and address. If a Connect cluster did not answer, each of its workers has
    the failure of the cluster.

    Args:
        named: Connect cluster -> the addresses of its workers, for clusters that have never answered.
    """
    silent = {each.entity: each.failure for each in snapshot.failures if each.part == Part.CONNECT}
    for name in sorted({*snapshot.connect, *(named.keys() & silent.keys())}):
        known = snapshot.connect.get(name)
        workers = known.workers if known is not None else [connect.Worker(each) for each in sorted(named[name])]
        for each in workers:
            yield WorkerRow(name, replace(each, failure=silent[name]) if name in silent else each)


_CLUSTER_LAYOUT = columns.on_screen((8, 24), "Connect", priority=80, sort_key="C")

WORKERS: columns.Columns[WorkerRow] = columns.Columns(
    columns.Column("cluster", title="Connect", layout=_CLUSTER_LAYOUT),
    columns.Column(
        "address", get=lambda row: row.worker.address, layout=columns.on_screen((26, 60), "Worker", sort_key="N")
    ),
    columns.Column(
        "version",
        get=lambda row: row.worker.version or None,
        layout=columns.on_screen((6, 16), "Kafka", priority=70, sort_key="V"),
    ),
    columns.Column("commit", columns.DATA, lambda row: row.worker.commit or None),
    columns.Column(
        "kafka_cluster",
        get=lambda row: row.worker.kafka_cluster_id or None,
        layout=columns.on_screen((22, 24), priority=50),
    ),
    columns.Column(
        "problem",
        get=lambda row: row.problem or None,
        cell=lambda row: (clean(row.problem, 400), "failed"),
        layout=columns.on_screen((10, 200), flex=1, priority=90),
    ),
)


class PluginRow(NamedTuple):
    """An installed plugin, and the number of connectors that use it."""

    cluster: str
    plugin: connect.Plugin
    used: int
    """The number of connectors that use the plugin's class."""


def plugin_rows(snapshot: Snapshot) -> Iterator[PluginRow]:
    """Yield the installed plugins, by Connect cluster; within a cluster connectors first, then by kind and class."""
    for name in sorted(snapshot.connect):
        cluster = snapshot.connect[name]
        configs = (snapshot.configs.get(connect.connector_resource(name, each)) for each in cluster.connectors)
        used = [connect.value_of(config, connect.CLASS) for config in configs]
        for each in sorted(cluster.plugins, key=lambda one: (one.kind not in _FIRST, one.kind, one.class_name)):
            yield PluginRow(name, each, sum(connect.is_class(each.class_name, its) for its in used))


_FIRST = (connect.SOURCE, connect.SINK)

PLUGINS: columns.Columns[PluginRow] = columns.Columns(
    columns.Column("cluster", title="Connect", layout=_CLUSTER_LAYOUT),
    columns.Column(
        "class", get=lambda row: row.plugin.class_name, layout=columns.on_screen((20, 90), flex=1, sort_key="N")
    ),
    columns.Column(
        "kind",
        get=lambda row: row.plugin.kind,
        type="word",
        layout=columns.on_screen((6, 18), priority=90, sort_key="K"),
    ),
    columns.Column(
        "version",
        get=lambda row: row.plugin.version or None,
        layout=columns.on_screen((8, 24), priority=85, sort_key="V"),
    ),
    columns.Column(
        "connectors",
        get=lambda row: row.used,
        type="number",
        cell=lambda row: str(row.used or ""),
        layout=columns.on_screen((7, 8), "Used by", priority=60, sort_key="U"),
    ),
)


# -- loggers and offsets, which a pane reads for itself ----------------------------------------------------------------


class LoggerRow(NamedTuple):
    """A logger of the worker that answered, with its level."""

    cluster: str
    logger: connect.Logger


LOGGERS: columns.Columns[LoggerRow] = columns.Columns(
    columns.Column("cluster", title="Connect", layout=_CLUSTER_LAYOUT),
    columns.Column(
        "logger", get=lambda row: row.logger.name, layout=columns.on_screen((20, 100), flex=1, sort_key="N")
    ),
    columns.Column(
        "level",
        get=lambda row: row.logger.level,
        type="word",
        layout=columns.on_screen((6, 10), priority=90, sort_key="V"),
    ),
    columns.Column(
        "changed",
        get=lambda row: row.logger.changed_ms,
        type="number",
        left=True,
        cell=lambda row: _utc(row.logger.changed_ms),
        layout=columns.on_screen((8, 20), priority=60),
    ),
)


def _utc(at_ms: int | None) -> str:
    return "" if at_ms is None else utc_time(at_ms)


class OffsetRow(NamedTuple):
    """A partition and an offset of a connector, both in the connector's own form, as JSON."""

    partition: str
    offset: str


OFFSETS: columns.Columns[OffsetRow] = columns.Columns(
    columns.Column("partition", layout=columns.on_screen((20, 120), flex=1, sort_key="N")),
    columns.Column("offset", layout=columns.on_screen((10, 120), flex=1, priority=90)),
)
