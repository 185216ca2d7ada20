"""The members of groups over time: those that left and were not replaced, and groups whose members have nothing to
read. Pure.
"""

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
"""The time for which members that left are remembered."""
CAME_KEPT = timedelta(hours=1)
"""The time for which the arrival of members is remembered. It is longer than `KEPT`, so that it is known for members
that left how long they stayed.
"""
FOLLOWS = timedelta(minutes=3)
"""Maximum time between the first listing of a new group and the time at which another group lost its members to it."""
_USUAL = re.compile(r"(consumer--[0-9]++|rdkafka|sarama|kgo|kafkajs|kafka\Wpython[^@]*+|console-consumer|)@")
"""Matches client ids that libraries use if an application sets none, without the group's name."""
WORKERS = "connect"
"""The protocol of the groups of Connect's workers."""
STABLE = "Stable"
NOT_READY = "NotReady"
"""The state of a streams group while topics that its topology needs are missing (KIP-1071)."""
MOST = 3
"""Maximum number of members that are remembered of a group, the latest ones that left."""
DEPARTURES_KEPT, MOST_DEPARTURES = timedelta(minutes=10), 32
"""The period for which departures of members are kept, and their maximum number for a group."""
STAYS = 1.5
"""Members stay if none left for this multiple of the longest time between two departures of one client."""

FOLLOWED = timedelta(minutes=2)
"""Maximum time between two arrivals of members that follow one another."""
KNOWN_FOR = timedelta(minutes=1)
"""The time for which the members of a group are compared with those of the last poll that showed members."""


class Left(NamedTuple):
    """The members of a group that left and were not replaced."""

    had: int
    """The number of members that the group had before they left."""
    clients: tuple[str, ...]
    """The client ids and hosts of the members that left last, at most `MOST`."""
    at: datetime
    """The time of the first poll without the first of these members, UTC."""


class Departure(NamedTuple):
    """A member that left a group."""

    who: str
    """The member's client id and host."""
    held: frozenset[Place] | None
    """The member's partitions in the last poll in which the group was stable; None if there was no such poll."""
    at: datetime
    """The time of the first poll without the member, UTC."""
    alike: int = 1
    """The number of members with the same client id and host in the poll before, including this one."""


class Arrivals(NamedTuple):
    """Members with the same client id and host that joined a group one after the other."""

    had: int
    """The number of members with this client id and host before the first of them joined."""
    times: int
    """The number of members that joined."""
    since: datetime
    """The time of the first poll that showed the first of them, UTC."""
    last: datetime
    """The time of the first poll that showed the last of them, UTC."""
    left: int = 0
    """The number of members with this client id and host that left since then; only in the result of `unclosed`."""


class Apart(NamedTuple):
    """A worker of a Connect group that has read less of its topic of configs than another worker of the group has."""

    who: str
    """The worker's client id and host."""
    offset: int
    """The offset up to which it has read, -1 for none."""
    other: str
    """Client id and host of the worker that has read most."""
    other_offset: int
    member: str
    """The member id with which it joined last."""
    joins: int = 1
    """The number of times that it joined with this offset."""


class Shown(NamedTuple):
    """A group in a poll that showed its members."""

    group: Group
    at: datetime
    """The time of the first poll after it, which showed no members, UTC."""


class Memberships(Struct, frozen=True):
    """What is remembered of the members of groups."""

    left: Mapping[str, Left] = field(default_factory=dict)
    """Group -> its members that left and were not replaced."""
    idle: Mapping[str, datetime] = field(default_factory=dict)
    """Group -> the time of the first poll, UTC, since which no member has had a partition, although all members
    subscribe to topics, or its topology is not ready.
    """
    new: Mapping[str, datetime] = field(default_factory=dict)
    """Group -> the time of the first poll that listed it, UTC; only groups that appeared while kac watched."""
    came: Mapping[str, datetime] = field(default_factory=dict)
    """Group -> the time of the last poll, UTC, at which it got members after it had had none."""
    departures: Mapping[str, tuple[Departure, ...]] = field(default_factory=dict)
    """Group -> the departures of members lately, whether or not the members came back."""
    joined: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)
    """Group -> client id and host of members that joined it while it had other members, the latest ones -> the time of
    the first poll that showed them, UTC.
    """
    arrivals: Mapping[str, Mapping[str, Arrivals]] = field(default_factory=dict)
    """Group -> client id and host -> the arrivals of such members, each within `FOLLOWED` after the one before."""
    apart: Mapping[str, Apart] = field(default_factory=dict)
    """Group of Connect's workers -> the worker that has read least of its topic of configs; only groups whose workers
    had not all read the same when kac last saw two of them.
    """
    holdings: Mapping[str, Mapping[str, frozenset[Place]]] = field(default_factory=dict)
    """Group that is not stable now, or whose members are unknown -> member id -> the partitions that the member had
    when the group was stable: brokers show no assignment of a classic group that rebalances.
    """
    shown: Mapping[str, Shown] = field(default_factory=dict)
    """Group whose present members are unknown -> the last poll that showed members of it: a listing may show a group
    before a description of its new state has come.
    """


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
    departures, joined = _departures_kept(known, now.groups, at), _joined_kept(known, now.groups, at)
    arrivals = _lasting(known.arrivals, now.groups, at)
    apart = {name: each for name, each in known.apart.items() if name in now.groups}
    holdings = {name: each for name, each in known.holdings.items() if name in now.groups}
    shown = {name: each for name, each in known.shown.items() if each.at > at - KNOWN_FOR and name in now.groups}
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
            last = shown.pop(name, None)
            was = last.group if last is not None and _members(was) is None else was
            held = holdings.pop(name, None) or {}
            if not group.is_vacant and (group.state != STABLE or group.members is None):
                holdings[name] = {**held, **_held(was)}
            if was is not None and was.members and _members(group) is None:
                shown[name] = Shown(was, last.at if last is not None else at)
            if departed := _departed(held, was, group, arrivals.get(name, {}), at):
                departures[name] = (*departures.get(name, ()), *departed)[-MOST_DEPARTURES:]
            if newcomers := _newcomers({*(_members(was) or ()), *held}, group):
                every = {**joined.get(name, {}), **dict.fromkeys(newcomers, at)}
                joined[name] = dict([*every.items()][-MOST_DEPARTURES:])
                arrivals[name] = _arrivals_after(arrivals.get(name, {}), newcomers, was, at)
            if group.protocol == WORKERS and (worker := _apart_after(apart.pop(name, None), group)) is not None:
                apart[name] = worker
            mine = _left_after(left.pop(name, None), was, group, arrivals.get(name, {}), at)
            if mine is not None:
                left[name] = mine
    found = Memberships(left, idle, new, came, departures, joined, arrivals, apart, holdings, shown)
    return known if found == known else found


def _departures_kept(known: Memberships, groups: Mapping[str, Group], at: datetime) -> dict[str, tuple[Departure, ...]]:
    """Return group -> the departures of the last `DEPARTURES_KEPT`. at: the time of the poll, UTC."""
    return {
        name: lately
        for name, each in known.departures.items()
        if name in groups and (lately := tuple(one for one in each if one.at > at - DEPARTURES_KEPT))
    }


def _joined_kept(known: Memberships, groups: Mapping[str, Group], at: datetime) -> dict[str, Mapping[str, datetime]]:
    """Return group -> the members that joined in the time `KEPT`. at: the time of the poll, UTC."""
    return {
        name: recent
        for name, mine in known.joined.items()
        if name in groups and (recent := {one: since for one, since in mine.items() if since > at - KEPT})
    }


def _held(was: Group | None) -> dict[str, frozenset[Place]]:
    """Return member id -> the member's partitions, for members with partitions; empty for None."""
    members = was.members if was is not None else None
    return {each.member_id: frozenset(each.assignment) for each in members or () if each.assignment}


def _newcomers(known: Set[str], group: Group) -> Mapping[str, int]:
    """Return client id and host of the members that joined a group which has other members -> the number of those with
    the same ones. known: the former member ids.
    """
    members = _members(group) or {}
    return Counter(who(each) for id_, each in members.items() if id_ not in known) if known else {}


def _lasting(
    known: Mapping[str, Mapping[str, Arrivals]], groups: Mapping[str, Group], at: datetime
) -> dict[str, Mapping[str, Arrivals]]:
    """Return the arrivals in groups that further ones may follow. at: the time of the poll, UTC."""
    some = ((name, mine) for name, mine in known.items() if name in groups)
    recent = ((name, {one: each for one, each in mine.items() if each.last > at - FOLLOWED}) for name, mine in some)
    return {name: mine for name, mine in recent if mine}


def _arrivals_after(
    known: Mapping[str, Arrivals], newcomers: Mapping[str, int], was: Group | None, at: datetime
) -> dict[str, Arrivals]:
    """Return the arrivals in a group after one more poll.

    Args:
        known: those of the last poll.
        newcomers: the result of `_newcomers`.
        was: the group in the last poll that showed its members.
        at: the time of this poll, UTC.
    """
    had, found = Counter(map(who, (_members(was) or {}).values())), dict(known)
    for one, count in newcomers.items():
        before = found.pop(one, None) or Arrivals(had[one], 0, at, at)
        found[one] = before._replace(times=before.times + count, last=at)
    return dict([*found.items()][-MOST_DEPARTURES:])


TIMES, FOR, STAY = 3, timedelta(seconds=20), 3
"""The minimum number of arrivals of one client, the minimum time from the first to the last, and the minimum number of
its members that stay, of a client that ends again and again without leaving its group."""


def unclosed(known: Memberships, group: Group) -> Mapping[str, Arrivals]:
    """Return client id and host -> the arrivals of those members of a group that come again and again while the former
    ones stay, sorted by the time of the first arrival: brokers keep a member whose client ended without closing until
    its session is over. Consumers that are started one after the other look the same.
    """
    some = known.arrivals.get(group.name, {})
    often = {one: each for one, each in some.items() if each.times >= TIMES and each.last - each.since >= FOR}
    has = Counter(map(who, group.members or ())) if often else Counter[str]()
    departures = known.departures.get(group.name, ()) if often else ()
    mine = (
        (one, each._replace(left=sum(gone.who == one and gone.at > each.since for gone in departures)))
        for one, each in often.items()
        if has[one] >= each.had + STAY
    )
    return dict(sorted(mine, key=lambda item: (item[1].since, item[0])))


def _departed(
    held: Mapping[str, frozenset[Place]],
    was: Group | None,
    group: Group,
    arrivals: Mapping[str, Arrivals],
    at: datetime,
) -> Sequence[Departure]:
    """Return the members that are not in the group any more.

    Args:
        held: member id -> the member's partitions when the group was stable.
        was, group: the group in the last poll that showed its members, and in this one.
        arrivals: client id and host -> the arrivals of such members lately. The successor of a client that died joins
            before brokers remove the dead member: the two of them are one of `alike`.
        at: the time of this poll, UTC.
    """
    before, now = _members(was), _members(group)
    if before is None or now is None:
        return ()
    gone = [each for member_id, each in before.items() if member_id not in now]
    alike = Counter(map(who, before.values())) if gone else Counter[str]()
    has = Counter(map(who, now.values())) if gone and arrivals else Counter[str]()
    for one in {who(each) for each in gone}:
        if one in arrivals and has[one] <= arrivals[one].had:
            alike[one] = max(1, min(alike[one], arrivals[one].had))
    return [
        Departure(who(each), frozenset(each.assignment) or held.get(each.member_id), at, alike[who(each)])
        for each in gone
    ]


class Newcomer(NamedTuple):
    """A new group, as seen from one of its clients."""

    group: str
    since: datetime
    """The time of the first poll that listed it, UTC."""
    topics: frozenset[str]
    """The topics that the group read or reads."""


def newcomers(known: Memberships, snapshot: Snapshot) -> Mapping[str, Sequence[Newcomer]]:
    """Return client -> the new groups of which it is or was a member, the earliest first. The name of the group is
    removed from the client's id, because Java's clients are named after their groups.
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
    """Return the new group in which the last members of a group without members are now; None if there is none.

    The new group has the same clients, appeared within `FOLLOWS` and reads the same topics. If a client id is one that
    a library gives to all its clients, the names of the two groups must be similar, too.

    Args:
        name: the group without members.
        left: the members that left it; None if unknown.
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
    """Return whether two names have a common beginning of at least half of the shorter name."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return 2 * alike >= min(len(one), len(other))


def _is_idle(group: Group) -> bool:
    """Return whether the members of a group subscribe to topics and none of them has a partition."""
    members = group.members or ()
    if group.state == NOT_READY:
        return bool(members)
    return (
        group.state == STABLE
        and bool(members)
        and all((each.topics or each.regex) and not each.assignment for each in members)
    )


def _left_after(
    known: Left | None, was: Group | None, group: Group, arrivals: Mapping[str, Arrivals], at: datetime
) -> Left | None:
    """Return the members that left a group and were not replaced, after one more poll; None for none.

    Args:
        known: those of the last poll.
        was, group: the group in the last poll that showed its members, and in this one.
        arrivals: client id and host -> the arrivals of such members lately. If a client died, it joins again before
            brokers remove its former member: that one is replaced.
        at: the time of this poll, UTC.
    """
    before, now = _members(was), _members(group)
    if before is None or now is None:
        return known
    if len(now) < len(before):
        has = Counter(map(who, now.values())) if arrivals else Counter[str]()
        gone = [
            name for id_, each in before.items() if id_ not in now and not _came_again(name := who(each), arrivals, has)
        ]
        if gone:
            names = dict.fromkeys((*(known.clients if known is not None else ()), *gone))
            had = len(before) if known is None else max(len(before), known.had)
            return Left(had, tuple(names)[-MOST:], at if known is None else known.at)
    return known if known is not None and len(now) < known.had else None


def _came_again(one: str, arrivals: Mapping[str, Arrivals], has: Mapping[str, int]) -> bool:
    return one in arrivals and 0 < arrivals[one].had <= has[one]


def _apart_after(known: Apart | None, group: Group) -> Apart | None:
    """Return the worker of a Connect group that has read least of its topic of configs, None if all have read the same;
    `known`, the one of the last poll, if the positions of fewer than two workers are known. None if another worker has
    the same client id and host: they can't be told apart.
    """
    at = sorted(
        (each.config_offset, who(each), each.member_id)
        for each in group.members or ()
        if each.config_offset is not None
    )
    if len(at) < 2:
        return known
    (least, one, member), (most, other, _) = at[0], at[-1]
    if least == most or sum(name == one for _, name, _ in at) > 1:
        return None
    if known is None or (known.who, known.offset) != (one, least):
        return Apart(one, least, other, most, member)
    joins = known.joins + (member != known.member)
    return Apart(one, least, other, most, member, joins)


def _members(group: Group | None) -> Mapping[str, GroupMember] | None:
    """Return member id -> member; None if the members are unknown."""
    if group is not None and group.is_vacant:
        return {}
    if group is None or group.members is None:
        return None
    return {each.member_id: each for each in group.members}


def leave_again(departures: Sequence[Departure], at: datetime, times: int) -> bool:
    """Return whether a client left a group again and again: at least `times` times, and the last time not so long ago
    that its present member stays. The clients of a deployment leave once each.

    Args:
        departures: those that count, the earliest first.
        at: the present time, UTC.
    """
    mine: dict[str, list[Departure]] = {}
    for each in departures:
        mine.setdefault(each.who, []).append(each)
    again = any(len(left) >= times * max(each.alike for each in left) for left in mine.values())
    return again and not members_stay(departures, at)


def members_stay(departures: Sequence[Departure], at: datetime) -> bool:
    """Return whether no member left for `STAYS` (1.5) times the longest time between two departures of one client. at:
    the present time, UTC.
    """
    last: dict[str, datetime] = {}
    longest = timedelta(0)
    for each in departures:
        longest = max(longest, each.at - last.get(each.who, each.at))
        last[each.who] = each.at
    return all(at - each > STAYS * longest for each in last.values())


def who(member: GroupMember) -> str:
    """Return a member's client id and host."""
    return f"{member.client_id}@{member.host.removeprefix('/')}"
