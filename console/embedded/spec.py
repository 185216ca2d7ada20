"""What an embedded cluster is to be like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from console.model.secret import Secret

if TYPE_CHECKING:
    from console.embedded.configs.policy import AlterConfigPolicy

LOOPBACK = "127.0.0.1"
BROKER_LISTENER = "PLAINTEXT"
SASL_LISTENER = "SASL_PLAINTEXT"


@dataclass(frozen=True, slots=True)
class SaslSpec:
    """Who may log in: user -> password. plain: for PLAIN; scram: SCRAM-SHA-256 and -512 credentials at the start, to
    which AlterUserScramCredentials adds."""

    plain: Mapping[str, Secret] = field(default_factory=dict)
    scram: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """How to make a cluster.

    brokers: how many, with ids from 1. versions: the Kafka release to be like: 2.8 (with ZooKeeper), 3.9 or 4.3.
    proposals: whether the proposals' own formats are advertised beside. port: that of the first broker, the others
    follow; 0 takes free ones. authorizer: whether ACLs are kept and looked at. super_users: principals that may do
    everything. sasl: None lets everybody in as ANONYMOUS. propagation_delay: seconds until a change reaches brokers
    other than the controller. forwarding: whether they forward to it; None as the release does. racks: by broker id.
    static_configs: what is in each broker's file. alter_config_policy: has a say in config changes. scenario: what is
    in it at the start; live: whether others change it then. state_file: keeps the state over restarts.
    """

    brokers: int = 3
    versions: str = "4.3"
    proposals: bool = True
    cluster_id: str | None = None
    host: str = LOOPBACK
    port: int = 0
    authorizer: bool = True
    super_users: frozenset[str] = frozenset({"User:ANONYMOUS"})
    sasl: SaslSpec | None = None
    scenario: str | None = None
    live: bool = False
    state_file: Path | None = None
    propagation_delay: float = 0.0
    forwarding: bool | None = None
    racks: Mapping[int, str] = field(default_factory=dict)
    static_configs: Mapping[str, str] = field(default_factory=dict)
    alter_config_policy: AlterConfigPolicy | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for what can't be."""
        if not 1 <= self.brokers <= 100:
            raise ValueError(f"a cluster has 1 to 100 brokers, not {self.brokers}")
        if self.port and not 0 < self.port <= 65536 - self.brokers:
            raise ValueError(f"{self.brokers} brokers don't fit on ports from {self.port}")
        if self.propagation_delay < 0:
            raise ValueError("a propagation delay is not negative")
