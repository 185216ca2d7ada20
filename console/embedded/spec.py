"""The specification of an embedded cluster, the Kafka releases, and the names of the scenarios."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from console.model.secret import Secret

if TYPE_CHECKING:
    from console.model.config import ConfigResource

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
BROKER_LISTENER = "PLAINTEXT"
SASL_LISTENER = "SASL_PLAINTEXT"
ANONYMOUS = "User:ANONYMOUS"
METADATA_VERSION = "metadata.version"
"""The feature whose level is the version of the metadata log."""

FIRST_CONTROLLER = 101
"""The id of the first controller that is not a broker, above the ids of all brokers."""
MOST_BROKERS, MOST_CONTROLLERS, MOST_WORKERS = 100, 9, 9

RELEASE_NAMES = ("3.9", "4.0", "4.4")
SCENARIO_NAMES = ("quiet", "incident", "groups", "transactions", "quorum", "quorum-lost", "fleet", "large")
_SCENARIO_MODULES: Mapping[str, str] = {
    "quiet": "quiet",
    "incident": "incident",
    "groups": "group_kinds",
    "transactions": "transactions",
    "quorum": "quorum",
    "quorum-lost": "quorum_lost",
    "large": "large",
    "fleet-production": "incident",
    "fleet-staging": "quiet",
    "fleet-old": "quiet",
}
_PORTS_EACH = 100
WITH_CONTROLLERS = frozenset({"quorum", "quorum-lost"})
"""The scenarios with separate controllers: `_VOTERS` voters, and an observer."""
_VOTERS = 3
RACKS = {1: "zone-a", 2: "zone-b", 3: "zone-c"}
"""Broker id -> the rack of the broker in the scenarios."""

LOST_FOLDER = "/mnt/archive"
"""The folder that the second worker of Connect has lost in the scenario `incident`."""

Range = tuple[int, int]
"""The lowest and the highest value."""


class AlterConfigPolicy(Protocol):
    """A policy that refuses config changes by its own rules (org.apache.kafka.server.policy.AlterConfigPolicy)."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Set the configs of the brokers' files. Called once, before the cluster starts."""

    def validate(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        """Check the changed keys of a resource; None for a deleted key. Called after all other checks have passed.

        Raises:
            PolicyViolation: the change breaks a rule.
        """

    def close(self) -> None:
        """Release the resources of the policy. Called once, after the cluster has stopped."""


Answer = Callable[[Any], Any]
"""Returns a response in place of another."""


class Profile(msgspec.Struct, frozen=True):
    """The behavior of a server that is not Kafka, as clients see it."""

    release: str
    """The Kafka release that the server resembles."""
    apis: Mapping[str, Range] | None = None
    """kio's names of the server's APIs, with their versions; None for all APIs of the release."""
    unserved: Mapping[int, Range] = msgspec.field(default_factory=dict)
    """API key -> the versions that ApiVersions lists although the server does not serve them, for example of APIs
    between brokers, by which clients recognize ZooKeeper."""
    refused: Mapping[str, int] = msgspec.field(default_factory=dict)
    """API -> the error code with which the server always responds."""
    answers: Mapping[str, Answer] = msgspec.field(default_factory=dict)
    """API -> the function that changes its responses."""


class SaslSpec(msgspec.Struct, frozen=True):
    """The users that may log in, with their passwords."""

    plain: Mapping[str, Secret] = msgspec.field(default_factory=dict)
    """User of PLAIN -> password."""
    scram: Mapping[str, Secret] = msgspec.field(default_factory=dict)
    """User of SCRAM-SHA-256 and -512 -> password; stored as credentials that AlterUserScramCredentials can change."""


class ConnectSpec(msgspec.Struct, frozen=True):
    """The specification of Kafka Connect next to a cluster."""

    workers: int = 2
    """The number of workers."""
    port: int = 0
    """The port of the first worker, which the ports of the others follow; 0 for free ports."""
    release: str | None = None
    """The Kafka release to imitate; None for the release of the cluster."""
    group: str = "connect-cluster"
    """The group.id of the workers."""
    missing: Mapping[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Number of a worker, from 1 -> the folders that the worker does not have, so that sinks into them fail there."""
    take_over_seconds: float = 5.0
    """The seconds until other workers take over from a worker that stopped (scheduled.rebalance.max.delay.ms)."""

    def __post_init__(self) -> None:
        """Validate the numbers. Raises ValueError for a number out of range."""
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"Connect has 1 to {MOST_WORKERS} workers, not {self.workers}")


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The specification of an embedded cluster."""

    brokers: int = 3
    """The number of brokers, with ids from 1."""
    controllers: int = 0
    """The number of voters that are separate nodes, with ids from `FIRST_CONTROLLER` and their own listeners; 0 if the
    brokers are also the controllers, and the controllers have no listeners."""
    observers: int = 0
    """The number of further controllers, which do not vote."""
    versions: str = RELEASE_NAMES[-1]
    """The Kafka release, one of `RELEASE_NAMES`."""
    proposals: bool = True
    """Whether the cluster also advertises the formats of the proposals."""
    cluster_id: str | None = None
    host: str = LOOPBACK
    port: int = 0
    """The port of the first broker; the ports of the other brokers, and then of the controllers, follow. 0 for free
    ports."""
    authorizer: bool = True
    """Whether the cluster stores and enforces ACLs."""
    super_users: frozenset[str] = frozenset({ANONYMOUS})
    """The principals that may do everything."""
    sasl: SaslSpec | None = None
    """The users; None for a cluster without authentication, in which every client is ANONYMOUS."""
    scenario: str | None = None
    """The name of the scenario that defines the initial content; None for an empty cluster."""
    live: bool = False
    """Whether the scenario's other clients are active."""
    state_file: Path | None = None
    """The file that keeps the state over restarts; None to keep it only in memory."""
    propagation_delay: float = 0.0
    """The seconds until a change reaches brokers other than the controller."""
    forwarding: bool = True
    """Whether brokers forward requests to the controller; brokers without a quorum do not."""
    racks: Mapping[int, str] = field(default_factory=dict)
    """Broker id -> the rack of the broker."""
    static_configs: Mapping[str, str] = field(default_factory=dict)
    """The configs in the file of each broker."""
    alter_config_policy: AlterConfigPolicy | None = None
    profile: Profile | None = None
    """The profile of a server other than Kafka, or of an older one, whose release then replaces `versions`; None for
    Kafka."""
    connect: ConnectSpec | None = None
    """Kafka Connect next to the cluster; None for none."""
    schemas: bool = False
    """Whether a schema registry with the demo's schemas runs next to the cluster."""

    def __post_init__(self) -> None:
        """Validate the numbers. Raises ValueError for a number out of range."""
        if not 1 <= self.brokers <= MOST_BROKERS:
            raise ValueError(f"a cluster has 1 to {MOST_BROKERS} brokers, not {self.brokers}")
        if not 0 <= self.controllers <= MOST_CONTROLLERS or not 0 <= self.observers <= MOST_CONTROLLERS:
            raise ValueError(f"a cluster has 0 to {MOST_CONTROLLERS} controllers of their own, not {self.controllers}")
        if self.observers and not self.controllers:
            raise ValueError("controllers that do not vote need others that do")
        nodes = self.brokers + self.controllers + self.observers
        if self.port and not 0 < self.port <= 65536 - nodes:
            what = f"{self.brokers} brokers" if nodes == self.brokers else f"{nodes} nodes"
            raise ValueError(f"{what} don't fit on ports from {self.port}")
        if self.propagation_delay < 0:
            raise ValueError("a propagation delay is not negative")


class Release(msgspec.Struct, frozen=True):
    """A Kafka release as clients see it (ApiVersions)."""

    name: str
    """The name of the release, such as ``4.4``."""
    apis: Mapping[int, Range]
    """API key -> the lowest and highest version."""
    supported: Mapping[str, Range]
    """Feature -> the lowest and highest level."""
    finalized: Mapping[str, int]
    """Feature -> its level in a new cluster."""

    @property
    def number(self) -> tuple[int, int]:
        """The name as numbers, for comparison: ``(4, 4)``."""
        return release_number(self.name)


def release_number(name: str) -> tuple[int, int]:
    """Return the name of a release as numbers, for comparison: ``(4, 4)``."""
    major, _, minor = name.partition(".")
    return int(major), int(minor)


def since(table: Mapping[str, T], name: str) -> T:
    """Return the entry of a table for a release: that of the latest release that is not newer.

    Raises ValueError if the release is older than all entries.
    """
    return table[max((each for each in table if release_number(each) <= release_number(name)), key=release_number)]


@cache
def release(name: str) -> Release:
    """Read the release with this name from data/releases.json. Raises ValueError for a name not in RELEASE_NAMES."""
    from importlib.resources import files

    if name not in RELEASE_NAMES:
        raise ValueError(f"unknown Kafka release {name}; known: {', '.join(RELEASE_NAMES)}")
    return read_releases((files("console.embedded") / "data" / "releases.json").read_text(encoding="utf-8"))[name]


def read_releases(text: str) -> dict[str, Release]:
    """Parse releases from JSON, by name."""
    return {
        name: Release(
            name,
            {api["key"]: (api["min"], api["max"]) for api in data["apis"].values()},
            {feature: (levels["min"], levels["max"]) for feature, levels in data["supported"].items()},
            data["finalized"],
        )
        for name, data in json.loads(text).items()
    }


def scenario_module(name: str) -> str:
    """Return the module in `scenarios` of a cluster's scenario. Raises ValueError for an unknown name."""
    module = _SCENARIO_MODULES.get(name)
    if module is None:
        raise ValueError(f"unknown scenario {name}; known: {', '.join(SCENARIO_NAMES)}")
    return module


def clusters_of(name: str, spec: ClusterSpec) -> dict[str, ClusterSpec]:
    """Return the clusters of a scenario, by name, based on this specification. Raises ValueError for an unknown name.

    Scenarios about the quorum have separate controllers. The clusters of `fleet` do not, and differ: production has an
    incident, staging is Kafka 4.0, and old is 3.9 with one broker. Their first ports are 100 apart, and each has its
    own state file. `incident` has Connect, one of whose workers has lost a folder, and a schema
    registry.
    """
    racks = spec.racks or RACKS
    if name == "incident":
        spec = replace(spec, connect=ConnectSpec(missing={2: (LOST_FOLDER,)}), schemas=True)
    if name in WITH_CONTROLLERS:
        spec = replace(spec, controllers=spec.controllers or _VOTERS, observers=spec.observers or 1)
    if name != "fleet":
        scenario_module(name)
        return {name: replace(spec, scenario=name, racks=racks)}
    spec = replace(spec, controllers=0, observers=0)
    fleet = {
        "production": replace(spec, scenario="fleet-production", racks=racks),
        "staging": replace(spec, scenario="fleet-staging", racks=racks, versions="4.0"),
        "old": replace(spec, scenario="fleet-old", racks={}, versions="3.9", brokers=1),
    }
    return {name: _apart(member, place, name) for place, (name, member) in enumerate(fleet.items())}


def _apart(spec: ClusterSpec, place: int, name: str) -> ClusterSpec:
    port = spec.port + place * _PORTS_EACH if spec.port else 0
    path = spec.state_file
    return replace(spec, port=port, state_file=path and path.with_name(f"{path.stem}-{name}{path.suffix}"))
