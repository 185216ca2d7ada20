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
"""The id of the first separate controller, above the ids of all brokers."""
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
"""The scenarios that have separate controllers: `_VOTERS` voters and one observer."""
_VOTERS = 3
RACKS = {1: "zone-a", 2: "zone-b", 3: "zone-c"}
"""Broker id -> its rack, in the scenarios."""

LOST_FOLDER = "/mnt/archive"
"""The folder that Connect's second worker lacks in the scenario `incident`."""

Range = tuple[int, int]
"""The lowest and the highest value, both included."""


class AlterConfigPolicy(Protocol):
    """A policy that may refuse changes of configs (org.apache.kafka.server.policy.AlterConfigPolicy)."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Pass the configs in the brokers' files to the policy. Called once, before the cluster starts."""

    def validate(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        """Check the changed keys of a resource. Called after all other checks have passed. configs: key -> new value;
        None for a deleted key.

        Raises:
            PolicyViolation: the policy refuses the change.
        """

    def close(self) -> None:
        """Release the policy's resources. Called once, after the cluster has stopped."""


Answer = Callable[[Any], Any]
"""Function that takes a response and returns the response that the server sends instead."""


class Profile(msgspec.Struct, frozen=True):
    """A server other than Kafka, as clients see it."""

    release: str
    """The Kafka release on which the profile is based."""
    apis: Mapping[str, Range] | None = None
    """kio's names of the APIs that the server has -> their versions; None for all APIs of the release."""
    unserved: Mapping[int, Range] = msgspec.field(default_factory=dict)
    """API key -> the versions that the ApiVersions response lists although the server does not serve them. Examples
    are the APIs between brokers, from which clients conclude that a cluster uses ZooKeeper.
    """
    refused: Mapping[str, int] = msgspec.field(default_factory=dict)
    """kio's name of an API -> the error code of all its responses."""
    answers: Mapping[str, Answer] = msgspec.field(default_factory=dict)
    """kio's name of an API -> the function that changes its responses."""


class SaslSpec(msgspec.Struct, frozen=True):
    """The users that may log in, with their passwords."""

    plain: Mapping[str, Secret] = msgspec.field(default_factory=dict)
    """User -> password, for logins by PLAIN."""
    scram: Mapping[str, Secret] = msgspec.field(default_factory=dict)
    """User -> password, for logins by SCRAM-SHA-256 and -512. The passwords are stored as SCRAM credentials, so that
    AlterUserScramCredentials can change them.
    """


class ConnectSpec(msgspec.Struct, frozen=True):
    """The specification of the Connect cluster that belongs to an embedded cluster."""

    workers: int = 2
    """The number of workers."""
    port: int = 0
    """The port of the first worker; the others have the ports after it. 0 for free ports."""
    release: str | None = None
    """The Kafka release that the workers imitate; None for that of the cluster."""
    group: str = "connect-cluster"
    """The group.id of the workers."""
    missing: Mapping[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Number of a worker, from 1 -> the folders that don't exist for it, so that tasks of sinks into them fail on it.
    """
    take_over_seconds: float = 5.0
    """The seconds after which other workers run the connectors and tasks of a worker that stopped
    (scheduled.rebalance.max.delay.ms).
    """

    def __post_init__(self) -> None:
        """Raise ValueError if a number is out of range."""
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"Connect has 1 to {MOST_WORKERS} workers, not {self.workers}")


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The specification of an embedded cluster."""

    brokers: int = 3
    """The number of brokers, whose ids begin with 1."""
    controllers: int = 0
    """The number of separate controllers that are voters; they have their own listeners, and ids from
    `FIRST_CONTROLLER` on. 0 if the brokers are also the controllers, which then have no listeners.
    """
    observers: int = 0
    """The number of further separate controllers, which are not voters."""
    versions: str = RELEASE_NAMES[-1]
    """The name of the Kafka release, one of `RELEASE_NAMES`."""
    proposals: bool = True
    """Whether the cluster also serves the proposals' own formats."""
    cluster_id: str | None = None
    host: str = LOOPBACK
    port: int = 0
    """The port of the first broker; the other brokers, and then the controllers, have the ports after it. 0 for free
    ports.
    """
    authorizer: bool = True
    """Whether the cluster has an authorizer, which stores and enforces ACLs."""
    super_users: frozenset[str] = frozenset({ANONYMOUS})
    """The principals that may do everything."""
    sasl: SaslSpec | None = None
    """The users who may log in; None for a cluster without authentication, in which each client is ANONYMOUS."""
    scenario: str | None = None
    """The name of the scenario with the initial content; None for an empty cluster."""
    live: bool = False
    """Whether to simulate the other clients of the scenario."""
    state_file: Path | None = None
    """The file in which the state is stored over restarts; None to lose it at the end."""
    propagation_delay: float = 0.0
    """The seconds after which brokers other than the controller apply a change."""
    forwarding: bool = True
    """Whether brokers forward requests to the controller, as brokers with KRaft do."""
    racks: Mapping[int, str] = field(default_factory=dict)
    """Broker id -> its rack; brokers that are missing have none."""
    static_configs: Mapping[str, str] = field(default_factory=dict)
    """The configs in the configuration file of each broker."""
    alter_config_policy: AlterConfigPolicy | None = None
    profile: Profile | None = None
    """A server other than Kafka to imitate; its release replaces `versions`. None for Kafka."""
    connect: ConnectSpec | None = None
    """The Connect cluster that belongs to the cluster; None without one."""
    schemas: bool = False
    """Whether a schema registry with the demo's schemas belongs to the cluster."""

    def __post_init__(self) -> None:
        """Raise ValueError if a number is out of range."""
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
    """A Kafka release, as clients see it in the ApiVersions response."""

    name: str
    """The name of the release, such as ``4.4``."""
    apis: Mapping[int, Range]
    """API key -> (lowest, highest version)."""
    supported: Mapping[str, Range]
    """Feature -> (lowest, highest level)."""
    finalized: Mapping[str, int]
    """Feature -> its finalized level in a new cluster."""

    @property
    def number(self) -> tuple[int, int]:
        """The release as numbers for comparison, such as (4, 4)."""
        return release_number(self.name)


def release_number(name: str) -> tuple[int, int]:
    """Convert the name of a release to numbers for comparison, such as (4, 4)."""
    major, _, minor = name.partition(".")
    return int(major), int(minor)


def since(table: Mapping[str, T], name: str) -> T:
    """Return the value in `table` (release -> value) that applies to a release: that of the newest release that is not
    newer than it.

    Raises ValueError if the release is older than all in the table.
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
    """Parse releases from JSON. Return name -> release."""
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
    """Return the name of the module in `scenarios` with a cluster's scenario. Raises ValueError for an unknown
    scenario.
    """
    module = _SCENARIO_MODULES.get(name)
    if module is None:
        raise ValueError(f"unknown scenario {name}; known: {', '.join(SCENARIO_NAMES)}")
    return module


def clusters_of(name: str, spec: ClusterSpec) -> dict[str, ClusterSpec]:
    """Return name -> specification for the clusters of a scenario; `spec` has the other settings. Raises ValueError for
    an unknown scenario.

    Scenarios about the quorum get separate controllers. The scenario `fleet` has three clusters without separate
    controllers: production with an incident, staging with Kafka 4.0, and old with 3.9 and one broker. Their first ports
    differ by 100, and each has its own state file. The scenario `incident` gets a schema registry, and Connect, one of
    whose workers lacks a folder.
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
