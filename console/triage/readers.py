"""Separates the offsets of groups that clients read from and leftover offsets, which are not a problem of the cluster.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from console.model.cluster import Group, GroupLag, LogRange, PartitionLag
from console.model.lag_trend import LagTrend, Place, Standing, place
from console.model.snapshot import Snapshot
from console.triage.letters import retry_of
from console.triage.remembered import remembered
from console.triage.share_beginnings import SHARE


def left_behind(group: Group, lag: GroupLag, trend: LagTrend | None, *, had_members: bool) -> frozenset[Place]:
    """Return the partitions of the group's offsets that no member is assigned to and that got no commit since the first
    poll. Empty if it is unknown which partitions the members have.

    Args:
        had_members: whether the group was ever listed with members.
    """
    standing: Mapping[Place, Standing] = trend.standing if trend is not None else {}
    free = [where for each in lag.partitions if not each.member and not _was_read(standing, where := place(each))]
    # If no member has any of its partitions, the assignment is probably unknown; not all partitions are left over.
    if (had_members or not group.is_vacant) and len(free) == len(lag.partitions):
        return frozenset()
    return frozenset(free)


def _was_read(standing: Mapping[Place, Standing], where: Place) -> bool:
    stands = standing.get(where)
    return stands is not None and stands.read


def what_is_read(trend: LagTrend, left: frozenset[Place]) -> LagTrend:
    """Return the trend without the partitions in `left`, which no client reads."""
    if not left:
        return trend
    partitions = {where: each for where, each in trend.partitions.items() if where not in left}
    rates = [each.rate for each in partitions.values() if each.rate is not None]
    base, next_base, last = (
        poll._replace(lag=replace(poll.lag, partitions=tuple(p for p in poll.lag.partitions if place(p) not in left)))
        for poll in (trend.base, trend.next_base, trend.last)
    )
    return replace(
        trend,
        base=base,
        next_base=next_base,
        last=last,
        standing={where: each for where, each in trend.standing.items() if where not in left},
        partitions=partitions,
        rate=sum(rates) if rates else None,
        stuck=tuple(where for where in trend.stuck if where not in left),
        behind={where: each for where, each in trend.behind.items() if where not in left},
    )


DELIVERIES, DELIVERY_SECONDS = 5, 30.0
"""By default brokers deliver a record of a share group five times (group.share.delivery.count.limit), and lock it for
30 s each time (share.record.lock.duration.ms). For so long the start offset may stand at a record."""
LEAST_SECONDS = 30.0
"""The shortest time in seconds for which a share group may stand at a record, whatever its configs say."""


DELAYS = 2.0
"""The factor by which a retry topic's delay is multiplied to get the time for which its reader may stand at a record.
The reader pauses until a record is old enough; a record that fails again is then written to another topic, and the
reader goes on.
"""


class Reading(NamedTuple):
    """A group's offsets, divided into those that clients read from and leftovers."""

    group: Group
    left: frozenset[Place]
    """The partitions with a leftover offset: no client reads them."""
    lag: GroupLag | None
    """The lag on the partitions that are not in `left`; None if the group's offsets were not read."""
    trend: LagTrend | None
    """The trend of `lag`; None before two polls can be compared."""
    is_odd: bool
    """Whether rules examine the group further: it has leftover offsets, is stuck, or has no members. Few groups are."""


def reading_of(
    group: Group, lag: GroupLag | None, trend: LagTrend | None, *, had_members: bool, rests: float | None = None
) -> Reading:
    """Return a group's offsets, divided into those that clients read from and leftovers.

    Args:
        lag: the lag on all partitions; None if it was not read.
        trend: the trend of `lag`; None if there is none yet.
        had_members: whether the group was ever listed with members.
        rests: seconds for which a share group may stand at a record according to its configs; None if these are
            unknown.
    """
    left = left_behind(group, lag, trend, had_members=had_members) if lag is not None else frozenset[Place]()
    if lag is not None and left:
        lag = replace(lag, partitions=tuple(each for each in lag.partitions if place(each) not in left))
    read = what_is_read(trend, left) if trend is not None else None
    if read is not None and read.stuck:
        long = tuple(each for each in read.stuck if read.partitions[each].still >= _rests_at(group, each[0], rests))
        read = replace(read, stuck=long) if long != read.stuck else read
    is_odd = bool(left) or (read is not None and (group.is_vacant or bool(read.stuck)))
    return Reading(group, left, lag, read, is_odd)


def _rests_at(group: Group, topic: str, rests: float | None) -> float:
    """Return the seconds for which the group may stand at a record of the topic on purpose; 0 if it has no reason to.

    Args:
        rests: as for `reading_of`.
    """
    if group.type == SHARE:
        return max(LEAST_SECONDS, DELIVERIES * DELIVERY_SECONDS if rests is None else rests)
    retry = retry_of(topic)
    return DELAYS * retry.delay if retry is not None else 0.0


class Sorted(NamedTuple):
    """The readings that rules examine further: of groups without members (`vacant`), of groups with members that are
    stuck (`stuck`), and of groups with leftover offsets (`left`). A group may be in several.
    """

    vacant: list[Reading]
    stuck: list[Reading]
    left: list[Reading]


@remembered
def sorted_readings(known: Mapping[str, Reading]) -> Sorted:
    """Return the readings that rules examine further, by the kind of problem. Most groups are in none of the lists."""
    found = Sorted([], [], [])
    for each in [each for each in known.values() if each.is_odd]:
        if each.left:
            found.left.append(each)
        if each.trend is None:
            continue
        if each.group.is_vacant:
            found.vacant.append(each)
        elif each.trend.stuck:
            found.stuck.append(each)
    return found


class Leftovers(NamedTuple):
    """A group's offsets that no client reads from: those below the beginning of the log (`below`), those beyond its end
    (`beyond`), and those within the log that have records after them (`waiting`).
    """

    group: Group
    below: tuple[PartitionLag, ...] = ()
    beyond: tuple[PartitionLag, ...] = ()
    waiting: tuple[PartitionLag, ...] = ()


def leftovers(known: Mapping[str, Reading], snapshot: Snapshot) -> tuple[Leftovers, ...]:
    """Return the leftover offsets of all groups that have some that are out of the log's range, or have records after
    them.
    """
    return _leftovers(sorted_readings(known), snapshot.lags, snapshot.log_ranges)


@remembered
def _leftovers(
    known: Sorted, lags: Mapping[str, GroupLag], ranges: Mapping[tuple[str, int], LogRange]
) -> tuple[Leftovers, ...]:
    found = []
    for reading in known.left:
        rows = [each for each in lags[reading.group.name].partitions if place(each) in reading.left]
        below: list[PartitionLag] = []
        beyond: list[PartitionLag] = []
        waiting: list[PartitionLag] = []
        for each in rows:
            if is_below(each, ranges):
                below.append(each)
            elif is_beyond(each):
                beyond.append(each)
            elif each.lag > 0:
                waiting.append(each)
        if below or beyond or waiting:
            found.append(Leftovers(reading.group, tuple(below), tuple(beyond), tuple(waiting)))
    return tuple(found)


def is_below(at: PartitionLag, ranges: Mapping[tuple[str, int], LogRange]) -> bool:
    """Return whether the committed offset is below the beginning of the log, so that the record there was deleted.
    False without a lag: then no record after the offset can have been deleted.
    """
    known = ranges.get((at.topic, at.partition))
    return at.lag != 0 and known is not None and 0 <= at.committed < known.start


def is_beyond(at: PartitionLag) -> bool:
    """Return whether the committed offset is beyond the end of the log."""
    return 0 <= at.end < at.committed
