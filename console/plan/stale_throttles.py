"""Replication throttles: those that running moves use, and those that nothing uses. Pure.

A throttled reassignment sets rates on brokers and lists of replicas on topics (ReassignPartitionsCommand). Without
a later --verify they stay, and slow down followers that catch up after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from console.model import config
from console.model.cluster import Reassignment
from console.model.codes import BROKER, TOPIC
from console.model.grouping import grouped
from console.model.numbers import first_few, long_number
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, SubtractConfig, UnsetConfig
from console.plan.risk_rules import NOTHING, Judged, RiskNeeds
from console.plan.values import own_text, parts_of

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


THROTTLES = frozenset((*RATES, LOG_DIRS_RATE, *LISTS))
ADDED = "added replicas"
"""Stands in place of a topic's key for the replicas that a running move adds to the topic's partitions."""
_SHOWN = 3
"""Maximum number of moves that a text names for a throttle."""


class StaleThrottle(NamedTuple):
    """A throttle that nothing uses: the edit that removes it, its value, and why nothing uses it."""

    edit: ConfigEdit
    value: str
    why: str


class _Throttle(NamedTuple):
    """A throttle that is set on a resource."""

    place: config.ConfigPlace
    used: str
    """The reason why the throttle counts as used: a text that names the moves or the copying that use it, or says
    that these are unknown; ``""`` if nothing uses it.
    """
    stale: StaleThrottle | None = None
    """The part of the throttle that nothing uses, as an edit that removes it; None if all of it is used."""


def stale_throttles(snapshot: Snapshot) -> tuple[StaleThrottle, ...]:
    """Return every throttle that can be removed, since nothing uses it; empty if the reassignments were not read.

    Args:
        snapshot: a snapshot with the reassignments, the configs of all brokers, of the cluster default and of all
            topics, and the log directories. Throttles on resources that were not read are left out.
    """
    # Without the list of moves, every throttle would look unused; removing one that is in use would let copies take the
    # whole network.
    if Part.REASSIGNMENTS not in snapshot.read_at:
        return ()
    return tuple(each.stale for each in _throttles(snapshot) if each.stale is not None)


def owned_by_moves(snapshot: Snapshot) -> Mapping[config.ConfigPlace, str]:
    """Return the configs and replicas that exist, or may exist, only because of running moves or copies: under (entity,
    key) a throttle in use, and under (topic, `ADDED`) the replicas that moves add. Each has a line that names the
    moves, or the reason why it may be in use. They end with the moves, so files of the wanted state must not have
    them.

    Args:
        snapshot: a snapshot as for `stale_throttles`. If the reassignments were not read, every throttle of
            reassignments counts as in use.
    """
    owned = {each.place: each.used for each in _throttles(snapshot) if each.used}
    adding = grouped((move.topic, move) for move in snapshot.reassignments if move.adding)
    return owned | {(config.topic_resource(topic), ADDED): _of(map(_name, moves)) for topic, moves in adding.items()}


def unthrottled_needs(edit: ConfigEdit) -> RiskNeeds:
    """Return the facts that `unthrottled` needs; empty for keys that are no throttles."""
    return RiskNeeds(moves=True) if edit.key in (*RATES, *LISTS) else NOTHING


def unthrottled(edit: ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning if an edit removes the throttle of a running move: it unsets a rate, or removes the replica of a
    moving partition from a list.
    """
    configs = judged.before.configs.get(edit.resource)
    if edit.key not in (*RATES, *LISTS) or configs is None:
        return
    mine = replace(judged.before, configs={edit.resource: configs})
    used = owned_by_moves(mine).get((edit.resource, edit.key))
    then = judged.then(edit.resource, edit.key)
    if used is None or (then is not None and edit.key in RATES):
        return
    moving = {move.partition for move in judged.before.reassignments if move.topic == edit.resource.name}
    left = parts_of(then or "")
    lost = [item for item in parts_of(judged.own(edit.resource, edit.key) or "") if item not in left]
    if edit.key in LISTS and ("*" in left or len(_unused(lost, moving)) == len(lost)) and moving:
        return
    yield f"it {used}, which copies without this limit then, as fast as disks and network allow"


def _throttles(snapshot: Snapshot) -> Iterator[_Throttle]:
    yield from _brokers(snapshot)
    yield from _topics(snapshot)


def _of(moves: Iterable[str]) -> str:
    """Return a text that names the moves; ``""`` if there are none."""
    names = list(dict.fromkeys(moves))
    if not names:
        return ""
    return f"belongs to the running move of {first_few(names, _SHOWN)}"


def _name(move: Reassignment) -> str:
    return f"{move.topic}/{move.partition}"


def _unknown(snapshot: Snapshot) -> str:
    """Return the reason why any throttle may be in use, since the running moves are unknown; ``""`` if they are
    known.
    """
    unread = Part.REASSIGNMENTS not in snapshot.read_at
    return "may belong to a running move: the reassignments could not be read" if unread else ""


def _brokers(snapshot: Snapshot) -> Iterator[_Throttle]:
    moving = grouped(
        (broker, _name(move))
        for move in snapshot.reassignments
        for broker in dict.fromkeys((*move.replicas, *move.adding, *move.removing))
    )
    copying, unknown = _copying(snapshot), _unknown(snapshot)
    for resource, configs in sorted(each for each in snapshot.configs.items() if each[0].type == BROKER):
        for key in (*RATES, LOG_DIRS_RATE):
            entry = configs.get(key)
            if entry is None or not config.is_override(entry, resource):
                continue
            if key == LOG_DIRS_RATE:
                is_used = _is_copying(resource, copying, snapshot)
                used = "belongs to a copy between log directories, or that is not known" if is_used else ""
                why = "no replica moves between the log dirs of a broker"
            else:
                # The cluster default limits every broker that takes part in a move.
                every = (name for names in moving.values() for name in names)
                used = unknown or _of(every if resource.is_cluster_default else moving.get(int(resource.name), ()))
                why = "no partition is being reassigned" if not moving else "no reassignment involves the broker"
            stale = None if used else StaleThrottle(UnsetConfig(resource, key), _text(entry, resource), why)
            yield _Throttle((resource, key), used, stale)


def _copying(snapshot: Snapshot) -> frozenset[int]:
    """Return the brokers that copy replicas between their log directories."""
    return frozenset(
        broker for broker, dirs in snapshot.log_dirs.items() if any(log_dir.replicas.moving for log_dir in dirs)
    )


def _is_copying(resource: config.ConfigResource, copying: frozenset[int], snapshot: Snapshot) -> bool:
    """Return whether a broker copies replicas between its log directories, or may do so because its directories were
    not read; for the cluster default, whether this is so for any broker.
    """
    if resource.is_cluster_default:
        return bool(copying) or any(broker.id not in snapshot.log_dirs for broker in snapshot.cluster.brokers)
    return int(resource.name) in copying or int(resource.name) not in snapshot.log_dirs


def _topics(snapshot: Snapshot) -> Iterator[_Throttle]:
    moving, unknown = grouped((move.topic, move) for move in snapshot.reassignments), _unknown(snapshot)
    set_here: dict[int, bool] = {}  # a cache, as most of 100,000 topics share the object with their configs
    limited: list[tuple[config.ConfigResource, config.ConfigSet]] = []
    for each in snapshot.configs.items():
        resource, configs = each
        if resource.type != TOPIC:
            continue
        if id(configs) not in set_here:
            set_here[id(configs)] = any(own_text(configs.get(key), resource) is not None for key in LISTS)
        if set_here[id(configs)]:
            limited.append(each)
    for resource, configs in sorted(limited):
        moves = moving.get(resource.name, [])
        for key in LISTS:
            entry = configs.get(key)
            own = own_text(entry, resource)
            if entry is None or own is None:
                continue
            if unknown or not moves:
                why = "no partition of the topic is being reassigned"
                stale = None if unknown else StaleThrottle(UnsetConfig(resource, key), own, why)
                yield _Throttle((resource, key), unknown, stale)
                continue
            unused = _unused(parts_of(own), {move.partition for move in moves})
            used = _of(map(_name, moves)) if len(unused) < len(parts_of(own)) else ""
            edit = SubtractConfig(resource, key, ",".join(unused))
            part = StaleThrottle(edit, ",".join(unused), "these partitions are not being reassigned")
            yield _Throttle((resource, key), used, part if unused else None)


def _unused(items: Iterable[str], moving: set[int]) -> list[str]:
    """Return the items of a list of replicas (``partition:broker``) whose partition does not move; ``*`` counts as used
    while any partition moves.
    """
    found = []
    for item in items:
        number = long_number(item.partition(":")[0].strip())
        if number is not None and number not in moving:
            found.append(item)
    return found


def _text(entry: config.ConfigEntry, resource: config.ConfigResource) -> str:
    return own_text(entry, resource) or entry.value or ""
