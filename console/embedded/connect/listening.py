"""Connect's workers that listen on sockets."""

from __future__ import annotations

from functools import partial

from console.embedded.connect import groups, records
from console.embedded.connect.api import answer
from console.embedded.connect.http_server import HttpServer
from console.embedded.connect.workers import Workers, first_state
from console.embedded.context import Cluster
from console.embedded.spec import LOOPBACK, ConnectSpec

REBALANCE_SECONDS = 1.0
"""Seconds that a rebalance of the workers takes after a change."""


class ListeningWorkers(Workers):
    """Workers that listen on sockets, each on a port of its own."""

    def __init__(self, cluster: Cluster, spec: ConnectSpec) -> None:
        super().__init__(cluster, spec)
        self._servers = {
            number: HttpServer(partial(answer, self, number), spec.port + number - 1 if spec.port else 0)
            for number in range(1, spec.workers + 1)
        }

    @property
    def urls(self) -> tuple[str, ...]:
        """The URL of each worker, also of those that are down."""
        return tuple(f"http://{LOOPBACK}:{port}" for port in self.ports)

    async def start(self) -> None:
        """Start to listen, and create Connect's topics and groups in the cluster. Raises OSError if a port is in
        use.
        """
        first, kept = first_state(self.spec), self.cluster.state.connect
        self.cluster.state.connect = first if kept is None else self.herder.resumed(kept, first.workers)
        for server in self._servers.values():
            await server.start()
        self.ports = [server.port for server in self._servers.values()]
        if groups.ensure_topics(self.cluster):
            records.write(self.cluster, iter([records.session_key(int(self.cluster.clock.time() * 1000))]))
            for connector in self.state.connectors.values():
                self.record(None, connector)
        self.join()

    async def stop(self) -> None:
        """Close all sockets and connections."""
        for server in self._servers.values():
            await server.stop()

    async def worker_down(self, number: int) -> None:
        """Shut a worker down. Its connectors and tasks stay unassigned for `ConnectSpec.take_over_seconds`; then other
        workers run them. Do nothing if the worker is down already.
        """
        if not self.state.workers[number].is_up:
            return
        self.change(self.herder.worker_left(self.state, number))
        self.join()
        await self._servers[number].stop()
        self.cluster.run(self._rebalance())
        self.cluster.run(self._take_over())

    async def worker_up(self, number: int) -> None:
        """Start a worker that is down, on its former port. Do nothing if it is running."""
        if self.state.workers[number].is_up:
            return
        await self._servers[number].start()
        self.change(self.herder.worker_back(self.state, number))
        self.join()
        self.cluster.run(self._rebalance())

    async def _rebalance(self) -> None:
        """Rebalance the workers for `REBALANCE_SECONDS`, during which they refuse requests that depend on
        assignments.
        """
        self.rebalancing = True
        await self.cluster.clock.sleep(REBALANCE_SECONDS)
        self.rebalancing = False

    async def _take_over(self) -> None:
        """Wait for `ConnectSpec.take_over_seconds`, then assign the unassigned connectors and tasks to running
        workers.
        """
        await self.cluster.clock.sleep(self.spec.take_over_seconds)
        self.change(self.herder.moved(self.state))
