"""Groups whose consumers stopped before kac looked: by the times of the records they read until lately. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from console.model.cluster import PartitionLag
from console.model.lag_trend import LagTrend, Place, place
from console.model.mirror import has_checkpoints
from console.model.snapshot import Snapshot
from console.triage.facts import Former
from console.triage.readers import Reading, sorted_readings
from console.triage.remembered import remembered
from console.triage.share_beginnings import SHARE
from console.triage.symptoms import grows

FEW = 20
"""Minimum number of records that wait: fewer may be a test of its topic."""
_OF_TOOL = "console-consumer-"
"""Prefix of the groups of Kafka's console consumer."""
EXAMINED = 100
"""Maximum number of groups without members that are examined."""


class StoppedBefore(NamedTuple):
    """A group without members, of which kac saw no client, that read until lately."""

    reading: Reading
    trend: LagTrend
    """The trend of its lag, with the partitions that no client reads."""
    row: PartitionLag
    """The partition with the newest record that it read."""
    since: float
    """A time after which that record was written, Unix seconds."""


@remembered
def stopped_before(
    known: Mapping[str, Reading], snapshot: Snapshot, former: Mapping[Place, Former]
) -> tuple[StoppedBefore, ...]:
    """Return the groups whose consumers stopped shortly before kac looked, while records are written for them. Groups
    that never had members, as of jobs that assign their partitions, groups for which a client commits now, and clusters
    to which mirrors copy offsets are left out.

    Args:
        known: group -> its reading.
        former: the former ends of the logs that groups with a growing lag read, of some minutes before that.
    """
    return tuple(_found(known, snapshot, former))


def _found(known: Mapping[str, Reading], snapshot: Snapshot, former: Mapping[Place, Former]) -> Iterator[StoppedBefore]:
    vacant = (each for each in sorted_readings(known).left if each.group.is_vacant and _had_members(each))
    trends = ((each, snapshot.lag_trends.get(each.group.name)) for each in vacant)
    growing = ((each, trend) for each, trend in trends if trend is not None and (trend.rate or 0) > 0)
    is_known = bool(former) and not has_checkpoints(snapshot.topics)
    for reading, trend in islice(growing, EXAMINED) if is_known else ():
        rows = [each for each in trend.last.lag.partitions if place(each) in reading.left]
        if len(rows) < len(trend.last.lag.partitions) or not grows(trend) or sum(each.lag for each in rows) < FEW:
            continue
        last = max(_read_after(rows, former), default=None, key=lambda each: each[1])
        if last is not None:
            yield StoppedBefore(reading, trend, *last)


def _had_members(reading: Reading) -> bool:
    """Return whether a group had members at some time, as coordinators keep their protocol; False for those that
    Kafka's console consumer makes at each start.
    """
    group = reading.group
    return group.type != SHARE and group.protocol == "consumer" and not group.name.startswith(_OF_TOOL)


def _read_after(rows: Iterable[PartitionLag], former: Mapping[Place, Former]) -> Iterator[tuple[PartitionLag, float]]:
    """Yield partitions, each with the latest known time at which the last record that was read did not exist yet."""
    for row in rows:
        ends = former[place(row)].ends if place(row) in former else ()
        times = [when for when, end in ends if end < row.committed]
        if times:
            yield row, max(times)
