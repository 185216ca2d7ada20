"""Who depends on whom: what a symptom's subject needs, nearest first, as entities that a client can change. Pure.

A topic depends on the brokers of its replicas, a group on its topics, their leaders, its coordinator and the clients,
hosts and users of its members, and everything on the cluster. No API tells the users of members, so that a group may
depend on every user; ACLs that let a user read some groups leave out the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from console.model import changes, codes
from console.model.acl import Acl
from console.model.authorizer import covers, pattern_of
from console.model.cluster import partition_in
from console.model.codes import AclResourceType, Permission
from console.model.config import ConfigResource
from console.model.coordinators import OFFSETS, partition_of
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.snapshot import Snapshot
from console.triage.remembered import remembered
from console.triage.symptoms import Symptom

_GROUP, _ALLOW = AclResourceType.parse("GROUP"), Permission.parse("ALLOW")


class Sort(StrEnum):
    """The sort of an entity."""

    TOPIC = "topic"
    GROUP = "group"
    BROKER = "broker"
    CLIENT = "client"
    """A client id."""
    HOST = "host"
    USER = "user"
    CLUSTER = "cluster"


class Entity(NamedTuple):
    """An entity that a change is about. name: of a broker its id as text; ``""`` for the cluster."""

    sort: Sort
    name: str = ""


CLUSTER = Entity(Sort.CLUSTER)
ANY_USER = Entity(Sort.USER)
"""The unknown user of a member."""


def changed_entity(about: changes.Target) -> Entity | None:
    """Return the entity that a change is about; None if nothing here depends on it."""
    match about:
        case ConfigResource(type=codes.TOPIC, name=name) | changes.TopicTarget(name=name):
            return Entity(Sort.TOPIC, name)
        case ConfigResource(type=codes.GROUP, name=name) | changes.GroupTarget(name=name):
            return Entity(Sort.GROUP, name)
        case ConfigResource(type=codes.BROKER, name=name):
            return Entity(Sort.BROKER, name) if name else CLUSTER
        case changes.BrokerTarget(id=number):
            return Entity(Sort.BROKER, str(number))
        case QuotaEntity():
            return _limited(about)
        case changes.ScramUser(user=name):
            return Entity(Sort.USER, name)
        case changes.FeatureTarget() | changes.VoterTarget():
            return CLUSTER
    return None


def _limited(entity: QuotaEntity) -> Entity:
    """Return the entity of a quota: members report their client id and host, and no API their user."""
    for sort, part in ((Sort.CLIENT, CLIENT_ID), (Sort.HOST, IP), (Sort.USER, USER)):
        if entity.has(part) and (name := entity.name_of(part)) is not None:
            return Entity(sort, name)
    return CLUSTER


def needs(symptom: Symptom, snapshot: Snapshot) -> Iterator[Entity]:
    """Yield the entities that a symptom's subject depends on, the nearest first; some more than once."""
    subject = symptom.subject
    if subject.group is not None:
        yield Entity(Sort.GROUP, subject.group)
    if subject.topic is not None:
        yield Entity(Sort.TOPIC, subject.topic)
    for broker in symptom.brokers:
        yield Entity(Sort.BROKER, str(broker))
    if subject.topic is not None:
        yield from _brokers_of(snapshot, subject.topic, subject.partition)
    if subject.group is not None:
        yield from _of_group(snapshot, subject.group, subject.topic)
    yield CLUSTER


def _brokers_of(snapshot: Snapshot, topic: str, number: int | None) -> Iterator[Entity]:
    """Yield the brokers of a partition, its leader first; of a topic those of all its partitions."""
    known = snapshot.topics.get(topic)
    found = [*known.partitions] if known is not None else []
    if number is not None:
        found = [each for each in found if each.number == number]
    leading = dict.fromkeys(each.leader for each in found)
    for broker in {**leading, **dict.fromkeys(each for one in found for each in one.replicas)}:
        if broker >= 0:
            yield Entity(Sort.BROKER, str(broker))


def _of_group(snapshot: Snapshot, name: str, topic: str | None) -> Iterator[Entity]:
    """Yield the entities that a group depends on. topic: the only one that counts; None for all that it reads."""
    group, lag = snapshot.groups.get(name), snapshot.lags.get(name)
    members = group.members or () if group is not None else ()
    yield from (Entity(Sort.CLIENT, each) for each in dict.fromkeys(member.client_id for member in members))
    yield from (Entity(Sort.HOST, each) for each in dict.fromkeys(m.host.removeprefix("/") for m in members))
    if topic is None:
        read = {(each.topic, each.partition): None for each in (lag.partitions if lag is not None else ())}
        read |= dict.fromkeys(place for member in members for place in member.assignment)
        yield from (Entity(Sort.TOPIC, each) for each in dict.fromkeys(place[0] for place in read))
        led = (partition_in(snapshot.topics.get(where), number) for where, number in read)
        for broker in dict.fromkeys(each.leader for each in led if each is not None and each.leader >= 0):
            yield Entity(Sort.BROKER, str(broker))
    offsets = snapshot.topics.get(OFFSETS)
    if offsets is not None and offsets.partitions:
        yield Entity(Sort.TOPIC, OFFSETS)
        coordinator = partition_in(offsets, partition_of(name, len(offsets.partitions)))
        if coordinator is not None and coordinator.leader >= 0:
            yield Entity(Sort.BROKER, str(coordinator.leader))
    yield ANY_USER


def may_be_user_of(user: str, group: str, snapshot: Snapshot) -> bool:
    """Return whether members of a group may log in as a user: False if ACLs let the user read other groups only."""
    allowed = _groups_by_user(snapshot.acls).get(user)
    return allowed is None or any(covers(pattern_of(each), _GROUP, group) for each in allowed)


@remembered
def _groups_by_user(acls: tuple[Acl, ...]) -> Mapping[str, Sequence[Acl]]:
    """Return user -> the ACLs that let it use groups."""
    found: dict[str, list[Acl]] = {}
    for each in acls:
        if each.resource_type == _GROUP and each.permission == _ALLOW and each.principal.startswith("User:"):
            found.setdefault(each.principal.removeprefix("User:"), []).append(each)
    return found
