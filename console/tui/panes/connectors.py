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
    """A table of data that Connect's workers returned. kac sends them requests only if the context names a Connect
    cluster.
    """

    PARTS = frozenset({Part.CONNECT})
    NEEDS: ClassVar[str] = Part.CONNECT
    MARKS = False

    @property
    def is_named(self) -> bool:
        """Whether the context names a Connect cluster."""
        return bool(self.session.context.settings.connect)

    def known(self) -> bool:
        """Return whether the Connect clusters were read; True also if the context names none."""
        return super().known() or not self.is_named

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the Connect clusters, related data, and the place."""
        known = self.snapshot
        return known.connect, known.configs, known.connect_seen, known.lags, known.log_ranges, self.place

    def empty_text(self) -> str:
        """Return the text of a table without rows: if the context names no Connect cluster, how to name one; else
        the usual text.
        """
        return super().empty_text() if self.is_named else wrapped(connectors.NOT_NAMED, self.app.size.width)

    def note(self) -> Line:
        """Return the text for the message line: why and since when a Connect cluster does not answer."""
        return connectors.silent_line(self.snapshot) or super().note()


class ConnectorsView(_OfConnect[connectors.ConnectorRow]):
    """One row for each connector; Enter shows the connector's tasks."""

    NAME = keymap.CONNECTORS
    ENTER = "tasks"
    CALM = "no connector is in trouble"
    NOUN = connectors.CONNECTORS
    EMPTY = "no connectors: n creates one"

    async def read_more(self) -> None:
        """Read the lag of the sinks' groups, and the number of records in the dead-letter topics. No-op if the context
        names no Connect cluster.
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
        """Return the connectors in order of name."""
        return [*connectors.connector_rows(self.snapshot)]

    def key(self, row: connectors.ConnectorRow) -> Hashable:
        """Return the row's key: kac's name of the connector, which includes its Connect cluster."""
        return row.name

    def words(self, row: connectors.ConnectorRow) -> str:
        """Return the text that the filter searches: name, kind, states, worker, class, topics and the cause of a
        failure.
        """
        states = " ".join(dict.fromkeys((row.state, *(task.state for task in row.connector.tasks))))
        topics = " ".join((*row.topics, row.dead_letters))
        return f"{row.name} {row.connector.kind} {states} {row.connector.worker} {row.class_name} {topics} {row.cause}"

    def in_trouble(self, row: connectors.ConnectorRow) -> bool:
        """Return whether the connector or a task failed, a task has no worker, or the Connect cluster does not
        answer.
        """
        return row.in_trouble

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of connectors in trouble, and of all."""
        bad = sum(row.in_trouble for row in connectors.connector_rows(self.snapshot))
        return [*([(f"{bad:,} in trouble  ", "failed")] if bad else []), *super().status()]

    def details(self, row: connectors.ConnectorRow) -> list[Line]:
        """Return the connector's name as title, then its details."""
        return [[(f"connector {clean(row.name, 100)}", "")], *connectors.connector_lines(row)]

    async def enter(self, row: connectors.ConnectorRow) -> None:
        """Show the connector's tasks."""
        about = connect.connector_resource(row.cluster.name, row.connector.name)
        await self._navigator.goto(Place(keymap.CONNECTOR, self.place.pane, about))

    def target_of(self, row: connectors.ConnectorRow) -> ConfigResource:
        """Return the config resource of the connector."""
        return connect.connector_resource(row.cluster.name, row.connector.name)

    def copied_of(self, row: connectors.ConnectorRow) -> str:
        """Return the text that `y` copies: kac's name of the connector."""
        return row.name

    def do_pause_connector(self) -> None:
        """Open the command bar with the command that pauses the connector."""
        self.begin_command(lambda row: f"pause connector {quote(row.name)}")

    def do_resume_connector(self) -> None:
        """Open the command bar with the command that resumes the connector."""
        self.begin_command(lambda row: f"resume connector {quote(row.name)}")

    def do_stop_connector(self) -> None:
        """Open the command bar with the command that stops the connector."""
        self.begin_command(lambda row: f"stop connector {quote(row.name)}")

    def do_restart_connector(self) -> None:
        """Open the command bar with the command that restarts the connector; if some of its instances (connector and
        tasks) failed, only these.
        """
        self.begin_command(
            lambda row: f"restart connector {quote(row.name)}{' failed' if row.connector.failed else ''}"
        )

    def do_create_connector(self) -> None:
        """Open the command bar with the command that creates a connector in the Connect cluster of the connector under
        the cursor.
        """
        row, named = self.row(), self.session.context.settings.connect
        cluster = row.cluster.name if row is not None else named[0].name if named else ""
        self._editing.begin(f"create connector {quote(cluster)}/")

    def do_delete_connector(self) -> None:
        """Open the command bar with the command that deletes the connector."""
        self.begin_command(lambda row: f"delete connector {quote(row.name)}")


class _OfOne(_OfConnect[Row]):
    """A table about one connector, which the place names."""

    ROWS_ARE_PARTS = True

    @property
    def connector(self) -> ConfigResource:
        """The config resource of the connector that the place names."""
        about = self.place.about
        return about if isinstance(about, ConfigResource) else connect.connector_resource("", "")

    def found(self) -> connectors.ConnectorRow | None:
        """Return the connector's row in the pane of connectors; None if the connector does not exist."""
        rows = connectors.connector_rows(self.snapshot)
        return next((row for row in rows if row.name == self.connector.name), None)

    def note(self) -> Line:
        """Return the text for the message line: why and since when the connector's Connect cluster does not answer."""
        return connectors.silent_line(self.snapshot, connect.split_name(self.connector.name)[0])

    def target(self) -> ConfigResource:
        """Return the connector's config resource, for a command that names no entity."""
        return self.connector


class ConnectorView(_OfOne[connect.Task]):
    """One row for the connector itself, then one for each of its tasks; Enter shows the whole stack trace."""

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
        """Return the row's key: the number of the task; `ITSELF` for the connector's own row."""
        return row.number

    def words(self, row: connect.Task) -> str:
        """Return the text that the filter searches: number, state, worker and stack trace."""
        return f"{row.number} {row.state} {row.worker} {row.trace}"

    def in_trouble(self, row: connect.Task) -> bool:
        """Return whether the task failed, or has no worker."""
        return row.state in (connect.FAILED, connect.UNASSIGNED)

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the states of the tasks."""
        row = self.found()
        if row is None:
            return super().status()
        tasks = f"  {connectors.tasks_text(row.connector.tasks)}  since {connectors.since_text(row)}"
        return [(clean(row.state, 30), connectors.state_meaning(row.state)), (tasks, "")]

    def details(self, row: connect.Task) -> list[Line]:
        """Return the task as title, then the lines of its stack trace."""
        return [[(connectors.task_title(row), "")], *connectors.trace_lines(row.trace)]

    async def enter(self, row: connect.Task) -> None:
        """Show the whole stack trace on a screen above the panes."""
        title = f"{clean(self.connector.name, 80)} {connectors.task_title(row)}"
        self.show_text(title, lambda width: wrap_all(connectors.trace_lines(row.trace), width, 4))

    def copied_of(self, row: connect.Task) -> str:
        """Return the text that `y` copies: the stack trace; ``""`` if there is none."""
        return row.trace

    def do_restart_connector(self) -> None:
        """Open the command bar with the command that restarts the task; on the connector's own row, its failed
        instances.
        """
        name = quote(self.connector.name)
        self.begin_command(
            lambda row: (
                f"restart connector {name} {'failed' if row.number == connectors.ITSELF else f'task {row.number}'}"
            )
        )


class _Asked(_OfConnect[Row]):
    """A table that is read from Connect's workers while it is visible, and is not part of the snapshot."""

    NEEDS: ClassVar[str] = ""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._answer: Sequence[Row] = ()
        self._answered: tuple[object, ...] = ()
        self._failure: Failure | None = None

    def _place(self) -> tuple[object, ...]:
        return self.session, self.place.about

    def known(self) -> bool:
        """Return whether a read of the rows for this place has ended, with or without success; True also if the context
        names no Connect cluster.
        """
        return self._answered == self._place() or not self.is_named

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the rows that were read, and the failure."""
        return self._answer, self._failure, self.place

    async def read(self) -> None:
        """Read the rows from the workers, if the context names a Connect cluster. A failure is shown in place of the
        table.
        """
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
        """Return the rows from the workers. Subclasses implement it. Raises AdminError."""
        raise NotImplementedError

    def rows(self) -> Sequence[Row]:
        """Return the rows that were read last."""
        return self._answer if self._answered == self._place() else ()

    def empty_text(self) -> str:
        """Return the error of the last read, if it failed; else the usual text."""
        if self._failure is None:
            return super().empty_text()
        return wrapped(failure_text(self._failure), self.app.size.width)

    def note(self) -> Line:
        """Return the text for the message line: the error of the last read, if it failed; else the usual note."""
        return [(failure_text(self._failure), "failed")] if self._failure is not None else super().note()


class ConnectorOffsetsView(_Asked[connectors.OffsetRow], _OfOne[connectors.OffsetRow]):
    """The source offsets or committed offsets of a connector, in the connector's own JSON form (KIP-875)."""

    NAME = keymap.CONNECTOR_OFFSETS
    NOUN = connectors.OFFSETS
    EMPTY = "it has no offsets"

    async def ask(self) -> Sequence[connectors.OffsetRow]:
        """Read and return the connector's offsets. Raises AdminError."""
        from console.admin.connect import describe_offsets

        found = await self.session.client.run(describe_offsets, self.connector.name)
        forms = ((each.partition, each.offset) for each in found)
        rows = (connectors.OffsetRow(*(json_text(form)[:LONGEST_OFFSET] for form in pair)) for pair in forms)
        return tuple(rows)

    def key(self, row: connectors.OffsetRow) -> Hashable:
        """Return the row's key: the partition in the connector's own form, as JSON."""
        return row.partition

    def copied_of(self, row: connectors.OffsetRow) -> str:
        """Return the text that `y` copies: the offset as JSON."""
        return row.offset


class ConnectLoggersView(_Asked[connectors.LoggerRow]):
    """The loggers of one worker of each Connect cluster, with their levels."""

    NAME = keymap.CONNECT_LOGGERS
    NOUN = connectors.LOGGERS
    EMPTY = "the workers name no loggers"

    async def ask(self) -> Sequence[connectors.LoggerRow]:
        """Read and return the loggers of the Connect clusters that answer. Raises AdminError if none answers."""
        from console.admin.connect import describe_loggers

        found, failures = await self.session.client.run(describe_loggers)
        # Show only the clusters that answer; other panes report the silent workers of the others.
        if failures and not found:
            raise AdminError(next(iter(failures.values())))
        return tuple(connectors.LoggerRow(*each) for each in found)

    def key(self, row: connectors.LoggerRow) -> Hashable:
        """Return the row's key: the Connect cluster and the logger's name."""
        return row.cluster, row.logger.name

    def words(self, row: connectors.LoggerRow) -> str:
        """Return the text that the filter searches: Connect cluster, name and level."""
        return f"{row.cluster} {row.logger.name} {row.logger.level}"


class ConnectWorkersView(_OfConnect[connectors.WorkerRow]):
    """One row for each worker's address that the context names."""

    NAME = keymap.CONNECT_WORKERS
    CALM = "all workers answer"
    NOUN = connectors.WORKERS
    EMPTY = "no Connect cluster answered"

    def rows(self) -> Sequence[connectors.WorkerRow]:
        """Return the workers in order of Connect cluster and address."""
        return self._workers()

    def _workers(self) -> list[connectors.WorkerRow]:
        named = self.session.context.settings.connect
        return [*connectors.worker_rows(self.snapshot, {each.name: [*map(str, each.workers)] for each in named})]

    def key(self, row: connectors.WorkerRow) -> Hashable:
        """Return the row's key: the Connect cluster and the worker's address."""
        return row.cluster, row.worker.address

    def words(self, row: connectors.WorkerRow) -> str:
        """Return the text that the filter searches: Connect cluster, address, version and problem."""
        return f"{row.cluster} {row.worker.address} {row.worker.version} {row.problem}"

    def in_trouble(self, row: connectors.WorkerRow) -> bool:
        """Return whether the worker did not answer."""
        return row.worker.failure is not None

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of workers that do not answer, and of all."""
        silent = sum(row.worker.failure is not None for row in self._workers())
        line: Line = [(f"{plural(silent, 'worker')} silent  ", "failed")] if silent else []
        return [*line, *super().status()]

    def copied_of(self, row: connectors.WorkerRow) -> str:
        """Return the text that `y` copies: the worker's address."""
        return row.worker.address


class ConnectPluginsView(_OfConnect[connectors.PluginRow]):
    """One row for each version of a plugin that a Connect cluster has installed."""

    NAME = keymap.CONNECT_PLUGINS
    NOUN = connectors.PLUGINS
    EMPTY = "the workers name no plugins"

    def rows(self) -> Sequence[connectors.PluginRow]:
        """Return the plugins, connectors first."""
        return [*connectors.plugin_rows(self.snapshot)]

    def key(self, row: connectors.PluginRow) -> Hashable:
        """Return the row's key: Connect cluster, class, kind and version."""
        return row.cluster, row.plugin

    def words(self, row: connectors.PluginRow) -> str:
        """Return the text that the filter searches: Connect cluster, class, kind and version."""
        return f"{row.cluster} {row.plugin.class_name} {row.plugin.kind} {row.plugin.version}"

    def copied_of(self, row: connectors.PluginRow) -> str:
        """Return the text that `y` copies: the name of the plugin's class."""
        return row.plugin.class_name
