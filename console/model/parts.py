"""All parts that kac reads of a cluster: those of the snapshot, and further ones for triage.

For each part: its nouns; the intervals at which kac reads it while events are followed, for the screen next to its
panes, and for triage; and the operation that reads it, if a single one does.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """Whether kac can read single members of the part (one group's lags, one broker's disks). The read time in the
    snapshot may then be that of a read of only some members."""
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
    """Return the part with a name. Raises KeyError if no part has the name."""
    return _BY_NAME[name]


def about(name: str) -> About:
    """Return the description of a part. The failure to read a single group has its own name, which becomes the noun.

    Args:
        name: the name of a part, or of a failure.
    """
    part = _BY_NAME.get(name)
    return About(name) if part is None else part.about._replace(noun=part.noun)


class Paces(NamedTuple):
    """Seconds between two reads of a part; None if it is not read for that purpose."""

    events: float | None = None
    """The interval for commands that only watch for changes. For configs, the interval between reads of one
    resource."""
    screen: float | None = None
    """The interval for a screen that shows other data, and for its header."""
    triage: float | None = None
    after: tuple[Part, ...] = (Part.CLUSTER,)
    """Parts that triage reads before it first reads this one."""
    within: float | None = None
    """Maximum seconds for a read by triage; None: as long as the client allows."""
    is_rare: bool = False
    """Whether most clusters have nothing of this part, and brokers refuse it to a connection without its own login.
    Commands that watch for changes read it only once a view has read it; triage stops reading it once the brokers
    refuse."""


SHORT_SECONDS = 6.0
"""Maximum seconds for small reads by triage: a broker that was just stopped would delay them until the request times
out."""
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
"""All parts that are read repeatedly, in the order in which their reads begin."""
FOR_EVENTS = {part: each.events for part, each in PACES.items() if each.events is not None}
"""Part -> seconds between two reads of it, for commands that watch for changes."""
FOR_SCREEN = {part: each.screen for part, each in PACES.items() if each.screen is not None}


class Listed(NamedTuple):
    """A part that one operation reads, and whose answer changes nothing else in the snapshot."""

    module: str
    """A module of `console.admin`, imported when the part is first read."""
    operation: str
    may_be_refused: bool = True
    """Whether the reader records a refusal by the brokers as the part's failure, instead of raising it."""


LISTED: Mapping[Part, Listed] = {
    Part.VERSIONS: Listed("cluster", "describe_versions", may_be_refused=False),
    Part.REASSIGNMENTS: Listed("partitions", "list_reassignments"),
    Part.SCRAM: Listed("scram", "describe_scram"),
    Part.TOKENS: Listed("tokens", "describe_tokens"),
    Part.CONNECT: Listed("connect", "describe_connect"),
    Part.SCHEMAS: Listed("schemas", "describe_schemas"),
    Part.FEATURES: Listed("features", "describe_features", may_be_refused=False),
}
"""The parts that one operation reads."""
