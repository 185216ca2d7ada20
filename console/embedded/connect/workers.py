"""The workers of a Connect cluster without sockets: the state that they share, and the state of each worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.embedded.connect import groups, records
from console.embedded.connect.definitions import connect_release
from console.embedded.connect.herder import Herder
from console.embedded.connect.state import Connector, ConnectState, Worker
from console.embedded.context import Cluster
from console.embedded.spec import LOOPBACK, ConnectSpec

ROOT_LOGGER = "root"


@dataclass(frozen=True, slots=True)
class Level:
    """The level of a logger, and the time of its last change."""

    level: str
    since: int | None = None
    """The time at which the level was set, milliseconds since 1970; None if it was never changed."""

    def shown(self) -> dict[str, Any]:
        """Return the level in the form of the REST API."""
        return {"level": self.level, "last_modified": self.since}


def herder_of(cluster: Cluster, spec: ConnectSpec) -> Herder:
    """Return the rules of the workers of this cluster's release, or of the release in the specification."""
    return Herder(connect_release(spec.release or cluster.release.name))


def first_state(spec: ConnectSpec) -> ConnectState:
    """Return the state of newly started workers, without connectors."""
    numbers = range(1, spec.workers + 1)
    return ConnectState({number: Worker(number, spec.missing.get(number, ())) for number in numbers}, {})


class Workers:
    """The workers of the Connect cluster that belongs to an embedded cluster.

    Attributes:
        group: the group.id of the workers.
        rebalancing: whether a rebalance is in progress.
        loggers: number of a worker -> name of a logger -> its level.
        ports: the port of each worker, in the order of their numbers.
    """

    def __init__(self, cluster: Cluster, spec: ConnectSpec) -> None:
        self.cluster = cluster
        self.spec = spec
        self.herder = herder_of(cluster, spec)
        self.group = spec.group
        self.rebalancing = False
        self.ports: Sequence[int] = [0] * spec.workers
        self.loggers = {number: {ROOT_LOGGER: Level("INFO")} for number in range(1, spec.workers + 1)}

    @property
    def state(self) -> ConnectState:
        """The state that all workers share."""
        state = self.cluster.state.connect
        assert state is not None
        return state

    def address(self, number: int) -> str:
        """Return ``host:port`` of a worker, as the statuses of connectors and tasks name it."""
        return f"{LOOPBACK}:{self.ports[number - 1]}"

    def change(self, state: ConnectState) -> None:
        """Replace the shared state, update the groups of sinks, and write the changes to the internal topics."""
        former, self.cluster.state.connect = self.cluster.state.connect, state
        connectors = former.connectors if former else {}
        for name, connector in state.connectors.items():
            if connectors.get(name) is not connector:
                self._follow(connectors.get(name), connector)
                self.record(connectors.get(name), connector)
        for name in connectors.keys() - state.connectors.keys():
            if self._is_sink(connectors[name]):
                groups.leave_tasks(self.cluster, connectors[name])
            records.write(self.cluster, records.removed(connectors[name]))
        self.cluster.state.touch()

    def record(self, former: Connector | None, connector: Connector) -> None:
        """Write the changes of a connector to the internal topics. former: the connector before; None if it is new."""
        now = int(self.cluster.clock.time() * 1000)
        entries = records.changed(former, connector, self.herder, self.address, now)
        records.write(self.cluster, entries)

    def join(self) -> None:
        """Make the running workers the members of the workers' group."""
        addresses = [self.address(number) for number in self.state.workers]
        groups.join_workers(self.cluster, self.group, self.state, addresses)

    def _follow(self, former: Connector | None, connector: Connector) -> None:
        if former is not None and self._is_sink(former) and not self._is_same_group(former, connector):
            groups.leave_tasks(self.cluster, former)
        if self._is_sink(connector):
            groups.join_tasks(self.cluster, connector)

    def _is_same_group(self, former: Connector, connector: Connector) -> bool:
        return self._is_sink(connector) and groups.group_of(former) == groups.group_of(connector)

    def _is_sink(self, connector: Connector) -> bool:
        return self.herder.kind(connector) == "sink"
