"""Describes again what edits touch: right before they are sent, and after they are applied."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from console.model import snapshot as refresh
from console.model.acl import Acl, filter_for
from console.model.changes import (
    BrokerTarget,
    FeatureTarget,
    GroupOffsetTarget,
    GroupTarget,
    LogTarget,
    MoveTarget,
    PartitionTarget,
    ProducerTarget,
    ScramUser,
    Target,
    TopicTarget,
)
from console.model.cluster import Partition, ScramCredential, TopicListing
from console.model.codes import TOPIC
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.elections import partition_in
from console.model.quota import QuotaEntity, QuotaValues, filter_for_entity
from console.model.snapshot import Snapshot, TopicPartition
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.session.snapshot_reader import replica_logs_of

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)

SINGLY = 50
"""Up to so many quota entities or ACLs are described one by one; for more, all of the cluster are read."""

T = TypeVar("T")


class Touched(Struct, frozen=True):
    """What edits touch, in the order of the edits. homes: other topics that must exist. others: type of target -> the
    targets, for the types of `READERS`."""

    resources: tuple[ConfigResource, ...]
    topics: tuple[str, ...]
    entities: tuple[QuotaEntity, ...]
    acls: tuple[Acl, ...]
    users: tuple[str, ...]
    homes: tuple[str, ...]
    others: Mapping[type, tuple[Any, ...]]


def touched(edits: Iterable[Edit]) -> Touched:
    """Return what to describe for these edits. A topic that they create has no configs yet; those of a topic that they
    delete are described, since they are deleted too."""
    all_ = tuple(edits)
    created = {name for edit in all_ if (name := edit.new_topic) is not None}
    unread = {topic_resource(name) for name in created}
    targets = dict.fromkeys(t for edit in all_ for t in kind_of(edit).touches(edit) if t not in unread)
    topics = [target.name for target in targets if isinstance(target, TopicTarget)]
    homes = dict.fromkeys(name for edit in all_ if (name := edit.on_topic) is not None)
    described = created.union(topics)
    return Touched(
        tuple(target for target in targets if isinstance(target, ConfigResource)),
        tuple(topics),
        tuple(target for target in targets if isinstance(target, QuotaEntity)),
        tuple(target for target in targets if isinstance(target, Acl)),
        tuple(dict.fromkeys(target.user for target in targets if isinstance(target, ScramUser))),
        tuple(name for name in homes if name not in described),
        _by_type(targets),
    )


def _by_type(targets: Iterable[Target]) -> dict[type, tuple[Any, ...]]:
    found: dict[type, list[Any]] = {}
    for target in targets:
        if type(target) in READERS:
            found.setdefault(type(target), []).append(target)
    return {type_: tuple(mine) for type_, mine in found.items()}


async def describe_again(session: Session, edits: Iterable[Edit]) -> Snapshot:
    """Return the session's snapshot with everything that the edits touch as the cluster has it now.

    What could not be read is missing. The session must not keep it: parts count as read of which only this was read.
    Raises AdminError if the cluster is lost.
    """
    from console.admin import configs, topics

    what = touched(edits)
    snapshot = session.snapshot
    run = session.client.run
    listing, described, quotas, acls, scram, updates = await asyncio.gather(
        run(topics.describe_topics, [*what.topics, *what.homes]) if what.topics or what.homes else _nothing(),
        run(configs.describe_configs, list(what.resources)) if what.resources else _nothing(),
        _quotas(session, what.entities),
        _acls(session, what.acls),
        _scram(session, what.users),
        asyncio.gather(*(READERS[type_].read(session, targets) for type_, targets in what.others.items())),
    )
    at = datetime.now(UTC)
    without = {r: s for r, s in snapshot.configs.items() if r not in set(what.resources)} if what.resources else None
    snapshot = replace(snapshot, configs=snapshot.configs if without is None else without)
    if described is not None:
        snapshot = refresh.with_configs(snapshot, described, at, described_by=described.described_by)
    if listing is not None:
        snapshot = _with_homes(snapshot, listing, what.homes)
    if listing is not None and what.topics:
        failures = {name: failure for name, failure in listing.failures.items() if name in set(what.topics)}
        of_these = TopicListing({n: t for n, t in listing.topics.items() if n in set(what.topics)}, failures)
        snapshot = refresh.with_topics(snapshot, of_these, whole=False, at=at)
        denied = any(failure.name not in refresh.GONE for failure in failures.values())
        snapshot = _marked(snapshot, "topics", read=not denied, at=at)
    if what.entities:
        rest = {entity: values for entity, values in snapshot.quotas.items() if entity not in set(what.entities)}
        snapshot = replace(snapshot, quotas={**rest, **(quotas or {})})
        snapshot = _marked(snapshot, "quotas", read=quotas is not None, at=at)
    if what.acls:
        others = tuple(acl for acl in snapshot.acls if acl not in set(what.acls))
        snapshot = replace(snapshot, acls=tuple(sorted({*others, *(acls or ())})))
        snapshot = _marked(snapshot, "acls", read=acls is not None, at=at)
    if what.users:
        kept = {user: each for user, each in snapshot.scram.items() if user not in what.users}
        snapshot = replace(snapshot, scram={**kept, **(scram or {})})
        snapshot = _marked(snapshot, "scram", read=scram is not None, at=at)
    for update in updates:
        snapshot = update(snapshot)
    return snapshot


def _marked(snapshot: Snapshot, part: str, *, read: bool, at: datetime) -> Snapshot:
    """Mark a part as read or unread: what is missing in a part that was read does not exist."""
    read_at = {name: when for name, when in snapshot.read_at.items() if name != part}
    return replace(snapshot, read_at={**read_at, part: at} if read else read_at)


def _with_homes(snapshot: Snapshot, listing: TopicListing, homes: Sequence[str]) -> Snapshot:
    """The snapshot with these topics as they are now, and without those that could not be described. Whether a topic
    exists is decided by its configs, which another broker described."""
    if not homes:
        return snapshot
    others = {name: topic for name, topic in snapshot.topics.items() if name not in set(homes)}
    return replace(snapshot, topics={**others, **{n: listing.topics[n] for n in homes if n in listing.topics}})


async def _nothing() -> None:
    return None


async def _quotas(session: Session, entities: Sequence[QuotaEntity]) -> dict[QuotaEntity, QuotaValues] | None:
    from console.admin import quotas

    if not entities:
        return None
    if len(entities) > SINGLY:
        return await _allowed(session.client.run(quotas.describe_quotas))
    asked = (session.client.run(quotas.describe_quotas, filter_for_entity(entity)) for entity in entities)
    found = await asyncio.gather(*(_allowed(each) for each in asked))
    parts = [part for part in found if part is not None]
    return {k: v for part in parts for k, v in part.items()} if len(parts) == len(found) else None


async def _acls(session: Session, bindings: Sequence[Acl]) -> tuple[Acl, ...] | None:
    from console.admin import acls

    if not bindings:
        return None
    if len(bindings) > SINGLY:
        return await _allowed(session.client.run(acls.describe_acls))
    asked = (session.client.run(acls.describe_acls, filter_for(binding)) for binding in bindings)
    found = await asyncio.gather(*(_allowed(each) for each in asked))
    parts = [part for part in found if part is not None]
    return tuple(acl for part in parts for acl in part) if len(parts) == len(found) else None


async def _scram(session: Session, users: Sequence[str]) -> dict[str, tuple[ScramCredential, ...]] | None:
    from console.admin import scram

    return await _allowed(session.client.run(scram.describe_scram, list(users))) if users else None


async def _allowed(read: Awaitable[T]) -> T | None:
    """Return what was read, None if the brokers refuse it."""
    from console.admin.errors import BrokerError

    try:
        return await read
    except BrokerError as error:
        log.warning("could not be read again: %s", error.failure)
        return None


async def read_again(session: Session, edits: Iterable[Edit]) -> None:
    """Read into the session what edits touch; for the cluster default, the brokers too. Never raises: a failure to read
    is in the snapshot's failures."""
    from console.admin.errors import AdminError

    what = touched(edits)
    resources = dict.fromkeys(what.resources)
    if any(resource.is_cluster_default for resource in resources):
        resources |= dict.fromkeys(broker_resource(broker.id) for broker in session.snapshot.cluster.brokers)
    try:
        if what.topics:
            await session.read_topics(list(what.topics))
            known = (name for name in what.topics if name in session.snapshot.topics)
            resources |= dict.fromkeys(topic_resource(name) for name in known)
        gone = {topic_resource(name) for name in what.topics if name not in session.snapshot.topics}
        await session.read_configs([r for r in resources if r.type != TOPIC or r not in gone])
        if what.entities:
            await _read_quotas(session, what.entities)
        if what.acls:
            await session.read_acls()
        if what.users:
            await session.read_scram()
        for type_, targets in what.others.items():
            session.learn(await READERS[type_].read(session, targets), *READERS[type_].parts)
    except AdminError as error:
        log.warning("could not read again what was touched: %s", error.failure)


async def _read_quotas(session: Session, entities: Sequence[QuotaEntity]) -> None:
    """Read these alone if the others are known already: there may be a million."""
    if len(entities) <= SINGLY and "quotas" in session.snapshot.read_at:
        await session.read_quotas_of([filter_for_entity(entity) for entity in entities])
    else:
        await session.read_quotas()


# -- targets that are read by a table: what reads each type, before it is changed and afterwards -----------------------

Update = Callable[[Snapshot], Snapshot]
"""Puts what was read into a snapshot."""


class TargetReader(NamedTuple):
    """How targets of one type are read again. parts: what of a snapshot that may change. read: raises AdminError if the
    cluster is lost; what could not be read is missing in the updated snapshot."""

    parts: tuple[str, ...]
    read: Callable[[Session, Sequence[Any]], Awaitable[Update]]


async def _leaders(session: Session, targets: Sequence[PartitionTarget | MoveTarget]) -> Update:
    """The topics; and of the partitions that have no leader, what their replicas hold: who is elected may have
    changed, and with that what is lost."""
    from console.admin.topics import describe_topics

    listing = await session.client.run(describe_topics, list(dict.fromkeys(target.topic for target in targets)))
    now = refresh.with_topics(session.snapshot, listing, whole=False, at=datetime.now(UTC))
    places = [(target.topic, target.number) for target in targets if isinstance(target, PartitionTarget)]
    lost = [place for place in places if (found := _found(now, place)) is not None and found.leader < 0]
    with_logs = await replica_logs_of(session.client, now, lost)
    return lambda snapshot: with_logs(refresh.with_topics(snapshot, listing, whole=False, at=datetime.now(UTC)))


def _found(snapshot: Snapshot, place: TopicPartition) -> Partition | None:
    return partition_in(snapshot.topics.get(place[0]), place[1])


async def _moves(session: Session, targets: Sequence[MoveTarget]) -> Update:
    from console.admin.partitions import list_reassignments

    with_leaders, moves = await asyncio.gather(
        _leaders(session, targets), _allowed(session.client.run(list_reassignments))
    )
    if moves is None:
        return lambda snapshot: _marked(with_leaders(snapshot), "reassignments", read=False, at=datetime.now(UTC))
    return lambda snapshot: refresh.with_reassignments(with_leaders(snapshot), moves, datetime.now(UTC))


async def _logs(session: Session, targets: Sequence[LogTarget]) -> Update:
    from console.admin.partitions import log_ranges

    asked = [(target.topic, target.number) for target in targets]
    found, _ = await session.client.run(log_ranges, asked)
    return lambda snapshot: refresh.with_log_ranges(snapshot, asked, found)


async def _groups(session: Session, targets: Sequence[GroupTarget | GroupOffsetTarget]) -> Update:
    from console.admin import group_offsets
    from console.admin.group_lag import look_at_groups

    names = list(dict.fromkeys(t.name if isinstance(t, GroupTarget) else t.group for t in targets))
    positions, _ = await session.client.run(group_offsets.group_positions, names)
    there = {name for name, position in positions.items() if position.group is not None}
    shown = [name for name in names if name in session.snapshot.lags and name in there]
    looks = await session.client.run(look_at_groups, shown) if shown else None

    def update(snapshot: Snapshot) -> Snapshot:
        at = datetime.now(UTC)
        if looks is not None:
            trends = refresh.trends_after(snapshot.lag_trends, looks.lags, at)
            snapshot = refresh.with_group_looks(snapshot, looks, trends, at)
        return refresh.with_group_positions(snapshot, names, positions, at)

    return update


async def _brokers(session: Session, _targets: Sequence[BrokerTarget]) -> Update:
    from console.admin.cluster import describe_cluster

    cluster = await session.client.run(describe_cluster)
    return lambda snapshot: refresh.with_cluster(snapshot, cluster, datetime.now(UTC))


async def _transactions(session: Session, targets: Sequence[ProducerTarget]) -> Update:
    from console.admin.open_transactions import look_at_transactions

    asked = list(dict.fromkeys((target.topic, target.number) for target in targets))
    look = await _allowed(session.client.run(look_at_transactions, asked))
    return lambda snapshot: refresh.with_transactions(snapshot, asked, look, datetime.now(UTC))


async def _features(session: Session, _targets: Sequence[FeatureTarget]) -> Update:
    from console.admin.features import describe_features

    found = await session.client.run(describe_features)
    return lambda snapshot: refresh.with_features(snapshot, found, datetime.now(UTC))


READERS: Mapping[type, TargetReader] = {
    PartitionTarget: TargetReader(("topics", "replica_logs"), _leaders),
    MoveTarget: TargetReader(("topics", "reassignments"), _moves),
    LogTarget: TargetReader(("log_ranges",), _logs),
    GroupTarget: TargetReader(("groups", "lags"), _groups),
    GroupOffsetTarget: TargetReader(("groups", "lags"), _groups),
    BrokerTarget: TargetReader(("cluster",), _brokers),
    ProducerTarget: TargetReader(("transactions",), _transactions),
    FeatureTarget: TargetReader(("features",), _features),
}
"""Type of target -> what reads it again."""
