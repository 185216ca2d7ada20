"""Read into a session's snapshot what statements need, or everything. Independent reads run concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from console.language.snapshot_parts import Needs, one_broker, one_topic
from console.model import snapshot as refresh
from console.model.codes import BROKER, BROKER_LOGGER, IN_RESOURCE_LISTS, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, is_override, topic_resource
from console.model.nodes import is_broker
from console.model.parts import Part, part_named
from console.model.snapshot import Snapshot, TopicPartition
from console.plan.stale_throttles import LOG_DIRS_RATE
from console.session import connector_reads, schema_reads, snapshot_reader
from console.session.group_reads import held_offsets

if TYPE_CHECKING:
    from console.session.session import Session


NOTHING_NEEDED = Needs()
TIMES = 2_000
"""Maximum number of committed offsets for which a command reads the timestamp of the next record."""


async def read_needs(session: Session, need: Needs, *, sparing: bool = False) -> Snapshot:
    """Read the parts and entities that statements need. A read that depends on the results of others comes after them.

    Args:
        sparing: whether to read only the quotas that the statements name if the cluster has many; if they name none,
            all are read.

    Returns:
        The session's snapshot, with the failures to read in it.

    Raises:
        Refused: the cluster is not the expected one.
        AdminError: the connection to the cluster is lost.
    """
    await _read_first(session, need, sparing=sparing)
    if not all(is_broker(session.snapshot, each) for each in _named_brokers(need)):  # a non-broker may be a controller
        await session.read_quorum()
    if need.connectors:
        await session.poll_groups(connector_reads.sink_groups(session.snapshot), times=TIMES)
        await session.keep(connector_reads.read_dead_letters(session.client, session.snapshot))
    if need.mirrors:
        await session.read_whole(Part.MIRRORS)
        await session.keep(connector_reads.read_mirrored_ends(session.client, session.snapshot))
    if need.users_of:
        await session.poll_groups(connector_reads.asked_for_users(session.snapshot))
    # Patterns choose the groups, so the list of groups has to be read first.
    await session.poll_groups(_lagging(session.snapshot, need), times=TIMES if need.lag_times else 0)
    groups = {group for group, _ in need.group_positions} & session.snapshot.group_positions.keys()
    topics = {topic for group in groups for topic, _ in session.snapshot.group_positions[group].committed}
    # A group may have offsets in topics that no statement names.
    if unknown := sorted(topics - session.snapshot.topics.keys()):
        await session.read_topics(unknown)
    places, at = _positions(session.snapshot, need)
    reads: list[Awaitable[None]] = [
        session.keep(snapshot_reader.read_offsets_at(session.client, sorted(mine), time))
        for time, mine in sorted(at.items())
    ]
    if places:
        reads.append(session.keep(snapshot_reader.read_log_ranges(session.client, sorted(places))))
    await asyncio.gather(*reads)
    if groups and (held := await held_offsets(session.client, sorted(groups))):
        session.learn(lambda known, at: refresh.with_topics(known, held.topic, whole=False, at=at))
        if held.places:
            await session.keep(snapshot_reader.read_transactions(session.client, held.places))
    if need.schema_texts:
        await session.keep(schema_reads.read_schema_texts(session.client, session.snapshot, need.schema_texts))
    if named := need.schemas_in | _using(session.snapshot, need.schema_users):
        await session.keep(schema_reads.read_schema_samples(session.client, session.context, session.snapshot, named))
    if need.tiered:
        await session.read_tiered(*sorted(need.tiered))
    lost = _in_trouble(session.snapshot, need.replica_logs)
    await session.keep(snapshot_reader.read_replica_logs(session.client, session.snapshot, lost))
    if need.a_topic and TOPIC not in need.every and not session.snapshot.topics:
        await session.read_topics()
    listed = need.every & {*IN_RESOURCE_LISTS}
    resources = await session.list_resources(sorted(listed)) if listed else ()
    # These configs are read for keys and inherited values; only named resources are shown with documentation.
    await session.read_configs(sorted({*_dependent(session.snapshot, need), *resources} - need.resources))
    return session.snapshot


async def _read_first(session: Session, need: Needs, *, sparing: bool) -> None:
    """Read, concurrently, what does not depend on the results of other reads."""
    parts = set(need.parts)
    if sparing and Part.QUOTAS in parts:
        parts.remove(Part.QUOTAS)
        await session.poll_quotas(sorted(need.quotas_of, key=repr))
        if session.snapshot.quotas_sparse and not need.quotas_of:
            await session.read_quotas()
    if session.context.cluster_id or need != NOTHING_NEEDED:
        parts.add(Part.CLUSTER)  # its id is checked: another cluster's answers must not count as this one's
    if TOPIC in need.every or (need.held and not session.context.settings.controllers):
        parts.add(Part.TOPICS)
    if need.changes_connectors and not session.context.settings.connect:
        # Without a Connect service, a connector that a statement names does not exist, whatever its name.
        session.learn(lambda known, at: refresh.with_no_connect(known, at))
    if need.schema_texts and not session.context.settings.schemas:
        session.learn(lambda known, at: refresh.with_no_schemas(known, at))
    first = [session.read_whole(part_named(part)) for part in sorted(parts)]
    if need.quotas_of and Part.QUOTAS not in need.parts:
        first.append(session.keep(snapshot_reader.read_quotas_of(session.client, sorted(need.quotas_of, key=repr))))
    if need.acls_of and Part.ACLS not in parts:
        first.append(session.keep(snapshot_reader.read_acls_of(session.client, sorted(need.acls_of))))
    # Read topics first: requests for logs and replicas need their partitions and leaders.
    topics = need.topics | need.replica_logs | need.log_ranges | {topic for topic, _ in need.offsets_at}
    if topics and Part.TOPICS not in parts:
        first.append(session.read_topics(sorted(topics)))
    if need.groups:
        first.append(session.poll_groups(sorted(need.groups), times=TIMES))
    if need.group_positions:
        names = sorted({group for group, _ in need.group_positions})
        first.append(session.keep(snapshot_reader.read_group_positions(session.client, names)))
    if need.transactions:
        first.append(session.keep(snapshot_reader.read_transactions(session.client, sorted(need.transactions))))
    if need.connector_classes:
        first.append(session.keep(connector_reads.read_connector_classes(session.client, need.connector_classes)))
    if need.connector_offsets:
        first.append(session.keep(connector_reads.read_connector_offsets(session.client, need.connector_offsets)))
    first.append(session.read_configs(sorted(need.resources), need.documentation))
    await asyncio.gather(*first)
    if Part.TOPICS in parts:
        await session.read_placements()


def _lagging(snapshot: Snapshot, need: Needs) -> list[str]:
    """Return the names of the existing groups whose lag is needed."""
    from console.language.filters import glob_test

    tests = [glob_test(patterns) for patterns in need.lags_of]
    return [name for name in snapshot.groups if any(test(name) for test in tests)]


def _positions(snapshot: Snapshot, need: Needs) -> tuple[set[TopicPartition], dict[int, set[TopicPartition]]]:
    """Return the partitions whose start and end offsets are needed; and time (ms since 1970) -> the partitions whose
    offsets at that time are needed.
    """
    places: set[TopicPartition] = set()
    at: dict[int, set[TopicPartition]] = {}
    for topic in need.log_ranges:
        places.update(_partitions(snapshot, topic))
    for topic, time in need.offsets_at:
        at.setdefault(time, set()).update(_partitions(snapshot, topic))
    for group, moment in need.group_positions:
        position = snapshot.group_positions.get(group)
        mine = set(position.committed) if position is not None else set()
        places |= mine
        if moment is not None:
            at.setdefault(moment, set()).update(mine)
    return places, at


def _named_brokers(need: Needs) -> Iterator[str]:
    """Yield the ids of the named brokers, as digits."""
    yield from map(str, need.nodes)
    yield from (each.name for each in need.resources if each.type.entity.at_broker and each.name.isdecimal())


def _using(snapshot: Snapshot, subjects: Collection[str]) -> set[str]:
    """Return the topics whose records may have schemas of these subjects."""
    if not subjects:
        return set()
    from console.model.schema_use import candidates

    return {topic for subject in subjects for topic in candidates(snapshot, subject)}


def _in_trouble(snapshot: Snapshot, topics: Iterable[str]) -> list[TopicPartition]:
    """Return the partitions, of these topics, that have no leader or are being reassigned: only for these are the
    logs of the replicas read.
    """
    moving = {(move.topic, move.partition) for move in snapshot.reassignments}
    return [
        (name, each.number)
        for name in sorted(topics)
        for each in (snapshot.topics[name].partitions if name in snapshot.topics else ())
        if each.leader < 0 or (name, each.number) in moving
    ]


def _partitions(snapshot: Snapshot, topic: str) -> list[TopicPartition]:
    known = snapshot.topics.get(topic)
    return [(topic, partition.number) for partition in known.partitions] if known is not None else []


def _dependent(snapshot: Snapshot, need: Needs) -> Iterator[ConfigResource]:
    """Yield the config resources whose names are known only after the first reads. Resources of the types that
    brokers list are left out, since they are read separately.
    """
    ids = [node.id for node in snapshot.cluster.brokers or snapshot.cluster.controllers]
    if BROKER in need.every:
        yield from map(broker_resource, ids)
    elif need.a_broker and (node := one_broker(ids)):
        yield node
    if BROKER_LOGGER in need.every:
        yield from (ConfigResource(BROKER_LOGGER, str(number)) for number in ids)
    if TOPIC in need.every:
        yield from map(topic_resource, snapshot.topics)
    elif need.a_topic and (topic := one_topic(snapshot.topics)):
        yield topic


async def read_everything(
    session: Session, classes: Iterable[tuple[str, str]] = (), subjects: Collection[str] | None = None
) -> Snapshot:
    """Read every part of the cluster that files of wanted state describe, and the running moves, to which some of the
    values belong.

    Args:
        classes: pairs of a Connect cluster, ``""`` for any, and a connector class: the classes whose config keys are
            read.
        subjects: the registry's subjects whose versions are read with their texts; None to read the newest version of
            each.

    Returns:
        The session's snapshot, with the failures to read in it.

    Raises:
        Refused: the cluster is not the expected one.
        AdminError: the cluster can't be reached.
    """
    # Read the cluster first and alone: if it is the wrong one, nothing else is read.
    await session.read_cluster()
    parts: tuple[Part, ...] = (Part.QUORUM, Part.TOPICS, Part.QUOTAS, Part.ACLS, Part.REASSIGNMENTS)
    if session.context.settings.connect:
        parts = (*parts, Part.CONNECT)
    if session.context.settings.schemas:
        parts = (*parts, Part.SCHEMAS)
    await asyncio.gather(*(session.read_whole(part) for part in parts))
    if wanted := {
        (known, name) for cluster, name in classes for known in session.snapshot.connect if cluster in ("", known)
    }:
        await session.keep(connector_reads.read_connector_classes(session.client, wanted))
    names = session.snapshot.schemas if subjects is None else subjects
    versions = 1 if subjects is None else schema_reads.MOST_VERSIONS
    reads = schema_reads.read_schema_texts(session.client, session.snapshot, names, versions, whole=True)
    await session.keep(reads)
    named = await session.list_resources(IN_RESOURCE_LISTS)
    snapshot = session.snapshot
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    topics = [topic_resource(name) for name in snapshot.topics]
    await session.read_configs([*topics, *brokers, CLUSTER_DEFAULT, *named])
    if limits_copies(session.snapshot):
        await session.read_log_dirs()
    return session.snapshot


def limits_copies(snapshot: Snapshot) -> bool:
    """Return whether some broker has a rate limit for copies between log directories. The caller then also reads the
    log directories, which alone show whether such copies are in progress.
    """
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    limits = (
        (each, snapshot.configs[each].get(LOG_DIRS_RATE))
        for each in (*brokers, CLUSTER_DEFAULT)
        if each in snapshot.configs
    )
    return any(entry is not None and is_override(entry, each) for each, entry in limits)
