"""Tests of the console on controllers: it opens with the pane of the quorum, and sends controllers no requests that
only brokers answer.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from console.admin.errors import Unsupported
from console.admin.settings import ConnectionSettings
from console.contexts.console_settings import ConsoleSettings
from console.model import cluster
from console.model.codes import STATIC_BROKER_CONFIG, ConfigType
from console.model.config import ConfigEntry, ConfigListing, ConfigSet, broker_resource
from tests.tui.console_app import driven

NODES = (101, 102, 103, 104)


class Controllers:
    """A client of controllers. ago: seconds since the brokers last fetched the metadata log. refused: names of
    operations that fail.
    """

    lost = None

    def __init__(self, ago: float) -> None:
        self.ago = ago
        self.refused: list[str] = []

    async def run(self, operation: Callable[..., Awaitable[Any]], *args: Any, **_options: Any) -> Any:
        """Return the answer to an operation. Raises Unsupported if controllers do not serve it."""
        answer = getattr(self, f"_{operation.__name__}", None)
        if answer is None:
            self.refused.append(operation.__name__)
            raise Unsupported("metadata", "", controllers=True)
        return answer(*args)

    def _count_throttled(self) -> int:
        return 0

    _throttled_ms = _count_throttled

    def _describe_cluster(self) -> cluster.ClusterInfo:
        return cluster.ClusterInfo(
            "the-id", 101, (), controllers=tuple(cluster.Broker(each, f"c{each}", 9093) for each in NODES)
        )

    def _describe_quorum(self) -> cluster.Quorum:
        now = int(time.time() * 1000)
        stale = now - int(self.ago * 1000)

        def replica(node: int, at: int = now) -> cluster.QuorumReplica:
            return cluster.QuorumReplica(node, 100, 0 if at == now else 9, at, at, f"dir-{node}")

        endpoints = tuple(cluster.VoterEndpoint(each, "CONTROLLER", f"c{each}", 9093) for each in NODES)
        observers = (replica(1, stale), replica(2, stale - 5000), replica(104))
        return cluster.Quorum(101, 7, 100, tuple(map(replica, NODES[:3])), observers, endpoints)

    def _describe_versions(self) -> dict[int, cluster.BrokerVersion]:
        return dict.fromkeys(NODES, cluster.BrokerVersion("4.4", {}))

    def _silent_brokers(self, _within: float) -> frozenset[int]:
        return frozenset()

    def _silence(self, _within: float) -> cluster.Silence:
        return cluster.Silence()

    def _describe_configs(self, resources: Any) -> ConfigListing:
        roles = ConfigEntry("process.roles", "controller", STATIC_BROKER_CONFIG, True, False, ConfigType(7), ())
        return ConfigListing(
            {each: ConfigSet((roles,)) for each in resources if each in map(broker_resource, NODES)}, {}
        )


AT_CONTROLLERS = ConnectionSettings((("c101", 9093),), controllers=True)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_it_opens_on_the_quorum_and_names_what_stands_still(size: tuple[int, int]) -> None:
    client = Controllers(ago=30)
    settings = ConsoleSettings(start_pane="topics", refresh=0.2)
    async with driven(client, size, settings, connection=AT_CONTROLLERS) as it:  # type: ignore[arg-type]
        await it.shows("leader 101", "4 controllers", "does not fetch")
        # Triage counts causes before Now is opened.
        await it.until(lambda: ". Now!" in it.lines[1])
        await it.press(".", shows=("no broker runs: nothing is served", "start broker 1 first"))
        assert set(client.refused) == set()
