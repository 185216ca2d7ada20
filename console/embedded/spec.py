"""What an embedded cluster is to be like: its specification, the Kafka release, the scenario."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from console.model.secret import Secret

if TYPE_CHECKING:
    from console.embedded.brokers import EmbeddedCluster
    from console.embedded.config_changes import AlterConfigPolicy


# What an embedded cluster is to be like.

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


# A Kafka release as clients see it: which APIs in which versions, which features, KRaft or ZooKeeper.

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Release:
    """What brokers of a release tell of themselves in ApiVersions.

    name: as in ``4.3``; kraft: whether a quorum controls it, ZooKeeper otherwise; apis: key -> lowest and highest
    version; supported: feature -> lowest and highest level; finalized: the levels of a cluster made anew.
    """

    name: str
    kraft: bool
    apis: Mapping[int, Range]
    supported: Mapping[str, Range] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)

    @property
    def number(self) -> tuple[int, int]:
        """The name as numbers, to compare by: ``(4, 3)``."""
        major, _, minor = self.name.partition(".")
        return int(major), int(minor)


RELEASE_NAMES = ("2.8", "3.9", "4.3")


@cache
def release(name: str) -> Release:
    """The release of a name; ValueError for one that is not of RELEASE_NAMES."""
    if name not in RELEASE_NAMES:
        raise ValueError(f"there is no Kafka {name} here, only {', '.join(RELEASE_NAMES)}")
    data = json.loads((files("console.embedded") / "data" / "releases.json").read_text(encoding="utf-8"))[name]
    return Release(
        name,
        data["kraft"],
        {api["key"]: (api["min"], api["max"]) for api in data["apis"].values()},
        {feature: (levels["min"], levels["max"]) for feature, levels in data["supported"].items()},
        data["finalized"],
    )


# What a scenario is, and which there are.

_PORTS_EACH = 100
RACKS = {1: "zone-a", 2: "zone-b", 3: "zone-c"}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A cluster to begin with.

    lay: puts sources under the tables, which are never stored. fill: puts in what is stored. live: what others do in it
    while it runs, until it is cancelled; None for nothing.
    """

    fill: Callable[[EmbeddedCluster], None]
    lay: Callable[[EmbeddedCluster], None] | None = None
    live: Callable[[EmbeddedCluster], Coroutine[None, None, None]] | None = None


NAMES = ("quiet", "incident", "fleet", "large")


def scenario(name: str) -> Scenario:
    """The scenario of one cluster. Raises ValueError for a name that there is not."""
    module = _MODULES.get(name)
    if module is None:
        raise ValueError(f"there is no scenario {name}, only {', '.join(NAMES)}")
    found: Scenario = import_module(f"console.embedded.scenarios.{module}").SCENARIO
    return found


_MODULES: Mapping[str, str] = {
    "quiet": "quiet",
    "incident": "incident",
    "large": "large",
    "fleet-production": "incident",
    "fleet-staging": "quiet",
    "fleet-old": "quiet",
}


def members(name: str, spec: ClusterSpec) -> dict[str, ClusterSpec]:
    """The clusters that a scenario consists of, by name, like this specification. Raises ValueError.

    Of a fleet, each differs: one has an incident, one is quiet and like Kafka 3.9, and the old one has ZooKeeper's
    ways and one broker. Their first ports are 100 apart.
    """
    if name != "fleet":
        scenario(name)
        return {name: replace(spec, scenario=name, racks=spec.racks or RACKS)}
    racks = spec.racks or RACKS
    fleet = {
        "production": replace(spec, scenario="fleet-production", racks=racks),
        "staging": replace(spec, scenario="fleet-staging", racks=racks, versions="3.9"),
        "old": replace(spec, scenario="fleet-old", racks={}, versions="2.8", brokers=1),
    }
    return {name: _apart(member, place, name) for place, (name, member) in enumerate(fleet.items())}


def _apart(spec: ClusterSpec, place: int, name: str) -> ClusterSpec:
    """With ports and a state file of its own."""
    port = spec.port + place * _PORTS_EACH if spec.port else 0
    path = spec.state_file
    return replace(spec, port=port, state_file=path and path.with_name(f"{path.stem}-{name}{path.suffix}"))
