"""The rules by which Connect's workers change their shared state (DistributedHerder). Pure functions.

Changes take effect at once, so a connector always has its tasks; real workers may for a moment return one without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from msgspec.structs import replace

from console.embedded.connect import state as states
from console.embedded.connect.definitions import TRACED_FILE, ConnectRelease, Plugin
from console.embedded.connect.state import Connector, ConnectState, Task, Worker


@dataclass(frozen=True, slots=True)
class Herder:
    """The rules by which the workers of a release change their state."""

    release: ConnectRelease

    def plugin(self, connector: Connector) -> Plugin | None:
        """Return the plugin of a connector; None if the release has no plugin with the class in its config."""
        return self.release.connector(connector.config.get("connector.class", ""))

    def kind(self, connector: Connector) -> str:
        """Return ``source``, ``sink`` or ``unknown``."""
        plugin = self.plugin(connector)
        return "unknown" if plugin is None else plugin.kind

    def task_config(self, connector: Connector) -> dict[str, str]:
        """Return the config that each task of a connector gets: the connector's own, as the file connectors do it."""
        plugin = self.plugin(connector)
        own = {"task.class": plugin.name.removesuffix("Connector") + "Task"} if plugin else {}
        return {**connector.config, **own}

    def configured(
        self, state: ConnectState, name: str, config: Mapping[str, str], target: str | None = None
    ) -> ConnectState:
        """Return the state after a connector was created or its config was replaced; its tasks start again.

        Args:
            config: the config, which the caller has validated.
            target: the connector's target state; None to keep the present one, or to run a new connector.
        """
        former = state.connectors.get(name)
        if former is None:
            new = Connector(name, dict(config), target or states.STARTED, state.next_worker(), states.RUNNING)
            return self.settled(state.with_connector(new), name)
        changed = replace(former, config=dict(config), target=target or former.target, tasks=())
        return self.settled(state.with_connector(changed), name)

    def targeted(self, state: ConnectState, name: str, target: str) -> ConnectState:
        """Return the state in which a connector has this target state. Raises Refused if there is no such connector."""
        connector = state.connector(name, "Unknown connector {}")
        return self.settled(state.with_connector(replace(connector, target=target)), name)

    def settled(self, state: ConnectState, name: str) -> ConnectState:
        """Return the state in which the tasks of a connector correspond to its target state and config. Failed and
        unassigned tasks stay as they are.
        """
        connector = state.connectors[name]
        if connector.target == states.STOPPED:
            return state.with_connector(replace(connector, state=states.STOPPED, tasks=()))
        shown = states.RUNNING if connector.target == states.STARTED else states.PAUSED
        state = state.with_connector(replace(connector, state=shown))
        # A connector that was created as paused, or that was stopped, gets its tasks only when it runs.
        if connector.target == states.PAUSED and not connector.tasks:
            return state
        for number in range(self.task_count(connector)):
            task = next((each for each in connector.tasks if each.number == number), None)
            if task is not None and task.state in (states.FAILED, states.UNASSIGNED):
                continue
            worker = state.next_worker() if task is None else task.worker
            state = self._with_task(state, name, Task(number, worker, shown))
        return state

    def task_count(self, connector: Connector) -> int:
        """Return the number of a connector's tasks: one for a source that reads a file, tasks.max for a sink."""
        return int(connector.config.get("tasks.max", "1")) if self.kind(connector) == "sink" else 1

    def restarted(self, state: ConnectState, name: str, tasks: frozenset[int]) -> ConnectState:
        """Return the state after these tasks of a connector were restarted."""
        connector = state.connectors[name]
        shown = states.RUNNING if connector.target == states.STARTED else states.PAUSED
        for task in connector.tasks:
            if task.number in tasks:
                state = self._with_task(state, name, Task(task.number, task.worker, shown))
        return state

    def _with_task(self, state: ConnectState, name: str, task: Task) -> ConnectState:
        """Return the state with this task started. If the folder of a sink task's file is missing on its worker, the
        task becomes FAILED.
        """
        connector = state.connectors[name]
        folders = state.workers[task.worker].missing
        file = connector.config.get("file", "")
        if task.state == states.RUNNING and self.kind(connector) == "sink" and _is_in(file, folders):
            trace = self.release.trace.replace(TRACED_FILE, file)
            task = replace(task, state=states.FAILED, trace=trace)
        others = tuple(each for each in connector.tasks if each.number != task.number)
        ordered = tuple(sorted((*others, task), key=lambda each: each.number))
        return state.with_connector(replace(connector, tasks=ordered))

    def worker_left(self, state: ConnectState, number: int) -> ConnectState:
        """Return the state after a worker stopped: its connectors and tasks are unassigned until `moved`."""
        left = replace(state.workers[number], is_up=False)
        state = replace(state, workers={**state.workers, number: left})
        for connector in state.connectors.values():
            tasks = tuple(
                replace(task, state=states.UNASSIGNED, trace=None) if task.worker == number else task
                for task in connector.tasks
            )
            shown = states.UNASSIGNED if connector.worker == number else connector.state
            state = state.with_connector(replace(connector, tasks=tasks, state=shown))
        return state

    def moved(self, state: ConnectState) -> ConnectState:
        """Return the state in which the unassigned connectors and tasks are assigned to running workers."""
        if not state.up():
            return state
        for name in state.connectors:
            connector = state.connectors[name]
            if connector.state == states.UNASSIGNED:
                shown = {states.STARTED: states.RUNNING}.get(connector.target, connector.target)
                state = state.with_connector(replace(connector, worker=state.next_worker(), state=shown))
            shown = states.RUNNING if connector.target == states.STARTED else states.PAUSED
            for task in connector.tasks:
                if task.state == states.UNASSIGNED:
                    state = self._with_task(state, name, Task(task.number, state.next_worker(), shown))
        return state

    def resumed(self, state: ConnectState, workers: Mapping[int, Worker]) -> ConnectState:
        """Return the state after all workers started again. workers: number -> worker. If a worker of `state` is not
        in `workers`, its connectors and tasks are assigned to other workers.
        """
        for number in state.workers:
            if number not in workers:
                state = self.worker_left(state, number)
        return self.moved(replace(state, workers=dict(workers)))

    def worker_back(self, state: ConnectState, number: int) -> ConnectState:
        """Return the state after a worker started again: it gets the unassigned connectors and tasks; later changes may
        assign further ones to it.
        """
        back = replace(state.workers[number], is_up=True)
        return self.moved(replace(state, workers={**state.workers, number: back}))


def _is_in(file: str, folders: tuple[str, ...]) -> bool:
    return any(PurePosixPath(file).is_relative_to(folder) for folder in folders)
