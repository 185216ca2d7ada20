"""The changes between two snapshots: each difference with its place, and similar differences as one event. Pure.

If only one of the snapshots has a part or a place, this is no change: the configs and partitions of a new topic come
with the topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import reduce
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from console.model import changes, connect
from console.model.acl import acl_differences
from console.model.cluster import Broker, Group, GroupLag, Partition, Topic
from console.model.config import CLUSTER_DEFAULT, ConfigResource
from console.model.differing import differing
from console.model.feature_levels import newest_levels
from console.model.lag_trend import Standing
from console.model.numbers import commas
from console.model.parts import Part
from console.model.quota import QuotaEntity, QuotaValues
from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.model.subjects import SubjectTarget
from console.model.tokens import TokenTarget
from console.plan.amounts import utc_time
from console.triage.config_changes import config_differences
from console.triage.facts import Author
from console.triage.share_beginnings import SHARE


class About(NamedTuple):
    """The properties of a kind of events."""

    shown_with: str
    """The name under which the head of a pane shows this kind, together with other kinds of the same name."""
    part: Part | None = None
    """The part of a snapshot in which the kind shows; None if each place has its own time of reading."""
    one: str = ""
    """The singular noun for the changed entities in a count; empty if lines name the places in another way."""
    value: Callable[[str], str] = str
    """Returns a value of the kind as text for a line."""
    own_values: bool = False
    """Whether entities that change in the same way have different values, such as numbers of partitions or times, so
    that the values are not compared.
    """
    by_requests: bool = False
    """Whether only a client's request makes this change, never the cluster by itself."""
    no_way_back: str = "no request of a client made this change"
    """The reason why no edit reverts the change; only for kinds that none reverts."""
    once_gone: str = ""
    """The reason why no edit reverts the change if the entity is gone or was created again; empty for the reason in
    `no_way_back`.
    """
    is_login: bool = False
    """Whether clients log in with the entity, so that they notice its end only at their next login."""


_NODES, _TOPICS, _ACCESS = "brokers, partitions", "topics, configs", "quotas, ACLs, users"


class Kind(StrEnum):
    """The kinds of events."""

    about: About

    def __new__(cls, name: str, about: About) -> Self:
        """Create a member from its name and its properties."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.about = about
        return kind

    BROKER = "broker", About(_NODES, Part.CLUSTER)
    CONTROLLER = "controller", About(_NODES, Part.QUORUM, value="node {}".format)
    VOTER = (
        "voter",
        About(_NODES, Part.QUORUM, "voter", no_way_back="`add voter` lets it vote again, while it runs"),
    )
    FEATURE = (
        "feature",
        About(
            _NODES,
            Part.VERSIONS,
            value="level {}".format,
            by_requests=True,
            no_way_back="`set feature` finalizes another level",
        ),
    )
    LEADER = (
        "leader",
        About(
            _NODES,
            Part.TOPICS,
            value="broker {}".format,
            no_way_back="leaders are elected: `elect preferred` in Topics",
        ),
    )
    ISR = "isr", About(_NODES, Part.TOPICS)
    REPLICAS = (
        "replicas",
        About(_NODES, Part.TOPICS, by_requests=True, no_way_back="`move` puts replicas on other brokers"),
    )
    TOPIC = (
        "topic",
        About(
            _TOPICS,
            Part.TOPICS,
            "topic",
            own_values=True,
            by_requests=True,
            no_way_back="partitions can't be taken away again",
            once_gone="a deleted topic's records are gone: `create topic` makes an empty one",
        ),
    )
    CONFIG = "config", About(_TOPICS, by_requests=True)
    QUOTA = "quota", About(_ACCESS, Part.QUOTAS, by_requests=True)
    ACL = "acl", About(_ACCESS, Part.ACLS, by_requests=True)
    SCRAM = (
        "scram",
        About(
            _ACCESS,
            Part.SCRAM,
            "SCRAM credential",
            "{} iterations".format,
            own_values=True,
            by_requests=True,
            no_way_back="the old password is unknown: `scram set` sets a new one",
            is_login=True,
        ),
    )
    TOKEN = (
        "token",
        About(
            _ACCESS,
            Part.TOKENS,
            "token",
            lambda value: f"until {utc_time(int(value))}",
            own_values=True,
            no_way_back="`token expire` ends it, `token renew` has it expire later",
            once_gone="a token that is gone is gone: `token create` makes another one for its clients",
            is_login=True,
        ),
    )
    SCHEMA = (
        "schema",
        About(
            _TOPICS,
            Part.SCHEMAS,
            "schema",
            own_values=True,
            no_way_back="`delete schema` deletes a version softly",
            once_gone="a deleted version still decodes records: `undelete schema` registers it again",
        ),
    )
    GROUP = "group", About("groups", Part.GROUPS, "group")
    OFFSET = (
        "offset",
        About(
            "groups",
            Part.GROUPS,
            own_values=True,
            no_way_back="`reset group` sets offsets of a group without members",
        ),
    )
    CONNECTOR = (
        "connector",
        About(
            "connectors",
            Part.CONNECT,
            "connector",
            no_way_back="`pause`, `resume`, `stop` and `restart connector` change its state",
            once_gone="a deleted connector's offsets stay: `create connector` makes it again",
        ),
    )


UP, FENCED, PRESENT, IN_SYNC, VOTES = "up", "fenced", "present", "in", "votes"
STATE, MEMBERS, PARTITIONS, ID, RACK, ADDRESS = "state", "members", "partitions", "id", "rack", "address"
TASKS, UNPLACED = "tasks", "unplaced"
"""Keys of places of groups, topics, brokers, connectors and Connect clusters."""


class Place(NamedTuple):
    """An entity, or a property of an entity, whose value can change."""

    kind: Kind
    about: changes.Target
    """The entity to which the value belongs: for a leader, an ISR or replicas the partition, for the controller the
    cluster default.
    """
    key: str = ""
    """A config's or quota's name, the broker of an ISR, `STATE` or `MEMBERS` of a group, `PARTITIONS` or `ID` of a
    topic, `RACK` or `ADDRESS` of a broker, `STATE` or `TASKS` of a connector, `UNPLACED` or a worker's address of a
    Connect cluster, the owner of a login that ended by itself; else ``""``.
    """


class Difference(NamedTuple):
    """A place with its values before and after the change; None for no value."""

    place: Place
    was: str | None
    became: str | None


# -- from two snapshots to differences ---------------------------------------------------------------------------------


def differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield the differences in the parts that both snapshots have. Unchanged parts are the same objects in both, so
    most comparisons are by identity.
    """
    yield from _controller_differences(old, new)
    for part, find in _FIND.items():
        if getattr(old, part) is not getattr(new, part) and part in old.read_at:
            yield from find(old, new)
    yield from _config_differences(old, new)
    yield from offset_differences(old, new)


def changes_by_clients(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield the differences that only a client's request can make: configs, quotas, ACLs, credentials, feature levels,
    voters, versions of schemas, and topics that were deleted, created again or given more partitions. There are few
    of them, whatever happens to brokers.
    """
    for part, find in _BY_CLIENTS.items():
        if getattr(old, part) is not getattr(new, part) and part in old.read_at:
            yield from find(old, new)
    yield from _config_differences(old, new)


def pauses(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield a difference for each connector that was paused or stopped between the snapshots."""
    if old.connect is not new.connect and Part.CONNECT in old.read_at:
        for each in _connect_differences(old, new):
            if each.place.key == STATE and each.became in (connect.PAUSED, connect.STOPPED):
                yield each


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _broker_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    before, after = ({b.id: FENCED if b.fenced else UP for b in s.cluster.brokers} for s in (old, new))
    for number in sorted(before.keys() | after.keys()):
        if before.get(number) != after.get(number):
            place = Place(Kind.BROKER, changes.BrokerTarget(number))
            yield Difference(place, before.get(number), after.get(number))
    known = {each.id: each for each in old.cluster.brokers}
    for broker in new.cluster.brokers:
        if (was := known.get(broker.id)) is not None and was is not broker:
            yield from identity_differences(was, broker)


def identity_differences(was: Broker, now: Broker) -> Iterator[Difference]:
    """Yield the differences in a broker's registration: its rack and its address."""
    target = changes.BrokerTarget(now.id)
    if was.rack != now.rack:
        yield Difference(Place(Kind.BROKER, target, RACK), was.rack, now.rack)
    if (was.host, was.port) != (now.host, now.port):
        yield Difference(Place(Kind.BROKER, target, ADDRESS), *(f"{each.host}:{each.port}" for each in (was, now)))


def _feature_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    if not old.versions or not new.versions:
        return
    former, newest = (max(each.epoch for each in snapshot.versions.values()) for snapshot in (old, new))
    # Nodes that have just begun, or lag, answer without levels or with former ones. A change shows in the answers of a
    # node that both polls have.
    if former < 0 or not any(
        each.epoch == newest > known.epoch
        for node, each in new.versions.items()
        if (known := old.versions.get(node)) is not None
    ):
        return
    before, after = (newest_levels(each.versions.values()) for each in (old, new))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            place = Place(Kind.FEATURE, changes.FeatureTarget(name))
            yield Difference(place, _text(before.get(name)), _text(after.get(name)))


def controller(snapshot: Snapshot) -> int | None:
    """Return the id of the active controller, -1 if there is none; None if unknown. In a KRaft cluster, Metadata names
    any broker as the controller, so the response about the quorum is used.
    """
    if Part.QUORUM not in snapshot.read_at:
        return None
    if snapshot.quorum is not None:
        return snapshot.quorum.leader_id
    return snapshot.cluster.controller_id if Part.CLUSTER in snapshot.read_at else None


def _controller_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    if old.quorum is new.quorum and old.cluster is new.cluster:
        return
    before, after = controller(old), controller(new)
    if before is not None and after is not None and before != after:
        yield Difference(Place(Kind.CONTROLLER, CLUSTER_DEFAULT), _node(before), _node(after))


def _voter_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield a difference for each added or removed voter, if both snapshots have the quorum. In a static quorum voters
    have no directory, so two with the same id are equal.
    """
    if old.quorum is None or new.quorum is None:
        return
    sides = (old.quorum, new.quorum)
    before, after = ({changes.VoterTarget(each.id, each.directory_id) for each in quorum.voters} for quorum in sides)
    static = {each.id for each in before | after if not each.directory_id}
    there = {each.id for each in before} & {each.id for each in after}
    for voter in sorted(before ^ after, key=lambda each: (each.id, each.directory_id)):
        if voter.id not in static & there:
            yield Difference(Place(Kind.VOTER, voter), *(VOTES, None) if voter in before else (None, VOTES))


def _node(number: int) -> str | None:
    return str(number) if number >= 0 else None


def _topics_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    for name, before, after in _differing_topics(old, new):
        yield from _topic_differences(name, before, after)
        if before is not None and after is not None and before.partitions is not after.partitions:
            known = {each.number: each for each in before.partitions}
            for each in after.partitions:
                was = known.get(each.number)
                if was is not None and was is not each:
                    yield from _partition_differences(name, was, each)


def _whole_topics_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    for each in _differing_topics(old, new):
        yield from _topic_differences(*each)


def _differing_topics(old: Snapshot, new: Snapshot) -> Iterator[tuple[str, Topic | None, Topic | None]]:
    denied = {each.entity for one in (old, new) for each in one.failures if each.part == Part.TOPICS}
    # Leave out denied topics: they exist, but the client may not describe them.
    return (each for each in differing(old.topics, new.topics) if each[0] not in denied)


def _topic_differences(name: str, before: Topic | None, after: Topic | None) -> Iterator[Difference]:
    """Yield the differences of a topic as a whole: its existence, its id and its number of partitions."""
    place = Place(Kind.TOPIC, changes.TopicTarget(name), PARTITIONS)
    if before is None or after is None:
        sides = (str(len(each.partitions)) if each is not None else None for each in (before, after))
        yield Difference(place, *sides)
        return
    # A topic that was deleted and recreated between two polls differs only in its id (KIP-516, since Kafka 2.8).
    if before.topic_id and after.topic_id and before.topic_id != after.topic_id:
        yield Difference(Place(Kind.TOPIC, changes.TopicTarget(name), ID), before.topic_id, after.topic_id)
    if len(before.partitions) != len(after.partitions):
        yield Difference(place, str(len(before.partitions)), str(len(after.partitions)))


def _partition_differences(topic: str, was: Partition, now: Partition) -> Iterator[Difference]:
    if was.leader != now.leader:
        place = Place(Kind.LEADER, changes.PartitionTarget(topic, now.number))
        yield Difference(place, _node(was.leader), _node(now.leader))
    if was.isr != now.isr:
        # Removing a replica also removes it from the ISR: that is no difference of its own.
        for broker in sorted((set(was.isr) ^ set(now.isr)).intersection(was.replicas, now.replicas)):
            place = Place(Kind.ISR, changes.PartitionTarget(topic, now.number), str(broker))
            yield Difference(place, *(IN_SYNC, None) if broker in was.isr else (None, IN_SYNC))
    if was.replicas != now.replicas:
        place = Place(Kind.REPLICAS, changes.MoveTarget(topic, now.number))
        yield Difference(place, commas(was.replicas), commas(now.replicas))


def _config_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    if old.configs is new.configs:
        return
    for resource, key, was, became in config_differences(old.configs, new.configs):
        yield Difference(Place(Kind.CONFIG, resource, key), was, became)


def _quota_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    for entity, had, has in differing(old.quotas, new.quotas):
        if had is None and new.quotas_sparse:
            continue  # the value may have existed before, unread
        yield from _entity_quota_differences(entity, had or {}, has or {})


def _entity_quota_differences(entity: QuotaEntity, had: QuotaValues, has: QuotaValues) -> Iterator[Difference]:
    for key in sorted(had.keys() | has.keys()):
        if had.get(key) != has.get(key):
            yield Difference(Place(Kind.QUOTA, entity, key), _number(had.get(key)), _number(has.get(key)))


def _number(value: float | None) -> str | None:
    return None if value is None else repr(value)


def _acl_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    gone, come = acl_differences(old.acls, new.acls)
    yield from (Difference(Place(Kind.ACL, each), PRESENT, None) for each in gone)
    yield from (Difference(Place(Kind.ACL, each), None, PRESENT) for each in come)


def _user_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    # Leave out a user that a broker could not describe: neither its begin nor its end is known.
    unread = {f.entity for s in (old, new) for f in s.failures if f.part == Part.SCRAM and f.entity not in s.scram}
    had, has = (
        {changes.ScramUser(u, c.mechanism): c.iterations for u, cs in s.scram.items() if u not in unread for c in cs}
        for s in (old, new)
    )
    for user, before, after in differing(had, has):
        if before != after:
            yield Difference(Place(Kind.SCRAM, user), _text(before), _text(after))


def _token_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    for id_, *both in differing(old.tokens, new.tokens):
        before, after = (None if token is None else str(token.expires) for token in both)
        if before != after:
            yield Difference(Place(Kind.TOKEN, TokenTarget(id_)), before, after)


def ended_logins(old: Snapshot, new: Snapshot, began: datetime, ended: datetime) -> Iterator[Difference]:
    """Yield a difference for each login that ended without a new one: delegation tokens that expired or are not listed
    any more, for example because of a request. Tokens are left out if their owner has another valid one. The place
    names the owner, and the former value is the time of the end, ms since 1970.

    Args:
        began, ended: the times of the two polls, UTC.
    """
    if not old.tokens or Part.TOKENS not in old.read_at:
        return
    first, last = (round(each.timestamp() * 1000) for each in (began, ended))
    for token in old.tokens.values():
        if token.expires <= first or (token.id in new.tokens and new.tokens[token.id].expires > last):
            continue  # it ended before, or lasts
        others = (each for each in new.tokens.values() if each.owner == token.owner and each.id != token.id)
        if not any(each.expires > last for each in others):
            end = str(min(token.expires, last))
            yield Difference(Place(Kind.TOKEN, TokenTarget(token.id), token.owner), end, None)


def _schema_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield a difference for the newest version that was registered for each subject, and for each version that was
    deleted.
    """
    for name, before, after in differing(old.schemas, new.schemas):
        had, has = ({one.number for one in each.live} if each is not None else set() for each in (before, after))
        newest, newer = max(had, default=0), max(has, default=0)
        if newer > newest:
            place = Place(Kind.SCHEMA, SubjectTarget(name, 0))
            yield Difference(place, f"version {newest}" if newest else None, f"version {newer}")
        for number in sorted(had - has):
            yield Difference(Place(Kind.SCHEMA, SubjectTarget(name, number)), "registered", None)


def _groups_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    for name, one, other in differing(old.groups, new.groups):
        yield from _group_differences(name, one, other)


def _group_differences(name: str, one: Group | None, other: Group | None) -> Iterator[Difference]:
    before, after = (each.state if each is not None else None for each in (one, other))
    if before != after:
        yield Difference(Place(Kind.GROUP, changes.GroupTarget(name), STATE), before, after)
    # Only described groups have members: a listing has just the states.
    if one is not None and other is not None and one.members is not None and other.members is not None:
        had, has = len(one.members), len(other.members)
        if had != has:
            yield Difference(Place(Kind.GROUP, changes.GroupTarget(name), MEMBERS), str(had), str(has))


# -- Connect -----------------------------------------------------------------------------------------------------------

_PASSING = frozenset({connect.UNASSIGNED, "RESTARTING", ""})
"""States that connectors and tasks have for a moment while workers distribute them."""


def _connect_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield the differences of the Connect clusters that both snapshots have. A rebalance is one difference of its
    Connect cluster, whatever the number of its instances.
    """
    for name, before, after in differing(old.connect, new.connect):
        if before is None or after is None:
            continue
        target = connect.ConnectTarget(name)
        was, became = _answering(before), _answering(after)
        for address in sorted(was.keys() & became.keys()):
            if was[address] != became[address]:
                yield Difference(Place(Kind.CONNECTOR, target, address), was[address], became[address])
        sides = _unplaced(before), _unplaced(after)
        if (sides[0] is None) is not (sides[1] is None):
            yield Difference(Place(Kind.CONNECTOR, target, UNPLACED), *sides)
        for connector, one, other in differing(before.connectors, after.connectors):
            yield from _connector_differences(connect.ConnectorTarget(connect.full_name(name, connector)), one, other)


def _answering(cluster: connect.ConnectCluster) -> dict[str, str | None]:
    return {each.address: UP if each.failure is None else None for each in cluster.workers}


def _unplaced(cluster: connect.ConnectCluster) -> str | None:
    instances = (each for known in cluster.connectors.values() for each in (known.state, *_states(known)))
    count = sum(state == connect.UNASSIGNED for state in instances)
    return str(count) if count else None


def _states(connector: connect.Connector) -> list[str]:
    return [task.state for task in connector.tasks]


def _connector_differences(
    target: connect.ConnectorTarget, before: connect.Connector | None, after: connect.Connector | None
) -> Iterator[Difference]:
    sides = tuple(each.state if each is not None else None for each in (before, after))
    state = Place(Kind.CONNECTOR, target, STATE)
    if before is None or after is None:
        yield Difference(state, *sides)
        return
    if before.state != after.state and not _passes(before.state, after.state):
        yield Difference(state, *sides)
    was, became = _states(before), _states(after)
    is_passing = not _PASSING.isdisjoint(became) or (not _PASSING.isdisjoint(was) and {*became} == {connect.RUNNING})
    if was.count(connect.FAILED) != became.count(connect.FAILED) or (sorted(was) != sorted(became) and not is_passing):
        yield Difference(Place(Kind.CONNECTOR, target, TASKS), _counted(was), _counted(became))


def _passes(was: str, became: str) -> bool:
    return became in _PASSING or (was in _PASSING and became == connect.RUNNING)


def _counted(states: Sequence[str]) -> str:
    counts = Counter(states)
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "none"


# -- offsets of groups -------------------------------------------------------------------------------------------------

SOON, GONE = 0.8, 3
"""Multiples of the interval between a group's commits: within the first, members that joined have committed nothing
yet; after the second, members without a commit are gone."""
STEPS = 3
"""Factor of the usual step between two commits. Only an offset that falls by more counts as set back: an older commit
may arrive late.
"""


def offset_differences(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield a difference for each committed offset that did not change by reading: it was set back, it was set ahead
    while the group had no members, or it is gone. Offsets of topics that were deleted or created again do not count,
    since they go with the topic.
    """
    for name, before, after in differing(old.lags, new.lags):
        if before is not None and after is not None:
            yield from _set_offsets(name, before, after, old, new)


def _set_offsets(group: str, before: GroupLag, lag: GroupLag, old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    after: Mapping[tuple[str, int], int] = {}
    trend = old.lag_trends.get(group)
    for was, now in zip_longest(before.partitions, lag.partitions[: len(before.partitions)]):
        if was is None or was is now or was.committed < 0:
            continue
        where = was.topic, was.partition
        if now is not None and (now.topic, now.partition) == where:
            committed = now.committed
        else:
            after = after or {(each.topic, each.partition): each.committed for each in lag.partitions}
            committed = after.get(where, -1)
        if committed == was.committed:
            continue
        stands = trend.standing.get(where) if trend is not None else None
        if committed < 0:
            changed = not lag.failures and group in new.groups
        elif committed < was.committed:
            changed = was.committed - committed > (STEPS * stands.step if stands is not None else 0)
        else:
            changed = stands is not None and _set_ahead(group, stands, committed, old, new)
        if changed and _same_topic(was.topic, old, new):
            place = Place(Kind.OFFSET, changes.GroupOffsetTarget(group, *where))
            yield Difference(place, str(was.committed), str(committed) if committed >= 0 else None)


def _set_ahead(group: str, stands: Standing, committed: int, old: Snapshot, new: Snapshot) -> bool:
    """Return whether a client that does not read the group's records set a rising offset. stands: the former state of
    the offset.
    """
    was, now = old.groups.get(group), new.groups.get(group)
    if was is None or now is None or not was.is_vacant:
        return False
    if not stands.held:
        # A consumer that calls assign() commits without being a member: its offset moved before.
        return now.is_vacant and not stands.moves
    # The first offset of a share group rises with the log's, too.
    if was.type == SHARE or was.members != ():
        return False
    before, after = old.lag_trends.get(group), new.lag_trends.get(group)
    interval, moved = stands.interval, stands.moved
    if before is None or after is None or interval is None or moved is None:
        return False
    # The coordinator listed no members, but the offset moved a short time before: the members may have committed a last
    # time when they left. A job that starts, reads and ends between two reads commits less often.
    if before.last.at - moved < GONE * interval:
        return False
    # Members that joined meanwhile read from the former offset, and commit only after their interval.
    is_soon = after.last.at - before.last.at < SOON * interval
    return now.is_vacant or (is_soon and committed - stands.committed > STEPS * stands.step)


def _same_topic(name: str, old: Snapshot, new: Snapshot) -> bool:
    before, after = old.topics.get(name), new.topics.get(name)
    return before is not None and after is not None and before.topic_id == after.topic_id


_FIND: Mapping[Part, Callable[[Snapshot, Snapshot], Iterator[Difference]]] = {
    Part.CLUSTER: _broker_differences,
    Part.QUORUM: _voter_differences,
    Part.TOPICS: _topics_differences,
    Part.QUOTAS: _quota_differences,
    Part.ACLS: _acl_differences,
    Part.SCRAM: _user_differences,
    Part.TOKENS: _token_differences,
    Part.GROUPS: _groups_differences,
    Part.SCHEMAS: _schema_differences,
    Part.VERSIONS: _feature_differences,
    Part.CONNECT: _connect_differences,
}
"""Part of a snapshot -> the function that yields its differences if both snapshots have the part. Configs are not here,
because each resource has its own time of reading.
"""
_BY_CLIENTS = {
    part: _FIND[part] for part in (Part.QUOTAS, Part.ACLS, Part.SCRAM, Part.VERSIONS, Part.QUORUM, Part.SCHEMAS)
} | {Part.TOPICS: _whole_topics_differences}


# -- from differences to events ----------------------------------------------------------------------------------------

MOST_LINES = 8
"""Maximum number of topics or entities with the same change that get an event each; if there are more, all share one
event.
"""
MOST_PLACES = 500
"""Maximum number of places that a stored event names; its count includes all."""
MOST_EVENTS = 1_000
"""Maximum number of stored events. If there are more, the oldest are dropped, and counted."""


class Event(Struct, frozen=True):
    """A change, or the same change of many places."""

    kind: Kind
    places: tuple[Place, ...]
    """The changed places; at most `MOST_PLACES` of them once the event is stored."""
    count: int
    """The number of all places."""
    units: int
    """The number of topics, entities or groups to which the places belong."""
    was: str | None
    """The former value; None for no value, ``""`` if it differs between the places."""
    became: str | None
    """The present value; None for no value, ``""`` if it differs between the places."""
    since: datetime | None
    """The time of the last read that showed `was`, UTC; None if unknown."""
    until: datetime
    """The time of the first read that showed `became`, UTC."""
    severity: Severity
    author: Author | None = None
    """The author; None if the journal of this host has no matching change."""
    times: int = 1
    """The number of events that this event combines: how often a broker left or returned, or how often a Connect
    cluster had instances without a worker.
    """

    @property
    def trouble(self) -> bool:
        """Whether its severity is HIGH or CRITICAL."""
        return self.severity in (Severity.CRITICAL, Severity.HIGH)

    @property
    def is_by_request(self) -> bool:
        """Whether only a client's request can have caused the event. Requests create, delete, pause and stop
        connectors.
        """
        if self.kind is Kind.CONNECTOR and self.place.key == STATE:
            return self.was is None or self.became in (None, connect.PAUSED, connect.STOPPED)
        return self.kind.about.by_requests

    @property
    def place(self) -> Place:
        """The first of the event's places."""
        return self.places[0]


def events(
    differences_: Iterable[Difference],
    old: Snapshot,
    new: Snapshot,
    at: datetime,
    authors: Mapping[Place, Author] = MappingProxyType({}),
    warned: Collection[Place] = (),
) -> list[Event]:
    """Return differences as events, in the order of their first differences: one for each topic or entity, or one for
    all of those with the same change if they are many (`MOST_LINES`). Every difference is in exactly one event.

    Args:
        at: the time for parts without a time of their own, UTC.
        authors: place -> the author of its change; changes of different authors are different events.
        warned: the places about which rules warn, as in `severity`.
    """
    sorts: dict[tuple[object, ...], dict[object, list[Difference]]] = {}
    for each in differences_:
        sort = (authors.get(each.place), *_sort(each))
        sorts.setdefault(sort, {}).setdefault(_unit(each.place), []).append(each)
    made: list[Event] = []
    for of_units in sorts.values():
        together = [[each for mine in of_units.values() for each in mine]]
        lines = together if len(of_units) > MOST_LINES else of_units.values()
        for mine in lines:
            worst = max((severity(each, warned) for each in mine), key=_RANKS.__getitem__)
            made.append(_event(mine, seen_between(mine[0].place, old, new, at), worst, authors.get(mine[0].place)))
    return made


def _sort(each: Difference) -> tuple[object, ...]:
    """Return a key that is equal for differences which may be in the same event."""
    place = each.place
    match place.kind:
        case kind if kind.about.own_values:
            return kind, place.key, each.was is None, each.became is None
        case Kind.REPLICAS:
            return (place.kind,)
        case Kind.CONNECTOR if place.key == TASKS:
            return place.kind, place.key, _failures(each.was) < _failures(each.became)
        case Kind.CONNECTOR:
            return place.kind, place.key, each.was, each.became
        case Kind.CONFIG:
            assert isinstance(place.about, ConfigResource)
            return place.kind, place.about.type, place.key, each.was, each.became
        case Kind.GROUP if place.key == MEMBERS:
            return place.kind, place.key, _fewer(each)
        case Kind.BROKER:
            return place.kind, place.key, place.about, each.was, each.became
        case _:
            return place.kind, place.key, each.was, each.became


def _fewer(each: Difference) -> bool:
    return int(each.became or 0) < int(each.was or 0)


def _unit(place: Place) -> object:
    about = place.about
    if isinstance(about, changes.GroupOffsetTarget):
        return about.group
    return about.topic if isinstance(about, changes.PartitionTarget | changes.MoveTarget) else about


def _event(
    mine: Sequence[Difference], between: tuple[datetime | None, datetime], worst: Severity, author: Author | None
) -> Event:
    first = mine[0]
    was, became = ({side} for side in (first.was, first.became))
    units: set[object] = set()
    for each in mine:
        was.add(each.was)
        became.add(each.became)
        units.add(_unit(each.place))
    return Event(
        first.place.kind,
        tuple(each.place for each in mine),
        len(mine),
        len(units),
        first.was if len(was) == 1 else "",
        first.became if len(became) == 1 else "",
        *between,
        worst,
        author,
    )


def seen_between(place: Place, old: Snapshot, new: Snapshot, at: datetime) -> tuple[datetime | None, datetime]:
    """Return the time of the last read that showed the former value, None if unknown, and the time of the first read
    that showed the present one, both UTC. at: the time for a part without a time of its own, UTC.
    """
    if isinstance(place.about, ConfigResource) and place.kind is Kind.CONFIG:
        return old.configs_at.get(place.about), new.configs_at.get(place.about, at)
    group = _group_of_polls(place)
    if group is not None:
        trend = old.lag_trends.get(group)  # take the time of the last poll: a listing has no members and no offsets
        return datetime.fromtimestamp(trend.last.at, UTC) if trend is not None else None, at
    part = place.kind.about.part or Part.CONFIGS
    since = old.read_at.get(part)
    # Take `at` for a part that is read in pieces: its time is that of its last complete read.
    until = new.read_at.get(part, at)
    return since, until if since is None or until > since else at


def _group_of_polls(place: Place) -> str | None:
    """Return the group of a place whose value is known only from polls of groups; None for other places."""
    if isinstance(place.about, changes.GroupOffsetTarget):
        return place.about.group
    return place.about.name if isinstance(place.about, changes.GroupTarget) and place.key == MEMBERS else None


# -- severity ----------------------------------------------------------------------------------------------------------

_RANKS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.HIGH: 2, Severity.CRITICAL: 3}
_WORSE_STATES = frozenset({"Dead", "NotReady"})


def severity(each: Difference, warned: Collection[Place] = ()) -> Severity:
    """Return the severity of a difference. It depends on the effect, not on the author.

    Args:
        warned: the places about whose changes the rules of plans warn (`judged_changes.warned_places`).
    """
    place, became = each.place, each.became
    match place.kind:
        case Kind.BROKER if place.key:
            return Severity.WARNING
        case kind if kind.about.by_requests and place in warned:
            return Severity.HIGH
        case Kind.BROKER:
            return Severity.INFO if became == UP else Severity.HIGH
        case Kind.OFFSET:
            is_forward = each.was is not None and became is not None and int(became) > int(each.was)
            return Severity.INFO if is_forward else Severity.WARNING
        case Kind.CONTROLLER:
            return Severity.CRITICAL if became is None else Severity.WARNING
        case Kind.LEADER:
            return Severity.CRITICAL if became is None else Severity.INFO
        case Kind.ISR:
            return Severity.HIGH if became is None else Severity.INFO
        case Kind.TOPIC:
            return Severity.HIGH if became is None or place.key == ID else Severity.INFO
        case Kind.CONFIG | Kind.QUOTA | Kind.ACL | Kind.SCRAM | Kind.VOTER | Kind.FEATURE:
            return Severity.WARNING
        case Kind.GROUP:
            return _group_severity(each)
        case Kind.CONNECTOR:
            return _connect_severity(each)
        case _:
            return Severity.INFO


def _group_severity(each: Difference) -> Severity:
    if each.place.key == MEMBERS:
        return Severity.WARNING if _fewer(each) else Severity.INFO
    if each.became is None or each.became in _WORSE_STATES:
        return Severity.WARNING
    return Severity.WARNING if each.became == "Empty" and each.was is not None else Severity.INFO


def _connect_severity(each: Difference) -> Severity:
    place, became = each.place, each.became
    if place.key in (STATE, TASKS):
        fails = _failures(became) > _failures(each.was)
        stops = became in (None, connect.PAUSED, connect.STOPPED)
        return Severity.HIGH if fails else Severity.WARNING if stops else Severity.INFO
    is_away = became is None and place.key != UNPLACED
    return Severity.WARNING if is_away else Severity.INFO


def _failures(value: str | None) -> int:
    """Return the number of failed instances in a value of `TASKS` or `STATE`; 0 for None."""
    counts = (each.partition(" ") for each in (value or "").split(", ") if connect.FAILED in each)
    return sum(int(count) if state else 1 for count, _, state in counts)


# -- the kept events ---------------------------------------------------------------------------------------------------


class Record(Struct, frozen=True):
    """The stored events, the latest first."""

    began: datetime
    """The time at which kac began to watch, UTC."""
    events: tuple[Event, ...] = ()
    dropped: int = 0
    """The number of older events that were dropped."""

    def with_events(self, new: Iterable[Event]) -> Record:
        """Return the record with further events, given in the order of time; each stores at most `MOST_PLACES`
        places.
        """
        added = [
            replace(each, places=each.places[:MOST_PLACES]) if len(each.places) > MOST_PLACES else each for each in new
        ]
        if not added:
            return self
        kept = [*self.events]
        for each in added:
            kept = _folded(each, kept)
        dropped = self.dropped + max(0, len(kept) - MOST_EVENTS)
        return replace(self, events=tuple(kept[:MOST_EVENTS]), dropped=dropped)


FLAP = timedelta(minutes=10)
"""Maximum time between the leaving and the return of a broker that become one event, together with the changes of
leaders and ISRs that they cause.
"""
ALONG = timedelta(seconds=30)
"""Time before a broker is known to be gone within which changes of ISRs may belong to its leaving."""


def _folded(new: Event, kept: list[Event]) -> list[Event]:
    """Return the stored events with a further one, the latest first. The leaving and the return of a broker, and the
    changes of leaders and ISRs that they cause, become one event.
    """
    if new.kind is Kind.BROKER:
        before = _flap_of(new.place, new, kept, 1)
        if before is None:
            return [new, *kept]
        begins = (before.since or before.until) - ALONG
        mine = [each for each in kept if each.until >= begins and _goes_along(each, new.place)]
        together = reduce(_joined, (*reversed(mine), new), before)
        one = replace(together, became=new.became, times=before.times + new.times)
        return [one, *(each for each in kept if each is not before and not any(each is one for one in mine))]
    if new.kind is Kind.CONNECTOR and new.place.key == UNPLACED:
        known = next((each for each in kept if each.place == new.place), None)
        if known is not None and known.until >= new.until - FLAP:
            one = replace(_joined(known, new), became=new.became, times=known.times + new.times)
            return [one, *(each for each in kept if each is not known)]
    if new.kind in (Kind.ISR, Kind.LEADER):
        for before in kept:
            if before.kind is Kind.BROKER and _goes_along(new, before.place) and _flap_of(before.place, new, kept, 2):
                return [_joined(before, new), *(each for each in kept if each is not before)]
    return [new, *kept]


def _flap_of(broker: Place, new: Event, kept: Iterable[Event], times: int) -> Event | None:
    """Return the latest event of a broker if it combines at least `times` leavings and returns and is at most `FLAP`
    older than the new event; else None.
    """
    before = next((each for each in kept if each.kind is Kind.BROKER and each.place == broker), None)
    return before if before is not None and before.times >= times and before.until >= new.until - FLAP else None


def _goes_along(event: Event, broker: Place) -> bool:
    """Return whether an event is a change of leaders or ISRs that the leaving or return of the broker caused. False if
    a partition has no leader, which is worse than that.
    """
    assert isinstance(broker.about, changes.BrokerTarget)
    number = str(broker.about.id)
    if event.kind is Kind.ISR:
        return event.place.key == number
    return event.kind is Kind.LEADER and event.became is not None and number in (event.was, event.became)


def _joined(one: Event, other: Event) -> Event:
    """Return the first event extended by the places and the number of the second one."""
    places = tuple(dict.fromkeys((*one.places, *other.places)))
    return replace(
        one,
        places=places[:MOST_PLACES],
        count=max(one.count, other.count, len(places)),
        until=max(one.until, other.until),
        severity=max(one.severity, other.severity, key=_RANKS.__getitem__),
    )
