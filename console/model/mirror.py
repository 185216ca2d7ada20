"""MirrorMaker 2, from the records on the cluster that it copies to: heartbeats, checkpoints and offset syncs of each
flow. Pure.

A flow copies from one cluster to another, by their aliases in MirrorMaker's settings. MirrorMaker writes a heartbeat of
each flow into ``heartbeats`` of the flow's target; the source's own ``heartbeats`` are copied like any topic, and
arrive as ``SOURCE.heartbeats``. ``SOURCE.checkpoints.internal`` has the translated offsets of groups, by the names of
the copies. Offset syncs, by the names of the source's topics, are at the source unless
``offset-syncs.topic.location=target``. Sources: Heartbeat, Checkpoint, OffsetSync, DefaultReplicationPolicy and
IdentityReplicationPolicy of connect-mirror.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.model import connect
from console.model.config import ConfigResource, ConfigSet
from console.model.failure import Failure

if TYPE_CHECKING:
    from console.model.records import Record

HEARTBEATS = "heartbeats"
_COPIED_HEARTBEATS, _CHECKPOINTS = f".{HEARTBEATS}", ".checkpoints.internal"
_SYNCS = re.compile(r"mm2-offset-syncs\.(.+)\.internal")
MOST_KEPT = 10_000
"""Maximum number of a topic's records that are kept: the newest one of each key, for the keys with the newest records.
"""
MOST_FLOWS = 100
"""Maximum number of flows that are taken from heartbeats: those with the newest heartbeats. There is a limit because
any client may write heartbeats.
"""
SOURCE_CLASS, CHECKPOINT_CLASS, HEARTBEAT_CLASS = (
    f"org.apache.kafka.connect.mirror.Mirror{each}Connector" for each in ("Source", "Checkpoint", "Heartbeat")
)
MIRROR_CLASSES = (SOURCE_CLASS, CHECKPOINT_CLASS, HEARTBEAT_CLASS)


# -- records -----------------------------------------------------------------------------------------------------------


class Heartbeat(NamedTuple):
    """A record that says that the flow between two aliases works."""

    source: str
    target: str


class Checkpoint(NamedTuple):
    """An offset that a group committed at the source, and its translation."""

    group: str
    topic: str
    """The name of the copied topic."""
    partition: int
    upstream: int
    """The offset at the source."""
    downstream: int
    """The offset at the target."""


class OffsetSync(NamedTuple):
    """The offsets of one record at the source and at the target."""

    topic: str
    """The topic's name at the source."""
    partition: int
    upstream: int
    downstream: int


MirrorRecord = Heartbeat | Checkpoint | OffsetSync
Key = tuple[str | int, ...]


class Kept(NamedTuple):
    """The newest record of MirrorMaker that has a certain key."""

    record: MirrorRecord
    at_ms: int
    """The time of the record, ms since 1970."""
    before_ms: int | None = None
    """The time of the previous record with the key, ms since 1970; None if it was not read."""


def decoded(record: Record) -> tuple[MirrorRecord, int] | None:
    """Return a record of MirrorMaker and its time in ms since 1970; None for any other record, whatever its bytes
    are.
    """
    from console.model.internal_records import mirror_fields  # imported late, as it would delay each start

    found = mirror_fields(record.topic, record.key or b"", record.value or b"")
    if found is None:
        return None
    name, of = found
    match name:
        case "Heartbeat":
            return Heartbeat(of["sourceClusterAlias"], of["targetClusterAlias"]), of["timestamp"]
        case "Checkpoint":
            place = of["topic"], of["partition"]
            return Checkpoint(of["group"], *place, of["upstreamOffset"], of["offset"]), record.timestamp
        case _:
            return OffsetSync(of["topic"], of["partition"], of["upstreamOffset"], of["offset"]), record.timestamp


def key_of(record: MirrorRecord) -> Key:
    """Return the key by which a newer record replaces an older one."""
    match record:
        case Heartbeat():
            return record
        case Checkpoint():
            return record.group, record.topic, record.partition
        case _:
            return record.topic, record.partition


def with_records(known: Mapping[Key, Kept], records: Iterable[Record]) -> dict[Key, Kept]:
    """Return the newest record of each key, at most `MOST_KEPT`; keys with newer records come later.

    Args:
        known: the result for the earlier records.
        records: the new records in the order of their offsets.
    """
    kept = dict(known)
    for each in records:
        if (found := decoded(each)) is not None:
            record, at_ms = found
            before = kept.pop(key_of(record), None)
            kept[key_of(record)] = Kept(record, at_ms, None if before is None else before.at_ms)
    return dict([*kept.items()][-MOST_KEPT:])


class Followed(Struct, frozen=True):
    """The newest records of one of MirrorMaker's topics."""

    kept: Mapping[Key, Kept] = field(default_factory=dict)
    is_part: bool = False
    """Whether older records of the topic were not read."""


class MirrorListing(NamedTuple):
    """The result of reading MirrorMaker's topics: topic -> its records; and the topics that could not be read."""

    topics: Mapping[str, Followed]
    failures: Mapping[str, Failure]


def mirror_topics(names: Iterable[str]) -> list[str]:
    """Return the topics that, by their names, are MirrorMaker's topics about flows to this cluster, sorted."""
    ends = (_COPIED_HEARTBEATS, _CHECKPOINTS)
    return sorted(each for each in names if each == HEARTBEATS or each.endswith(ends) or _SYNCS.fullmatch(each))


# -- flows -------------------------------------------------------------------------------------------------------------


class Beat(NamedTuple):
    """The newest heartbeat of a flow in one topic: ``heartbeats``, or its copy from the source."""

    at_ms: int
    """The time at which MirrorMaker wrote the heartbeat, ms since 1970 by the clock of MirrorMaker's host."""
    every_ms: int | None
    """The milliseconds from the previous heartbeat to this one; None if the previous one was not read."""
    seen: datetime
    """The time at which kac first saw the heartbeat, UTC."""


class Flow(Struct, frozen=True):
    """A flow of MirrorMaker from another cluster to this one."""

    source: str
    target: str
    """The alias of this cluster; ``""`` if no heartbeat or connector names it."""
    topics: tuple[str, ...] = ()
    """The copied topics in this cluster, without MirrorMaker's own topics, sorted."""
    beat: Beat | None = None
    """The newest heartbeat that MirrorMaker wrote to this cluster; None if no heartbeat was read."""
    copied: Beat | None = None
    """The newest heartbeat that MirrorMaker copied from the source; None if no heartbeat was read."""
    checkpoints: tuple[tuple[Checkpoint, int], ...] = ()
    """The newest checkpoint of each group and partition, with its time in ms since 1970, by group, topic and
    partition."""
    syncs: tuple[tuple[OffsetSync, int], ...] = ()
    """The newest offset sync of each partition of the source, with its time in ms since 1970; empty if MirrorMaker
    keeps the syncs at the source.
    """
    connectors: tuple[str, ...] = ()
    """The names ``CLUSTER/NAME`` of the flow's connectors; empty if MirrorMaker runs outside Connect, or in a Connect
    cluster that the context does not name.
    """
    is_part: bool = False
    """Whether older checkpoints or syncs were not read."""

    @property
    def name(self) -> str:
        """MirrorMaker's name of the flow, ``SOURCE->TARGET``; ``?`` for an unknown target."""
        return f"{self.source}->{self.target or '?'}"

    @property
    def groups(self) -> list[str]:
        """The groups for which the flow has checkpoints, sorted."""
        return sorted({each.group for each, _ in self.checkpoints})

    def copy_of(self, topic: str) -> str:
        """Return the name of the copy of a source's topic; ``""`` if there is no copy of it."""
        return next((each for each in (f"{self.source}.{topic}", topic) if each in self.topics), "")


class MirrorConnector(NamedTuple):
    """A connector of MirrorMaker 2, with the aliases of its flow."""

    name: str
    """The connector's name ``CLUSTER/NAME``."""
    class_name: str
    source: str
    """The alias of the source cluster in the connector's config."""
    target: str
    """The alias of the target cluster in the connector's config."""
    syncs_here: bool
    """Whether the connector's config places offset syncs at the target."""


def mirror_connectors(
    clusters: Mapping[str, connect.ConnectCluster], configs: Mapping[ConfigResource, ConfigSet]
) -> Iterator[MirrorConnector]:
    """Yield the connectors of MirrorMaker in the Connect clusters of the context."""
    for cluster in clusters.values():
        for name in cluster.connectors:
            config = configs.get(connect.connector_resource(cluster.name, name))
            class_name = connect.value_of(config, connect.CLASS)
            if found := next((each for each in MIRROR_CLASSES if connect.is_class(each, class_name)), ""):
                source, target, place = (
                    connect.value_of(config, key)
                    for key in ("source.cluster.alias", "target.cluster.alias", "offset-syncs.topic.location")
                )
                full = connect.full_name(cluster.name, name)
                # The defaults of MirrorMaker's ConfigDef.
                yield MirrorConnector(full, found, source or "source", target or "target", place == "target")


def flows(
    names: Collection[str],
    listing: MirrorListing,
    connectors: Sequence[MirrorConnector],
    known: Mapping[str, Flow],
    at: datetime,
) -> dict[str, Flow]:
    """Return the flows to this cluster, by their names ``SOURCE->TARGET``.

    Args:
        names: the names of all topics of this cluster.
        connectors: the known connectors of MirrorMaker.
        known: the flows of the previous read: an unchanged heartbeat keeps the time at which kac first saw it.
        at: the time of this read, UTC.
    """
    written = _heartbeats(listing, HEARTBEATS)
    pairs = {(each.source, each.target) for each in written} | {(each.source, each.target) for each in connectors}
    aliases = {target for _, target in pairs}
    here = next(iter(aliases)) if len(aliases) == 1 else ""
    sources = {source for source, _ in pairs}
    sources |= {each.removesuffix(_CHECKPOINTS) for each in listing.topics if each.endswith(_CHECKPOINTS)}
    for topic in sorted(each for each in listing.topics if each.endswith(_COPIED_HEARTBEATS)):
        alias = topic.removesuffix(_COPIED_HEARTBEATS)
        # A copy of a copy has the aliases of all clusters on its way, the last one first.
        if _heartbeats(listing, topic) and not any(alias.startswith(f"{one}.") for one in sources):
            sources.add(alias)
    pairs |= {(source, here) for source in sources - {source for source, _ in pairs}}
    copies = _by_source(names, sources)
    made = (_flow(listing, Flow(*pair, copies[pair[0]]), connectors, names, at) for pair in sorted(pairs))
    return {each.name: _seen_before(known.get(each.name), each) for each in made}


def _heartbeats(listing: MirrorListing, topic: str) -> dict[Heartbeat, Kept]:
    followed = listing.topics.get(topic, Followed())
    found = {each.record: each for each in followed.kept.values() if isinstance(each.record, Heartbeat)}
    return dict([*found.items()][-MOST_FLOWS:])


def _by_source(names: Collection[str], sources: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return source -> the topics with the name ``SOURCE.…``, without MirrorMaker's own topics."""
    found: dict[str, list[str]] = {each: [] for each in sources}
    begins = tuple(f"{each}." for each in sources)
    for name in names if sources else ():
        if name.startswith(begins) and not name.endswith((_COPIED_HEARTBEATS, _CHECKPOINTS)):
            for source in sources:
                if name.startswith(f"{source}."):
                    found[source].append(name)
    return {source: tuple(mine) for source, mine in found.items()}


def _flow(
    listing: MirrorListing, flow: Flow, connectors: Sequence[MirrorConnector], names: Collection[str], at: datetime
) -> Flow:
    mine = [each for each in connectors if (each.source, each.target) == (flow.source, flow.target)]
    of_groups = listing.topics.get(f"{flow.source}{_CHECKPOINTS}", Followed())
    checkpoints = [(each.record, each.at_ms) for each in of_groups.kept.values() if isinstance(each.record, Checkpoint)]
    written = _heartbeats(listing, HEARTBEATS)
    copied = _heartbeats(listing, f"{flow.source}{_COPIED_HEARTBEATS}").values()
    of_topics = listing.topics.get(syncs_topic(flow.source), Followed())
    syncs = [(each.record, each.at_ms) for each in of_topics.kept.values() if isinstance(each.record, OffsetSync)]
    if not (any(each.syncs_here for each in mine) or _are_of(flow, [each for each, _ in syncs], names)):
        syncs = []
    # With IdentityReplicationPolicy, copies have the same names as at the source; checkpoints show some of them.
    named = {each.topic for each, _ in checkpoints if each.topic in names}
    return replace(
        flow,
        topics=tuple(sorted({*flow.topics, *named})),
        beat=_beat(written.get(Heartbeat(flow.source, flow.target)), at),
        copied=_beat(max(copied, key=lambda each: each.at_ms, default=None), at),
        checkpoints=tuple(sorted(checkpoints)),
        syncs=tuple(sorted(syncs)),
        connectors=tuple(sorted(each.name for each in mine)),
        is_part=of_groups.is_part or (bool(syncs) and of_topics.is_part),
    )


def _are_of(flow: Flow, syncs: Sequence[OffsetSync], names: Collection[str]) -> bool:
    """Return whether offset syncs belong to a flow to this cluster, not to the opposite flow, whose syncs are in a
    topic with the same name.

    The syncs name topics of their source. For a flow to this cluster, this cluster has the copies of all these topics,
    and lacks at least one topic with the name itself; the syncs of the opposite flow name topics of this cluster.
    """
    copied = all(f"{flow.source}.{each.topic}" in names for each in syncs)
    return copied and any(each.topic not in names for each in syncs)


def _beat(kept: Kept | None, at: datetime) -> Beat | None:
    if kept is None:
        return None
    every = None if kept.before_ms is None else max(0, kept.at_ms - kept.before_ms)
    return Beat(kept.at_ms, every, at)


def _seen_before(known: Flow | None, flow: Flow) -> Flow:
    """Return a flow in which each unchanged heartbeat is the one of the previous read, so that the time at which kac
    first saw it is kept.
    """
    if known is None:
        return flow
    beat, copied = (
        was if was is not None and now is not None and was.at_ms == now.at_ms else now
        for was, now in ((known.beat, flow.beat), (known.copied, flow.copied))
    )
    return replace(flow, beat=beat, copied=copied)


_LEAST_SILENCE, _MISSED, _UNKNOWN_INTERVAL = 120.0, 10, 900.0
"""Limits of a silence: the minimum seconds, since MirrorMaker may be restarting; the minimum number of intervals
between heartbeats; and the seconds if the interval is unknown. By default MirrorMaker writes one heartbeat per second.
"""


def syncs_topic(alias: str) -> str:
    """Return the name of the topic of offset syncs in a cluster. alias: the alias of the other cluster of the flow:
    the target if the topic is in the source cluster, the source if it is in the target cluster.
    """
    return f"mm2-offset-syncs.{alias}.internal"


def source_topic(flow: Flow, copy: str, names: Collection[str]) -> str:
    """Return the topic of the source cluster from which a copy was made; ``""`` if the source has no such topic.

    Args:
        copy: the name of the copy in this cluster.
        names: the topics of the source cluster.
    """
    return next((each for each in (copy.removeprefix(f"{flow.source}."), copy) if each in names), "")


def copied_up_to(sync: OffsetSync, end: int) -> int:
    """Return the offset at the source up to which all records have been copied.

    MirrorMaker writes a new sync whenever the source skips offsets. So each offset of the source after the last sync
    has one record in the copy: the number of records that the copy got after the sync is added to the sync's offset at
    the source.

    Args:
        end: the end offset of the copy's partition.
    """
    return sync.upstream + max(0, end - sync.downstream)


def has_checkpoints(topics: Iterable[str]) -> bool:
    """Return whether one of these topics is a checkpoint topic, so that MirrorMaker copies the offsets of groups to the
    cluster.
    """
    return any(each.endswith(_CHECKPOINTS) for each in topics)


# -- time --------------------------------------------------------------------------------------------------------------


def age(at_ms: int | None, now: datetime) -> float | None:
    """Return the seconds since a time, at least 0, since the clock of MirrorMaker's host may be ahead; None if the time
    is None. at_ms: ms since 1970.
    """
    return None if at_ms is None else max(0.0, now.timestamp() - at_ms / 1000)


def silent_after(beat: Beat) -> float:
    """Return the seconds without a new heartbeat after which a flow counts as silent."""
    return _UNKNOWN_INTERVAL if beat.every_ms is None else max(_LEAST_SILENCE, _MISSED * beat.every_ms / 1000)


def is_silent(beat: Beat | None, now: datetime) -> bool:
    """Return whether the newest heartbeat is older than `silent_after` allows; False if no heartbeat is known."""
    return beat is not None and (age(beat.at_ms, now) or 0) > silent_after(beat)


def newest(times: Iterable[int]) -> int | None:
    """Return the latest of the times; None if there is none."""
    return max(times, default=None)
