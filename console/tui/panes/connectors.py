"""Connectors of Kafka Connect, the tasks and offsets of one connector, and the workers, plugins and loggers of the
Connect clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from console.admin.errors import AdminError
from console.language.quoting import quote
from console.model import connect
from console.model.config import ConfigResource
from console.model.failure import Failure
from console.model.numbers import json_text
from console.model.parts import Part
from console.present import connectors
from console.present.failures import failure_text, wrapped
from console.present.names import plural
from console.present.text import Line, clean
from console.session.connector_reads import read_dead_letters, sink_groups
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.panes.table import Row
from console.tui.places import Place
from console.tui.text_lines import wrap_all
from console.tui.tools import Tools

LONGEST_OFFSET = 1_000
"""Maximum length of an offset on the screen in characters."""


class _OfConnect(DetailsView[Row]):
    """A table of answers from the workers of Connect. kac asks them only if the context names some."""

    PARTS = frozenset({Part.CONNECT})
    NEEDS: ClassVar[str] = Part.CONNECT
    MARKS = False

    @property
    def is_named(self) -> bool:
        """Whether the context names a Connect cluster."""
        return bool(self.session.context.settings.connect)

    def known(self) -> bool:
        """Return whether Connect was read, or there is nothing to read."""
        return super().known() or not self.is_named

    def inputs(self) -> tuple[object, ...]:
        """Return the Connect clusters, the data around them, and the place."""
        known = self.snapshot
        return known.connect, known.configs, known.connect_seen, known.lags, known.log_ranges, self.place

    def empty_text(self) -> str:
        """Return the way to name a Connect cluster, if the context names none."""
        return super().empty_text() if self.is_named else wrapped(connectors.NOT_NAMED, self.app.size.width)

    def note(self) -> Line:
        """Return the reason why a Connect cluster did not answer, and since when."""
        return connectors.silent_line(self.snapshot) or super().note()


class ConnectorsView(_OfConnect[connectors.ConnectorRow]):
    """One row for each connector; Enter shows its tasks."""

    NAME = keymap.CONNECTORS
    ENTER = "tasks"
    CALM = "no connector is in trouble"
    NOUN = connectors.CONNECTORS
    EMPTY = "no connectors: n creates one"

    async def read_more(self) -> None:
        """Read the lag of the sinks' groups, and the records in the topics of dead letters, if the context names a
        Connect cluster.
        """
        session = self.session
        if not self.is_named:
            return
        # List the groups first, and only once: the lag of a sink's group can't be read unless the group is listed.
        if Part.GROUPS not in self.snapshot.read_at:
            await session.read_whole(Part.GROUPS)
        await session.poll_groups(sink_groups(self.snapshot))
        await session.keep(read_dead_letters(session.client, self.snapshot))

    def rows(self) -> Sequence[connectors.ConnectorRow]:
        """Return the connectors by name."""
        return [*connectors.connector_rows(self.snapshot)]

    def key(self, row: connectors.ConnectorRow) -> Hashable:
        """Return kac's name of the connector."""
        return row.name

    def words(self, row: connectors.ConnectorRow) -> str:
        """Return name, kind, states, worker, class, topics and the cause of a failure."""
        states = " ".join(dict.fromkeys((row.state, *(task.state for task in row.connector.tasks))))
        topics = " ".join((*row.topics, row.dead_letters))
        return f"{row.name} {row.connector.kind} {states} {row.connector.worker} {row.class_name} {topics} {row.cause}"

    def in_trouble(self, row: connectors.ConnectorRow) -> bool:
        """Return whether the connector or a task failed, a task has no worker, or the cluster does not answer."""
        return row.in_trouble

    def status(self) -> Line:
        """Return the number of connectors in trouble, and of all."""
        bad = sum(row.in_trouble for row in connectors.connector_rows(self.snapshot))
        return [*([(f"{bad:,} in trouble  ", "failed")] if bad else []), *super().status()]

    def details(self, row: connectors.ConnectorRow) -> list[Line]:
        """Return the details of the connector."""
        return [[(f"connector {clean(row.name, 100)}", "")], *connectors.connector_lines(row)]

    async def enter(self, row: connectors.ConnectorRow) -> None:
        """Show the connector's tasks."""
        about = connect.connector_resource(row.cluster.name, row.connector.name)
        await self._navigator.goto(Place(keymap.CONNECTOR, self.place.pane, about))

    def target_of(self, row: connectors.ConnectorRow) -> ConfigResource:
        """Return the resource of the connector's config."""
        return connect.connector_resource(row.cluster.name, row.connector.name)

    def copied_of(self, row: connectors.ConnectorRow) -> str:
        """Return kac's name of the connector."""
        return row.name

    def do_pause_connector(self) -> None:
        """Begin the command that pauses the connector."""
        self.begin_command(lambda row: f"pause connector {quote(row.name)}")

    def do_resume_connector(self) -> None:
        """Begin the command that resumes the connector."""
        self.begin_command(lambda row: f"resume connector {quote(row.name)}")

    def do_stop_connector(self) -> None:
        """Begin the command that stops the connector."""
        self.begin_command(lambda row: f"stop connector {quote(row.name)}")

    def do_restart_connector(self) -> None:
        """Begin the command that restarts the connector; only its failed instances, if there are any."""
        self.begin_command(
            lambda row: f"restart connector {quote(row.name)}{' failed' if row.connector.failed else ''}"
        )

    def do_create_connector(self) -> None:
        """Begin the command that creates a connector, in the Connect cluster of the one under the cursor."""
        row, named = self.row(), self.session.context.settings.connect
        cluster = row.cluster.name if row is not None else named[0].name if named else ""
        self._editing.begin(f"create connector {quote(cluster)}/")

    def do_delete_connector(self) -> None:
        """Begin the command that deletes the connector."""
        self.begin_command(lambda row: f"delete connector {quote(row.name)}")


class _OfOne(_OfConnect[Row]):
    """A table of one connector."""

    ROWS_ARE_PARTS = True

    @property
    def connector(self) -> ConfigResource:
        """The connector of the place."""
        about = self.place.about
        return about if isinstance(about, ConfigResource) else connect.connector_resource("", "")

    def found(self) -> connectors.ConnectorRow | None:
        """Return the connector as the pane of connectors shows it; None if there is no such connector."""
        rows = connectors.connector_rows(self.snapshot)
        return next((row for row in rows if row.name == self.connector.name), None)

    def note(self) -> Line:
        """Return the reason why the connector's cluster did not answer, and since when."""
        return connectors.silent_line(self.snapshot, connect.split_name(self.connector.name)[0])

    def target(self) -> ConfigResource:
        """Return the connector's config, to which commands apply."""
        return self.connector


class ConnectorView(_OfOne[connect.Task]):
    """One row for each task of a connector, below one for the connector itself; Enter shows the whole trace."""

    NAME = keymap.CONNECTOR
    ENTER = "trace"
    CALM = "no task has failed"
    NOUN = connectors.TASKS
    EMPTY = "it has no tasks"

    def rows(self) -> Sequence[connect.Task]:
        """Return the connector itself, and its tasks; empty if the connector does not exist."""
        row = self.found()
        if row is None:
            return []
        its = row.connector
        return [connect.Task(connectors.ITSELF, its.state, its.worker, its.trace), *its.tasks]

    def key(self, row: connect.Task) -> Hashable:
        """Return the number of the task."""
        return row.number

    def words(self, row: connect.Task) -> str:
        """Return number, state, worker and trace."""
        return f"{row.number} {row.state} {row.worker} {row.trace}"

    def in_trouble(self, row: connect.Task) -> bool:
        """Return whether the task failed, or has no worker."""
        return row.state in (connect.FAILED, connect.UNASSIGNED)

    def status(self) -> Line:
        """Return the states of the tasks."""
        row = self.found()
        if row is None:
            return super().status()
        tasks = f"  {connectors.tasks_text(row.connector.tasks)}  since {connectors.since_text(row)}"
        return [(clean(row.state, 30), connectors.state_meaning(row.state)), (tasks, "")]

    def details(self, row: connect.Task) -> list[Line]:
        """Return the title of the task, and the lines of its stack trace."""
        return [[(connectors.task_title(row), "")], *connectors.trace_lines(row.trace)]

    async def enter(self, row: connect.Task) -> None:
        """Show the trace."""
        title = f"{clean(self.connector.name, 80)} {connectors.task_title(row)}"
        self.show_text(title, lambda width: wrap_all(connectors.trace_lines(row.trace), width, 4))

    def copied_of(self, row: connect.Task) -> str:
        """Return the stack trace, for `y` to copy; ``""`` without one."""
        return row.trace

    def do_restart_connector(self) -> None:
        """Begin the command that restarts the task, or the failed instances of the connector."""
        name = quote(self.connector.name)
        self.begin_command(
            lambda row: (
                f"restart connector {name} {'failed' if row.number == connectors.ITSELF else f'task {row.number}'}"
            )
        )


class _Asked(_OfConnect[Row]):
    """A table that kac asks the workers for only while it is visible: no snapshot has it."""

    NEEDS: ClassVar[str] = ""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._answer: Sequence[Row] = ()
        self._answered: tuple[object, ...] = ()
        self._failure: Failure | None = None

    def _place(self) -> tuple[object, ...]:
        return self.session, self.place.about

    def known(self) -> bool:
        """Return whether the workers answered for this place, or refused."""
        return self._answered == self._place() or not self.is_named

    def inputs(self) -> tuple[object, ...]:
        """Return the answer and the failure."""
        return self._answer, self._failure, self.place

    async def read(self) -> None:
        """Ask the workers, if the context names a Connect cluster; a refusal is shown in the table's place."""
        if not self.is_named:
            return
        place = self._place()
        answer: Sequence[Row] = ()
        failure = None
        try:
            answer = await self.ask()
        except AdminError as error:
            failure = error.failure
        # The operator may have gone to another connector while the workers answered.
        if place == self._place():
            if (answer, failure, place) != (self._answer, self._failure, self._answered):
                self._answer, self._failure, self._answered = answer, failure, place
            self.update()

    async def ask(self) -> Sequence[Row]:
        """Return the rows. Raises AdminError."""
        raise NotImplementedError

    def rows(self) -> Sequence[Row]:
        """Return the last answer."""
        return self._answer if self._answered == self._place() else ()

    def empty_text(self) -> str:
        """Return the error of the workers, if they did not answer."""
        if self._failure is None:
            return super().empty_text()
        return wrapped(failure_text(self._failure), self.app.size.width)

    def note(self) -> Line:
        """Return the error of the workers, if they did not answer."""
        return [(failure_text(self._failure), "failed")] if self._failure is not None else super().note()


class ConnectorOffsetsView(_Asked[connectors.OffsetRow], _OfOne[connectors.OffsetRow]):
    """The offsets of a connector in its own form (KIP-875)."""

    NAME = keymap.CONNECTOR_OFFSETS
    NOUN = connectors.OFFSETS
    EMPTY = "it has no offsets"

    async def ask(self) -> Sequence[connectors.OffsetRow]:
        """Return the offsets. Raises AdminError."""
        from console.admin.connect import describe_offsets

        found = await self.session.client.run(describe_offsets, self.connector.name)
        forms = ((each.partition, each.offset) for each in found)
        rows = (connectors.OffsetRow(*(json_text(form)[:LONGEST_OFFSET] for form in pair)) for pair in forms)
        return tuple(rows)

    def key(self, row: connectors.OffsetRow) -> Hashable:
        """Return the partition in the connector's own form, as JSON."""
        return row.partition

    def copied_of(self, row: connectors.OffsetRow) -> str:
        """Return the offset as JSON, for `y` to copy."""
        return row.offset


class ConnectLoggersView(_Asked[connectors.LoggerRow]):
    """The loggers of a worker of each Connect cluster, with their levels."""

    NAME = keymap.CONNECT_LOGGERS
    NOUN = connectors.LOGGERS
    EMPTY = "the workers name no loggers"

    async def ask(self) -> Sequence[connectors.LoggerRow]:
        """Return the loggers. Raises AdminError."""
        from console.admin.connect import describe_loggers

        found, failures = await self.session.client.run(describe_loggers)
        # Show only the clusters that answer; other panes report the silent workers of the others.
        if failures and not found:
            raise AdminError(next(iter(failures.values())))
        return tuple(connectors.LoggerRow(*each) for each in found)

    def key(self, row: connectors.LoggerRow) -> Hashable:
        """Return cluster and name."""
        return row.cluster, row.logger.name

    def words(self, row: connectors.LoggerRow) -> str:
        """Return cluster, name and level."""
        return f"{row.cluster} {row.logger.name} {row.logger.level}"


class ConnectWorkersView(_OfConnect[connectors.WorkerRow]):
    """The workers that the context names."""

    NAME = keymap.CONNECT_WORKERS
    CALM = "all workers answer"
    NOUN = connectors.WORKERS
    EMPTY = "no Connect cluster answered"

    def rows(self) -> Sequence[connectors.WorkerRow]:
        """Return the workers by cluster and address."""
        return self._workers()

    def _workers(self) -> list[connectors.WorkerRow]:
        named = self.session.context.settings.connect
        return [*connectors.worker_rows(self.snapshot, {each.name: [*map(str, each.workers)] for each in named})]

    def key(self, row: connectors.WorkerRow) -> Hashable:
        """Return cluster and address."""
        return row.cluster, row.worker.address

    def words(self, row: connectors.WorkerRow) -> str:
        """Return cluster, address, version and problem."""
        return f"{row.cluster} {row.worker.address} {row.worker.version} {row.problem}"

    def in_trouble(self, row: connectors.WorkerRow) -> bool:
        """Return whether the worker did not answer."""
        return row.worker.failure is not None

    def status(self) -> Line:
        """Return the number of silent workers, and of all."""
        silent = sum(row.worker.failure is not None for row in self._workers())
        line: Line = [(f"{plural(silent, 'worker')} silent  ", "failed")] if silent else []
        return [*line, *super().status()]

    def copied_of(self, row: connectors.WorkerRow) -> str:
        """Return the worker's address, for `y` to copy."""
        return row.worker.address


class ConnectPluginsView(_OfConnect[connectors.PluginRow]):
    """The installed plugins with their versions."""

    NAME = keymap.CONNECT_PLUGINS
    NOUN = connectors.PLUGINS
    EMPTY = "the workers name no plugins"

    def rows(self) -> Sequence[connectors.PluginRow]:
        """Return the plugins, connectors first."""
        return [*connectors.plugin_rows(self.snapshot)]

    def key(self, row: connectors.PluginRow) -> Hashable:
        """Return cluster, class, kind and version."""
        return row.cluster, row.plugin

    def words(self, row: connectors.PluginRow) -> str:
        """Return cluster, class, kind and version."""
        return f"{row.cluster} {row.plugin.class_name} {row.plugin.kind} {row.plugin.version}"

    def copied_of(self, row: connectors.PluginRow) -> str:
        """Return the name of the plugin's class, for `y` to copy."""
        return row.plugin.class_name
