"""The state of Connect's workers, connectors and tasks, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

STARTED, PAUSED, STOPPED = "STARTED", "PAUSED", "STOPPED"
"""The states that a connector may be asked to have. A started connector runs."""
RUNNING, FAILED, UNASSIGNED, RESTARTING = "RUNNING", "FAILED", "UNASSIGNED", "RESTARTING"


class Refused(Exception):
    """A worker refuses a request.

    Attributes:
        status: the HTTP status, which the response also has as its error code.
        text: the message.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Task(Struct, frozen=True):
    """A task of a connector: its number, its state, and the worker that runs it."""

    number: int
    """The number of the task, from 0."""
    worker: int
    """The number of the worker that runs the task."""
    state: str
    trace: str | None = None
    """The stack trace of the error with which the task failed; None if it did not fail."""


Offset = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A partition of a source's system, and the source's offset in it, both as JSON objects."""


class Connector(Struct, frozen=True):
    """A connector, with its config, its state and its tasks."""

    name: str
    config: Mapping[str, str]
    target: str
    """The target state: STARTED, PAUSED or STOPPED."""
    worker: int
    state: str
    tasks: tuple[Task, ...] = ()
    topics: tuple[str, ...] = ()
    """The topics that the connector has used."""
    offsets: tuple[Offset, ...] = ()
    """The offsets of a source. Empty for a sink, whose offsets are those of its consumer group."""


class Worker(Struct, frozen=True):
    """A worker: its number, whether it is running, and which folders it lacks."""

    number: int
    """The number of the worker, from 1."""
    missing: tuple[str, ...] = ()
    """The folders that do not exist for this worker, so that tasks of sinks into them fail on it."""
    is_up: bool = True


class ConnectState(Struct, frozen=True):
    """The state that all workers share: number -> worker, and name -> connector."""

    workers: Mapping[int, Worker]
    connectors: Mapping[str, Connector]

    def connector(self, name: str, unknown: str = "Connector {} not found") -> Connector:
        """Return the connector with this name. Raises Refused if there is none. unknown: the text of that refusal."""
        if (found := self.connectors.get(name)) is None:
            raise Refused(404, unknown.format(name))
        return found

    def with_connector(self, connector: Connector) -> ConnectState:
        """Return the state with a connector added or replaced."""
        return replace(self, connectors={**self.connectors, connector.name: connector})

    def without(self, name: str) -> ConnectState:
        """Return the state without this connector. Raises Refused if there is none."""
        self.connector(name)
        return replace(self, connectors={key: each for key, each in self.connectors.items() if key != name})

    def up(self) -> tuple[int, ...]:
        """Return the numbers of the running workers."""
        return tuple(number for number, each in self.workers.items() if each.is_up)

    def next_worker(self) -> int:
        """Return the number of the running worker with the fewest connectors and tasks, which gets the next one."""
        load = dict.fromkeys(self.up(), 0)
        for connector in self.connectors.values():
            for number in (connector.worker, *(task.worker for task in connector.tasks)):
                if number in load:
                    load[number] += 1
        return min(load, key=lambda number: load[number])
