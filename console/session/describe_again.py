"""Read the targets of edits again, right before the edits are sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial, reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import replace

from console.model import changes, connect
from console.model import snapshot as refresh
from console.model.acl import Acl, filter_for
from console.model.cluster import Partition, ScramListing, TopicListing, partition_in
from console.model.config import ConfigResource, topic_resource
from console.model.parts import LISTED, Part
from console.model.quota import QuotaEntity, filter_for_entity
from console.model.snapshot import Snapshot, TopicPartition, with_scram
from console.model.subjects import SubjectTarget
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.session import snapshot_reader
from console.session.connector_reads import read_connector_offsets
from console.session.snapshot_reader import Client, Learned

if TYPE_CHECKING:
    from console.contexts import Context

log = logging.getLogger(__name__)

SINGLY = 50
"""Maximum number of quota entities or ACLs that are read one by one; for more, all of the cluster are read."""

T = TypeVar("T")


class Home(NamedTuple):
    """A topic that must exist for an edit, although the edit does not change it, such as the topic of a config."""

    name: str


Targets = Mapping[type, tuple[Any, ...]]
"""Type of target -> the targets of this type. The types have the order of `READERS`."""


def touched(edits: Iterable[Edit]) -> Targets:
    """Return the targets to read for these edits. For a topic that the edits create, its configs are left out, since
    they do not exist yet. For a topic that they delete, its configs are included.
    """
    all_ = tuple(edits)
    created = {name for edit in all_ if (name := edit.new_topic) is not None}
    unread = {topic_resource(name) for name in created}
    targets: dict[changes.Target | Home, None] = dict.fromkeys(
        t for edit in all_ for t in kind_of(edit).touches(edit) if t not in unread
    )
    described = created | {target.name for target in targets if isinstance(target, changes.TopicTarget)}
    homes = (name for edit in all_ if (name := edit.on_topic) is not None)
    targets |= dict.fromkeys(Home(name) for name in homes if name not in described)
    by_type: dict[type, list[Any]] = {type_: [] for type_ in READERS}
    for target in targets:
        by_type.setdefault(type(target), []).append(target)
    return {type_: tuple(mine) for type_, mine in by_type.items() if mine}


async def describe_again(client: Client, context: Context, known: Snapshot, edits: Iterable[Edit]) -> Snapshot:
    """Return a snapshot with the present state of all targets of the edits; a state that can't be read is missing in
    it.

    The snapshot is for comparison only: it marks whole parts of the cluster as read, although only the targets were
    read. Raises AdminError if the connection is lost, and Refused if the cluster is not the one that the context or the
    known snapshot names.
    """
    what = touched(edits)
    # Read all types at once, to keep the time short: kac does not notice another client's change between reading and
    # sending.
    updates = await asyncio.gather(*(reader(type_)(client, known, targets) for type_, targets in what.items()))
    # Describe the cluster last: the check that it is still the same cluster then also covers the reads above.
    cluster = await snapshot_reader.describe_same_cluster(client, context, known)
    at = datetime.now(UTC)
    return reduce(lambda snapshot, update: update(snapshot, at), updates, refresh.with_cluster(known, cluster, at))


def _marked(snapshot: Snapshot, part: str, *, read: bool, at: datetime) -> Snapshot:
    """Return the snapshot with a part marked as read at `at`, or as not read. In a part that counts as read, a missing
    entity does not exist.
    """
    read_at = {name: when for name, when in snapshot.read_at.items() if name != part}
    return replace(snapshot, read_at={**read_at, part: at} if read else read_at)


async def _allowed(read: Awaitable[T]) -> T | None:
    """Return the result of a read; None if the brokers refuse it. Other errors are raised."""
    from console.admin.errors import BrokerError

    try:
        return await read
    except BrokerError as error:
        log.warning("could not be read again: %s", error.failure)
        return None


async def _described(client: Client, describe: Callable[..., Awaitable[T]], filters: Iterable[Any]) -> list[T] | None:
    """Return the brokers' answers about the entities that the filters match, or about all entities for more than
    `SINGLY` filters. Return None if the brokers refuse any request: a missing entity would otherwise count as
    deleted.
    """
    each = list(filters)
    # A few requests for single entities cost less than all quotas of a cluster, which may be a million.
    asked = [client.run(describe, one) for one in each] if len(each) <= SINGLY else [client.run(describe)]
    parts = [part for part in await asyncio.gather(*map(_allowed, asked)) if part is not None]
    return parts if len(parts) == len(asked) else None


# -- readers of each type of target, before it is changed and afterwards -----------------------------------------------

TargetReader = Callable[[Client, Snapshot, Sequence[Any]], Awaitable[Learned]]
"""Function of (client, known snapshot, targets of one type) that reads the targets again. A state that can't be read is
missing in the result. Raises AdminError if the connection is lost.
"""


async def _topics(client: Client, _known: Snapshot, targets: Sequence[changes.TopicTarget]) -> Learned:
    from console.admin.topics import describe_topics

    names = {target.name for target in targets}
    listing = await client.run(describe_topics, [target.name for target in targets])
    of_these = TopicListing(
        {name: topic for name, topic in listing.topics.items() if name in names},
        {name: failure for name, failure in listing.failures.items() if name in names},
    )
    # Only UNKNOWN_TOPIC… proves that a topic does not exist; any other failure leaves that open.
    denied = any(failure.name not in refresh.GONE for failure in of_these.failures.values())

    def update(snapshot: Snapshot, at: datetime) -> Snapshot:
        return _marked(refresh.with_topics(snapshot, of_these, whole=False, at=at), Part.TOPICS, read=not denied, at=at)

    return update


async def _homes(client: Client, _known: Snapshot, targets: Sequence[Home]) -> Learned:
    """Read the present topics of edits that need a topic but do not change it. A topic that the brokers can't
    describe is removed from the snapshot. Whether such a topic exists is decided by the read of its configs,
    which another broker answers.
    """
    from console.admin.topics import describe_topics

    names = [target.name for target in targets]
    listing = await client.run(describe_topics, names)

    def update(snapshot: Snapshot, _at: datetime) -> Snapshot:
        others = {name: topic for name, topic in snapshot.topics.items() if name not in set(names)}
        now = {name: listing.topics[name] for name in names if name in listing.topics}
        return replace(snapshot, topics={**others, **now})

    return update


async def _configs(client: Client, _known: Snapshot, resources: Sequence[ConfigResource]) -> Learned:
    from console.admin.configs import describe_configs

    described = await client.run(describe_configs, list(resources))

    def update(snapshot: Snapshot, at: datetime) -> Snapshot:
        touched_ = set(resources)
        # A resource that can't be described loses its old values, which would otherwise count as current.
        others = {resource: known for resource, known in snapshot.configs.items() if resource not in touched_}
        return refresh.with_configs(
            replace(snapshot, configs=others), described, at, described_by=described.described_by
        )

    return update


async def _quotas(client: Client, _known: Snapshot, entities: Sequence[QuotaEntity]) -> Learned:
    from console.admin.quotas import describe_quotas

    parts = await _described(client, describe_quotas, map(filter_for_entity, entities))

    def update(snapshot: Snapshot, at: datetime) -> Snapshot:
        touched_ = set(entities)
        rest = {entity: values for entity, values in snapshot.quotas.items() if entity not in touched_}
        for part in parts or ():
            rest |= part
        known = replace(snapshot, quotas=rest)
        return _marked(known, Part.QUOTAS, read=parts is not None, at=at)

    return update


async def _acls(client: Client, _known: Snapshot, bindings: Sequence[Acl]) -> Learned:
    from console.admin.acls import describe_acls

    parts = await _described(client, describe_acls, map(filter_for, bindings))

    def update(snapshot: Snapshot, at: datetime) -> Snapshot:
        touched_ = set(bindings)
        others = tuple(acl for acl in snapshot.acls if acl not in touched_)
        acls = replace(snapshot, acls=tuple(sorted({*others, *chain.from_iterable(parts or ())})))
        return _marked(acls, Part.ACLS, read=parts is not None, at=at)

    return update


async def _scram(client: Client, _known: Snapshot, targets: Sequence[changes.ScramUser]) -> Learned:
    from console.admin.scram import describe_scram

    users = list(dict.fromkeys(target.user for target in targets))
    described = await _allowed(client.run(describe_scram, users))

    def update(snapshot: Snapshot, at: datetime) -> Snapshot:
        if described is None:
            return _marked(snapshot, Part.SCRAM, read=False, at=at)
        others = {user: each for user, each in snapshot.scram.items() if user not in users}
        failures = {each.entity: each.failure for each in snapshot.failures if each.part == Part.SCRAM}
        unread = {user: why for user, why in failures.items() if user not in users}
        listing = ScramListing({**others, **described.users}, {**unread, **described.failures})
        return with_scram(snapshot, listing, at)

    return update


async def _whole(part: Part, client: Client, _known: Snapshot, _targets: Sequence[changes.Target]) -> Learned:
    """Read a whole part of the cluster. If the brokers refuse, the part counts as not read; for the parts that brokers
    must describe, raise AdminError instead.
    """
    reading = snapshot_reader.read_listed(client, part)
    read = await (_allowed(reading) if LISTED[part].may_be_refused else reading)
    return read or (lambda snapshot, at: _marked(snapshot, part, read=False, at=at))


async def _subjects(client: Client, _known: Snapshot, targets: Sequence[SubjectTarget]) -> Learned:
    from console.admin.schemas import describe_schemas

    names = list(dict.fromkeys(target.name for target in targets))
    listing = await _allowed(client.run(describe_schemas, names))
    if listing is None:
        return lambda snapshot, at: _marked(snapshot, Part.SCHEMAS, read=False, at=at)
    return lambda snapshot, at: refresh.with_subjects(snapshot, names, listing, at)


async def _leaders(
    client: Client, known: Snapshot, targets: Sequence[changes.PartitionTarget | changes.MoveTarget]
) -> Learned:
    """Read the topics of these partitions, and the replicas' logs of partitions without a leader: they show which
    replicas may be elected, and which records an election would lose.
    """
    from console.admin.topics import describe_topics

    listing = await client.run(describe_topics, list(dict.fromkeys(target.topic for target in targets)))
    now = refresh.with_topics(known, listing, whole=False, at=datetime.now(UTC))
    places = [(target.topic, target.number) for target in targets if isinstance(target, changes.PartitionTarget)]
    # Only an election among replicas that are out of sync may lose records; a partition with a leader is not at risk.
    lost = [place for place in places if (found := _found(now, place)) is not None and found.leader < 0]
    with_logs = await snapshot_reader.read_replica_logs(client, now, lost)
    return lambda snapshot, at: with_logs(refresh.with_topics(snapshot, listing, whole=False, at=at), at)


def _found(snapshot: Snapshot, place: TopicPartition) -> Partition | None:
    return partition_in(snapshot.topics.get(place[0]), place[1])


async def _moves(client: Client, known: Snapshot, targets: Sequence[changes.MoveTarget]) -> Learned:
    with_leaders, with_moves = await asyncio.gather(
        _leaders(client, known, targets), _whole(Part.REASSIGNMENTS, client, known, targets)
    )
    return lambda snapshot, at: with_moves(with_leaders(snapshot, at), at)


async def _dirs(client: Client, _known: Snapshot, targets: Sequence[changes.ReplicaTarget]) -> Learned:
    """Read the topics of these replicas, and the log directories of the replicas' brokers."""
    from console.admin.cluster import describe_log_dirs
    from console.admin.topics import describe_topics

    brokers = list(dict.fromkeys(target.broker for target in targets))
    topics, listing = await asyncio.gather(
        client.run(describe_topics, list(dict.fromkeys(target.topic for target in targets))),
        client.run(describe_log_dirs, brokers),
    )

    def update(snapshot: Snapshot, at: datetime) -> Snapshot:
        with_topics = refresh.with_topics(snapshot, topics, whole=False, at=at)
        asked = {f"broker {broker}" for broker in brokers}
        unread = [(f"broker {broker}", failure) for broker, failure in listing.failures.items()]
        others = [each for each in snapshot.failures if each.part == Part.LOG_DIRS and each.entity not in asked]
        unread += [(each.entity, each.failure) for each in others]
        known = refresh.with_log_dirs(with_topics, {**snapshot.log_dirs, **listing.dirs}, snapshot.rates, at)
        return refresh.with_failures(known, Part.LOG_DIRS, unread)

    return update


async def _logs(client: Client, _known: Snapshot, targets: Sequence[changes.LogTarget | changes.NewRecords]) -> Learned:
    from console.admin.partitions import log_ranges

    asked = list(dict.fromkeys((target.topic, target.number) for target in targets))
    found, _ = await client.run(log_ranges, asked)
    return lambda snapshot, _at: refresh.with_log_ranges(snapshot, asked, found)


async def _groups(
    client: Client, known: Snapshot, targets: Sequence[changes.GroupTarget | changes.GroupOffsetTarget]
) -> Learned:
    from console.admin.groups import group_positions, poll_groups

    names = list(dict.fromkeys(t.name if isinstance(t, changes.GroupTarget) else t.group for t in targets))
    positions, _ = await client.run(group_positions, names)
    there = {name for name, position in positions.items() if position.group is not None}
    shown = [name for name in names if name in known.lags and name in there]
    polls = await client.run(poll_groups, shown) if shown else None

    def update(snapshot: Snapshot, at: datetime) -> Snapshot:
        if polls is not None:
            trends = refresh.trends_of_polls(snapshot, polls, at)
            snapshot = refresh.with_group_polls(snapshot, polls, trends, at)
        return refresh.with_group_positions(snapshot, names, positions, at)

    return update


async def _brokers(client: Client, _known: Snapshot, _targets: Sequence[changes.BrokerTarget]) -> Learned:
    from console.admin.cluster import describe_cluster

    cluster = await client.run(describe_cluster)
    return lambda snapshot, at: refresh.with_cluster(snapshot, cluster, at)


async def _transactions(client: Client, _known: Snapshot, targets: Sequence[changes.ProducerTarget]) -> Learned:
    from console.admin.transactions import poll_transactions

    asked = list(dict.fromkeys((target.topic, target.number) for target in targets))
    poll = await _allowed(client.run(poll_transactions, asked))
    return lambda snapshot, at: refresh.with_transactions(snapshot, asked, poll, at)


async def _voters(client: Client, _known: Snapshot, _targets: Sequence[changes.VoterTarget]) -> Learned:
    from console.admin.cluster import describe_quorum

    quorum = await client.run(describe_quorum)
    return lambda snapshot, at: refresh.with_quorum(snapshot, quorum, at)


async def _connector_offsets(
    client: Client, known: Snapshot, targets: Sequence[connect.ConnectorOffsetsTarget]
) -> Learned:
    names = [target.name for target in targets]
    with_connectors, with_offsets = await asyncio.gather(
        _whole(Part.CONNECT, client, known, targets), read_connector_offsets(client, names)
    )
    return lambda snapshot, at: with_offsets(with_connectors(snapshot, at), at)


READERS: Mapping[type, TargetReader] = {
    changes.TopicTarget: _topics,
    Home: _homes,
    ConfigResource: _configs,
    QuotaEntity: _quotas,
    Acl: _acls,
    changes.ScramUser: _scram,
    changes.PartitionTarget: _leaders,
    changes.MoveTarget: _moves,
    changes.ReplicaTarget: _dirs,
    changes.LogTarget: _logs,
    changes.NewRecords: _logs,
    changes.GroupTarget: _groups,
    changes.GroupOffsetTarget: _groups,
    changes.BrokerTarget: _brokers,
    changes.ProducerTarget: _transactions,
    changes.VoterTarget: _voters,
    connect.ConnectorOffsetsTarget: _connector_offsets,
    SubjectTarget: _subjects,
}
"""Type of target -> the function that reads targets of this type. A type without an entry is read as the whole part of
the cluster to which it belongs. Results are entered into the snapshot in this order.
"""


def reader(type_: Any) -> TargetReader:
    """Return the reader of a type of targets."""
    return READERS.get(type_) or partial(_whole, type_.part)
