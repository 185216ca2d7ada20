"""Measures what a changed config of a topic does to the topic's bytes: what compaction removes, and how many bytes a
record takes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from console.model import codes
from console.model.config import ConfigResource
from console.model.rates import WINDOW
from console.model.snapshot import Snapshot
from console.model.system_topics import COMPACT, may_be_of_application, system_topic
from console.plan.values import items_of
from console.triage.events import Place
from console.triage.judged_changes import JudgedChange
from console.triage.symptoms import Poll

CLEANUP, COMPRESSION = "cleanup.policy", "compression.type"
LEFT, LEAST = 0.7, 2 * 1024 * 1024
"""The share of its bytes to which a topic has to shrink for compaction to count, and the minimum of the bytes that go.
"""
SWOLLEN, STILL_SWOLLEN = 3.0, 2.0
"""The multiple of its former bytes that a record has to take to count, and the one below which it no longer counts."""
SLOWEST = 1.0
"""Minimum records per second for a measure: with fewer, single records decide."""
ALIKE = (0.5, 2.0)
"""The multiples of the former records per second between which two measures of bytes a record are compared."""
LASTS, EARLIER = timedelta(seconds=30), timedelta(seconds=15)
"""The time for which records have to take more bytes to count; and the maximum time from a look at a topic's bytes to
the change, because kac looks at one broker after the other, and compaction begins at once.
"""
MOST = 20
"""Maximum number of changes whose topics are measured, the latest ones."""


class Weight(NamedTuple):
    """What producers write to a topic, in bytes and in records."""

    bytes: float
    """Bytes per second."""
    records: float
    """Records per second."""

    @property
    def each(self) -> float:
        """Bytes of a record."""
        return self.bytes / self.records


class Measured(NamedTuple):
    """A topic's bytes before a change of one of its configs, and since."""

    was: Mapping[int, int]
    """Partition -> the bytes of its leader's log at a look at most `EARLIER` before the change; empty before there is
    one for each partition. An earlier look may still have the bytes of records that were deleted before the change.
    """
    shape: Mapping[int, tuple[int, frozenset[int]]]
    """Partition -> its first offset and its brokers before the change; empty if unknown."""
    lowest: Mapping[int, int]
    """Partition -> the bytes of its leader's log at the poll with the fewest bytes of the topic since then."""
    written: Weight | None
    """What was written before the change; None if unknown."""
    now: Weight | None = None
    """What was written at the last poll that showed it since the change; None before that."""
    since: datetime | None = None
    """The time since which a record takes several times the former bytes, UTC; None if it does not."""

    @property
    def removed(self) -> float:
        """The share of its bytes, 0 to 1, that compaction removed from the topic; 0 if it removed little."""
        was, left = sum(self.was.values()), sum(self.lowest.values())
        return 1 - left / was if left <= LEFT * was and was - left >= LEAST else 0.0

    @property
    def factor(self) -> float:
        """The multiple of its former bytes that a record takes; 0 if unknown, or if the load is another one."""
        if self.now is None or self.written is None:
            return 0.0
        alike = ALIKE[0] * self.written.records <= self.now.records <= ALIKE[1] * self.written.records
        return self.now.each / self.written.each if alike else 0.0


OfTopics = Mapping[Place, Measured]
"""Config of a topic -> the topic's bytes before its change, and since."""
NOTHING: OfTopics = MappingProxyType({})


def measured_after(
    known: OfTopics,
    judged: Sequence[JudgedChange],
    before: Poll,
    now: Poll,
) -> OfTopics:
    """Return the measures of the topics with a changed config, as of this poll.

    Args:
        known: the result for the last poll.
        judged: the known changes, the earliest first.
        before, now: the last poll and this one.
    """
    changes = list(islice((each for each in reversed(judged) if _is_measured(each)), MOST))
    if not changes:
        return NOTHING if known else known
    found = {}
    for change in changes:
        topic = _topic(change)
        earlier = known.get(change.place)
        if earlier is None and change.at == now.at:
            earlier = _first(topic, before)
        if earlier is not None and (measured := _again(earlier, change, topic, now)) is not None:
            found[change.place] = measured
    return found if found != known else known


def compacted(known: OfTopics, change: JudgedChange) -> Measured | None:
    """Return the measure of a topic from which compaction removed records since a change of its cleanup policy; None if
    it did not.
    """
    found = known.get(change.place) if change.place.key == CLEANUP else None
    return found if found is not None and found.removed else None


def swollen(known: OfTopics, change: JudgedChange, at: datetime) -> Measured | None:
    """Return the measure of a topic whose records have taken several times the bytes for at least 30 s (`LASTS`) since
    a change of its compression; None if they have not. at: the time of this poll, UTC.
    """
    found = known.get(change.place) if change.place.key == COMPRESSION else None
    return found if found is not None and found.since is not None and at - found.since >= LASTS else None


def _topic(change: JudgedChange) -> str:
    about = change.place.about
    return about.name if isinstance(about, ConfigResource) and about.type == codes.TOPIC else ""


def _is_measured(change: JudgedChange) -> bool:
    topic, held, holds = _topic(change), change.held, change.holds
    if not topic or held is None or holds is None or held == holds:
        return False
    if change.place.key == COMPRESSION:
        return True
    if change.place.key != CLEANUP or COMPACT in items_of(held) or COMPACT not in items_of(holds):
        return False
    owner = system_topic(topic)
    return not may_be_of_application(topic) and (owner is None or owner.policy != COMPACT)


def _first(topic: str, before: Poll) -> Measured:
    return Measured({}, _shape(topic, before), {}, _weight(topic, before.snapshot))


def _again(known: Measured, change: JudgedChange, topic: str, now: Poll) -> Measured | None:
    """Return a measure after another poll; None if the topic can't be measured any more, as its replicas moved or
    its first records were deleted.
    """
    if change.place.key == CLEANUP:
        sizes, shape = _sizes(topic, now.snapshot, (change.at - EARLIER).timestamp()), _shape(topic, now)
        if not shape or shape != known.shape:
            return None
        if sizes and not known.was:
            return known._replace(was=sizes, lowest=sizes)
        fell = known.was.keys() == sizes.keys() and sum(sizes.values()) < sum(known.lowest.values())
        return known._replace(lowest=sizes) if fell else known
    written = _weight(topic, now.snapshot, change.at.timestamp())
    if written is None or known.written is None:
        return known
    one = known._replace(now=written)
    needed = SWOLLEN if known.since is None else STILL_SWOLLEN
    return one._replace(since=(known.since or now.at) if one.factor >= needed else None)


def _sizes(topic: str, snapshot: Snapshot, after: float) -> Mapping[int, int]:
    """Return partition -> the bytes of its leader's log; empty if that of a partition was not read since `after`, Unix
    seconds.
    """
    known, found = snapshot.topics.get(topic), {}
    for partition in known.partitions if known is not None else ():
        one = snapshot.rates.sizes.get((topic, partition.number))
        if one is None or one.at < after:
            return {}
        found[partition.number] = one.value
    return found


def _shape(topic: str, poll: Poll) -> Mapping[int, tuple[int, frozenset[int]]]:
    """Return partition -> its first offset and its brokers; empty if the log of a partition was not read."""
    known, logs = poll.snapshot.topics.get(topic), poll.facts.logs.logs
    partitions = known.partitions if known is not None else ()
    if not all((topic, each.number) in logs for each in partitions):
        return {}
    return {each.number: (logs[topic, each.number].last.start, frozenset(each.replicas)) for each in partitions}


def _weight(topic: str, snapshot: Snapshot, after: float = 0.0) -> Weight | None:
    """Return what producers write to a topic; None if it is unknown, or too short a time was measured.

    Args:
        after: the time, Unix seconds, after which both measures have to begin.
    """
    rates = list(_rates(topic, snapshot, after))
    size, records = (sum(each) for each in zip(*rates, strict=True)) if rates else (0.0, 0.0)
    return Weight(size, records) if size and records >= SLOWEST else None


def _rates(topic: str, snapshot: Snapshot, after: float) -> Iterator[tuple[float, float]]:
    """Yield bytes and records per second of each partition of a topic for which both are known."""
    known = snapshot.topics.get(topic)
    for partition in known.partitions if known is not None else ():
        place = topic, partition.number
        size, end = snapshot.rates.sizes.get(place), snapshot.rates.ends.get(place)
        if size is None or end is None or min(size.base_at, end.base_at) < after:
            continue
        if size.at - size.base_at >= WINDOW and size.rate is not None and end.rate is not None:
            yield size.rate, end.rate
