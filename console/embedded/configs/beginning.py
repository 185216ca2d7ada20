"""The configs that a cluster has from its first moment on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from console.embedded.configs.altering import ELR, MIN_ISR
from console.embedded.configs.definitions import release_configs
from console.embedded.configs.describe import broker_number
from console.embedded.configs.value_rules import checked
from console.embedded.state.change_log import Change
from console.model.codes import BROKER
from console.model.config import CLUSTER_DEFAULT, ConfigResource

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster


def begin_configs(cluster: EmbeddedCluster) -> None:
    """Look at what is in the brokers' files. Raises ValueError for what a broker would not start with.

    With eligible leader replicas the least number of in-sync replicas has to stand in the metadata (KIP-966).
    """
    definitions = release_configs(cluster.release.name).broker
    for key, value in cluster.spec.static_configs.items():
        if key in definitions:
            checked(definitions[key], value)

    if not cluster.release.kraft:
        cluster.state.subscribe(partial(_note, cluster))
    if cluster.state.features.get(ELR):
        cluster.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: cluster.spec.static_configs.get(MIN_ISR, "1")})


def _note(cluster: EmbeddedCluster, change: Change) -> None:
    """Keep which brokers' own values were changed since they started."""
    if change.table != "configs" or not isinstance(change.key, ConfigResource) or change.key.type != BROKER:
        return
    number = broker_number(change.key.name)
    cluster.reconfigured.update(cluster.state.brokers if number is None else [number])
