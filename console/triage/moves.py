"""The progress of the copies that reassignments make, over several polls, and the topics that got more
replicas. Pure.
"""

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
"""Maximum number of replicas whose copies are observed."""
NEARLY = 0.99
"""Share of the largest other replica, 0 to 1, from which on a copy counts as complete: the latest records are always
missing.
"""
Replica = tuple[str, int, int]
"""A topic, the number of a partition, and the id of a broker."""


STALLS = 60.0
"""Seconds without a new byte after which a copy counts as stalled: several polls of log directories."""
ENOUGH = 50_000_000
"""Bytes per second to which a throttle that slows down a copy is raised, unless twice its present value is higher."""


def raised_throttle(broker: int, rate: int, key: str = RATES[1]) -> str:
    """Return the statement that raises a broker's throttle for two hours.

    Args:
        rate: the present throttle, bytes per second.
        key: the config of the throttle.
    """
    return f"set broker {broker} {key}={max(ENOUGH, 2 * rate)} for 2h"


class Copy(NamedTuple):
    """A replica that a broker copies from another one. Times are UTC."""

    size: int
    """The present size of the copy in bytes."""
    whole: int
    """The size in bytes of the largest replica that existed before."""
    began: datetime
    """The time of the first poll that showed the copy."""
    first: int
    """The size of the copy in bytes at the first poll."""
    at: datetime
    """The time of the last poll of log directories."""
    moved: datetime
    """The time of the last poll that showed a higher size than the poll before it."""

    @property
    def rate(self) -> float | None:
        """The bytes per second since the first poll; None after a single poll."""
        seconds = (self.at - self.began).total_seconds()
        return (self.size - self.first) / seconds if seconds > 0 else None

    @property
    def left(self) -> float | None:
        """The seconds until the copy is complete at its present rate; None if it does not grow."""
        return max(0, self.whole - self.size) / self.rate if self.rate else None

    @property
    def rests(self) -> float:
        """The seconds without growth although bytes are missing; 0 if the copy is nearly complete."""
        return 0.0 if self.size >= NEARLY * self.whole else (self.at - self.moved).total_seconds()


def copies_after(
    known: Mapping[Replica, Copy], before: Snapshot, now: Snapshot, at: datetime
) -> Mapping[Replica, Copy]:
    """Return the copies that reassignments make, after another poll; replicas whose sizes can't be read are left out.

    Args:
        known: the result for the last poll.
        before, now: the snapshots of the last poll and of this one.
        at: the time of this poll, UTC.
    """
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
    """Return the copies between log directories of the same broker, after another poll. The arguments are as for
    `copies_after`.
    """
    if now.log_dirs is before.log_dirs and known:
        return known
    copies = dir_copies(now.log_dirs).items()
    return _followed(known, {place: (copy.copied, copy.size) for place, copy in copies}, at)


def _followed(
    known: Mapping[Replica, Copy], seen: Mapping[Replica, tuple[int, int]], at: datetime
) -> Mapping[Replica, Copy]:
    """Return the copies with their sizes in this poll.

    Args:
        known: the result for the last poll.
        seen: replica -> its present bytes, and the bytes of the complete replica.
        at: the time of this poll, UTC.
    """
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
    """The number of replicas that each partition had before."""
    at: datetime
    """The time of the first poll that showed it, UTC."""


def grown_after(
    known: Mapping[str, Grown], before: Mapping[str, Topic], now: Mapping[str, Topic], at: datetime
) -> Mapping[str, Grown]:
    """Return topic -> its growth, for topics that got more replicas lately. A move that was not listed adds replicas
    for a while: once these are removed, the topic has no fewer than before.

    Args:
        known: the result for the last poll.
        before, now: the topics of the last poll and of this one.
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
