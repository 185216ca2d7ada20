"""Members of groups over time: those that left and were not replaced, and those that have nothing to read. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct, field

from console.model.cluster import Group, GroupMember
from console.model.observed_logs import Place
from console.model.parts import Part
from console.model.snapshot import Snapshot

KEPT = timedelta(minutes=30)
"""The period for which members that left are kept."""
CAME_KEPT = timedelta(hours=1)
"""The period for which a coming of members is kept: longer, to know how long the members stayed that left."""
FOLLOWS = timedelta(minutes=3)
"""The longest time between the first look at a new group and the moment at which another one lost its members."""
_USUAL = re.compile(r"(consumer--[0-9]++|rdkafka|sarama|kgo|kafkajs|kafka\Wpython[^@]*+|console-consumer|)@")
"""Matches client ids that a library gives if its user gives none, without the group's name."""
STABLE = "Stable"
NOT_READY = "NotReady"
"""The state of a streams group without the topics that its topology needs (KIP-1071)."""
MOST = 3
"""Maximum number of members that are kept of a group, the latest ones that left."""
DEPARTURES_KEPT, MOST_DEPARTURES = timedelta(minutes=10), 32
"""The period for which departures of members are kept, and their maximum number for a group."""


class Left(NamedTuple):
    """Members that left a group, and were not replaced."""

    had: int
    """The number of members that the group had."""
    clients: tuple[str, ...]
    """The client ids and hosts of the members that left, the last ones."""
    at: datetime
    """The time of the first poll that lacked the first of them, UTC."""


class Departure(NamedTuple):
    """A member that left a group."""

    who: str
    """Its client id and host."""
    held: frozenset[Place] | None
    """Its partitions, as the last poll with a stable group showed them; None if none did."""
    at: datetime
    """The time of the first poll that lacked it, UTC."""
    alike: int = 1
    """The number of members with its client id and host at the poll before, itself included."""


class Memberships(Struct, frozen=True):
    """The members that groups lost, and the groups whose members have no partition."""

    left: Mapping[str, Left] = field(default_factory=dict)
    """Group -> the members that it lost."""
    idle: Mapping[str, datetime] = field(default_factory=dict)
    """Group -> the first poll since which no member has a partition, although all of them subscribe to topics, or its
    topology is not ready."""
    new: Mapping[str, datetime] = field(default_factory=dict)
    """Group -> the first poll that listed it, for groups that came within the observations."""
    came: Mapping[str, datetime] = field(default_factory=dict)
    """Group -> the last poll at which it got members and had none before."""
    departures: Mapping[str, tuple[Departure, ...]] = field(default_factory=dict)
    """Group -> the members that left it lately, whether or not they came again."""
    joined: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)
    """Group -> client id and host of members that joined it while it had others, the latest ones -> the first poll
    that showed them, UTC."""
    holdings: Mapping[str, Mapping[str, frozenset[Place]]] = field(default_factory=dict)
    """Group that is not stable -> member id -> its partitions when the group was: brokers show no assignment of a
    classic group that rebalances."""


def memberships_after(known: Memberships, before: Snapshot, now: Snapshot, at: datetime) -> Memberships:
    """Return the memberships after one more poll.

    Args:
        known: the memberships of the last poll, which stay unchanged.
        before, now: the snapshots of the last poll and of this one; the same at the first poll.
        at: the time of this poll, UTC.

    Returns:
        The same object if nothing changed.
    """
    left = {name: each for name, each in known.left.items() if each.at > at - KEPT and name in now.groups}
    idle = {name: since for name, since in known.idle.items() if name in now.groups}
    new = {name: since for name, since in known.new.items() if since > at - KEPT and name in now.groups}
    came = {name: since for name, since in known.came.items() if since > at - CAME_KEPT and name in now.groups}
    departures = {
        name: lately
        for name, each in known.departures.items()
        if name in now.groups and (lately := tuple(one for one in each if one.at > at - DEPARTURES_KEPT))
    }
    joined = {
        name: recent
        for name, mine in known.joined.items()
        if name in now.groups and (recent := {one: since for one, since in mine.items() if since > at - KEPT})
    }
    holdings = {name: each for name, each in known.holdings.items() if name in now.groups}
    first = now is before
    if first or now.groups is not before.groups:
        if Part.GROUPS in before.read_at and not first:
            new |= dict.fromkeys(now.groups.keys() - before.groups.keys(), at)
        for name, group in now.groups.items():
            was = before.groups.get(name) if not first else None
            if was is group:
                continue
            if not _is_idle(group):
                idle.pop(name, None)
            else:
                idle.setdefault(name, at)
            if not (first or group.is_vacant) and (was is None or was.is_vacant):
                came[name] = at
            held = holdings.pop(name, None) or {}
            if group.state != STABLE and not group.is_vacant:
                holdings[name] = {**held, **_held(was)}
            if departed := _departed(held, was, group, at):
                departures[name] = (*departures.get(name, ()), *departed)[-MOST_DEPARTURES:]
            if newcomers := _newcomers({*(_members(was) or ()), *held}, group):
                every = {**joined.get(name, {}), **dict.fromkeys(newcomers, at)}
                joined[name] = dict([*every.items()][-MOST_DEPARTURES:])
            mine = _left_after(left.pop(name, None), was, group, at)
            if mine is not None:
                left[name] = mine
    found = Memberships(left, idle, new, came, departures, joined, holdings)
    return known if found == known else found


def _held(was: Group | None) -> dict[str, frozenset[Place]]:
    """Return member id -> its partitions, for the members that have some."""
    members = was.members if was is not None else None
    return {each.member_id: frozenset(each.assignment) for each in members or () if each.assignment}


def _newcomers(known: Set[str], group: Group) -> Set[str]:
    """Return client id and host of the members that joined a group with other members. known: the former member ids."""
    members = _members(group) or {}
    return frozenset(who(each) for id_, each in members.items() if id_ not in known) if known else frozenset()


def _departed(
    held: Mapping[str, frozenset[Place]], was: Group | None, group: Group, at: datetime
) -> Sequence[Departure]:
    """Return the members that are no longer there. held: member id -> its partitions when the group was stable."""
    before, now = _members(was), _members(group)
    if before is None or now is None:
        return ()
    gone = [each for member_id, each in before.items() if member_id not in now]
    alike = Counter(map(who, before.values())) if gone else Counter[str]()
    return [
        Departure(who(each), frozenset(each.assignment) or held.get(each.member_id), at, alike[who(each)])
        for each in gone
    ]


class Newcomer(NamedTuple):
    """A new group, for one of its clients."""

    group: str
    since: datetime
    """The time of the first poll that listed it, UTC."""
    topics: frozenset[str]
    """The topics that it read or reads."""


def newcomers(known: Memberships, snapshot: Snapshot) -> Mapping[str, Sequence[Newcomer]]:
    """Return client -> the new groups that it is or was a member of, the first one first. The name of the group is left
    out of the client's id: Java's clients are called after their groups.
    """
    found: dict[str, list[Newcomer]] = {}
    for name, since in sorted(known.new.items(), key=lambda item: item[1]):
        members, lag = snapshot.groups[name].members or (), snapshot.lags.get(name)
        topics = {row.topic for row in (lag.partitions if lag is not None else ())}
        topics |= {topic for member in members for topic, _ in member.assignment}
        left = known.left[name].clients if name in known.left else ()
        for client in {each.replace(name, "") for each in (*map(who, members), *left)}:
            found.setdefault(client, []).append(Newcomer(name, since, frozenset(topics)))
    return found


def successor(name: str, left: Left | None, topics: Set[str], new: Mapping[str, Sequence[Newcomer]]) -> str | None:
    """Return the new group to which the last members of a group without members went; None if there is none.

    It has the same clients, came within `FOLLOWS` and reads the same topics. If a client has a name that its library
    gives to all, the names of both groups are similar, too.

    Args:
        name: the group without members.
        topics: the topics with records that wait for it.
        new: the result of `newcomers`.
    """
    if left is None or not left.clients:
        return None
    clients = [each.replace(name, "") for each in left.clients]
    usual = any(_USUAL.match(each) for each in clients)
    for each in new.get(clients[0], ()):
        if (
            each.group != name
            and -FOLLOWS <= each.since - left.at <= FOLLOWS
            and topics <= each.topics
            and (not usual or _is_alike(name, each.group))
            and all(any(one.group == each.group for one in new.get(other, ())) for other in clients[1:])
        ):
            return each.group
    return None


def _is_alike(one: str, other: str) -> bool:
    """Return whether two names begin alike, for at least half of the shorter one."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return 2 * alike >= min(len(one), len(other))


def _is_idle(group: Group) -> bool:
    """Return whether members wait for partitions of the topics that they subscribe to, and none has one."""
    members = group.members or ()
    if group.state == NOT_READY:
        return bool(members)
    return (
        group.state == STABLE
        and bool(members)
        and all((each.topics or each.regex) and not each.assignment for each in members)
    )


def _left_after(known: Left | None, was: Group | None, group: Group, at: datetime) -> Left | None:
    before, now = _members(was), _members(group)
    if before is None or now is None:
        return known
    gone = [member for member_id, member in before.items() if member_id not in now]
    if len(now) < len(before):
        names = dict.fromkeys((*(known.clients if known is not None else ()), *map(who, gone)))
        had = len(before) if known is None else max(len(before), known.had)
        return Left(had, tuple(names)[-MOST:], at if known is None else known.at)
    return known if known is not None and len(now) < known.had else None


def _members(group: Group | None) -> Mapping[str, GroupMember] | None:
    """Return the members by their ids; None if they are unknown."""
    if group is not None and group.is_vacant:
        return {}
    if group is None or group.members is None:
        return None
    return {each.member_id: each for each in group.members}


def who(member: GroupMember) -> str:
    """Return a member's client id and host."""
    return f"{member.client_id}@{member.host.removeprefix('/')}"
