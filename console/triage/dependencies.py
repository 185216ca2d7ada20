"""The dependencies between entities: which changed entities a symptom's subject depends on, and at what distance. Pure.

A topic depends on the brokers of its replicas. A group depends on its topics, the source connectors that write to them,
their leaders, its coordinator, and the clients, hosts and users of its members. A connector depends on its config, its
topics, their schemas and its users. Everything depends on the cluster. No API reports the users of members, so a group
may depend on every user, except those whose ACLs let them read only other groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from console.model import changes, codes, subjects
from console.model.acl import Acl
from console.model.authorizer import covers, pattern_of
from console.model.cluster import GroupMember, partition_in
from console.model.codes import AclResourceType, Permission
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.coordinators import OFFSETS, partition_of
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.snapshot import Snapshot
from console.triage import connectors as triage_connectors
from console.triage.remembered import remembered
from console.triage.symptoms import Symptom

T = TypeVar("T")
_GROUP, _ALLOW = AclResourceType.parse("GROUP"), Permission.parse("ALLOW")

TOPICS, GROUPS, BROKERS, CLIENTS, HOSTS, USERS, ALL = "topic", "group", "broker", "client", "host", "user", "cluster"
CONNECTORS, SCHEMAS, SCHEMA_CONFIGS = "connector", "schema", "schema config"
"""Sorts of entities; clients are client ids. A subject's versions and its configs are separate sorts: a connector that
reads does not depend on the schemas that the registry accepts. These are no enumeration, whose members are slow to
hash."""
_REFUSED = "ncompatible"
"""Text in a registry's message about a schema that it does not accept; without the first letter, whose case varies."""


class Entity(NamedTuple):
    """An entity that a change concerns, or on which a symptom's subject depends."""

    sort: str
    name: str = ""
    """The name; for a broker its id as text; ``""`` for the cluster."""


CLUSTER = Entity(ALL)
Changed = Mapping[str, Mapping[str, T]]
"""Sort of an entity -> name of the entity -> the changes of this entity."""

ITSELF, LEADS, READS, HOLDS, RUNS, COORDINATES, MAY_BE, BELONGS = range(8)
"""Distances of a changed entity from a symptom: the entity itself; the leader of its partition; a topic that it reads;
another replica, or the leader of a topic that it reads; a client or a host of its members; its coordinator; a user that
may be one of its members; the cluster."""


def changed_entity(about: changes.Target) -> Entity | None:
    """Return the entity that a change concerns; None if no symptom's subject depends on it."""
    match about:
        case ConfigResource(type=codes.TOPIC, name=name) | changes.TopicTarget(name=name):
            return Entity(TOPICS, name)
        case changes.MoveTarget(topic=name):
            return Entity(TOPICS, name)
        case ConfigResource(type=codes.GROUP, name=name) | changes.GroupTarget(name=name):
            return Entity(GROUPS, name)
        case ConfigResource(type=codes.BROKER, name=name):
            return Entity(BROKERS, name) if name else CLUSTER
        case ConfigResource(type=codes.CONNECTOR, name=name):
            return Entity(CONNECTORS, name)
        case ConfigResource(type=codes.SCHEMA, name=name) if name:
            return Entity(SCHEMA_CONFIGS, name)
        case subjects.SubjectTarget(name=name):
            return Entity(SCHEMAS, name)
        case changes.BrokerTarget(id=number):
            return Entity(BROKERS, str(number))
        case QuotaEntity():
            return _limited(about)
        case changes.ScramUser(user=name):
            return Entity(USERS, name)
        case changes.FeatureTarget() | changes.VoterTarget():
            return CLUSTER
    return None


def _limited(entity: QuotaEntity) -> Entity:
    """Return the entity for a quota: the client id or the address that it names, which members report; else the user;
    the cluster for a quota of defaults only.
    """
    for sort, part in ((CLIENTS, CLIENT_ID), (HOSTS, IP), (USERS, USER)):
        if entity.has(part) and (name := entity.name_of(part)) is not None:
            return Entity(sort, name)
    return CLUSTER


def near(symptom: Symptom, snapshot: Snapshot, changed: Changed[T]) -> Iterator[tuple[int, T]]:
    """Yield (distance, changes) for each changed entity on which a symptom's subject depends. An entity may be yielded
    more than once. Types of entities without a change cost no time, since 10,000 groups may be examined.
    """
    subject = symptom.subject
    group, topic = subject.group, subject.topic
    if subject.connector is not None:
        yield from _near_connector(snapshot, subject.connector, subject.task, changed)
    if topic is not None and (found := changed.get(TOPICS, {}).get(topic)) is not None:
        yield ITSELF, found
    if (brokers := changed.get(BROKERS)) is not None:
        yield from ((ITSELF, brokers[name]) for name in map(str, symptom.brokers) if name in brokers)
        if topic is not None:
            yield from _brokers_of(snapshot, topic, subject.partition, brokers)
    if group is not None:
        yield from _near_group(snapshot, group, topic, changed)
    if (found := changed.get(ALL, {}).get("")) is not None:
        yield BELONGS, found


def _brokers_of(
    snapshot: Snapshot, topic: str, number: int | None, brokers: Mapping[str, T]
) -> Iterator[tuple[int, T]]:
    """Yield (distance, changes) for the changed brokers of a partition; of all partitions of the topic if `number` is
    None.
    """
    known = snapshot.topics.get(topic)
    for each in known.partitions if known is not None else ():
        if number is None or each.number == number:
            for broker in each.replicas:
                if (found := brokers.get(str(broker))) is not None:
                    yield (LEADS if broker == each.leader else HOLDS), found


def _near_group(snapshot: Snapshot, name: str, topic: str | None, changed: Changed[T]) -> Iterator[tuple[int, T]]:
    """Yield (distance, changes) for the changed entities on which a group depends. topic: the only topic that counts;
    None for all topics that the group reads.
    """
    if (found := changed.get(GROUPS, {}).get(name)) is not None:
        yield ITSELF, found
    if (connectors := changed.get(CONNECTORS)) is not None:
        sink = triage_connectors.sinks(snapshot.connect, snapshot.configs).get(name)
        if sink is not None and (found := connectors.get(sink.name)) is not None:
            yield ITSELF, found
        yield from _sources_of(snapshot, name, topic, connectors)
    group = snapshot.groups.get(name)
    members = group.members or () if group is not None else ()
    topics, brokers = changed.get(TOPICS, {}), changed.get(BROKERS, {})
    if topic is None and (topics or brokers):
        lag = snapshot.lags.get(name)
        read = {(each.topic, each.partition) for each in (lag.partitions if lag is not None else ())}
        read.update(place for member in members for place in member.assignment)
        yield from ((READS, topics[each]) for each in dict.fromkeys(place[0] for place in read) if each in topics)
        led = (partition_in(snapshot.topics.get(where), number) for where, number in read) if brokers else ()
        leaders = dict.fromkeys(str(each.leader) for each in led if each is not None)
        yield from ((HOLDS, brokers[each]) for each in leaders if each in brokers)
    for sort, name_of in ((CLIENTS, _client), (HOSTS, _host)):
        if (mine := changed.get(sort)) is not None:
            yield from ((RUNS, mine[each]) for each in dict.fromkeys(map(name_of, members)) if each in mine)
    offsets = snapshot.topics.get(OFFSETS) if OFFSETS in topics or brokers else None
    if offsets is not None and offsets.partitions:
        coordinator = partition_in(offsets, partition_of(name, len(offsets.partitions)))
        leader = str(coordinator.leader) if coordinator is not None else ""
        yield from ((COORDINATES, each) for each in (topics.get(OFFSETS), brokers.get(leader)) if each is not None)
    users = changed.get(USERS, {})
    yield from ((MAY_BE, each) for user, each in users.items() if may_be_user_of(user, name, snapshot))


def _sources_of(
    snapshot: Snapshot, group: str, topic: str | None, connectors: Mapping[str, T]
) -> Iterator[tuple[int, T]]:
    """Yield (distance, changes) for the changed source connectors that write to topics of a group: the group reads
    records that their converters and transforms made. topic: the only topic that counts; None for all topics that
    the group reads.
    """
    lag = snapshot.lags.get(group)
    read = {topic} if topic is not None else {each.topic for each in (lag.partitions if lag is not None else ())}
    sources = triage_connectors.sources_among(snapshot.connect, connectors, read)
    yield from ((READS, connectors[name]) for name in sources)


def _near_connector(snapshot: Snapshot, name: str, task: int | None, changed: Changed[T]) -> Iterator[tuple[int, T]]:
    """Yield (distance, changes) for a changed connector, and for the changed entities that its trace, or that of a
    task, points to. Other entities do not count: a connector uses many topics, and may fail for reasons outside of
    Kafka. A trace about records points to the schemas of its topics.
    """
    if (found := changed.get(CONNECTORS, {}).get(name)) is not None:
        yield ITSELF, found
    topics, users, schemas, levels = (changed.get(each, {}) for each in (TOPICS, USERS, SCHEMAS, SCHEMA_CONFIGS))
    if not (topics or users or schemas or levels):
        return
    trace = triage_connectors.trace_of(snapshot.connect, name, task)
    if topics:
        named = triage_connectors.topics_in_trace(snapshot.connect, snapshot.configs, name, task)
        yield from ((READS, topics[each]) for each in named if each in topics)
    if users and triage_connectors.AUTHENTICATION in trace:
        yield from ((MAY_BE, each) for each in users.values())
    if schemas and triage_connectors.is_of_records(trace):
        decoded = triage_connectors.decoded_topics(snapshot.connect, snapshot.configs, name)
        for subject, found in schemas.items():
            if triage_connectors.names(trace, subject) or not decoded.isdisjoint(topics_with(subject, snapshot)):
                yield READS, found
    if _REFUSED in trace:
        yield from ((READS, found) for subject, found in levels.items() if triage_connectors.names(trace, subject))


def topics_with(subject: str, snapshot: Snapshot) -> Sequence[str]:
    """Return the topics whose records use a subject, by the subject's name; also if the subject was deleted."""
    known = snapshot.schemas.get(subject) or subjects.Subject(subject)
    return [each.topic for each in subjects.topics_of(known, snapshot.topics)]


def _client(member: GroupMember) -> str:
    return member.client_id


def _host(member: GroupMember) -> str:
    return member.host.removeprefix("/")


def may_be_user_of(user: str, group: str, snapshot: Snapshot) -> bool:
    """Return whether members of a group may log in as a user. False if the user's ACLs allow it to read only other
    groups.
    """
    allowed = _groups_by_user(snapshot.acls).get(user)
    return allowed is None or any(covers(pattern_of(each), _GROUP, group) for each in allowed)


@remembered
def _groups_by_user(acls: tuple[Acl, ...]) -> Mapping[str, Sequence[Acl]]:
    """Return user -> the ACLs that allow it to read groups."""
    found: dict[str, list[Acl]] = {}
    for each in acls:
        if each.resource_type == _GROUP and each.permission == _ALLOW and each.principal.startswith("User:"):
            found.setdefault(each.principal.removeprefix("User:"), []).append(each)
    return found


def configs_of(symptoms: Iterable[Symptom], snapshot: Snapshot) -> tuple[ConfigResource, ...]:
    """Return the resources whose configs may cause symptoms: topics, groups with the topics that they read, the brokers
    to which a symptom points or that have a replica, and the cluster default; each once, in the order of the
    symptoms.
    """
    return tuple(dict.fromkeys(each for symptom in symptoms for each in _configs_of(symptom, snapshot)))


def _configs_of(symptom: Symptom, snapshot: Snapshot) -> Iterator[ConfigResource]:
    subject = symptom.subject
    yield CLUSTER_DEFAULT
    if subject.group is not None:
        yield ConfigResource(codes.GROUP, subject.group)
    if subject.connector is not None:
        yield ConfigResource(codes.CONNECTOR, subject.connector)
    topics = {subject.topic} if subject.topic is not None else set()
    if subject.topic is None and (lag := snapshot.lags.get(subject.group or "")) is not None:
        topics = {each.topic for each in lag.partitions}
    yield from map(topic_resource, sorted(topics & snapshot.topics.keys()))
    partition = partition_in(
        snapshot.topics.get(subject.topic or ""), subject.partition if subject.partition is not None else -1
    )
    brokers = {*symptom.brokers, *(partition.replicas if partition is not None else ())}
    alive = {each.id for each in snapshot.cluster.brokers if not each.fenced}
    yield from map(broker_resource, sorted(brokers & alive))
