"""The configs that a cluster has from its first moment on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.embedded.configs.altering import ELR, MIN_ISR
from console.model.config import CLUSTER_DEFAULT

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster


def begin_configs(cluster: EmbeddedCluster) -> None:
    """With eligible leader replicas the least number of in-sync replicas has to stand in the metadata (KIP-966)."""
    if cluster.state.features.get(ELR):
        cluster.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: cluster.spec.static_configs.get(MIN_ISR, "1")})
