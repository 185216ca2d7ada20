"""New partitions of a topic that groups do not read yet, or from which they committed only after records that were
written before. No API shows whether they read these records, since a first commit comes only after the first reads.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.changes import TopicTarget
from console.model.cluster import Group, GroupLag
from console.model.differing import differing
from console.model.snapshot import Snapshot
from console.triage.events import ID
from console.triage.facts import Facts
from console.triage.judged_changes import JudgedChange

NOTICED = timedelta(seconds=15)
"""The time within which a group that looks for new partitions often has found and assigned them."""
SOON = timedelta(seconds=60)
"""The time for which a group is not reported whose consumers look for new partitions by themselves: each
metadata.max.age.ms, 5 minutes by default, and often sooner.
"""
KEPT = timedelta(minutes=30)
"""The time for which the first commits of a group are remembered."""
CLASSIC = "classic"
FEW = 20
"""Number of records up to which nothing is reported: they may be tests of new partitions."""


class Growth(NamedTuple):
    """A topic that was given more partitions, with the numbers of the new ones."""

    topic: str
    new: range
    at: datetime
    """The time of the first poll that showed them, UTC."""


class Unread(NamedTuple):
    """A group that reads a topic, and none of its new partitions."""

    group: Group
    growth: Growth
    waiting: int
    """The number of records in the new partitions."""


class Begun(NamedTuple):
    """A group's first commits in new partitions."""

    records: Mapping[int, int]
    """Partition -> the number of records before the first commit there."""
    at: datetime
    """The time of the first poll that showed the last of these commits, UTC."""


Beginnings = Mapping[tuple[str, str], Begun]
"""(group, topic) -> the group's first commits in new partitions of the topic."""


def growths(judged: Iterable[JudgedChange]) -> Iterator[Growth]:
    """Yield the growth of each topic that was given more partitions, from the judged changes."""
    for each in judged:
        about, was, became = each.place.about, each.was, each.became
        if isinstance(about, TopicTarget) and each.place.key != ID and was is not None and became is not None:
            yield Growth(about.name, range(int(was), int(became)), each.at)


def without_new(judged: Iterable[JudgedChange], snapshot: Snapshot, facts: Facts, at: datetime) -> Iterator[Unread]:
    """Yield the groups whose members have partitions of a topic, but none of its new partitions, and that have no
    offsets in these. New partitions count if they have records and were added at least `NOTICED` ago; `SOON` for a
    classic group, whose members have to find them.

    Args:
        judged: the changes up to this poll.
        facts: the facts of this poll.
        at: the time of the poll, UTC.
    """
    for growth in growths(judged):
        logs = (facts.logs.logs.get((growth.topic, number)) for number in growth.new)
        waiting = sum(log.last.end - log.last.start for log in logs if log is not None)
        if at < growth.at + NOTICED or not waiting:
            continue
        for name, group in snapshot.groups.items():
            if group.type == CLASSIC and at < growth.at + SOON:
                continue
            members = group.members or ()
            held = {number for each in members for topic, number in each.assignment if topic == growth.topic}
            lag = snapshot.lags.get(name)
            if not held or not held.isdisjoint(growth.new) or lag is None:
                continue
            rows = (row for row in lag.partitions if row.topic == growth.topic and row.partition in growth.new)
            if not any(row.committed >= 0 for row in rows):
                yield Unread(group, growth, waiting)


def beginnings_after(
    known: Beginnings, judged: Iterable[JudgedChange], old: Snapshot, new: Snapshot, facts: Facts, at: datetime
) -> Beginnings:
    """Return the late first commits of groups in new partitions after a poll. Groups that found the partitions soon are
    left out.

    Args:
        known: the result for the last poll, which stays unchanged.
        judged: the changes up to this poll.
        old, new: the snapshots of the last poll and of this one.
        facts: the facts of this poll.
        at: the time of this poll, UTC.
    """
    late = {each.topic: each for each in growths(judged) if at >= each.at + NOTICED}
    kept = {
        (group, topic): each
        for (group, topic), each in known.items()
        if topic in late and group in new.groups and each.at > at - KEPT
    }
    if late and old.lags is not new.lags:
        for group, was, lag in differing(old.lags, new.lags):
            if was is None or lag is None:
                continue
            for topic, records in _first_commits(was, lag, late, facts).items():
                before = kept[group, topic].records if (group, topic) in kept else {}
                kept[group, topic] = Begun({**before, **records}, at)
    return known if kept == known else kept


def _first_commits(was: GroupLag, lag: GroupLag, late: Mapping[str, Growth], facts: Facts) -> dict[str, dict[int, int]]:
    """Return topic -> new partition -> the number of records before the group's first commit there, if it is at least
    `FEW` (20); only for topics that the group read before.

    Args:
        was, lag: the group's offsets at the last poll and at this one.
        late: topic -> its new partitions.
    """
    then = {(row.topic, row.partition) for row in was.partitions if row.committed >= 0 and row.topic in late}
    read = {topic for topic, _ in then}
    found: dict[str, dict[int, int]] = {}
    for row in lag.partitions:
        place = row.topic, row.partition
        if row.topic in read and place not in then and row.committed >= 0 and row.partition in late[row.topic].new:
            log = facts.logs.logs.get(place)
            if log is not None and row.committed - log.last.start >= FEW:
                found.setdefault(row.topic, {})[row.partition] = row.committed - log.last.start
    return found
