"""How each part is read, and how often: while events are followed, on the screen next to its panes, and for triage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple

from console.model.parts import Part
from console.model.snapshot import with_part, with_scram
from console.session.scheduler import Pace
from console.session.snapshot_reader import Learned, SnapshotReader, read_listed


class How(NamedTuple):
    """How a part is read, and the seconds between two reads of it; None where it is not read for that."""

    read: Callable[[SnapshotReader], Awaitable[None]] | None = None
    """Reads it whole. None: only some of it is ever read."""
    events: float | None = None
    """For those who watch for changes, and nothing else. Of configs: those of one resource."""
    screen: float | None = None
    """The same while a screen shows something else."""
    triage: float | None = None
    after: tuple[Part, ...] = (Part.CLUSTER,)
    """What triage reads before it reads this for the first time."""
    within: float | None = None
    """Seconds that a read for triage may take; None: as long as the client lets it."""


SHORT_SECONDS = 6.0
"""The longest that small reads of triage may take: a broker that was just stopped would hold them until the request
times out."""
_LATER = (Part.TOPICS,)


def _moves(reader: SnapshotReader) -> Awaitable[Learned]:
    from console.admin.partitions import list_reassignments

    return read_listed(reader.client, Part.REASSIGNMENTS, list_reassignments, partial(with_part, Part.REASSIGNMENTS))


def _scram(reader: SnapshotReader) -> Awaitable[Learned]:
    """Read all SCRAM users, without their secrets."""
    from console.admin.scram import describe_scram

    return read_listed(reader.client, Part.SCRAM, describe_scram, with_scram)


def _tokens(reader: SnapshotReader) -> Awaitable[Learned]:
    """Read the delegation tokens that may be seen, without what proves them."""
    from console.admin.tokens import describe_tokens

    return read_listed(reader.client, Part.TOKENS, describe_tokens, partial(with_part, Part.TOKENS))


async def _features(reader: SnapshotReader) -> Learned:
    """Read the finalized features, and what each node supports. Raises AdminError also if the brokers refuse it."""
    from console.admin.features import describe_features

    found = await reader.client.run(describe_features)
    return lambda known, at: with_part(Part.FEATURES, known, found, at)


HOW: Mapping[Part, How] = {
    Part.CLUSTER: How(lambda reader: reader.read_cluster(), 2.0, 10.0, 1.5, after=(), within=SHORT_SECONDS),
    Part.SILENCE: How(triage=0.6, within=SHORT_SECONDS),
    Part.QUORUM: How(lambda reader: reader.read_quorum(), 2.0, 10.0, 2.0, within=SHORT_SECONDS),
    Part.VERSIONS: How(lambda reader: reader.read_versions()),
    Part.TOPICS: How(lambda reader: reader.read_topics(), 2.0, 10.0, 2.0),
    Part.GROUPS: How(lambda reader: reader.read_groups(), 5.0, 10.0, 2.0),
    Part.LAGS: How(triage=2.5, after=(Part.GROUPS,)),
    Part.REASSIGNMENTS: How(lambda reader: reader.keep(_moves(reader)), triage=10.0),
    Part.LOG_DIRS: How(lambda reader: reader.read_log_dirs(), triage=10.0),
    Part.CONFIGS: How(events=5.0, screen=50.0, triage=60.0, after=_LATER),
    Part.LOGS: How(triage=5.0, after=_LATER),
    Part.OPEN_TRANSACTIONS: How(triage=2.0, after=_LATER),
    Part.NEWEST: How(triage=10.0, after=_LATER),
    Part.CERTIFICATES: How(triage=10.0, after=_LATER),
    Part.REPLICA_LOGS: How(triage=2.0, after=_LATER),
    Part.QUOTAS: How(lambda reader: reader.read_quotas(), 20.0, 20.0, 30.0, after=_LATER),
    Part.ACLS: How(lambda reader: reader.read_acls(), 20.0, 20.0, 10.0, after=_LATER),
    Part.SCRAM: How(lambda reader: reader.keep(_scram(reader)), 30.0, 30.0),
    Part.TOKENS: How(lambda reader: reader.keep(_tokens(reader)), 30.0, 30.0, 60.0, after=_LATER),
    Part.RESOURCES: How(events=50.0, screen=50.0),
    Part.FEATURES: How(lambda reader: reader.keep(_features(reader))),
    Part.VIEWS: How(triage=2.0, after=_LATER),
    Part.AUTHORS: How(triage=1.0, after=_LATER),
    Part.REQUEST_LOGS: How(triage=2.0, after=_LATER),
}
"""All parts that are read by themselves, in the order in which their reads begin."""


async def read_whole(reader: SnapshotReader, part: Part) -> None:
    """Read a part as a whole into a reader's snapshot. Raises AdminError and Refused as the part's reader does."""
    read = HOW[part].read
    assert read is not None, part
    await read(reader)


FOR_EVENTS = {part: how.events for part, how in HOW.items() if how.events is not None}
"""Part -> seconds between two reads of it, of commands that watch for changes."""
FOR_SCREEN = {part: how.screen for part, how in HOW.items() if how.screen is not None}


def triage_pace(how: How) -> Pace:
    """Return the pace of a part for triage. A part that took t seconds twice in a row is not read again for 20 t, at
    most a minute; small ones do not rest.
    """
    return Pace(how.triage or 0.0, rest=0.0 if how.within else 20.0, longest_rest=60.0, from_begin=True, first=0.0)
