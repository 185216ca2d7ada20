"""Over polls: the progress of copies that a reassignment makes, and the topics that got more replicas. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from console.model.cluster import Topic
from console.model.differing import differing
from console.model.snapshot import Snapshot, dir_copies, held_sizes
from console.plan.stale_throttles import RATES

MOST = 500
"""Maximum number of observed replicas."""
NEARLY = 0.99
"""The share of the largest other replica from which on a copy counts as complete: the records that producers write
meanwhile are always missing."""
Replica = tuple[str, int, int]
"""A topic, the number of a partition, and a broker."""


STALLS = 60.0
"""Seconds without a byte after which a copy is stalled: several polls of log directories."""
ENOUGH = 50_000_000
"""Bytes per second to which a throttle that slows a copy is raised, unless twice its present value is more."""


def raised_throttle(broker: int, rate: int, key: str = RATES[1]) -> str:
    """Return the command that raises a broker's throttle for two hours. rate: the present throttle, bytes
    per second.
    """
    return f"set broker {broker} {key}={max(ENOUGH, 2 * rate)} for 2h"


class Copy(NamedTuple):
    """A replica while a broker copies it."""

    size: int
    """The bytes of the replica on its broker."""
    whole: int
    """The bytes of the largest existing replica."""
    began: datetime
    """The time of the first poll."""
    first: int
    """The bytes at the first poll."""
    at: datetime
    """The time of the last poll."""
    moved: datetime
    """The time of the last poll that showed more bytes than the poll before."""

    @property
    def rate(self) -> float | None:
        """Bytes per second since the first poll; None after one poll."""
        seconds = (self.at - self.began).total_seconds()
        return (self.size - self.first) / seconds if seconds > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds until the copy is complete at that rate; None if it does not grow."""
        return max(0, self.whole - self.size) / self.rate if self.rate else None

    @property
    def rests(self) -> float:
        """Seconds without growth although bytes are missing; 0 if it is nearly complete."""
        return 0.0 if self.size >= NEARLY * self.whole else (self.at - self.moved).total_seconds()


def copies_after(
    known: Mapping[Replica, Copy], before: Snapshot, now: Snapshot, at: datetime
) -> Mapping[Replica, Copy]:
    """Return the copies of reassignments after another poll, without replicas whose sizes can't be read."""
    if not now.reassignments or not now.log_dirs:
        return {}
    # Wait for a new read: with the same one, copies would seem stalled.
    if now.log_dirs is before.log_dirs and now.reassignments is before.reassignments and known:
        return known
    adding = [(each.topic, each.partition, broker) for each in now.reassignments for broker in each.adding][:MOST]
    sizes = held_sizes(now, {(topic, partition) for topic, partition, _ in adding})
    seen: dict[Replica, tuple[int, int]] = {}
    for replica in adding:
        held = sizes.get(replica[:2], {})
        new = {broker for topic, partition, broker in adding if (topic, partition) == replica[:2]}
        # Compare with the largest replica that existed before: brokers keep different parts of old segments, so sizes
        # differ.
        whole = max((size for broker, size in held.items() if broker not in new), default=0)
        size = held.get(replica[2])
        if size is not None:
            seen[replica] = size, whole
    return _followed(known, seen, at)


def dir_copies_after(
    known: Mapping[Replica, Copy], before: Snapshot, now: Snapshot, at: datetime
) -> Mapping[Replica, Copy]:
    """Return the copies between directories of a broker after another poll."""
    if now.log_dirs is before.log_dirs and known:
        return known
    copies = dir_copies(now.log_dirs).items()
    return _followed(known, {place: (copy.copied, copy.size) for place, copy in copies}, at)


def _followed(
    known: Mapping[Replica, Copy], seen: Mapping[Replica, tuple[int, int]], at: datetime
) -> Mapping[Replica, Copy]:
    """Return the copies with the sizes of this poll. seen: replica -> its bytes, and those of the complete replica."""
    found: dict[Replica, Copy] = {}
    for replica, (size, whole) in seen.items():
        was = known.get(replica)
        if not whole:
            continue
        # A copy that became smaller was restarted: a rate over both attempts would be wrong, or negative.
        if was is None or size < was.size:
            found[replica] = Copy(size, whole, at, size, at, at)
        else:
            found[replica] = was._replace(size=size, whole=whole, at=at, moved=at if size > was.size else was.moved)
    return found


GROWN, TOPICS = timedelta(hours=1), 200
"""The time for which topics that got more replicas are kept, and the maximum number of changed topics of one poll."""


class Grown(NamedTuple):
    """A topic that got more replicas."""

    was: int
    """The number of replicas of a partition before."""
    at: datetime
    """The time of the first poll that showed it, UTC."""


def grown_after(
    known: Mapping[str, Grown], before: Mapping[str, Topic], now: Mapping[str, Topic], at: datetime
) -> Mapping[str, Grown]:
    """Return the topics that got more replicas lately. A move that no list of moves showed adds some for a while: once
    they are away, the topic has no fewer than before.

    Args:
        before, now: the topics of the former poll and of this one.
        at: the time of this poll, UTC.
    """
    kept = {name: each for name, each in known.items() if each.at > at - GROWN}
    for name, was, became in islice(differing(before, now), TOPICS):
        if was is None or became is None or was.topic_id != became.topic_id:
            continue
        pairs = zip(was.partitions, became.partitions, strict=False)
        counts = [len(one.replicas) for one, two in pairs if len(two.replicas) > len(one.replicas)]
        if counts:
            kept.setdefault(name, Grown(max(counts), at))
    return known if kept == known else kept
