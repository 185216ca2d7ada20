"""The scenario `quiet` with separate controllers, after all brokers and all voters but one have crashed."""

from __future__ import annotations

from console.embedded.context import Cluster
from console.embedded.replicas import broker_lost
from console.embedded.scenarios import quiet
from console.embedded.scenarios.seed import Scenario
from console.embedded.voters import controller_lost, voters


def seed(cluster: Cluster) -> None:
    """Fill the cluster as the scenario `quiet` does, then stop all brokers, and all voters except the last."""
    state = cluster.state
    quiet.seed(cluster)
    for broker in state.alive():
        cluster.propagation.stopped(broker)
        broker_lost(state, broker)
    for voter in voters(state)[:-1]:
        cluster.propagation.stopped(voter)
        controller_lost(state, voter)


SCENARIO = Scenario(seed)
