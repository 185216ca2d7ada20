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
"""The id of the first controller that is no broker: beyond those of all brokers."""
MOST_CONTROLLERS = 9

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
"""Scenarios whose controllers are nodes of their own: `_VOTERS`, and one that does not vote."""
_VOTERS = 3
RACKS = {1: "zone-a", 2: "zone-b", 3: "zone-c"}
"""Broker id -> rack, in the scenarios."""

Range = tuple[int, int]
"""Lowest and highest."""


class AlterConfigPolicy(Protocol):
    """Refuses config changes by rules of its own (org.apache.kafka.server.policy.AlterConfigPolicy)."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the configs of the brokers' files. Called once before the cluster starts."""

    def validate(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        """Check the changed keys of a resource, None for a deleted one. Called after all other checks have passed.

        Raises:
            PolicyViolation: the change is against a rule.
        """

    def close(self) -> None:
        """Release what the policy holds. Called once when the cluster has stopped."""


Answer = Callable[[Any], Any]
"""Makes another answer of one."""


class Profile(msgspec.Struct, frozen=True):
    """What a server is like to its clients. release: of Kafka, whose answers its own resemble. apis: kio's names of the
    APIs that it has, with their versions; None for all of the release. unserved: API key -> versions that it reports
    beside, such as those between brokers, by which clients recognize ZooKeeper. refused: those that it has and answers
    with an error. answers: how it answers otherwise, by API."""

    release: str
    apis: Mapping[str, Range] | None = None
    unserved: Mapping[int, Range] = msgspec.field(default_factory=dict)
    refused: Mapping[str, int] = msgspec.field(default_factory=dict)
    answers: Mapping[str, Answer] = msgspec.field(default_factory=dict)


class SaslSpec(msgspec.Struct, frozen=True):
    """Users and their passwords. plain: for PLAIN. scram: for SCRAM-SHA-256 and -512, as credentials in the state that
    AlterUserScramCredentials can change."""

    plain: Mapping[str, Secret] = msgspec.field(default_factory=dict)
    scram: Mapping[str, Secret] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The specification of a cluster.

    brokers: how many, with ids from 1. controllers: how many vote that are nodes of their own, with ids from
    `FIRST_CONTROLLER` and listeners; 0 where the brokers are the controllers, too, which have no listeners then.
    observers: how many more controllers do not vote. versions: the Kafka release, one of RELEASE_NAMES. proposals:
    whether the proposals' own formats are advertised too. port: of the first broker, the others follow, and then the
    controllers; 0 for free ones.
    authorizer: whether ACLs are kept and enforced. super_users: principals that may do everything. sasl: None for no
    authentication, then everybody is ANONYMOUS. propagation_delay: seconds until a change reaches the brokers that are
    not the controller. forwarding: whether these forward requests to the controller; brokers without a quorum do not.
    racks: by broker id. static_configs: configs of each broker's file. scenario: what the cluster holds at the start.
    live: whether the scenario's other clients work in it. state_file: where the state is kept over restarts. profile:
    of another server than Kafka, or of an older one, whose release counts then.
    """

    brokers: int = 3
    controllers: int = 0
    observers: int = 0
    versions: str = RELEASE_NAMES[-1]
    proposals: bool = True
    cluster_id: str | None = None
    host: str = LOOPBACK
    port: int = 0
    authorizer: bool = True
    super_users: frozenset[str] = frozenset({ANONYMOUS})
    sasl: SaslSpec | None = None
    scenario: str | None = None
    live: bool = False
    state_file: Path | None = None
    propagation_delay: float = 0.0
    forwarding: bool = True
    racks: Mapping[int, str] = field(default_factory=dict)
    static_configs: Mapping[str, str] = field(default_factory=dict)
    alter_config_policy: AlterConfigPolicy | None = None
    profile: Profile | None = None

    def __post_init__(self) -> None:
        """Check the numbers. Raises ValueError for one out of range."""
        if not 1 <= self.brokers <= 100:
            raise ValueError(f"a cluster has 1 to 100 brokers, not {self.brokers}")
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
    """A Kafka release as clients see it (ApiVersions).

    name: ``4.4``. apis: API key -> versions. supported: feature -> levels. finalized: the feature levels of a new
    cluster.
    """

    name: str
    apis: Mapping[int, Range]
    supported: Mapping[str, Range]
    finalized: Mapping[str, int]

    @property
    def number(self) -> tuple[int, int]:
        """The name as numbers, for comparing: ``(4, 4)``."""
        return release_number(self.name)


def release_number(name: str) -> tuple[int, int]:
    """Return the name of a release as numbers, for comparing: ``(4, 4)``."""
    major, _, minor = name.partition(".")
    return int(major), int(minor)


def since(table: Mapping[str, T], name: str) -> T:
    """Return what a table has for a release: its entry of the latest release that is not newer.

    Raises ValueError where the release is older than all of them.
    """
    return table[max((each for each in table if release_number(each) <= release_number(name)), key=release_number)]


@cache
def release(name: str) -> Release:
    """Read the release of this name from data/releases.json. Raises ValueError for a name not in RELEASE_NAMES."""
    from importlib.resources import files

    if name not in RELEASE_NAMES:
        raise ValueError(f"unknown Kafka release {name}; known: {', '.join(RELEASE_NAMES)}")
    return read_releases((files("console.embedded") / "data" / "releases.json").read_text(encoding="utf-8"))[name]


def read_releases(text: str) -> dict[str, Release]:
    """Parse releases as JSON has them, by name."""
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
    """Return the module in `scenarios` for one cluster's scenario. Raises ValueError for an unknown name."""
    module = _SCENARIO_MODULES.get(name)
    if module is None:
        raise ValueError(f"unknown scenario {name}; known: {', '.join(SCENARIO_NAMES)}")
    return module


def clusters_of(name: str, spec: ClusterSpec) -> dict[str, ClusterSpec]:
    """Return the clusters of a scenario, by name, each like the given specification. Raises ValueError for an unknown
    name.

    Those about the quorum have controllers of their own. The clusters of `fleet` have none, and differ: production has
    an incident, staging is like Kafka 4.0, and old is like 3.9 with one broker. Their first ports are 100 apart, and
    each has a state file of its own.
    """
    racks = spec.racks or RACKS
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
