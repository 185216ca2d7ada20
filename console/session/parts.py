"""For each part of a cluster: the intervals at which kac reads it while events are followed, for the screen next to its
panes, and for triage; and the operation that reads it, if a single one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from console.model.parts import Part
from console.model.snapshot import Snapshot, with_connect, with_schemas, with_scram

if TYPE_CHECKING:
    from console.admin.settings import ConnectionSettings


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


SERVICES: Mapping[Part, Callable[[ConnectionSettings], object]] = {
    Part.CONNECT: lambda settings: settings.connect,
    Part.SCHEMAS: lambda settings: settings.schemas,
}
"""The parts of services next to the brokers: nothing reads one if the settings do not name its service."""


def is_had(part: Part, settings: ConnectionSettings) -> bool:
    """Return whether the peers of a context have a part: controllers have few parts, and services have to be in the
    settings.
    """
    if settings.controllers and not part.about.at_controllers:
        return False
    return part not in SERVICES or bool(SERVICES[part](settings))


FOR_EVENTS = {part: each.events for part, each in PACES.items() if each.events is not None}
"""Part -> seconds between two reads of it, for commands that watch for changes."""
FOR_SCREEN = {part: each.screen for part, each in PACES.items() if each.screen is not None}


class Listed(NamedTuple):
    """A part that one operation reads, and whose answer changes nothing else in the snapshot."""

    module: str
    """A module of `console.admin`, imported when the part is first read."""
    operation: str
    enter: Callable[[Snapshot, Any, datetime], Snapshot] | None = None
    """Enters the response and its time into a snapshot; None: the response becomes the part unchanged."""
    may_be_refused: bool = True
    """Whether the reader records a refusal by the brokers as the part's failure, instead of raising it."""


LISTED: Mapping[Part, Listed] = {
    Part.VERSIONS: Listed("cluster", "describe_versions", may_be_refused=False),
    Part.REASSIGNMENTS: Listed("partitions", "list_reassignments"),
    Part.SCRAM: Listed("scram", "describe_scram", with_scram),
    Part.TOKENS: Listed("tokens", "describe_tokens"),
    Part.CONNECT: Listed("connect", "describe_connect", with_connect),
    Part.SCHEMAS: Listed("schemas", "describe_schemas", with_schemas),
    Part.FEATURES: Listed("features", "describe_features", may_be_refused=False),
}
"""The parts that one operation reads."""
