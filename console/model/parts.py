"""The parts of a cluster's state that kac reads: those of the snapshot, and further ones that only triage reads.

Each part has its nouns for messages; the intervals at which kac reads it (to follow events, for panes of the screen
that show other parts, and for triage); and the operation that reads it, if a single one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, Self


class About(NamedTuple):
    """The properties of a part of the cluster's state: its nouns, and how it is read."""

    noun: str = ""
    """The name of the part in messages; ``""`` for the part's own name."""
    entity: str = ""
    """The noun for a member of the part, such as "topic"; ``""`` if failures of the part name no member."""
    entities: str = ""
    """The plural of `entity`; ``""`` for the singular with an s."""
    at_controllers: bool = False
    """Whether kac reads the part also if it is connected to controllers instead of brokers."""
    is_vital: bool = False
    """Whether triage can conclude nothing without it, not even that the cluster is healthy."""
    by_members: bool = False
    """Whether kac can read single members of the part (one group's lags, one broker's disks). If so, the part's time
    in `Snapshot.read_at` may be that of a read of only some members.
    """
    is_watched: bool = False
    """Whether `kac events` and the events pane report that they may miss changes if the part can't be read."""
    request: str = ""
    """The request that reads the part, as the evidence of triage's causes names it; ``""`` for a part that the
    evidence does not name by its request, or names otherwise.
    """


class Part(StrEnum):
    """A part of the cluster's state, by its name in `Snapshot.read_at` and in failures."""

    about: About

    def __new__(cls, name: str, about: About) -> Self:
        """Create a member from its name and its properties."""
        part = str.__new__(cls, name)
        part._value_ = name
        part.about = about
        return part

    @property
    def noun(self) -> str:
        """The name of the part in messages."""
        return self.about.noun or self.value.replace("_", " ")

    # Parts of the snapshot.
    CLUSTER = "cluster", About("brokers", "broker", at_controllers=True, is_vital=True, is_watched=True)
    QUORUM = "quorum", About("the quorum", at_controllers=True, is_watched=True)
    VERSIONS = "versions", About("the brokers' versions", at_controllers=True)
    TOPICS = "topics", About("topics", "topic", is_vital=True, is_watched=True, request="Metadata")
    GROUPS = "groups", About("groups", "group", is_watched=True, request="ListGroups")
    LAGS = "lags", About(by_members=True)
    GROUP_POSITIONS = "group_positions", About()
    QUOTAS = "quotas", About(is_watched=True, request="DescribeClientQuotas")
    ACLS = "acls", About("ACLs", is_watched=True, request="DescribeAcls")
    SCRAM = "scram", About("SCRAM users", is_watched=True)
    TOKENS = "tokens", About("delegation tokens", request="DescribeDelegationToken, each minute")
    CONFIGS = (
        "configs",
        About("configs", "entity", "entities", at_controllers=True, by_members=True, request="DescribeConfigs"),
    )
    CONNECT = "connect", About("Connect", "Connect cluster", is_watched=True, request="GET /connectors")
    CONNECTOR_OFFSETS = "connector_offsets", About("offsets of connectors", "connector")
    MIRRORS = "mirrors", About("mirrors", "topic")
    SCHEMAS = "schemas", About("schemas", "subject", is_watched=True)
    RESOURCES = "resources", About("lists of entities with configs")
    FEATURES = "features", About(request="ApiVersions of all brokers, each 30 s")
    LOG_DIRS = (
        "log_dirs",
        About("disks", "broker's disk", "brokers' disks", by_members=True, request="DescribeLogDirs"),
    )
    REASSIGNMENTS = "reassignments", About("moves", request="ListPartitionReassignments")
    RATES = "rates", About()
    LOG_RANGES = "log_ranges", About()
    OFFSETS_AT = "offsets_at", About()
    TIERED = "tiered", About("the offsets of tiered topics")
    TRANSACTIONS = "transactions", About(by_members=True)
    REPLICA_LOGS = "replica_logs", About("replicas without a leader")

    # Parts that triage reads in addition to the snapshot (`triage.facts`).
    SILENCE = "silent", About("which brokers answer", at_controllers=True, is_vital=True)
    LOGS = "logs", About()
    OPEN_TRANSACTIONS = "open transactions", About()
    NEWEST = "newest records", About()
    CERTIFICATES = (
        "certificates",
        About(request="a TLS handshake with each listener of brokers and controllers, hourly"),
    )
    VIEWS = "views", About()
    AUTHORS = "journal", About()
    REQUEST_LOGS = "request logs", About()


_BY_NAME = {part.value: part for part in Part}


def part_named(name: str) -> Part:
    """Return the part with a name. Raises KeyError if no part has the name."""
    return _BY_NAME[name]


def about(name: str) -> About:
    """Return the properties of a part. For another name, such as that of a single group that could not be read, only
    the noun is set, to this name.

    Args:
        name: the name of a part, or of a failure.
    """
    part = _BY_NAME.get(name)
    return About(name) if part is None else part.about._replace(noun=part.noun)


class Paces(NamedTuple):
    """Seconds between two reads of a part, by purpose; None if it is not read for that purpose."""

    events: float | None = None
    """The seconds for commands that only watch for changes; for configs, between two reads of one resource."""
    screen: float | None = None
    """The seconds for the header of the screen, and for the screen while it shows another part."""
    triage: float | None = None
    after: tuple[Part, ...] = (Part.CLUSTER,)
    """The parts that triage has to read before it first reads this one."""
    within: float | None = None
    """Maximum seconds that a read by triage may take; None for the client's own timeouts."""
    is_rare: bool = False
    """Whether most clusters have no entities of this part, and brokers refuse it to connections without a login.
    Commands that watch for changes read it only after a view has read it; triage stops reading it after a refusal.
    """


SHORT_SECONDS = 6.0
"""Maximum seconds for small reads by triage. Without this limit, a broker that was just stopped would delay a read
until the request times out.
"""
_LATER = (Part.TOPICS,)


PACES: Mapping[Part, Paces] = {
    Part.CLUSTER: Paces(2.0, 10.0, 1.5, after=(), within=SHORT_SECONDS),
    Part.SILENCE: Paces(triage=0.6, within=SHORT_SECONDS),
    Part.QUORUM: Paces(2.0, 10.0, 2.0, within=SHORT_SECONDS),
    Part.TOPICS: Paces(2.0, 10.0, 2.0),
    Part.VERSIONS: Paces(30.0, 10.0, 30.0, after=_LATER, within=SHORT_SECONDS),
    Part.GROUPS: Paces(5.0, 10.0, 2.0),
    Part.LAGS: Paces(triage=2.5, after=(Part.GROUPS,)),
    Part.REASSIGNMENTS: Paces(triage=10.0),
    Part.LOG_DIRS: Paces(triage=10.0),
    Part.CONFIGS: Paces(events=5.0, screen=50.0, triage=5.0, after=_LATER),
    Part.LOGS: Paces(triage=5.0, after=_LATER),
    Part.OPEN_TRANSACTIONS: Paces(triage=2.0, after=_LATER),
    Part.NEWEST: Paces(triage=10.0, after=_LATER),
    Part.CERTIFICATES: Paces(triage=10.0, after=_LATER),
    Part.REPLICA_LOGS: Paces(triage=2.0, after=_LATER),
    Part.TIERED: Paces(triage=10.0, after=(Part.CONFIGS,)),
    Part.QUOTAS: Paces(20.0, 20.0, 30.0, after=_LATER),
    Part.ACLS: Paces(20.0, 20.0, 10.0, after=_LATER),
    Part.SCRAM: Paces(30.0, 30.0, 10.0, after=_LATER),
    Part.TOKENS: Paces(30.0, 30.0, 60.0, after=_LATER, is_rare=True),
    Part.CONNECT: Paces(5.0, 10.0, 5.0, after=_LATER),
    Part.SCHEMAS: Paces(30.0, 30.0, 30.0, after=_LATER),
    Part.MIRRORS: Paces(triage=5.0, after=_LATER),
    Part.RESOURCES: Paces(events=50.0, screen=50.0),
    Part.VIEWS: Paces(triage=2.0, after=_LATER),
    Part.AUTHORS: Paces(triage=1.0, after=_LATER),
    Part.REQUEST_LOGS: Paces(triage=2.0, after=_LATER),
}
"""Part that is read repeatedly -> its intervals, in the order in which the reads begin."""
FOR_EVENTS = {part: each.events for part, each in PACES.items() if each.events is not None}
"""Part -> seconds between two reads of it, for commands that watch for changes."""
FOR_SCREEN = {part: each.screen for part, each in PACES.items() if each.screen is not None}


class Listed(NamedTuple):
    """The operation that reads a part. Its result changes nothing else in the snapshot."""

    module: str
    """The name of a module of `console.admin`, which is imported when the part is first read."""
    operation: str
    may_be_refused: bool = True
    """Whether a refusal by the brokers is recorded as the part's failure; False if it is raised."""


LISTED: Mapping[Part, Listed] = {
    Part.VERSIONS: Listed("cluster", "describe_versions", may_be_refused=False),
    Part.REASSIGNMENTS: Listed("partitions", "list_reassignments"),
    Part.SCRAM: Listed("scram", "describe_scram"),
    Part.TOKENS: Listed("tokens", "describe_tokens"),
    Part.CONNECT: Listed("connect", "describe_connect"),
    Part.SCHEMAS: Listed("schemas", "describe_schemas"),
    Part.FEATURES: Listed("features", "describe_features", may_be_refused=False),
}
"""Part -> the operation that reads it, for the parts that a single operation reads."""
