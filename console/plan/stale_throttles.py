"""Replication throttles that no reassignment uses any more. Pure.

A throttled reassignment sets rates on brokers and lists of replicas on topics (ReassignPartitionsCommand); without a
--verify afterwards they stay, and hold back followers that catch up after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, is_override
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, SubtractConfig, UnsetConfig
from console.plan.values import own_text, parts_of

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


class StaleThrottle(NamedTuple):
    """An unused throttle: the edit that removes it, its value, and why nothing uses it."""

    edit: ConfigEdit
    value: str
    why: str


def stale_throttles(snapshot: Snapshot) -> tuple[StaleThrottle, ...]:
    """Return every throttle that can be removed.

    Args:
        snapshot: in which reassignments, the configs of all brokers, of the cluster default and of all topics, and the
            log dirs were read. What was not read does not count as stale.
    """
    # Without the list of moves every throttle would look stale, and without one in use copies take the whole network.
    if "reassignments" not in snapshot.read_at:
        return ()
    return (*_brokers(snapshot), *_topics(snapshot))


def _brokers(snapshot: Snapshot) -> Iterator[StaleThrottle]:
    moving = {broker for move in snapshot.reassignments for broker in (*move.replicas, *move.adding, *move.removing)}
    copying = _copying(snapshot)
    for resource, configs in sorted(each for each in snapshot.configs.items() if each[0].type == BROKER):
        for key in (*RATES, LOG_DIRS_RATE):
            entry = configs.get(key)
            if entry is None or not is_override(entry, resource):
                continue
            if key == LOG_DIRS_RATE:
                used = _is_copying(resource, copying, snapshot)
                why = "no replica moves between the log dirs of a broker"
            else:
                # The cluster default limits every broker that takes part in any move.
                used = bool(moving) if resource.is_cluster_default else int(resource.name) in moving
                why = "no partition is being reassigned" if not moving else "no reassignment involves the broker"
            if not used:
                yield StaleThrottle(UnsetConfig(resource, key), _text(entry, resource), why)


def _copying(snapshot: Snapshot) -> frozenset[int]:
    """Return the brokers that move replicas between their log dirs."""
    return frozenset(
        broker for broker, dirs in snapshot.log_dirs.items() if any(log_dir.replicas.moving for log_dir in dirs)
    )


def _is_copying(resource: ConfigResource, copying: frozenset[int], snapshot: Snapshot) -> bool:
    """Return whether a broker moves replicas between log dirs, or any broker for the cluster default; a broker that was
    not read counts as one that does.
    """
    if resource.is_cluster_default:
        return bool(copying) or any(broker.id not in snapshot.log_dirs for broker in snapshot.cluster.brokers)
    return int(resource.name) in copying or int(resource.name) not in snapshot.log_dirs


def _topics(snapshot: Snapshot) -> Iterator[StaleThrottle]:
    moving: dict[str, set[int]] = {}
    for move in snapshot.reassignments:
        moving.setdefault(move.topic, set()).add(move.partition)
    set_here: dict[int, bool] = {}  # of 100,000 topics most have the same set, which is one object
    limited: list[tuple[ConfigResource, ConfigSet]] = []
    for each in snapshot.configs.items():
        resource, configs = each
        if resource.type != TOPIC:
            continue
        if id(configs) not in set_here:
            set_here[id(configs)] = any(own_text(configs.get(key), resource) is not None for key in LISTS)
        if set_here[id(configs)]:
            limited.append(each)
    for resource, configs in sorted(limited):
        partitions = moving.get(resource.name, set())
        for key in LISTS:
            entry = configs.get(key)
            own = own_text(entry, resource)
            if entry is None or own is None:
                continue
            if not partitions:
                yield StaleThrottle(UnsetConfig(resource, key), own, "no partition of the topic is being reassigned")
            elif unused := _unused(parts_of(own), partitions):
                edit = SubtractConfig(resource, key, ",".join(unused))
                yield StaleThrottle(edit, ",".join(unused), "these partitions are not being reassigned")


def _unused(items: Iterable[str], moving: set[int]) -> list[str]:
    """Return the replicas (``partition:broker``) whose partition does not move; ``*`` is in use while any moves."""
    found = []
    for item in items:
        number = long_number(item.partition(":")[0].strip())
        if number is not None and number not in moving:
            found.append(item)
    return found


def _text(entry: ConfigEntry, resource: ConfigResource) -> str:
    return own_text(entry, resource) or entry.value or ""
