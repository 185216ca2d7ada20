"""The quiet cluster with separate controllers, after a crash of all brokers and most voters: the worst case."""

from __future__ import annotations

from console.embedded.context import Cluster
from console.embedded.replicas import broker_lost
from console.embedded.scenarios import quiet
from console.embedded.scenarios.seed import Scenario
from console.embedded.voters import controller_lost, voters


def seed(cluster: Cluster) -> None:
    """Fill the quiet cluster, stop its brokers, and then all voters but the last."""
    state = cluster.state
    quiet.seed(cluster)
    for broker in state.alive():
        cluster.propagation.stopped(broker)
        broker_lost(state, broker)
    for voter in voters(state)[:-1]:
        cluster.propagation.stopped(voter)
        controller_lost(state, voter)


SCENARIO = Scenario(seed)
