"""All parts that kac reads of a cluster, as one table: those of the snapshot, and further ones for triage."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Self


class About(NamedTuple):
    """The description of a part: its nouns, and how it is read."""

    noun: str = ""
    """The name of the part in messages; empty: the part's own name."""
    entity: str = ""
    """The noun for a member of the part; empty: its failures name no members."""
    entities: str = ""
    """The plural of that noun; empty: the singular with an s."""
    at_controllers: bool = False
    """Whether kac watches the part too if it is connected to controllers instead of brokers."""
    is_vital: bool = False
    """Whether triage can't conclude anything without it, not even that nothing is wrong."""
    by_members: bool = False
    """Whether members of the part are read individually, so that its read time in the snapshot may be that of a few."""
    is_watched: bool = False
    """Whether `kac events` and the events pane report missed changes if the part can't be read."""
    request: str = ""
    """The request that reads the part, as evidence names it; empty if no rule of lint that is a cause reads it."""


class Part(StrEnum):
    """A part, by its name in `Snapshot.read_at` and in failures."""

    about: About

    def __new__(cls, name: str, about: About) -> Self:
        """Create a member from a row below."""
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
    QUOTAS = "quotas", About(is_watched=True)
    ACLS = "acls", About("ACLs", is_watched=True, request="DescribeAcls")
    SCRAM = "scram", About("SCRAM users", is_watched=True)
    TOKENS = "tokens", About("delegation tokens", request="DescribeDelegationToken, each minute")
    CONFIGS = (
        "configs",
        About("configs", "entity", "entities", at_controllers=True, by_members=True, request="DescribeConfigs"),
    )
    CONNECT = "connect", About("Connect", "Connect cluster", is_watched=True)
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
    """Return the part with a name. Raises KeyError if there is none."""
    return _BY_NAME[name]


def about(name: str) -> About:
    """Return the description of a part. The failure to read a single group has its own name, which becomes the noun.

    Args:
        name: the name of a part, or of a failure.
    """
    part = _BY_NAME.get(name)
    return About(name) if part is None else part.about._replace(noun=part.noun)
